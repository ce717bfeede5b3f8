"""The information state: one alarm, legal probes, contradictions, attribution."""

import math

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation
from aquamend.errors import AquaMendError, IllegalProbe, ImpossibleEvidence, SecondAlarm, UnknownName
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, RecoveryGraph
from aquamend.problem.model import Cause, Discrete, Gaussian, Hypothesis, JointModel

LOOK = Discrete(["y", "n", "never"], {"ok": [1, 0, 0], "bad": [0, 1, 0]})
NOISY = Discrete(["y", "n"], {"ok": [0.8, 0.2], "bad": [0.3, 0.7]})
WEIGH = Gaussian({"ok": (0.0, 1.0), "bad": (4.0, 0.5)})
WITHOUT_GLITCHES = Gaussian({"ok": (0.0, 1.0), "bad": (4.0, 0.5)}, outliers=0.0)


def test_the_alarm_conditions_the_prior_once(start):
    state = start({}, bad=0.25, alarm=(0.2, 0.9))
    assert not state.alarm_heard
    assert state.posterior[1] == 0.25
    heard = state.after_alarm()
    assert heard.alarm_heard
    assert heard.posterior[1] == pytest.approx(0.25 * 0.9 / (0.25 * 0.9 + 0.75 * 0.2))
    np.testing.assert_array_equal(InformationState.alarmed(state.problem).posterior, heard.posterior)


def test_a_second_alarm_is_refused_also_after_an_answer(start):
    state = start({"look": NOISY}, alarm=(0.2, 0.9)).after_alarm()
    with pytest.raises(SecondAlarm, match="counts once"):
        state.after_alarm()
    with pytest.raises(SecondAlarm):
        state.after(Observation("look", "y")).after_alarm()


def test_a_problem_without_an_alarm_starts_from_its_prior_and_has_none_to_hear(start):
    state = start({}, bad=0.25)
    np.testing.assert_array_equal(InformationState.alarmed(state.problem).posterior, [0.75, 0.25])
    with pytest.raises(AquaMendError, match="alarm"):
        state.after_alarm()


def test_an_alarm_that_the_evidence_excludes_is_an_error(start):
    state = start({"look": LOOK}, alarm=(0.0, 0.9)).after(Observation("look", "y"))
    with pytest.raises(ImpossibleEvidence, match="probability 0"):
        state.after_alarm()


def test_a_state_is_not_changed_by_what_follows_it(start):
    state = start({"look": NOISY}, uses=2, alarm=(0.2, 0.9))
    state.after_alarm().after(Observation("look", "n"))
    assert not state.alarm_heard
    assert state.evidence == ()
    np.testing.assert_array_equal(state.posterior, [0.5, 0.5])
    with pytest.raises(ValueError, match="read-only"):
        state.after(Observation("look", "n")).posterior[0] = 1.0


@pytest.mark.parametrize(
    ("kernel", "outcome"),
    [
        (LOOK, "never"),
        (WITHOUT_GLITCHES, 100.0),
        (WITHOUT_GLITCHES, -39.0),
        (WITHOUT_GLITCHES, 1e300),
    ],
)
def test_evidence_that_no_hypothesis_allows_is_a_contradiction_and_attributed_to_the_unknown(start, kernel, outcome):
    state = start({"p": kernel}, uses=2, alarm=(0.5, 0.5)).after_alarm()
    after = state.after(Observation("p", outcome))
    assert after.contradiction == Observation("p", outcome)
    assert after.attribution == {cause: float(cause is Cause.UNKNOWN) for cause in Cause}
    assert after.legal_probes == ()
    np.testing.assert_array_equal(after.failure_probabilities, [1.0, 1.0])
    assert after.attributed_to is Cause.UNKNOWN
    assert after.invalidity is None
    assert np.isfinite(after.posterior).all()
    assert after.suspects == ("b", "c")


def test_an_answer_that_only_ruled_out_hypotheses_could_give_is_a_contradiction(start):
    state = start({"look": LOOK}, uses=2).after(Observation("look", "y"))
    assert state.contradiction is None
    assert state.after(Observation("look", "n")).contradiction == Observation("look", "n")


