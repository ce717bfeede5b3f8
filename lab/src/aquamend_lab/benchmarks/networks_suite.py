"""``networks-v1``: published Bayesian networks, in which what is true is drawn from the network itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from aquamend.belief import InformationState
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.policies import Description
from aquamend.problem.model import Cause
from aquamend_lab.benchmarks.scenario import Scenario, Truth, generator, stream
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.outside.published_networks import (
    NETWORKS,
    SYMPTOMS,
    NetworkWorld,
    answers_of,
    drawn_truth,
    faults_of,
    problem_of,
    symptoms,
    with_costs,
)
from aquamend_lab.records import STRATUM

NAME = "networks-v1"
CONTESTANTS = (
    "oracle", "best", "aquamend", "troubleshooting", "troubleshooting-1", "greedy", "check-everything", "restart",
    "no-reprobe",
)  # fmt: skip
"""Who takes part in the suites from outside."""


@dataclass(frozen=True, slots=True)
class CheckEverything:
    """Make every measurement once, the cheapest first, and then take the best decision."""

    description: ClassVar[Description] = Description(
        "Check everything", "Every measurement once, then the best decision.", "#8c6d31", "X"
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the cheapest probe that has not answered yet."""
        asked = {observation.probe for observation in state.evidence}
        left = [view for view in state.legal if view.name not in asked]
        if not left or state.contradiction is not None:
            return best_terminal(state).decision
        return Reprobe(min(left, key=lambda view: (view.cost, view.index)).name)


def make(seed: int, number: int) -> Scenario:
    """Return a symptom of a network with costs drawn, and all nodes as the network itself may have them."""
    name = list(NETWORKS)[number // SYMPTOMS]
    own = symptoms(name)
    symptom = own[number % SYMPTOMS % len(own)]
    made, rng = problem_of(symptom), generator(NAME, seed, number)
    state = InformationState.alarmed(with_costs(made.problem, rng))
    states = drawn_truth(symptom, rng)
    wrong, answers = faults_of(made, states), answers_of(made, states)
    world = NetworkWorld(state, -1, stream(NAME, seed, number), answers, wrong)
    truth = Truth(" + ".join(wrong) or "nothing", wrong, Cause.UNKNOWN, lambda: _again(world))
    return Scenario(
        NAME, seed, number, state, truths=(truth,), group={"network": name},
        features={"symptom": f"{symptom.node} {symptom.state}", "faults": len(wrong)},
    )  # fmt: skip


def _again(world: NetworkWorld) -> NetworkWorld:
    return NetworkWorld(world.start, world.truth, world.seed, world.states, world.wrong)


NETWORK_SUITE = RecoverySuite(
    name=NAME,
    description=(
        "Four published Bayesian networks (a printer troubleshooter, three medical ones), four symptoms each; costs "
        "by a rule of ours, everything that is true drawn from the network itself."
    ),
    scenarios=SYMPTOMS * len(NETWORKS),
    seeds=5,
    policies=CONTESTANTS,
    make=make,
    expected_risk=False,
    own={"check-everything": CheckEverything},
    groups={"network": STRATUM},
)
