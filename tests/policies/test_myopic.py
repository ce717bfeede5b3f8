"""AquaMend's own step: the probe with the largest positive net benefit, else the best stop."""

import math
from dataclasses import replace

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Escalate, Reprobe, RollBack
from aquamend.planning.exact import solve
from aquamend.policies import AquaMend, Considered, Exact, LinearChain, Lookahead, NoReprobe, considered_by, planners
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Coverage, Discrete, FitGroup, Hypothesis, JointModel

SHARP = Discrete(["ok", "bad"], {"on": [1, 0], "off": [0, 1]})
NOISY = Discrete(["ok", "bad"], {"on": [0.9, 0.1], "off": [0.1, 0.9]})
PLANNERS = [AquaMend(), Lookahead(2), Exact()]


def lid(*probes, kernels=None, reversible=True, may_keep=True, p=0.5, **rest):
    """Return a belief failed with probability 1/2, corrected for 4: perfect information is worth 2."""
    graph = RecoveryGraph(
        [Belief("lid", 10.0, may_keep)],
        [Action("lift", undo=4.0, executed=True, reversible=reversible)],
        probes,
        [("lid", "lift", "belief_to_action"), *((probe.name, "lid", "detection") for probe in probes)],
    )
    model = JointModel(
        [Hypothesis("on", 1 - p), Hypothesis("off", p, ("lid",))], kernels or {probe.name: SHARP for probe in probes}
    )
    return InformationState.alarmed(Problem(graph, model, **rest))


@pytest.mark.parametrize("policy", PLANNERS)
def test_a_probe_runs_only_if_its_net_benefit_exceeds_a_billionth(policy):
    stop = RollBack(("lid",), ("lift",))
    assert policy.next_step(lid(Probe("look", 2.0))) == stop
    assert policy.next_step(lid(Probe("look", 2.0 - 5e-10))) == stop
    assert policy.next_step(lid(Probe("look", 2.0 - 5e-9))) == Reprobe("look")
    assert policy.next_step(lid(Probe("look", 2.1))) == stop
    assert policy.next_step(lid()) == stop


@pytest.mark.parametrize("policy", PLANNERS)
def test_among_equal_probes_the_first_in_the_graph_runs(policy):
    assert policy.next_step(lid(Probe("a", 0.5), Probe("b", 0.5))) == Reprobe("a")
    assert policy.next_step(lid(Probe("b", 0.5), Probe("a", 0.5))) == Reprobe("b")
    assert policy.next_step(lid(Probe("a", 0.5 + 5e-10), Probe("b", 0.5))) == Reprobe("a")
    assert policy.next_step(lid(Probe("a", 0.5 + 5e-9), Probe("b", 0.5))) == Reprobe("b")


def test_the_larger_benefit_wins_over_the_larger_information():
    """Sharp: 1.5 + 2; noisy: 0.1 + 0.05·10 + 0.5·4."""
    state = lid(Probe("sharp", 1.5), Probe("noisy", 0.1), kernels={"sharp": SHARP, "noisy": NOISY})
    assert AquaMend().next_step(state) == Reprobe("noisy")


def test_it_looks_again_exactly_where_a_second_answer_could_still_change_the_decision():
    """After bad (q = 0.9) it corrects whatever a second look says; after ok (q = 0.1) a bad one would turn it."""
    state = lid(Probe("look", 0.1, max_uses=2), kernels={"look": NOISY})
    bad, ok = state.after(Observation("look", "bad")), state.after(Observation("look", "ok"))
    assert AquaMend().next_step(state) == Reprobe("look")
    assert AquaMend().next_step(bad) == RollBack(("lid",), ("lift",))
    assert AquaMend().next_step(ok) == Reprobe("look")
    assert AquaMend().next_step(ok.after(Observation("look", "ok"))) == Continue()
    assert AquaMend().next_step(ok.after(Observation("look", "bad"))) == RollBack(("lid",), ("lift",))


def test_an_irreversible_correction_is_probed_to_rule_out_a_false_alarm_and_else_escalated():
    state = lid(Probe("look", 0.5), reversible=False, may_keep=False, escalate=30.0)
    assert AquaMend().next_step(state) == Reprobe("look")
    assert AquaMend().next_step(state.after(Observation("look", "ok"))) == Continue()
    assert AquaMend().next_step(state.after(Observation("look", "bad"))) == Escalate()


@pytest.mark.parametrize("policy", PLANNERS)
def test_no_probe_runs_where_nothing_after_it_is_finite(policy):
    """One answer would still leave an infinite loss, so the expected loss is infinite with the probe or without."""
    state = lid(Probe("look", 0.5), reversible=False, may_keep=False)
    assert policy.next_step(state) == Escalate()
    assert math.isinf(AquaMend().bounds(state).upper)


# What is evaluated, with the power screen and without.


def screened(*, covered=True):
    """Return a belief with a sharp dear probe and a noisy cheap one, which has the most power per cost."""
    groups = tuple(FitGroup(name, ("sharp", "noisy"), (0.0,), (0.0,)) for name in ("first", "second"))
    records = Coverage("T1", ("T1",) if covered else (), groups, (0.0,), (0.0,))
    return lid(
        Probe("sharp", 0.3), Probe("noisy", 0.25), kernels={"sharp": SHARP, "noisy": NOISY}, coverage=records, p=0.4
    )


def test_where_records_cover_the_situation_aquamend_screens_and_all_candidates_does_not():
    """Power over cost: 1 / 0.3 to 0.9 / 0.25, so the screen leaves out the probe that is worth more."""
    assert AquaMend().candidates(screened()) == ("noisy",)
    assert AquaMend().next_step(screened()) == Reprobe("noisy")
    assert AquaMend(screen=None).next_step(screened()) == Reprobe("sharp")
    assert AquaMend().next_step(screened(covered=False)) == Reprobe("sharp")


def test_aquamend_counts_what_it_looked_at():
    assert AquaMend().considered(screened()) == Considered(legal=2, evaluated=1, screened=1, branches=2)
    assert AquaMend(screen=None).considered(screened()) == Considered(2, 2, 0, 4)
    assert AquaMend().considered(screened(covered=False)) == Considered(2, 2, 0, 4)
    resolved = screened().after(Observation("sharp", "ok"))  # one answer of the other probe is as possible as ever
    assert AquaMend(screen=None).considered(resolved) == Considered(1, 1, 0, 2)


def test_any_policy_is_counted_by_all_legal_probes_or_by_none():
    assert considered_by(AquaMend(), screened()) == AquaMend().considered(screened())
    assert considered_by(Exact(), screened()) == Considered(2, 2, 0, 4)
    assert considered_by(NoReprobe(), screened()) == Considered(2, 0, 0, 0)
    assert considered_by(LinearChain(), screened()) == Considered(2, 1, 1, 2)


def test_the_plan_of_the_first_state_answers_for_all_that_follow(monkeypatch):
    solved = []
    monkeypatch.setattr(planners, "solve", lambda state: solved.append(state) or solve(state))
    state = lid(Probe("look", 0.1, max_uses=3), kernels={"look": NOISY})
    policy = Exact()
    again = policy.next_step(state.after(Observation("look", "ok")))
    assert again == policy.next_step(state.after(Observation("look", "ok"))) == Reprobe("look")
    assert policy.bounds(state.after(Observation("look", "bad"))).gap == 0.0
    assert solved == [state]
    assert again == Exact().next_step(replace(state.after(Observation("look", "ok")), origin=None))