@pytest.mark.parametrize("reading", [-8.01, 8.01, 100.0, -1e9, 1e300])
def test_no_reading_contradicts_a_model_that_knows_of_glitches(start, reading):
    for bad in (0.0, 0.5, 1.0):
        after = start({"p": WEIGH}, bad=bad).after(Observation("p", reading))
        assert after.contradiction is None
        assert after.posterior.sum() == pytest.approx(1)


def test_without_glitches_a_reading_is_impossible_only_beyond_38_deviations_of_every_possible_hypothesis(start):
    state = start({"p": WITHOUT_GLITCHES})
    assert state.after(Observation("p", -37.0)).contradiction is None
    assert state.after(Observation("p", 22.0)).contradiction is None
    assert state.after(Observation("p", -39.0)).contradiction is not None
    assert state.after(Observation("p", 39.0)).contradiction is not None
    certain = start({"p": WITHOUT_GLITCHES}, bad=0.0)
    assert certain.after(Observation("p", 37.0)).contradiction is None
    assert certain.after(Observation("p", 39.0)).contradiction is not None
    assert start({"p": WITHOUT_GLITCHES}, bad=1.0).after(Observation("p", 4.0 - 20.0)).contradiction is not None


def test_a_far_reading_underflows_to_a_certain_posterior_and_never_to_nan(start):
    for outliers, slack in ((0.0, 0.0), (1e-9, 1e-12)):
        state = start({"p": Gaussian({"ok": (0.0, 1e-3), "bad": (1e6, 1.0)}, outliers)})
        np.testing.assert_allclose(state.after(Observation("p", 1e6)).posterior, [0.0, 1.0], atol=slack)
        np.testing.assert_allclose(state.after(Observation("p", 0.0)).posterior, [1.0, 0.0], atol=slack)


def test_evidence_after_a_contradiction_is_recorded_and_the_contradiction_stays(start):
    state = start({"look": LOOK}, uses=3).after(Observation("look", "never")).after(Observation("look", "y"))
    assert state.contradiction == Observation("look", "never")
    assert state.uses == {"look": 2}
    assert state.attribution[Cause.UNKNOWN] == 1.0


def test_attribution_sums_the_posterior_by_cause(start):
    state = start({"look": NOISY}, bad=0.25).after(Observation("look", "n"))
    external = 0.25 * 0.7 / (0.25 * 0.7 + 0.75 * 0.2)
    assert state.attribution[Cause.EXTERNAL] == pytest.approx(external)
    assert state.attribution[Cause.FALSE_ALARM] == pytest.approx(1 - external)
    assert state.attribution[Cause.SELF_ERROR] == state.attribution[Cause.UNKNOWN] == 0.0


@pytest.mark.parametrize(
    ("priors", "cause"),
    [
        ((0.4, 0.3, 0.3), None),
        ((0.49999, 0.25001, 0.25), None),
        ((0.5, 0.25, 0.25), Cause.EXTERNAL),
        ((0.1, 0.2, 0.7), Cause.FALSE_ALARM),
    ],
)
def test_the_attribution_is_unresolved_where_no_cause_is_at_least_as_likely_as_not(priors, cause):
    causes = ("external", "self_error", "false_alarm")
    hypotheses = [Hypothesis(c, p, cause=c) for c, p in zip(causes, priors, strict=True)]
    state = InformationState.start(Problem(RecoveryGraph([Belief("b")]), JointModel(hypotheses)))
    assert state.attributed_to is cause


def test_two_hypotheses_of_one_cause_resolve_the_attribution_together():
    hypotheses = [
        Hypothesis("water", 0.3, cause="external"),
        Hypothesis("swap", 0.25, cause="external"),
        Hypothesis("glare", 0.45, cause="self_error"),
    ]
    state = InformationState.start(Problem(RecoveryGraph([Belief("b")]), JointModel(hypotheses)))
    assert state.attributed_to is Cause.EXTERNAL


def test_a_probe_is_legal_until_its_uses_are_spent(start):
    state = start({"look": NOISY, "peek": NOISY}, uses=2)
    once = state.after(Observation("look", "y"))
    twice = once.after(Observation("look", "y"))
    assert once.legal_probes == ("look", "peek")
    assert twice.legal_probes == ("peek",)
    with pytest.raises(IllegalProbe, match="all 2 uses are spent") as error:
        twice.after(Observation("look", "y"))
    assert error.value.probe == "look"


