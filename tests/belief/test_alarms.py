"""Several monitors: each counts once, silence is evidence, and after a correction they speak of what is wrong now."""

import itertools
import math
import pickle
import random
from dataclasses import replace

import numpy as np
import pytest
from tests.reference import generator
from tests.reference.moments import ringing
from tests.reference.worlds import worlds_of
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.errors import AquaMendError, ImpossibleEvidence, InvalidData, RungAndSilent, SecondAlarm, UnknownName
from aquamend.files import parse_problem, problem_to_data
from aquamend.problem import Redeclared


def data(**rest):
    """Return a problem with two beliefs that a cause each makes wrong, and two monitors."""
    return {
        "format": "aquamend-problem/1",
        "beliefs": [
            {"name": "map", "residual": 20},
            {"name": "floor", "residual": 10, "declared": 3},
        ],
        "actions": [{"name": "drive", "undo": 2, "status": "executed"}],
        "probes": [{"name": "look", "cost": 0.5, "max_uses": 2}],
        "edges": [["map", "drive", "belief_to_action"], ["look", "map", "detection"]],
        "causes": [
            {"name": "shelf_moved", "prior": 0.3, "failed": ["map"]},
            {"name": "wrong_floor", "prior": 0.2, "truth": {"floor": 4}},
        ],
        "kernels": {
            "look": {"outcomes": ["fits", "differs"], "likelihood": {"default": [0.9, 0.1], "map": [0.2, 0.8]}}
        },
        "alarms": {
            "scan": {
                "suspects": ["map"],
                "likelihood": {"map": 0.9, "default": 0.05},
                "again": {"map": 0.7, "default": 0.4},
            },
            "lift": {"suspects": ["floor"], "likelihood": {"floor": 0.8, "default": 0.1}},
        },
    } | rest


@pytest.fixture
def problem():
    return parse_problem(data())


def by_hand(problem, **likelihood):
    """Return the prior times a number for each hypothesis, normalised."""
    mass = problem.model.prior * [likelihood[name.replace(" + ", "_")] for name in problem.model.names]
    return mass / mass.sum()


def test_of_several_monitors_only_those_named_have_rung(problem):
    np.testing.assert_array_equal(InformationState.alarmed(problem).posterior, problem.model.prior)
    rung = InformationState.alarmed(problem, "scan")
    likelihood = {"nothing": 0.05, "shelf_moved": 0.9, "wrong_floor": 0.05, "shelf_moved_wrong_floor": 0.9}
    np.testing.assert_allclose(rung.posterior, by_hand(problem, **likelihood))
    assert (rung.rung, rung.silent, rung.alarms) == (("scan",), (), 1)
    assert "map" in rung.suspects


def test_the_only_monitor_has_rung_unless_somebody_says_otherwise():
    one = parse_problem(data(alarms={"scan": {"likelihood": {"map": 0.9, "default": 0.05}}}))
    assert InformationState.alarmed(one).rung == ("scan",)
    assert InformationState.alarmed(one, ()).rung == ()


def test_a_monitor_that_stayed_silent_is_evidence(problem):
    state = InformationState.alarmed(problem, silent=["lift"])
    likelihood = {"nothing": 0.9, "shelf_moved": 0.9, "wrong_floor": 0.2, "shelf_moved_wrong_floor": 0.2}
    np.testing.assert_allclose(state.posterior, by_hand(problem, **likelihood))
    assert state.silent == ("lift",)
    assert not state.alarm_heard
    assert state.after_silence("lift") is state, "said twice, it tells nothing more"


def test_monitors_and_answers_may_come_in_any_order(problem):
    steps = [
        lambda state: state.after_alarm("scan"),
        lambda state: state.after_silence("lift"),
        lambda state: state.after(Observation("look", "fits")),
    ]
    posteriors = []
    for order in itertools.permutations(steps):
        state = InformationState.start(problem)
        for step in order:
            state = step(state)
        posteriors.append(state.posterior)
        assert state.chance_of_evidence == pytest.approx(0.76 * (0.3 * 0.9 * 0.2 + 0.7 * 0.05 * 0.9))
    for other in posteriors[1:]:
        np.testing.assert_allclose(other, posteriors[0])


def test_silence_belongs_to_what_was_known_at_the_alarm(problem):
    early = InformationState.alarmed(problem, "scan", silent="lift").after(Observation("look", "fits"))
    late = InformationState.alarmed(problem, "scan").after(Observation("look", "fits")).after_silence("lift")
    np.testing.assert_allclose(late.at_alarm, early.at_alarm)
    np.testing.assert_allclose(late.posterior, early.posterior)


