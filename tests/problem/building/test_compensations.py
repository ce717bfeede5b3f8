"""Compensations priced as by writing every combination out."""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend import Action, Belief, Hypothesis, InformationState, JointModel, Problem, RecoveryGraph, best_terminal
from aquamend.errors import InvalidProblem
from aquamend.problem.building import Compensation, with_compensations

NAMES = ("dose", "tube", "label")


@st.composite
def problems(draw):
    beliefs = [Belief(name, draw(st.sampled_from([0.0, 5.0, 30.0]))) for name in NAMES]
    actions = [
        Action("dispense", undo=2.0, executed=True, reversible=draw(st.booleans()), undo_succeeds=0.8),
        Action("cap", undo=3.0, executed=True),
    ]
    edges = [(b, a.name, "belief_to_action") for b in NAMES for a in actions if draw(st.booleans())]
    hypotheses = [Hypothesis(f"h{s}", 0.25, [b for b in NAMES if draw(st.booleans())]) for s in range(4)]
    problem = Problem(RecoveryGraph(beliefs, actions, [], edges), JointModel(hypotheses), escalate=60.0)
    compensations = [
        Compensation(
            f"k{k}", draw(st.sampled_from([0.5, 4.0])),
            draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)),
            draw(st.sampled_from([0.5, 1.0])),
        )
        for k in range(draw(st.integers(0, 2)))
    ]  # fmt: skip
    return problem, compensations


@settings(max_examples=150, deadline=None)
@given(problems())
def test_every_combination_with_undoing_is_priced(given_):
    problem, compensations = given_
    graph = problem.graph
    state = InformationState.alarmed(with_compensations(problem, compensations))
    losses = [60.0]
    for used in itertools.product([False, True], repeat=len(compensations)):
        for undone in itertools.product([False, True], repeat=len(NAMES)):
            corrected = [b for b, u in zip(NAMES, undone, strict=True) if u]
            loss = graph.correction_cost(corrected) + sum(k.cost for k, u in zip(compensations, used, strict=True) if u)
            for i, belief in enumerate(graph.beliefs):
                left = 1.0 - graph.undo_chances[i] if undone[i] else 1.0
                for k, u in zip(compensations, used, strict=True):
                    left *= 1.0 - k.succeeds if u and belief.name in k.correct else 1.0
                loss += belief.residual * left * float(state.posterior @ problem.failed[:, i])
            losses.append(loss)
    assert best_terminal(state).loss == pytest.approx(min(losses))


def test_an_irreversible_action_can_be_made_up_for():
    graph = RecoveryGraph(
        [Belief("dose", 100.0, may_keep=False), Belief("tube", 20.0)],
        [Action("dispense", executed=True, reversible=False), Action("cap", undo=2.0, executed=True)],
        [],
        [("dose", "dispense", "belief_to_action"), ("tube", "cap", "belief_to_action")],
    )
    model = JointModel([Hypothesis("nothing", 0.5), Hypothesis("wrong", 0.5, ["dose", "tube"])])
    state = InformationState.alarmed(
        with_compensations(Problem(graph, model, escalate=90.0), [Compensation("dilute", 7.0, ["dose"])])
    )
    best = best_terminal(state)
    assert best.loss == pytest.approx(9.0)
    assert best.decision.plan == "dilute and correct tube"
    assert best.decision.correct == ("dose", "tube")
    assert best.decision.undo == ("cap",)


def test_what_may_not_be_kept_may_be_corrected_by_a_try_that_can_fail_as_by_undoing():
    graph = RecoveryGraph(
        [Belief("plate", 50.0, may_keep=False), Belief("dose", 30.0)],
        [Action("load", undo=2.0, executed=True, undo_succeeds=0.9), Action("pour", executed=True, reversible=False)],
        [],
        [("plate", "load", "belief_to_action"), ("dose", "pour", "belief_to_action")],
    )
    model = JointModel([Hypothesis("nothing", 0.5), Hypothesis("wrong", 0.5, ["plate", "dose"])])
    problem = with_compensations(Problem(graph, model), [Compensation("top up", 4.0, ["dose"], 0.8)])
    best = best_terminal(InformationState.alarmed(problem))
    assert best.loss == pytest.approx(4.0 + 2.0 + 0.5 * (50.0 * 0.1 + 30.0 * 0.2))
    assert best.decision.plan == "top up and correct plate"


@pytest.mark.parametrize(
    ("compensation", "said"),
    [
        (Compensation("k", -1.0, ["dose"]), "-1.0 is not a finite cost"),
        (Compensation("k", math.inf, ["dose"]), "inf is not a finite cost"),
        (Compensation("k", 1.0, ["doze"]), "'doze' is not a belief; did you mean 'dose'"),
        (Compensation("k", 1.0, []), "name the beliefs that it corrects"),
        (Compensation("k", 1.0, ["dose"], 0.0), "0.0 is not a chance of success"),
    ],
)
def test_a_compensation_that_cannot_be_meant_is_refused(compensation, said):
    problem = Problem(RecoveryGraph([Belief("dose", 1.0)]), JointModel([Hypothesis("h", 1.0)]))
    with pytest.raises(InvalidProblem) as caught:
        with_compensations(problem, [compensation])
    assert said in str(caught.value)