def test_a_probe_of_no_uses_is_never_legal_and_one_of_endless_uses_always(start):
    assert start({"look": NOISY}, uses=0).legal_probes == ()
    state = start({"look": NOISY}, uses=math.inf)
    for _ in range(20):
        state = state.after(Observation("look", "y"))
    assert state.legal_probes == ("look",)


def test_three_probes_of_a_tenth_fit_a_budget_of_three_tenths(start):
    state = start({"look": NOISY}, uses=9, cost=0.1, budget=0.3)
    for _ in range(3):
        assert state.legal_probes == ("look",)
        state = state.after(Observation("look", "y"))
    assert state.legal_probes == ()
    assert state.spent == pytest.approx(0.3)
    with pytest.raises(IllegalProbe, match=r"costs 0.1, and 0.3 of the sensing budget 0.3"):
        state.after(Observation("look", "y"))


def test_a_tenth_and_two_tenths_fit_a_budget_of_three_tenths_to_the_last_bit(start):
    state = start({"look": NOISY}, uses=9, cost=0.2, budget=0.1 + 0.2 - 1e-10)
    assert state.after(Observation("look", "y")).legal_probes == ()
    assert start({"look": NOISY}, cost=0.1 + 0.2, budget=0.3).legal_probes == ("look",)
    assert start({"look": NOISY}, cost=0.3 + 1e-8, budget=0.3).legal_probes == ()


@pytest.mark.parametrize(
    ("cost", "uses", "budget", "runs"),
    [
        (0.1, 9, 0.3, 3),
        (0.1, 2, 0.3, 2),
        (0.1, 9, math.inf, 9),
        (0.0, 4, 0.0, 4),
        (0.0, math.inf, 1.0, math.inf),
        (1e-300, math.inf, 4.0, math.inf),
        (1e-300, 10**9, 4.0, 10**9),
        (5e-324, 3, 1e300, 3),
        (5e-324, math.inf, 1.0, math.inf),
        (1e-9, math.inf, 1e300, math.inf),
        (2.0, 5, 1.0, 0),
    ],
)
@pytest.mark.filterwarnings("error")
def test_how_often_a_probe_could_run_is_bounded_by_its_uses_and_by_the_budget_at_any_cost(
    start, cost, uses, budget, runs
):
    view = start({"look": NOISY}, uses=uses, cost=cost, budget=budget).probe("look")
    assert view.most_runs == runs or (runs == math.inf and view.most_runs > 1e15)
    assert view.legal == (runs > 0)


def test_a_probe_as_it_stands_knows_its_cost_its_place_and_the_uses_left(start):
    state = start({"look": NOISY, "weigh": WEIGH}, uses=2, cost=0.25, budget=1.0).after(Observation("weigh", 1.0))
    view = state.probe("weigh")
    assert (view.name, view.index, view.cost, view.uses_left) == ("weigh", 1, 0.25, 1)
    assert view.budget_left == pytest.approx(0.75)
    assert view.channel is state.problem.model.channels["weigh"]
    assert [v.name for v in state.legal] == list(state.legal_probes) == ["look", "weigh"]
    assert state.answered.tolist() == [False, True]


def test_every_state_remembers_where_its_observations_began(start):
    alarmed = start({"look": NOISY}, uses=3, alarm=(0.2, 0.9)).after_alarm()
    assert alarmed.origin is None
    once = alarmed.after(Observation("look", "y"))
    assert once.origin is alarmed
    assert once.after(Observation("look", "n")).origin is alarmed


def test_an_unknown_probe_outcome_or_reading_lists_what_is_valid(start):
    state = start({"look": NOISY, "weigh": WEIGH})
    with pytest.raises(UnknownName, match=r"probe 'lok'.*'look', 'weigh'"):
        state.after(Observation("lok", "y"))
    with pytest.raises(UnknownName, match=r"outcome of probe 'look' 'maybe'.*'y', 'n'"):
        state.after(Observation("look", "maybe"))
    for reading in ("heavy", math.nan, math.inf):
        with pytest.raises(UnknownName, match="a number"):
            state.after(Observation("weigh", reading))


def test_suspects_are_those_flagged_and_those_that_may_have_failed(start):
    flagged = start({}, bad=0.0, alarm=(0.5, 0.5))
    assert flagged.suspects == ()
    assert flagged.after_alarm().suspects == ("b",)
    assert start({}, bad=0.5).suspects == ("b",)
    assert start({}, bad=0.0).suspects == ()
