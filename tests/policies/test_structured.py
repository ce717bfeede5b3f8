"""The structured policy: the three-way rule where it applies, refusal where it does not."""

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import Continue, Reprobe, RollBack
from aquamend.errors import NotStructured
from aquamend.policies import AquaMend, Structured, evaluate
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel

SHARP = Discrete(["ok", "bad"], {"on": [1, 0], "off": [0, 1]})


def lid(*, q, undo, cost, residual=10.0, may_keep=True, kernel=SHARP):
    graph = RecoveryGraph(
        [Belief("lid", residual, may_keep)],
        [Action("lift", undo=undo, executed=True)],
        [Probe("look", cost)],
        [("look", "lid", "detection"), ("lid", "lift", "belief_to_action")],
    )
    model = JointModel([Hypothesis("on", 1 - q), Hypothesis("off", q, ("lid",))], {"look": kernel})
    return InformationState.alarmed(Problem(graph, model))


@pytest.mark.parametrize(
    ("q", "undo", "cost", "step"),
    [
        (0.5, 4.0, 1.99, Reprobe("look")),  # r < (1 − q)B = 2
        (0.5, 4.0, 2.0, RollBack(("lid",), ("lift",))),  # a tie commits
        (0.5, 4.0, 2.01, RollBack(("lid",), ("lift",))),
        (0.1, 4.0, 0.59, Reprobe("look")),  # keep costs 1, the probe 0.59 + 0.4
        (0.1, 4.0, 0.61, Continue()),
        (0.3, 20.0, 0.01, Continue()),  # B > L: probing cannot beat keeping
        (0.0, 4.0, 0.0, Continue()),
        (1.0, 4.0, 0.0, RollBack(("lid",), ("lift",))),
    ],
)
def test_the_least_of_keep_roll_back_and_re_probe_is_chosen(q, undo, cost, step):
    assert Structured().next_step(lid(q=q, undo=undo, cost=cost)) == step


def test_a_belief_that_may_not_be_kept_is_probed_below_the_threshold_and_rolled_back_above():
    assert Structured().next_step(lid(q=0.5, undo=40.0, cost=19.9, may_keep=False)) == Reprobe("look")
    assert Structured().next_step(lid(q=0.5, undo=40.0, cost=20.1, may_keep=False)) == RollBack(("lid",), ("lift",))


def test_the_answer_is_acted_on():
    state = lid(q=0.5, undo=4.0, cost=1.0)
    assert Structured().next_step(state.after(Observation("look", "ok"))) == Continue()
    assert Structured().next_step(state.after(Observation("look", "bad"))) == RollBack(("lid",), ("lift",))
    assert evaluate(Structured(), state).expected_loss == pytest.approx(1.0 + 0.5 * 4.0)


def test_it_refuses_by_naming_what_fails():
    noisy = Discrete(["ok", "bad"], {"on": [0.9, 0.1], "off": [0.1, 0.9]})
    with pytest.raises(NotStructured, match=r"(?s)does not apply:.*Assumption 3.*'lid'") as error:
        Structured().next_step(lid(q=0.5, undo=4.0, cost=1.0, kernel=noisy))
    assert len(error.value.violations) == 1


def test_the_optional_branch_of_aquamend_decides_so_and_falls_back_where_the_rule_refuses():
    structured = lid(q=0.5, undo=4.0, cost=1.0)
    assert AquaMend(use_structured_branch=True).next_step(structured) == Structured().next_step(structured)
    noisy = lid(q=0.5, undo=4.0, cost=0.1, kernel=Discrete(["ok", "bad"], {"on": [0.9, 0.1], "off": [0.1, 0.9]}))
    assert AquaMend(use_structured_branch=True).next_step(noisy) == AquaMend().next_step(noisy)


def test_the_branch_resolves_several_beliefs_that_one_step_ahead_treats_alike():
    """Belief by belief the rule probes; AquaMend without the branch finds the same first probe here."""
    state = lid(q=0.5, undo=4.0, cost=1.0)
    assert AquaMend().next_step(state) == AquaMend(use_structured_branch=True).next_step(state) == Reprobe("look")
