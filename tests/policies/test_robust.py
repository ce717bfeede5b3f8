"""The robust policy: its worst case is that of a linear program, and safety has its price."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from aquamend import (
    Action,
    AquaMend,
    Belief,
    Continue,
    Discrete,
    Hypothesis,
    InformationState,
    JointModel,
    Probe,
    Problem,
    RecoveryGraph,
    Reprobe,
    RollBack,
    evaluate,
    policy_named,
)  # fmt: skip
from aquamend.policies.myopic import Robust, worst_case
from aquamend.policies.registry import name_of
from aquamend.testing import check_policy

numbers = st.lists(st.tuples(st.integers(1, 9), st.floats(0, 50)), min_size=2, max_size=5)


def by_linear_program(p, loss, radius):
    """Maximise p' · loss over p' = p + a − b with a, b ≥ 0, Σa = Σb ≤ radius, p' ≥ 0."""
    n = len(p)
    found = linprog(
        -np.concatenate([loss, -loss]),
        A_ub=np.vstack([np.hstack([np.ones(n), np.zeros(n)]), np.hstack([-np.eye(n), np.eye(n)])]),
        b_ub=np.concatenate([[radius], p]),
        A_eq=np.hstack([np.ones(n), -np.ones(n)])[None, :],
        b_eq=[0.0],
    )
    return float(p @ loss) - found.fun


@settings(max_examples=100, deadline=None)
@given(numbers, st.floats(0, 1))
def test_the_worst_case_is_that_of_a_linear_program(given_, radius):
    weights, loss = (np.array(x, dtype=float) for x in zip(*given_, strict=True))
    p = weights / weights.sum()
    assert worst_case(p, loss, radius) == pytest.approx(by_linear_program(p, loss, radius), abs=1e-6)


def state(q=0.1, cost=0.5):
    graph = RecoveryGraph(
        [Belief("b", 40.0)],
        [Action("a", undo=6.0, executed=True)],
        [Probe("look", cost)],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    hypotheses = [Hypothesis("good", 1 - q), Hypothesis("bad", q, ["b"])]
    kernel = Discrete(["y", "n"], {"good": [0.9, 0.1], "bad": [0.2, 0.8]})
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"look": kernel})))


def test_a_radius_of_nothing_decides_as_aquamend_does():
    for q in (0.05, 0.1, 0.3, 0.6, 0.9):
        for cost in (0.1, 1.0, 5.0):
            assert Robust(0.0).next_step(state(q, cost)) == AquaMend().next_step(state(q, cost))


def test_what_an_answer_makes_less_probable_than_any_number_may_still_not_be_kept():
    """The lid is put back whatever is seen, since no answer rules out that it is off; for the level, looking pays."""
    graph = RecoveryGraph(
        [Belief("level", 40.0), Belief("lid", 5.0, may_keep=False)],
        [Action("pour", undo=6.0, executed=True), Action("lift", undo=1.0, executed=True)],
        [Probe("look", 0.5)],
        [("look", "level", "detection"), ("level", "pour", "belief_to_action"), ("lid", "lift", "belief_to_action")],
    )
    hypotheses = [Hypothesis("good", 0.5), Hypothesis("bad", 0.5, ["level"]), Hypothesis("off", 1e-200, ["lid"])]
    kernel = Discrete(["y", "n"], {"good": [1, 0], "bad": [0, 1], "off": [1e-200, 1]})
    here = InformationState.alarmed(Problem(graph, JointModel(hypotheses, {"look": kernel})))
    assert AquaMend().next_step(here) == Reprobe("look")
    weighed = Robust(0.0).weighed(here)
    assert weighed.step == Reprobe("look")
    assert weighed.worst == pytest.approx(0.5 + 1.0 + 0.5 * 6.0)


def test_safety_undoes_where_the_posterior_alone_would_carry_on_and_has_its_price():
    here = state(0.1, cost=9.0)
    assert AquaMend().next_step(here) == Continue()
    weighed = Robust(0.1).weighed(here)
    assert isinstance(weighed.step, RollBack)
    assert weighed.worst == pytest.approx(6.0), "carrying on would cost up to 0.2 · 40"
    assert weighed.price == pytest.approx(6.0 - 4.0)


def test_it_is_a_sound_policy_with_a_name():
    policy = policy_named("robust-0.1")
    assert name_of(policy) == "robust-0.1"
    assert policy_named(name_of(Robust(1e-7))) == Robust(1e-7), "its settings are told"
    check_policy(Robust(0.2))
    assert evaluate(Robust(0.3), state()).expected_loss >= evaluate(AquaMend(), state()).expected_loss


@pytest.mark.parametrize("name", ["robust-2", "robust-", "robust--1", "robust-x"])
def test_a_radius_that_is_none_is_refused(name):
    with pytest.raises(ValueError, match="unknown policy"):
        policy_named(name)
