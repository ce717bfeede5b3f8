"""Problems that others wrote, as suites.

``networks-v1``: published Bayesian networks, in which what is true is drawn from the network itself. ``textbook-v1``:
problems of textbooks, with the optimum that each book has. ``metaworld-v1``: robot tasks of others, whose object is not
where it was seen; run in an environment of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from aquamend.belief import InformationState
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.policies import Description
from aquamend.problem.model import Cause
from aquamend_lab.benchmarks.scenario import Scenario, Truth, generator, one_drawn, stream, truths_of_model
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.outside import published_networks as networks
from aquamend_lab.outside.metaworld_tasks import AXES, NEAR_M, TASKS, MetaWorld, TaskUnderway, drawn
from aquamend_lab.outside.metaworld_tasks import problem_of as problem_underway
from aquamend_lab.outside.textbook_problems import MAKERS, textbooks
from aquamend_lab.records import PROBLEM, STRATUM

PUBLISHED_NETWORKS = "networks-v1"
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


def make_network(seed: int, number: int) -> Scenario:
    """Return a symptom of a network with costs drawn, and all nodes as the network itself may have them."""
    name = list(networks.NETWORKS)[number // networks.SYMPTOMS]
    own = networks.symptoms(name)
    symptom = own[number % networks.SYMPTOMS % len(own)]
    made, rng = networks.problem_of(symptom), generator(PUBLISHED_NETWORKS, seed, number)
    state = InformationState.alarmed(networks.with_costs(made.problem, rng))
    states = networks.drawn_truth(symptom, rng)
    wrong, answers = networks.faults_of(made, states), networks.answers_of(made, states)
    world = networks.NetworkWorld(state, -1, stream(PUBLISHED_NETWORKS, seed, number), answers, wrong)
    truth = Truth(" + ".join(wrong) or "nothing", wrong, Cause.UNKNOWN, lambda: replace(world))
    return Scenario(
        PUBLISHED_NETWORKS, seed, number, state, truths=(truth,), group={"network": name},
        features={"symptom": f"{symptom.node} {symptom.state}", "faults": len(wrong)},
    )  # fmt: skip


NETWORK_SUITE = RecoverySuite(
    name=PUBLISHED_NETWORKS,
    description=(
        "Four published Bayesian networks (a printer troubleshooter, three medical ones), four symptoms each; costs "
        "by a rule of ours, everything that is true drawn from the network itself."
    ),
    scenarios=networks.SYMPTOMS * len(networks.NETWORKS),
    seeds=5,
    policies=CONTESTANTS,
    make=make_network,
    expected_risk=False,
    own={"check-everything": CheckEverything},
    groups={"network": STRATUM},
)


TEXTBOOK = "textbook-v1"


def make_textbook(seed: int, number: int) -> Scenario:
    """Return a textbook's problem, with one truth drawn from its own model; expectations are exact over all of them."""
    book = textbooks()[number]
    state = InformationState.alarmed(book.problem)
    possible = truths_of_model(state, TEXTBOOK, seed, number)
    return Scenario(
        TEXTBOOK, seed, number, state, truths=(one_drawn(possible, TEXTBOOK, seed, number),), possible=possible,
        group={"problem": book.name}, features={"optimum": book.optimum},
    )  # fmt: skip


TEXTBOOK_SUITE = RecoverySuite(
    name=TEXTBOOK,
    description=(
        f"{len(MAKERS)} problems of textbooks that have the shape measure-then-decide, each with the optimum that the "
        "book has: exact expected loss, and the loss realised on truths drawn from the problem."
    ),
    scenarios=len(MAKERS),
    seeds=10,
    policies=(*(name for name in CONTESTANTS if name not in ("oracle", "restart")), "lookahead-2"),
    make=make_textbook,
    own={"check-everything": CheckEverything},
    groups={"problem": PROBLEM},
)


METAWORLD = "metaworld-v1"
_CAUSES = {"nothing": Cause.FALSE_ALARM, "misperceived": Cause.SELF_ERROR}


def make_task(seed: int, number: int) -> Scenario:
    """Return an episode of one task from the alarm on."""
    task = TASKS[number]
    happens = drawn(generator(METAWORLD, seed, number))
    table = TaskUnderway(task, seed, happens)
    state = InformationState.alarmed(problem_underway(table.believed, table.hand))
    true = {axis: float(table.object[i]) for i, axis in enumerate(AXES)}
    wrong = tuple(axis for i, axis in enumerate(AXES) if abs(table.object[i] - table.believed[i]) > NEAR_M)
    own = stream(METAWORLD, seed, number)
    truth = Truth(
        happens.trouble, wrong, _CAUSES.get(happens.trouble, Cause.EXTERNAL),
        lambda: MetaWorld(task, seed, happens, own, state), values={axis: true[axis] for axis in wrong},
    )  # fmt: skip
    return Scenario(
        METAWORLD, seed, number, state, truths=(truth,), group={"task": task}, features={"trouble": happens.trouble}
    )


METAWORLD_SUITE = RecoverySuite(
    name=METAWORLD,
    description=(
        "Five tasks of Meta-World with its scripts and its tests of success; the object is moved, swapped, dropped or "
        "misperceived, and a monitor rings. Losses are in seconds; a failed task costs 40."
    ),
    scenarios=len(TASKS),
    seeds=10,
    policies=CONTESTANTS,
    make=make_task,
    expected_risk=False,
    own={"check-everything": CheckEverything},
    groups={"task": STRATUM},
    unit="s",
)
