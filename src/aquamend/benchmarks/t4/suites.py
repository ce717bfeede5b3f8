"""The suites of the discrete pouring task."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aquamend.benchmarks.scenario import Scenario
from aquamend.benchmarks.suite import RecoverySuite
from aquamend.benchmarks.t4.ablations import ABLATIONS
from aquamend.benchmarks.t4.scenarios import (
    DEPTH_SOURCES,
    depth,
    evidence_conflict,
    irreversible,
    rank_ties,
    shared_closure,
    standard,
    stress,
)
from aquamend.benchmarks.t4.variations import SETTINGS, SWEEP, ablation, settings, sweep
from aquamend.policies import Certified, Policy
from aquamend.worlds.cups.baselines import BeliefReplan, BlindRetry, ExecutedRestart, Rewind, TmsRevision

OWN: dict[str, Callable[[], Policy]] = {
    "restart": ExecutedRestart,
    "rewind": Rewind,
    "blind-retry": BlindRetry,
    "belief-replan": BeliefReplan,
    "tms-revision": TmsRevision,
}
"""Policies that need a world to act in; ``restart`` is here carried out, not paid as a flat sum."""

JOINT = ("aquamend", "lookahead-2", "greedy-repair", "decoupled", "greedy")
TRADITIONAL = ("troubleshooting", "restart", "blind-retry", "rewind", "belief-replan", "tms-revision")
POLICIES = ("oracle", *JOINT, *TRADITIONAL, "rollback-only", "no-reprobe")

SEEDS = 5


def _suite(
    name: str,
    description: str,
    make: Callable[[int, int], Scenario],
    *,
    scenarios: int,
    policies: tuple[str, ...] = POLICIES,
    own: Mapping[str, Callable[[], Policy]] = OWN,
    expected_risk: tuple[str, ...] = (),
) -> RecoverySuite:
    """Return a suite of five seeds; exact expectations take a second an episode here, so few ask for them."""
    return RecoverySuite(name, description, scenarios, SEEDS, policies, make, expected_risk, own=own)


T4_SUITES = (
    _suite(
        "t4-v1",
        "4,900 episodes of pouring into the least full of three cups, every action reversible: cups swapped, water "
        "added, a camera that is wrong, or a false alarm; three stages, causal and chain graphs.",
        standard,
        scenarios=980,
    ),
    _suite(
        "t4-irreversible-v1",
        "1,200 episodes after a pour that cannot be undone: a correction that needs it undone must be handed over, "
        "while looking again may still show that nothing is wrong.",
        irreversible,
        scenarios=240,
    ),
    _suite(
        "t4-stress-v1",
        "4,600 episodes under stress: events that break several beliefs at once, undoing that shares work, a tight "
        "sensing budget, and all three together.",
        stress,
        scenarios=920,
    ),
    *(
        _suite(
            name,
            f"400 episodes {description}; kept apart from the averages.",
            make,
            scenarios=80,
            policies=(*POLICIES, "lookahead-3"),
        )
        for name, description, make in (
            ("t4-ties-v1", "with two cups 4 ml apart, a hard rank tie", rank_ties),
            (
                "t4-conflict-v1",
                "in which scales hide what happened by a fault that no hypothesis knows",
                evidence_conflict,
            ),
            ("t4-closure-v1", "in which undoing anything takes the same dear work", shared_closure),
        )
    ),
    _suite(
        "t4-depth-v1",
        "Would planning further help? 75 episodes each of the stress suite and the three diagnostics, with a planner "
        "that searches for a certified gap of 0.5: its bounds at the alarm beside the one-step policy's exact risk.",
        depth,
        scenarios=15 * len(DEPTH_SOURCES),
        policies=("oracle", "aquamend", "lookahead-2", "certified"),
        own=OWN | {"certified": lambda: Certified(gap=0.5)},
        expected_risk=("aquamend", "lookahead-2"),
    ),
    _suite(
        "t4-ablation-v1",
        "AquaMend with one part taken away or exchanged, on 6,100 episodes like those of t4-v1 and t4-irreversible-v1 "
        "(4,900 to 1,200).",
        ablation,
        scenarios=1220,
        policies=("aquamend", "no-reprobe", "rewind", *ABLATIONS),
        own=OWN | ABLATIONS,
    ),
    _suite(
        "t4-settings-v1",
        "The same 610 episodes on fine and chain graphs, with noisy probes, and with other stakes.",
        settings,
        scenarios=122 * len(SETTINGS),
        policies=("oracle", "aquamend", "lookahead-2"),
    ),
    _suite(
        "t4-sweep-v1",
        "100 episodes each with 3 to 8 cups, quieter and louder probes, better and worse alarms, and a prior that is "
        "wrong about the world; the same ones where noise or prior vary.",
        sweep,
        scenarios=20 * len(SWEEP),
        policies=("oracle", "aquamend", "troubleshooting", "greedy-repair", "decoupled", "greedy", "no-reprobe"),
    ),
)
