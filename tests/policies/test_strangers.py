"""What other people's policies and models may get wrong is said, not passed over."""

import numpy as np
import pytest

from aquamend import (
    Action,
    AquaMendError,
    Belief,
    Discrete,
    Exact,
    Hypothesis,
    InformationState,
    JointModel,
    Probe,
    Problem,
    RecoveryGraph,
    RollBack,
    evaluate,
    policy_named,
)
from aquamend.decision import probe_values
from aquamend.errors import NotStructured
from aquamend.testing import PolicyFault, check_policy


class Fixed:
    def __init__(self, step):
        self.step = step

    def next_step(self, state):
        return self.step


def lid(kernel=None) -> Problem:
    kernel = kernel or Discrete(["ok", "off"], [[0.9, 0.1], [0.2, 0.8]])
    return Problem(
        RecoveryGraph(
            [Belief("lid", residual=10.0)],
            [Action("lift", undo=3.0, executed=True)],
            [Probe("look", cost=0.5)],
            [("look", "lid", "detection"), ("lid", "lift", "belief_to_action")],
        ),
        JointModel([Hypothesis("on", 0.6), Hypothesis("off", 0.4, ["lid"])], {"look": kernel}),
    )


def test_kernel_rows_may_be_plain_lists():
    assert InformationState.start(lid()).legal_probes == ("look",)


@pytest.mark.parametrize(
    ("step", "named"),
    [(RollBack((), (), plan="nonsense"), "nonsense"), (RollBack(("zz",), ()), "zz")],
)
def test_evaluating_a_step_that_names_nothing_real_says_so(step, named):
    with pytest.raises(AquaMendError, match=named):
        evaluate(Fixed(step), InformationState.start(lid()))


@pytest.mark.parametrize(
    "step", [RollBack((), (), plan="nonsense"), RollBack(("lid", "lid"), ("lift", "lift")), RollBack(("zz",), ())]
)
def test_a_policy_that_names_what_is_not_there_or_twice_is_rejected(step):
    with pytest.raises(PolicyFault):
        check_policy(Fixed(step), [lid()])


def test_unknown_probes_are_named_with_the_valid_ones():
    state = InformationState.start(lid())
    for ask in (lambda: probe_values(state, ["peek"]), lambda: state.why_illegal("peek")):
        with pytest.raises(AquaMendError, match="unknown probe 'peek'; valid names: 'look'"):
            ask()


def test_the_structured_rule_refuses_probes_that_tell_only_together():
    """One probe tells a coin, the other the coin's agreement with the failure: either alone tells nothing."""
    hypotheses = [Hypothesis(f"z{z}u{u}", 0.25, ["b"] if z else []) for z in (0, 1) for u in (0, 1)]
    kernels = {
        "coin": Discrete(["0", "1"], np.eye(2)[[0, 1, 0, 1]]),
        "agreement": Discrete(["0", "1"], np.eye(2)[[0, 1, 1, 0]]),
        "perfect": Discrete(["0", "1"], np.eye(2)[[0, 0, 1, 1]]),
    }
    graph = RecoveryGraph(
        [Belief("b", residual=30.0)],
        [Action("a", undo=10.0, executed=True)],
        [Probe("coin", 0.01), Probe("agreement", 0.01), Probe("perfect", 4.0)],
        [("perfect", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    state = InformationState.start(Problem(graph, JointModel(hypotheses, kernels)))
    assert evaluate(Exact(), state).expected_loss == pytest.approx(5.02)
    with pytest.raises(NotStructured, match=r"belief-local probes.*coin"):
        policy_named("structured").next_step(state)
