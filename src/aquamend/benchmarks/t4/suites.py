"""The suites of the discrete pouring task."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from aquamend.benchmarks.scenario import Scenario
from aquamend.benchmarks.suite import RecoverySuite
from aquamend.benchmarks.t4.ablations import ABLATIONS
from aquamend.benchmarks.t4.scenarios import (
    evidence_conflict,
    irreversible,
    rank_ties,
    shared_closure,
    standard,
    stress,
)
from aquamend.benchmarks.t4.variations import SETTINGS, SWEEP, ablation, settings, sweep
from aquamend.policies import Policy
from aquamend.records import KIND, SETTING
from aquamend.worlds.pouring.discrete.baselines import BeliefReplan, BlindRetry, Rewind, TmsRevision

OWN: dict[str, Callable[[], Policy]] = {
    "rewind": Rewind,
    "blind-retry": BlindRetry,
    "belief-replan": BeliefReplan,
    "tms-revision": TmsRevision,
}
"""Policies of the pouring task."""

HEEDFUL = ("oracle", "aquamend", "lookahead-2", "power-per-cost")
"""Who plans with a sensing budget. Every other policy knows of none, and may go over it: see docs/pouring-task.md."""

JOINT = ("aquamend", "power-per-cost", "lookahead-2", "greedy-repair", "decoupled", "greedy")
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
    groups: Mapping[str, str] | None = None,
) -> RecoverySuite:
    """Return a suite of five seeds; exact expectations take long here, and are not asked for."""
    heedless = frozenset(name for name in policies if name not in HEEDFUL)
    return RecoverySuite(
        name, description, scenarios, SEEDS, policies, make, expected_risk=False, own=own, heedless=heedless,
        groups=groups or {},
    )  # fmt: skip


T4_SUITES = (
    _suite(
        "t4-v2",
        "4,900 episodes of pouring into the least full of three cups, every action reversible: cups swapped, water "
        "added, a camera gone wrong, or a false alarm; four stages, causal and chain graphs.",
        standard,
        scenarios=980,
    ),
    _suite(
        "t4-irreversible-v2",
        "1,200 episodes after a pour that cannot be undone: where a correction needs it undone, a safe stop is left, "
        "while looking again may still show that nothing is wrong.",
        irreversible,
        scenarios=240,
    ),
    _suite(
        "t4-stress-v2",
        "4,600 episodes under stress, none a false alarm, two thirds with a sensing error: three, five and six cups, "
        "events that break several beliefs at once, undoing that shares work, a tight sensing budget, and all three.",
        stress,
        scenarios=920,
        groups={"factor": KIND},
    ),
    *(
        _suite(name, f"400 episodes {description}; kept apart from the averages.", make, scenarios=80)
        for name, description, make in (
            ("t4-ties-v2", "with two cups 4 g apart, a hard rank tie", rank_ties),
            (
                "t4-conflict-v2",
                "in which a scale hides added water or shows some that is not there, which no hypothesis knows",
                evidence_conflict,
            ),
            ("t4-closure-v2", "in which undoing anything takes the same dear work", shared_closure),
        )
    ),
    _suite(
        "t4-ablation-v2",
        "The paper's earlier AquaMend, which detects by power per cost, with one part taken away or exchanged, on "
        "6,100 episodes like those of t4-v2 and t4-irreversible-v2 (4,900 to 1,200).",
        ablation,
        scenarios=1220,
        policies=("power-per-cost", "aquamend", "no-reprobe", "rewind", *ABLATIONS),
        own=OWN | ABLATIONS,
    ),
    _suite(
        "t4-settings-v2",
        "The same 610 episodes on fine and chain graphs, with noisy probes, with other stakes, and with declarations "
        "that lose their support with the camera.",
        settings,
        scenarios=122 * len(SETTINGS),
        groups={"setting": SETTING},
        policies=("oracle", "aquamend", "power-per-cost"),
    ),
    _suite(
        "t4-sweep-v2",
        "100 episodes each with 3 to 8 cups, quieter and louder probes, better and worse alarms, and a prior that is "
        "wrong about the world; the same ones where noise or prior vary.",
        sweep,
        scenarios=20 * len(SWEEP),
        groups={"setting": SETTING},
        policies=(
            "oracle",
            "aquamend",
            "power-per-cost",
            "troubleshooting",
            "greedy-repair",
            "decoupled",
            "greedy",
            "no-reprobe",
        ),
    ),
)
