"""Every fault is listed, where it stands, with its value and what to do; and nothing that merely follows from it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from aquamend.errors import InvalidProblem
from aquamend.problem_file import parse_problem

DROP = object()

ONE_FAULT: list[tuple[str, Any, str, str]] = [
    # path to spoil, what to put there, place of the fault, fragment of what is said
    ("format", DROP, "format", "missing"),
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
    ("beliefs.0.residual", "10", "beliefs[0].residual", "remove the quotes"),
    ("beliefs.0.residual", True, "beliefs[0].residual", "true is not a number"),
    ("beliefs.0.residual", None, "beliefs[0].residual", "null is not a number"),
    ("beliefs.0.residual", math.nan, "beliefs[0].residual", "nan is not a number"),
    ("beliefs.0.residual", 10**400, "beliefs[0].residual", "too large"),
    ("beliefs.0.residual", 10**5000, "beliefs[0].residual", "too large"),
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


def spoil(data: Any, path: str, value: Any) -> None:
    *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    for key in way:
        data = data[key]
    if value is DROP:
        del data[last]
    else:
        data[last] = value


def test_the_sound_problem_is_sound(sound, faults_of):
    assert faults_of(sound) == []


@pytest.mark.parametrize(
    ("path", "value", "place", "fragment"), ONE_FAULT, ids=[f"{place}-{said}" for _, _, place, said in ONE_FAULT]
)
def test_says_where_and_what_and_nothing_else(sound, faults_of, path, value, place, fragment):
    spoil(sound, path, value)
    (fault,) = faults_of(sound)
    assert fault.startswith(f"{place}: ")
    assert fragment in fault
    assert "; " in fault


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
