"""The suites of the discrete pouring task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import cast

from aquamend.belief import InformationState
from aquamend.decision.steps import Step
from aquamend.policies import DescribedPolicy, Description, Policy, policy_named
from aquamend_lab.benchmarks.scenario import Scenario
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.benchmarks.t4.ablations import ABLATIONS
from aquamend_lab.benchmarks.t4.episodes import BUDGET_IGNORED, STARTING_OVER
from aquamend_lab.benchmarks.t4.paper_episodes import (
    evidence_conflict,
    irreversible,
    rank_ties,
    shared_closure,
    standard,
    stress,
)
from aquamend_lab.benchmarks.t4.variations import SETTINGS, SWEEP, ablation, settings, sweep
from aquamend_lab.pouring.discrete.simple_recoveries import BeliefReplan, BlindRetry, TmsRevision
from aquamend_lab.records import KIND, SETTING

OWN: dict[str, Callable[[], Policy]] = {
    "blind-retry": BlindRetry,
    "belief-replan": BeliefReplan,
    "tms-revision": TmsRevision,
}
"""Policies of the pouring task."""

JOINT = ("aquamend-two-step", "aquamend", "lookahead-2", "power-per-cost", "greedy-repair", "decoupled", "greedy")
TRADITIONAL = (
    "troubleshooting", "troubleshooting-1", "restart", "blind-retry", "veritrace", "belief-replan", "tms-revision",
)  # fmt: skip
POLICIES = ("oracle", *JOINT, *TRADITIONAL, "no-reprobe")

BUDGET_IGNORING = {
    f"{name}-no-budget": name for name in ("aquamend-two-step", "decoupled", "greedy", "troubleshooting")
}
"""Rows of policies that do not know the sensing budget and may go over it, beside those that are: as in the paper's
column of episodes over budget."""
FACES = {"restart": STARTING_OVER} | dict.fromkeys(BUDGET_IGNORING, BUDGET_IGNORED)
"""Starting over is an ending for nobody but who does nothing else: in the paper's tables nobody else ever restarts."""


@dataclass(frozen=True, slots=True)
class BudgetIgnored:
    """A policy that does not know the sensing budget: the scenarios it faces have none."""

    name: str

    @property
    def description(self) -> Description:
        """The policy's own, under a title that says so."""
        about = cast(DescribedPolicy, policy_named(self.name)).description
        return replace(about, title=f"{about.title}, budget ignored", colour="#9a9da1")

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step."""
        return policy_named(self.name).next_step(state)


OWN |= {row: partial(BudgetIgnored, name) for row, name in BUDGET_IGNORING.items()}

SEEDS = 5


def _suite(
    name: str,
    description: str,
    make: Callable[[int, int], Scenario],
    *,
    scenarios: int,
    policies: tuple[str, ...] = POLICIES,
    own: Mapping[str, Callable[[], Policy]] = OWN,
    groups: Mapping[str, str] | None = None,
) -> RecoverySuite:
    """Return a suite of five seeds; exact expectations take long here, and are not asked for."""
    return RecoverySuite(
        name, description, scenarios, SEEDS, policies, make, expected_risk=False, own=own, faces=FACES,
        groups=groups or {}, reference="aquamend-two-step",
    )  # fmt: skip


T4_SUITES = (
    _suite(
        "t4-v3",
        "4,900 episodes of pouring into the least full of three cups, every action reversible: cups swapped, water "
        "added, a camera gone wrong, or a false alarm; causal and chain graphs.",
        standard,
        scenarios=980,
    ),
    _suite(
        "t4-irreversible-v3",
        "1,200 episodes after a pour that cannot be undone: where a correction needs it undone, handing over is left, "
        "while looking again may still show that nothing is wrong.",
        irreversible,
        scenarios=240,
    ),
    _suite(
        "t4-stress-v3",
        "4,600 episodes under stress, none a false alarm, two thirds with a sensing error: three, five and six cups, "
        "events that break several beliefs at once, undoing that shares work, a tight sensing budget, and all three.",
        stress,
        scenarios=920,
        policies=(*POLICIES, *BUDGET_IGNORING),
        groups={"factor": KIND},
    ),
    *(
        _suite(name, f"400 episodes {description}; kept apart from the averages.", make, scenarios=80)
        for name, description, make in (
            ("t4-ties-v3", "with two cups 4 g apart, a hard rank tie", rank_ties),
            (
                "t4-conflict-v3",
                "in which a scale hides added water or shows some that is not there, which no hypothesis knows",
                evidence_conflict,
            ),
            ("t4-closure-v3", "in which undoing anything takes the same dear work", shared_closure),
        )
    ),
    _suite(
        "t4-ablation-v3",
        "The paper's earlier AquaMend, which goes in two steps, with one part taken away or exchanged, on "
        "6,100 episodes like those of t4-v3 and t4-irreversible-v3 (4,900 to 1,200).",
        ablation,
        scenarios=1220,
        policies=("aquamend-two-step", "aquamend", "no-reprobe", "veritrace", *ABLATIONS),
        own=OWN | ABLATIONS,
    ),
    _suite(
        "t4-settings-v3",
        "The same 610 episodes on fine and chain graphs, with noisy probes and with other stakes.",
        settings,
        scenarios=122 * len(SETTINGS),
        groups={"setting": SETTING},
        policies=("oracle", "aquamend-two-step", "aquamend"),
    ),
    _suite(
        "t4-sweep-v3",
        "100 episodes each with 3 to 8 cups, quieter and louder probes, better and worse alarms, and a prior that is "
        "wrong about the world; the same ones where noise or prior vary.",
        sweep,
        scenarios=20 * len(SWEEP),
        groups={"setting": SETTING},
        policies=(
            "oracle",
            "aquamend-two-step",
            "aquamend",
            "troubleshooting",
            "greedy-repair",
            "decoupled",
            "greedy",
            "no-reprobe",
        ),
    ),
)