def test_an_alarm_counts_once_and_again_only_where_the_model_says_how_likely_that_is(problem):
    twice = InformationState.alarmed(problem, ["scan", "scan"])
    likelihood = {"nothing": 0.02, "shelf_moved": 0.63, "wrong_floor": 0.02, "shelf_moved_wrong_floor": 0.63}
    np.testing.assert_allclose(twice.posterior, by_hand(problem, **likelihood))
    assert twice.alarms == 2
    with pytest.raises(SecondAlarm, match=r"'lift' has already been conditioned on.*alarms\.lift\.again"):
        InformationState.alarmed(problem, ["lift", "lift"])


def test_nothing_can_have_rung_and_stayed_silent(problem):
    with pytest.raises(RungAndSilent, match="'scan' cannot have rung and stayed silent"):
        InformationState.alarmed(problem, "scan", silent="scan")
    with pytest.raises(RungAndSilent):
        InformationState.alarmed(problem, "scan").after_silence("scan")


def test_a_monitor_that_was_silent_may_ring_later_and_is_evidence_then(problem):
    quiet = InformationState.alarmed(problem, "scan", silent="lift")
    rings = quiet.after_alarm("lift")
    likelihood = problem.ringing("lift")
    np.testing.assert_allclose(rings.posterior, quiet.posterior * likelihood / (quiet.posterior @ likelihood))
    assert (rings.rung, rings.silent) == (("scan", "lift"), ())


def test_which_alarm_has_to_be_said_where_there_are_several(problem):
    with pytest.raises(AquaMendError, match="several alarms; say which one: 'scan', 'lift'"):
        InformationState.start(problem).after_alarm()
    with pytest.raises(UnknownName, match="unknown alarm 'torque'; valid names: 'scan', 'lift'"):
        InformationState.alarmed(problem, "torque")


def test_what_no_hypothesis_allows_is_refused_whether_rung_or_silent():
    never = parse_problem(data(alarms={"a": {"likelihood": {"default": 0}}, "b": {"likelihood": {"default": 1}}}))
    with pytest.raises(ImpossibleEvidence, match="alarm of 'a' has probability 0"):
        InformationState.alarmed(never, "a")
    with pytest.raises(ImpossibleEvidence, match="silence of 'b' has probability 0"):
        InformationState.alarmed(never, silent="b")


def redeclared(state, **now):
    """Return the state once these beliefs have been declared again; None repairs."""
    times = {b: new.times for b, new in state.problem.redeclared.items()}
    new = {b: Redeclared(value, times=times.get(b, 0) + 1) for b, value in now.items()}
    return replace(state, problem=replace(state.problem, redeclared={**state.problem.redeclared, **new}))


def test_an_alarm_after_a_correction_is_about_what_is_wrong_now(problem):
    heard = InformationState.alarmed(problem, "scan")
    after = redeclared(heard, map=None).after_alarm("scan")
    np.testing.assert_allclose(after.posterior, heard.posterior, err_msg="the map is right now, whatever happened")
    wrong = redeclared(InformationState.start(problem), floor=4.0).after_alarm("lift")
    likelihood = {"nothing": 0.8, "shelf_moved": 0.8, "wrong_floor": 0.1, "shelf_moved_wrong_floor": 0.1}
    np.testing.assert_allclose(wrong.posterior, by_hand(problem, **likelihood))


def test_a_corrected_belief_is_not_blamed_by_the_next_alarm():
    """With the map corrected, the same monitor points at the other cause, whose probability was 0.3."""
    beliefs = [{"name": "map", "residual": 20}, {"name": "wheels", "residual": 20}]
    hypotheses = [
        {"name": "map_off", "prior": 0.7, "failed": ["map"]},
        {"name": "slipped", "prior": 0.3, "failed": ["wheels"]},
    ]
    alarms = {"scan": {"likelihood": {"map": 0.9, "wheels": 0.9, "default": 0.05}}}
    listed = {"format": "aquamend-problem/1", "beliefs": beliefs, "hypotheses": hypotheses, "alarms": alarms}
    state = InformationState.alarmed(parse_problem(listed))
    assert state.posterior[0] == pytest.approx(0.7)
    after = redeclared(state, map=None).after_alarm("scan")
    assert after.posterior[1] == pytest.approx(0.885, abs=5e-4)


def test_where_no_rule_holds_any_more_a_hypothesis_is_like_one_under_which_the_same_was_wrong():
    alarms = {"scan": {"likelihood": {"nothing": 0.05, "map": 0.9, "floor & not map": 0.5}}}
    state = InformationState.alarmed(parse_problem(data(alarms=alarms)), ())
    row = redeclared(state, map=None).problem.ringing("scan")
    assert dict(zip(state.problem.model.names, row.tolist(), strict=True)) == {
        "nothing": 0.05, "shelf_moved": 0.05, "wrong_floor": 0.5, "shelf_moved + wrong_floor": 0.5,
    }  # fmt: skip


