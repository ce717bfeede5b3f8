"""A probe that repeats itself: exact by splitting hypotheses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import (
    Action,
    Alarm,
    Belief,
    Discrete,
    Exact,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Observation,
    Plan,
    Probe,
    Problem,
    RecoveryGraph,
    best_terminal,
    evaluate,
)  # fmt: skip
from aquamend.errors import InvalidProblem
from aquamend.modelling import with_persistent_errors


def problem(p, q, *, cost=0.5, kernel=None):
    graph = RecoveryGraph(
        [Belief("b", 20.0)],
        [Action("a", undo=6.0, executed=True)],
        [Probe("look", cost, max_uses=2, accuracy={"default": 0.9, "bad": 0.5})],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    hypotheses = [Hypothesis("good", 0.6), Hypothesis("bad", 0.4, ["b"])]
    kernel = kernel or Discrete(["yes", "no"], {"good": [p, 1 - p], "bad": [q, 1 - q]})
    plan = Plan("other", np.array([9.0, 7.0]))
    return Problem(graph, JointModel(hypotheses, {"look": kernel}, Alarm({"good": 0.5, "bad": 1.0})), plans=[plan])


@settings(max_examples=80, deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.0, 1.0))
def test_answers_follow_the_law_that_is_promised(p, q, share):
    persistent = with_persistent_errors(problem(p, q), {"look": share})
    state, plain = InformationState.alarmed(persistent), InformationState.alarmed(problem(p, q))
    row = {"yes": np.array([p, q]), "no": np.array([1 - p, 1 - q])}
    for first in ("yes", "no"):
        once, before = state.after(Observation("look", first)), plain.after(Observation("look", first))
        assert once.failure_probabilities == pytest.approx(before.failure_probabilities), "one answer is as it was"
        for second in ("yes", "no"):
            joint = plain.posterior * row[first] * (share * (first == second) + (1 - share) * row[second])
            if joint.sum() > 1e-9:
                twice = once.after(Observation("look", second))
                assert twice.failure_probabilities[0] == pytest.approx(joint[1] / joint.sum(), abs=1e-9)


def test_all_that_is_said_of_a_hypothesis_is_said_of_its_parts():
    split = with_persistent_errors(problem(0.9, 0.2), {"look": 0.5})
    assert split.model.names == (
        "good", "good, look keeps saying yes", "good, look keeps saying no",
        "bad", "bad, look keeps saying yes", "bad, look keeps saying no",
    )  # fmt: skip
    assert split.plans[0].loss.tolist() == [9.0] * 3 + [7.0] * 3
    assert split.accuracy[:, 0].tolist() == [0.9] * 3 + [0.5] * 3
    assert best_terminal(InformationState.alarmed(split)).loss == pytest.approx(
        best_terminal(InformationState.alarmed(problem(0.9, 0.2))).loss
    )


def test_asking_a_probe_that_repeats_itself_again_is_worth_nothing():
    alone = Problem(
        **{**vars_of(problem(0.8, 0.3)), "graph": once(problem(0.8, 0.3).graph)}
    )  # fmt: skip
    stubborn = with_persistent_errors(problem(0.8, 0.3), {"look": 1.0})
    found = [evaluate(Exact(), InformationState.alarmed(p)).expected_loss for p in (alone, stubborn)]
    assert found[0] == pytest.approx(found[1])


def vars_of(p):
    return {"model": p.model, "plans": p.plans}


def once(graph):
    return RecoveryGraph(
        graph.beliefs, graph.actions, [Probe("look", 0.5, max_uses=1)], graph.edges
    )  # fmt: skip


def test_a_probe_that_reads_a_number_does_not_repeat_itself():
    with pytest.raises(InvalidProblem, match=r"probes\[0\].persistent: the probe reads a number"):
        with_persistent_errors(problem(0, 0, kernel=Gaussian({"good": [0, 1], "bad": [1, 1]})), {"look": 0.1})
