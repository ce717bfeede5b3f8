"""Every fault is listed, where it stands, with its value and what to do; and nothing that merely follows from it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from aquamend.errors import InvalidProblem
from aquamend.files import parse_problem

DROP = object()

ONE_FAULT: list[tuple[str, Any, str, str]] = [
    # path to spoil, what to put there, place of the fault, fragment of what is said
    ("format", DROP, "format", "missing"),
    ("format", "aquamend-problem/3", "format", "write aquamend-problem/1"),
    ("format", "aquamend-problem/2", "format", "write aquamend-problem/1"),
    ("format", 1, "format", "1 is not a format"),
    ("name", [], "name", "not text"),
    ("name", "a\nb", "name", "unprintable"),
    ("unit", {}, "unit", "not text"),
    ("bliefs", [], "bliefs", "did you mean 'beliefs'?"),
    ("zzz", 1, "zzz", "'zzz' is not a key"),
    ("actions", None, "actions", "null is not a list"),
    ("actions", {}, "actions", "a mapping of 0 is not a list"),
    ("beliefs.0.residual", -1, "beliefs[0].residual", "-1.0 is not a loss"),
    ("beliefs.0.residual", "abc", "beliefs[0].residual", "the text 'abc' is not a number"),
    ("beliefs.0.residual", "10", "beliefs[0].residual", "write 10, without quotes"),
    ("beliefs.0.residual", "1_000", "beliefs[0].residual", "write 1000, without quotes"),
    ("beliefs.0.residual", "-inf", "beliefs[0].residual", "give a number, or inf"),
    ("beliefs.0.residual", True, "beliefs[0].residual", "true is not a number"),
    ("beliefs.0.residual", None, "beliefs[0].residual", "null is not a number"),
    ("beliefs.0.residual", math.nan, "beliefs[0].residual", "nan is not a number"),
    ("beliefs.0.residual", 10**400, "beliefs[0].residual", "too large"),
    ("beliefs.0.residual", 10**5000, "beliefs[0].residual", "is too large, beyond 1e100; give a number, or inf"),
    ("beliefs.0.residual", [1], "beliefs[0].residual", "[1] is not a number"),
    ("beliefs.0.resdual", 1, "beliefs[0].resdual", "did you mean 'residual'?"),
    ("beliefs.0.may_keep", 1, "beliefs[0].may_keep", "1 is not a boolean"),
    ("beliefs.0.may_keep", "no", "beliefs[0].may_keep", "'no' is not a boolean"),
    ("actions.2.name", " ", "actions[2].name", "blank"),
    ("actions.2.name", "\ud800", "actions[2].name", "unprintable"),
    ("beliefs.0", "weight", "beliefs[0]", "'weight' is not a mapping"),
    ("beliefs.0.name", DROP, "beliefs[0].name", "missing"),
    ("actions.0.undo", -4, "actions[0].undo", "-4.0 is not a cost"),
    ("actions.0.undo", "four", "actions[0].undo", "'four' is not a number"),
    ("actions.0.undo", DROP, "actions[0]", "neither undo nor operations"),
    ("actions.0.status", "executd", "actions[0].status", "did you mean executed?"),
    ("actions.0.status", True, "actions[0].status", "true is none of the choices"),
    ("actions.1.undo", 1, "actions[1]", "both undo and operations"),
    ("actions.1.operations.1", "opne", "actions[1].operations[1]", "'opne' is not an operation"),
    ("actions.1.operations", "back", "actions[1].operations", "'back' is not a list"),
    ("actions.1.operations", [[]], "actions[1].operations[0]", "[] is not text"),
    ("actions.1.reversible", "yes", "actions[1].reversible", "'yes' is not a boolean"),
    ("operations.0.cost", -2, "operations[0].cost", "-2.0 is not a cost"),
    ("operations.0.cost", DROP, "operations[0].cost", "missing"),
    ("operations.0.name", DROP, "operations[0].name", "missing"),
    ("probes.0.cost", "inf", "probes[0].cost", "inf is not a cost"),
    ("probes.0.cost", DROP, "probes[0].cost", "missing"),
    ("probes.0.name", None, "probes[0].name", "null is not text"),
    ("probes.0.max_uses", 1.5, "probes[0].max_uses", "1.5 is not a count"),
    ("probes.0.max_uses", -1, "probes[0].max_uses", "-1 is not a count"),
    ("probes.0.modality", {}, "probes[0].modality", "not text"),
    ("edges.0", ["look", "weight"], "edges[0]", "['look', 'weight'] has 2 entries"),
    ("edges.0", "look", "edges[0]", "'look' is not a list"),
    ("edges.0.2", "detecton", "edges[0][2]", "did you mean detection?"),
    ("edges.0.2", "inference", "edges[0]", "runs from a belief to a belief"),
    ("edges.0.0", "lok", "edges[0]", "source 'lok' is not a probe, belief or action"),
    ("edges.0.1", None, "edges[0][1]", "null is not text"),
    ("edges.1", ["look", "weight", "detection"], "edges[1]", "given twice"),
    ("edges.5", ["carry", "grasp", "temporal"], "edges", "cycle"),
    ("hypotheses.0.prior", 0.5, "hypotheses", "the priors sum to 0.9"),
    ("hypotheses.0.prior", -0.5, "hypotheses[0].prior", "-0.5 is not a probability"),
    ("hypotheses.0.prior", "inf", "hypotheses[0].prior", "'inf' is not a probability"),
    ("hypotheses.0.prior", 1e200, "hypotheses[0].prior", "is too large, beyond 1e100; give a number from 0 to 1"),
    ("hypotheses.0.prior", DROP, "hypotheses[0].prior", "missing"),
    ("hypotheses.0.name", [], "hypotheses[0].name", "[] is not text"),
    ("hypotheses.0", [], "hypotheses[0]", "[] is not a mapping"),
    ("hypotheses.1.failed.0", "wieght", "hypotheses[1].failed[0]", "'wieght' is not a belief"),
    ("hypotheses.1.failed", "weight", "hypotheses[1].failed", "'weight' is not a list"),
    ("hypotheses.1.cause", "gremlins", "hypotheses[1].cause", "'gremlins' is none of the choices"),
    ("hypotheses", DROP, "hypotheses", "missing"),
    ("hypotheses", 3, "hypotheses", "3 is not a list"),
    ("beliefs", DROP, "beliefs", "missing"),
    ("kernels.look", DROP, "probes[0]", "'look' has no kernel"),
    ("kernels.look", None, "kernels.look", "null is not a mapping"),
    ("kernels.look", {}, "kernels.look", "does not say how"),
    ("kernels", [], "kernels", "[] is not a mapping"),
    ("kernels.listen", {"outcomes": [1], "likelihood": {"nothing": [1], "refilled": [1], "tilted": [1]}},
     "kernels.listen", "'listen' is not a probe"),
    ("kernels.look.gaussian", {}, "kernels.look", "it has gaussian and likelihood and outcomes"),
    ("kernels.look.outcomes", DROP, "kernels.look.outcomes", "missing"),
    ("kernels.look.outcomes", "low", "kernels.look.outcomes", "'low' is not a list"),
    ("kernels.look.outcomes", ["low", "low"], "kernels.look.outcomes", "repeats a name"),
    ("kernels.look.outcomes", ["low", None], "kernels.look.outcomes[1]", "null is not text"),
    ("kernels.look.likelihood", DROP, "kernels.look.likelihood", "missing"),
    ("kernels.look.likelihood", [], "kernels.look.likelihood", "[] is not a mapping"),
    ("kernels.look.likelihood.tilted", DROP, "kernels.look.likelihood", "'tilted' has no row"),
    ("kernels.look.likelihood.toppled", [0.5, 0.5], "kernels.look.likelihood.toppled", "not a hypothesis"),
    ("kernels.look.likelihood.tilted", [0.5, 0.4], "kernels.look.likelihood.tilted", "sums to 0.9"),
    ("kernels.look.likelihood.tilted", [1.0], "kernels.look.likelihood.tilted", "has 1 numbers"),
    ("kernels.look.likelihood.tilted", 0.5, "kernels.look.likelihood.tilted", "0.5 is not a list"),
    ("kernels.look.likelihood.tilted.0", -0.5, "kernels.look.likelihood.tilted[0]", "-0.5 is not a probability"),
    ("kernels.look.likelihood.tilted.0", True, "kernels.look.likelihood.tilted[0]", "true is not a number"),
    ("kernels.weigh.gaussian.tilted", [120, 0], "kernels.weigh.gaussian.tilted", "sd > 0"),
    ("kernels.weigh.gaussian.tilted", [120], "kernels.weigh.gaussian.tilted", "has 1 numbers"),
    ("kernels.weigh.gaussian.tilted", [], "kernels.weigh.gaussian.tilted", "has 0 numbers"),
    ("kernels.look.likelihood.tilted", [], "kernels.look.likelihood.tilted", "has 0 numbers"),
    ("kernels.weigh.gaussian.tilted.0", "inf", "kernels.weigh.gaussian.tilted", "not a mean"),
    ("kernels.weigh.guassian", {}, "kernels.weigh.guassian", "did you mean 'gaussian'?"),
    ("alarm", [], "alarm", "[] is not a mapping"),
    ("alarm.likelihood", DROP, "alarm.likelihood", "missing"),
    ("alarm.likelihood.tilted", DROP, "alarm.likelihood", "'tilted' has no row"),
    ("alarm.likelihood.tilted", 1.5, "alarm.likelihood.tilted", "1.5 is not a probability"),
    ("alarm.likelihood", {"nothing": 0, "refilled": 0, "tilted": 0}, "alarm.likelihood", "probability 0 under every"),
    ("alarm.suspects.0", "wieght", "alarm.suspects[0]", "'wieght' is not a belief"),
    ("declarations.0.belief", "chioce", "declarations[0].belief", "'chioce' is not a belief"),
    ("declarations.0.belief", DROP, "declarations[0].belief", "missing"),
    ("declarations.0.version", 1.5, "declarations[0].version", "1.5 is not a whole number"),
    ("declarations.0.invalid_in.0", "spilt", "declarations[0].invalid_in[0]", "'spilt' is not a hypothesis"),
    ("declarations.0.support.0", "listen", "declarations[0].support[0]", "'listen' is not a probe"),
    ("sensing_budget", -1, "sensing_budget", "-1.0 is not a cost"),
    ("restart", "never", "restart", "'never' is not a number"),
    ("escalate", math.nan, "escalate", "nan is not a number"),
]  # fmt: skip


ONE_FAULT_2: list[tuple[str, Any, str, str]] = [
    ("beliefs.0.declared", None, "beliefs[0].declared", "null is neither text nor a number"),
    ("beliefs.0.declared", ["A"], "beliefs[0].declared", "['A'] is neither text nor a number"),
    ("beliefs.0.declared", {}, "beliefs[0].declared", "a mapping of 0 is neither text nor a number"),
    ("beliefs.0.declared", math.nan, "beliefs[0].declared", "nan is not a number"),
    ("beliefs.0.declared", 10**400, "beliefs[0].declared", "too large"),
    ("beliefs.0.declared", "a\nb", "beliefs[0].declared", "unprintable"),
    ("beliefs.1.declared", DROP, "hypotheses[1].truth.target", "'target' declares no value to compare with"),
    ("beliefs.0.tolerance", -1, "beliefs[0].tolerance", "-1.0 is not a distance; give at least 0"),
    ("beliefs.0.tolerance", "3", "beliefs[0].tolerance", "write 3, without quotes"),
    ("beliefs.1.needs_support", "yes", "beliefs[1].needs_support", "'yes' is not a boolean"),
    ("beliefs.1.need_support", True, "beliefs[1].need_support", "did you mean 'needs_support'?"),
    ("probes.0.source", "camra", "probes[0].source", "'camra' is not a belief; did you mean 'camera'? add the belief"),
    ("probes.0.source", ["camera"], "probes[0].source", "['camera'] is not text"),
    ("hypotheses.1.truth", ["level"], "hypotheses[1].truth", "['level'] is not a mapping"),
    ("hypotheses.1.truth.level", None, "hypotheses[1].truth.level", "null is neither text nor a number"),
    ("hypotheses.1.truth.levl", 45, "hypotheses[1].truth.levl", "'levl' is not a belief"),
    ("hypotheses.1.truth.lid", "off", "hypotheses[1].truth.lid", "or name it in failed instead"),
    ("hypotheses.1.failed", ["level"], "hypotheses[1].failed[0]", "'level' is given in truth too"),
    ("hypotheses.1.truth.level", "45 g", "hypotheses[1].truth.level", "'45 g' is not a number, and 'level'"),
    ("hypotheses.1.truth.level", {}, "hypotheses[1].truth.level", "what it is; give normal, or uniform, or values"),
    ("hypotheses.1.truth.level", {"values": [19]}, "hypotheses[1].truth.level.values[0]", "19 is within 3 of the 18.5"),
    ("hypotheses.1.truth.level", {"values": {"a": 1}}, "hypotheses[1].truth.level.values.a", "'a' is not a number"),
    ("hypotheses.1.truth.level", {"normal": [40]}, "hypotheses[1].truth.level.normal", "give [mean, sd]"),
    ("hypotheses.1.truth.level", {"values": [40], "step": 1}, "hypotheses[1].truth.level.step", "not go with values"),
    ("kernels.weigh.gaussian.nothing", ["lid", 1], "kernels.weigh.gaussian.nothing", "'lid' declares no number"),
    ("kernels.weigh.gaussian.nothing", ["levl", 1], "kernels.weigh.gaussian.nothing", "nor a belief with one"),
    ("kernels.look", {"of": "lid", "right": 1}, "kernels.look.of", "'lid' declares no value"),
    ("kernels.look", {"of": "target", "right": 0.9, "none": 0.2}, "kernels.look", "are 1.1 together"),
    ("effects", [{"when": "levl > 3", "failed": ["lid"]}], "effects[0].when", "'levl > 3' names no"),
    ("declarations.1.value", [], "declarations[1].value", "[] is neither text nor a number"),
    ("kernels.weigh.outliers", 1, "kernels.weigh.outliers", "1.0 is not a share"),
    ("kernels.weigh.outliers", "few", "kernels.weigh.outliers", "'few' is not a number"),
    ("kernels.weigh.bandwidth", 1, "kernels.weigh.bandwidth", "not go with gaussian; keep only gaussian, outliers"),
    ("kernels.look.outliers", 0.1, "kernels.look.outliers", "does not go with outcomes and likelihood"),
    ("kernels.touch", {"outliers": 0.1}, "kernels.touch",
     "does not say how the probe answers; give outcomes and likelihood, or noisy_or and outcomes, or gaussian, "
     "or mixture, or samples"),
    ("kernels.touch.samples", {}, "kernels.touch", "it has mixture and samples; keep mixture, or samples"),
    ("kernels.touch.mixture.nothing", [], "kernels.touch.mixture.nothing", "it is empty"),
    ("kernels.touch.mixture.nothing", [[1, 5]], "kernels.touch.mixture.nothing", "three finite numbers"),
    ("kernels.touch.mixture.nothing", [[0.5, 5, 1]], "kernels.touch.mixture.nothing", "the weights sum to 0.5"),
    ("kernels.touch.mixture.nothing", [[1, 5, 1], 3], "kernels.touch.mixture.nothing[1]", "3 is not a list"),
    ("kernels.touch.mixture.nothing.0.2", "x", "kernels.touch.mixture.nothing[0][2]", "'x' is not a number"),
    ("kernels.touch.mixture.nothing", DROP, "kernels.touch.mixture", "'nothing' has no row"),
    ("kernels.listen.samples.nothing", [], "kernels.listen.samples.nothing", "how far readings scatter"),
    ("kernels.listen.samples.nothing.0", "inf", "kernels.listen.samples.nothing", "not finite"),
    ("kernels.listen.bandwidth", 0, "kernels.listen.bandwidth", "0.0 is not a width"),
    ("restart.loss", DROP, "restart.loss", "missing"),
    ("restart.loss", -1, "restart.loss", "-1 is not a loss"),
    ("restart.loss.nothing", "x", "restart.loss.nothing", "'x' is not a number"),
    ("restart.loss.nothing", DROP, "restart.loss", "'nothing' has no row; give one for every hypothesis, or a default"),
    ("restart.loss.spilt", 3, "restart.loss.spilt", "'spilt' is not a hypothesis"),
    ("restart.name", "again", "restart.name", "'name' is not a key"),
    ("restart.last_resort", True, "restart.last_resort", "the keys here are loss, correct, undo"),
    ("restart.correct.1", "traget", "restart.correct[1]", "'traget' is not a belief"),
    ("restart.undo.0", "place", "restart.undo[0]", "'place' is not an executed action"),
    ("restart", [], "restart", "[] is not a number"),
    ("plans", {}, "plans", "a mapping of 0 is not a list"),
    ("plans.0", "by hand", "plans[0]", "'by hand' is not a mapping"),
    ("plans.0.name", DROP, "plans[0].name", "missing"),
    ("plans.0.name", "stop", "plans[1].name", "'stop' is given twice"),
    ("plans.0.name", "restart", "plans[0].name", "'restart' is what the restart is called"),
    ("plans.0.loss", DROP, "plans[0].loss", "missing"),
    ("plans.0.loss", None, "plans[0].loss", "null is not a number"),
    ("plans.0.loss", {"default": 1, "nothin": 2}, "plans[0].loss.nothin", "'nothin' is not a hypothesis"),
    ("plans.1.loss.nothing", -70, "plans[1].loss.nothing", "-70 is not a loss"),
    ("plans.0.correct", ["lid", "cap"], "plans[0].correct[1]", "'cap' is not a belief"),
    ("plans.0.undo", ["grasp"], "plans[0].undo[0]", "'grasp' is not an executed action"),
    ("plans.1.last_resort", 1, "plans[1].last_resort", "1 is not a boolean"),
    ("plans.1.lastresort", True, "plans[1].lastresort", "did you mean 'last_resort'?"),
    ("corrections", "no", "corrections", "'no' is not a boolean"),
    ("coverage", [], "coverage", "[] is not a mapping"),
    ("coverage.stage", DROP, "coverage.stage", "missing"),
    ("coverage.stages", ["T1"], "coverage.stages", "did you mean 'stage'?"),
    ("coverage.covered_stages", "T1", "coverage.covered_stages", "'T1' is not a list"),
    ("coverage.groups.1.prototype_g", [0], "coverage.groups[1].prototype_g",
     "[0.0] has 1 numbers; give 2, one for each of quantities_g"),
    ("coverage.groups.0.prototype_mm", DROP, "coverage.groups[0].prototype_mm", "one for each of offsets_mm"),
    ("coverage.groups.0.prototype_mm", ["inf"], "coverage.groups[0].prototype_mm[0]", "'inf' is not finite"),
    ("coverage.groups.0.name", DROP, "coverage.groups[0].name", "missing"),
    ("coverage.offsets_mm", 0.5, "coverage.offsets_mm", "0.5 is not a list"),
]  # fmt: skip


def spoil(data: Any, path: str, value: Any) -> None:
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in way:
        data = data[key]
    if value is DROP:
        del data[last]
    else:
        data[last] = value


def test_the_sound_problems_are_sound(sound, sound_2, faults_of):
    assert faults_of(sound) == []
    assert faults_of(sound_2) == []


@pytest.mark.parametrize(
    ("path", "value", "place", "fragment"), ONE_FAULT, ids=[f"{place}-{said}" for _, _, place, said in ONE_FAULT]
)
def test_says_where_and_what_and_nothing_else(sound, faults_of, path, value, place, fragment):
    spoil(sound, path, value)
    (fault,) = faults_of(sound)
    assert fault.startswith(f"{place}: ")
    assert fragment in fault
    assert "; " in fault


@pytest.mark.parametrize(("path", "value", "place", "fragment"), ONE_FAULT_2)
def test_says_where_and_what_of_values(sound_2, faults_of, path, value, place, fragment):
    spoil(sound_2, path, value)
    (fault,) = faults_of(sound_2)
    assert fault.startswith(f"{place}: ")
    assert fragment in fault
    assert "; " in fault


def test_every_fault_of_values_is_found_in_one_go(sound_2, faults_of):
    sound_2["probes"][0]["source"] = "lens"
    sound_2["hypotheses"][2]["truth"] = {"camera": None, "lens": "bent"}
    sound_2["kernels"]["touch"]["mixture"]["nothing"] = [[0.5, 1, 1]]
    sound_2["kernels"]["listen"]["samples"]["nothing"] = "?"
    sound_2["kernels"]["listen"]["samples"]["refilled"] = []
    sound_2["restart"]["undo"] = ["place"]
    sound_2["plans"][1]["loss"] = {"nothing": -1, "default": 2}
    sound_2["coverage"]["groups"][0]["prototype_mm"] = []
    assert [fault.partition(": ")[0] for fault in faults_of(sound_2)] == [
        "probes[0].source", "hypotheses[2].truth.camera",
        "hypotheses[2].truth.lens", "kernels.listen.samples.nothing", "kernels.touch.mixture.nothing",
        "kernels.listen.samples.refilled", "restart.undo[0]", "plans[1].loss.nothing",
        "coverage.groups[0].prototype_mm",
    ]  # fmt: skip


def test_an_unreadable_belief_is_not_called_unknown_by_what_others_say_of_it(sound_2, faults_of):
    del sound_2["beliefs"][2]["name"], sound_2["beliefs"][3]["name"]
    assert faults_of(sound_2) == [f"beliefs[{i}].name: it is missing; add the key 'name'" for i in (2, 3)]


def test_an_unreadable_hypothesis_is_not_called_unknown_by_what_others_say_of_it(sound_2, faults_of):
    sound_2["hypotheses"][3]["name"] = []
    assert faults_of(sound_2) == ["hypotheses[3].name: [] is not text; give text"]


def test_an_unreadable_status_does_not_make_a_plan_undo_what_was_not_done(sound_2, faults_of):
    sound_2["actions"][0]["status"] = "exectued"
    assert [fault.partition(": ")[0] for fault in faults_of(sound_2)] == ["actions[0].status"]


def test_places_in_plans_count_unreadable_entries_too(sound_2, faults_of):
    sound_2["plans"].insert(0, 7)
    sound_2["plans"][1]["correct"] = [[], "cap"]
    sound_2["plans"][2]["loss"] = {"nothing": 1, "spilt": 2, "default": 3}
    sound_2["coverage"]["groups"].insert(0, None)
    places = [fault.partition(": ")[0] for fault in faults_of(sound_2)]
    assert places == ["plans[0]", "plans[1].correct[0]", "plans[2].loss.spilt", "plans[1].correct[1]",
                      "coverage.groups[0]"]  # fmt: skip


def test_rows_are_judged_also_where_the_outcomes_are_missing(sound, faults_of):
    del sound["kernels"]["look"]["outcomes"]
    sound["kernels"]["look"]["likelihood"]["tilted"] = [0.5, 0.4]
    places = [fault.partition(": ")[0] for fault in faults_of(sound)]
    assert places == ["kernels.look.outcomes", "kernels.look.likelihood.tilted"]


def test_lists_a_cycle_and_a_negative_cost_and_bad_priors_together(sound, faults_of):
    sound["edges"].append(["carry", "grasp", "temporal"])
    sound["actions"][0]["undo"] = -4
    sound["hypotheses"][0]["prior"] = 0.5
    sound["beliefs"][0]["colour"] = "red"
    places = [fault.partition(": ")[0] for fault in faults_of(sound)]
    assert places == ["beliefs[0].colour", "actions[0].undo", "edges", "hypotheses"]


def test_a_name_given_twice_is_a_fault(sound, faults_of):
    sound["beliefs"].append({"name": "weight"})
    sound["operations"].append({"name": "back", "cost": 1})
    assert [fault.partition(";")[0] for fault in faults_of(sound)] == [
        "beliefs[2].name: 'weight' already names a belief",
        "operations[2].name: 'back' is given twice",
    ]


def test_an_unnamed_belief_does_not_make_other_beliefs_unknown(sound, faults_of):
    del sound["beliefs"][1]["name"]
    assert faults_of(sound) == ["beliefs[1].name: it is missing; add the key 'name'"]


def test_a_typo_in_a_required_key_is_one_fault(sound, faults_of):
    sound["hypotheses"][0]["pior"] = sound["hypotheses"][0].pop("prior")
    (fault,) = faults_of(sound)
    assert "did you mean 'prior'?" in fault


def test_a_typo_in_a_section_does_not_make_its_names_unknown(sound, faults_of):
    sound["hypothesis"] = sound.pop("hypotheses")
    (fault,) = faults_of(sound)
    assert fault.startswith("hypothesis: ")
    assert "did you mean 'hypotheses'?" in fault


@pytest.mark.parametrize("section", ["beliefs", "actions", "operations", "probes", "hypotheses"])
def test_a_section_of_the_wrong_type_is_one_fault(sound, faults_of, section):
    sound[section] = "oops"
    assert faults_of(sound) == [f"{section}: 'oops' is not a list; give a list, [] if empty"]


def test_places_count_unreadable_entries_too(sound, faults_of):
    sound["beliefs"].insert(0, 7)
    sound["beliefs"][2]["residual"] = -1
    sound["hypotheses"].insert(0, None)
    sound["hypotheses"][2]["failed"] = [[], "weight", 3]
    sound["edges"].insert(0, [])
    sound["edges"].append(["weigh", "look", "detection"])
    sound["beliefs"][0] = {"name": "spare", "residual": -3}
    places = [fault.partition(": ")[0] for fault in faults_of(sound)]
    assert places == [
        "beliefs[0].residual", "beliefs[2].residual", "edges[0]", "edges[7]", "hypotheses[0]",
        "hypotheses[2].failed[0]", "hypotheses[2].failed[2]",
    ]  # fmt: skip


def test_meaning_is_judged_in_what_could_be_read(sound, faults_of):
    sound["kernels"]["look"]["likelihood"]["nothing"] = "?"
    sound["kernels"]["look"]["likelihood"]["tilted"] = [0.5, 0.4]
    sound["edges"][1] = ["weigh", "wieght", "aggregation"]
    sound["probes"].append({"cost": 1})
    sound["edges"].append(["listen", "weight", "detection"])
    places = [fault.partition(": ")[0] for fault in faults_of(sound)]
    assert places == [
        "probes[2].name", "edges[1]", "kernels.look.likelihood.nothing", "kernels.look.likelihood.tilted",
    ]  # fmt: skip


def test_an_alarm_is_not_called_impossible_while_a_hypothesis_is_unreadable(sound, faults_of):
    sound["alarm"]["likelihood"] = {"nothing": 0, "refilled": 0.9, "tilted": 0}
    del sound["hypotheses"][1]["name"]
    assert [fault.partition(": ")[0] for fault in faults_of(sound)] == ["hypotheses[1].name"]


def test_a_key_given_twice_is_a_fault_where_it_stands(faults_in, sound_text):
    text = sound_text.replace('"residual": 10', '"residual": 10, "residual": 11')
    text = text.replace('"tilted": 0.7', '"tilted": 0.7, "tilted": 0.8')
    for suffix in (".json", ".yaml"):
        assert faults_in(text, suffix) == [
            "beliefs[0].residual: the key 'residual' is given more than once; keep one of them",
            "alarm.likelihood.tilted: the key 'tilted' is given more than once; keep one of them",
        ]


def test_keys_that_are_equal_as_text_are_given_twice(sound, faults_of):
    sound["hypotheses"][2]["name"] = 1
    for rows in (sound["kernels"]["look"]["likelihood"], sound["kernels"]["weigh"]["gaussian"]):
        rows["1"] = rows.pop("tilted")
    sound["alarm"]["likelihood"] |= {1: 0.5, "1": 0.6}
    del sound["alarm"]["likelihood"]["tilted"]
    (fault,) = faults_of(sound)
    assert fault.startswith("alarm.likelihood.1: the key '1' is given more than once")


def test_lists_a_hundred_faults_and_counts_the_rest(sound, faults_of):
    sound["edges"] += [[]] * 250
    faults = faults_of(sound)
    assert len(faults) == 101
    assert faults[-1] == "file: 150 more faults are not listed; correct these"


def test_says_the_same_fault_once(sound):
    sound["edges"] += [["look", "nowhere", "detection"]]
    sound["restart"] = -1
    with pytest.raises(InvalidProblem) as caught:
        parse_problem(sound)
    assert len(set(caught.value.faults)) == len(caught.value.faults)


@pytest.mark.parametrize("data", [None, 3, "text", [], [{}], True, b"{}", math.nan])
def test_data_that_is_no_mapping_is_one_fault(faults_of, data):
    (fault,) = faults_of(data)
    assert "is not a mapping" in fault


def test_an_empty_mapping_names_all_that_is_required(faults_of):
    assert [fault.partition(": ")[0] for fault in faults_of({})] == ["format", "beliefs", "hypotheses"]