def test_after_a_correction_each_monitor_counts_once_more(problem):
    state = redeclared(InformationState.alarmed(problem, "lift", silent="scan"), floor=4.0)
    assert (state.rung, state.silent, state.alarms) == ((), (), 1)
    after = state.after_alarm("scan").after_alarm("lift")
    assert after.rung == ("scan", "lift")
    with pytest.raises(SecondAlarm):
        after.after_alarm("lift")


def test_a_state_with_monitors_is_written_and_read_back(problem):
    state = redeclared(InformationState.alarmed(problem, ["scan", "scan"], silent="lift"), map=None)
    state = state.after_alarm("scan").after(Observation("look", "fits"))
    again = InformationState.from_data(state.problem, state.to_data())
    assert again.monitored == state.monitored
    assert again.to_data() == state.to_data()
    assert pickle.loads(pickle.dumps(state)).after_silence("lift").silent == ("lift",)
    wrong = state.to_data()
    wrong["monitored"][0]["monitor"] = "bell"
    with pytest.raises(InvalidData, match="has no alarm 'bell'"):
        InformationState.from_data(state.problem, wrong)


def test_a_written_state_that_speaks_of_other_beliefs_is_refused(problem):
    wrong = InformationState.alarmed(problem, "scan").to_data()
    wrong["monitored"][0]["redeclared"] = {"mop": {"value": None, "support": [], "times": 1}}
    with pytest.raises(InvalidData, match="has no belief 'mop'"):
        InformationState.from_data(problem, wrong)


def test_conditions_on_beliefs_survive_being_written_with_the_hypotheses_listed(problem):
    written = parse_problem(problem_to_data(problem))
    for monitor, again in itertools.product(problem.model.monitors, (False, True)):
        for now in ({}, {"map": Redeclared(None)}, {"floor": Redeclared(4.0)}):
            rows = [replace(one, redeclared=now).ringing(monitor, again=again) for one in (problem, written)]
            assert (rows[0] is None) == (rows[1] is None)
            if rows[0] is not None:
                np.testing.assert_array_equal(*rows)


def test_a_written_problem_says_what_its_monitors_do_by_what_is_declared_now():
    tables = {"floor": 0.9, "shelf_moved & not floor": 0.2, "default": 0.05}
    problem = parse_problem(data(alarms={"scan": {"likelihood": tables}}))
    state = redeclared(InformationState.start(problem), floor=4.0)
    beliefs = [replace(b, declared=4.0) if b.name == "floor" else b for b in problem.graph.beliefs]
    truth = [{"floor": 3.0, **h.truth} for h in problem.model.hypotheses]
    hypotheses = [replace(h, truth=t) for h, t in zip(problem.model.hypotheses, truth, strict=True)]
    moved = replace(
        problem,
        graph=replace(problem.graph, beliefs=beliefs),
        model=replace(problem.model, hypotheses=hypotheses),
    )
    assert moved.ringing("scan").tolist() == state.problem.ringing("scan").tolist()
    assert parse_problem(problem_to_data(moved)).ringing("scan").tolist() == moved.ringing("scan").tolist()


def random_tables(rng, problem):
    """Return an alarm table by conditions, as the reference understands them: one belief, or the causes."""
    belief = rng.choice(problem["beliefs"])["name"]
    p, q = rng.choice([0.0, 0.3, 0.9, 1.0]), rng.choice([0.05, 0.5])
    words = [f"{belief}", f"not {belief}", f"{rng.choice(problem['causes'])['name']} & {belief}", "nothing"]
    return {rng.choice(words): p, "default": q}


def test_random_conditions_are_read_as_brute_force_reads_them_after_any_correction():
    tried = 0
    for seed in range(cases(150, 1500)):
        rng = random.Random(seed)
        file = generator._caused_problem(generator.Dice(rng, ties=True))
        file["alarms"] = {name: {"likelihood": random_tables(rng, file)} for name in ("a", "b")}
        file.pop("alarm")
        problem, worlds = parse_problem(file), worlds_of(file)
        chosen = rng.sample(problem.graph.beliefs, rng.randint(0, len(problem.graph.beliefs)))
        values = {b.name: [v.value for v in problem.new_values[problem.graph.belief_index[b.name]]] for b in chosen}
        now = {name: rng.choice(own) for name, own in values.items() if own}
        later = replace(problem, redeclared={b: Redeclared(value) for b, value in now.items()})
        listed = replace(parse_problem(problem_to_data(problem)), redeclared=later.redeclared)
        for name, alarm in file["alarms"].items():
            wanted = ringing(file, worlds, alarm["likelihood"], now)
            np.testing.assert_allclose(later.ringing(name), wanted, err_msg=f"{seed} {name} {now}")
            np.testing.assert_allclose(listed.ringing(name), wanted, err_msg=f"{seed} {name} {now}, written")
            tried += bool(now) and not math.isclose(wanted.max(), wanted.min())
    assert tried > 20
