"""The suites of the discrete pouring task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aquamend.benchmarks.random_source import generator
from aquamend.benchmarks.scenario import Scenario
from aquamend.benchmarks.suite import RecoverySuite
from aquamend.benchmarks.t4.ablations import ABLATIONS
from aquamend.benchmarks.t4.episodes import Setting, episode, table_of
from aquamend.benchmarks.t4.variations import SETTINGS, SWEEP, ablation, settings, sweep
from aquamend.policies import Certified, Policy
from aquamend.worlds.cups import Add, CupTask, Stage, Swap
from aquamend.worlds.cups.baselines import BeliefReplan, BlindRetry, ExecutedRestart, Rewind, TmsRevision
from aquamend.worlds.cups.events import common_cause_events, standard_events
from aquamend.worlds.cups.model import Assumptions, Shares

OWN: dict[str, Callable[[], Policy]] = {
    "restart": ExecutedRestart,
    "rewind": Rewind,
    "blind-retry": BlindRetry,
    "belief-replan": BeliefReplan,
    "tms-revision": TmsRevision,
}
"""Policies that need a world to act in; ``restart`` is here carried out, not paid as a flat sum."""

JOINT = ("aquamend", "lookahead-2", "decoupled", "greedy")
TRADITIONAL = ("troubleshooting", "restart", "blind-retry", "rewind", "belief-replan", "tms-revision")
POLICIES = ("oracle", *JOINT, *TRADITIONAL, "rollback-only", "no-reprobe")

STAGES = tuple(Stage)
STRESS_FACTORS = ("common cause", "shared closures", "sensing budget", "combined")
TIGHT_BUDGET = 2.5
SHARED_WORK = 4.0


def standard(seed: int, number: int) -> Scenario:
    """Return one reversible episode: stages take turns, and after them fine and chain graphs."""
    return _standard("t4-v1", seed, number)


def irreversible(seed: int, number: int) -> Scenario:
    """Return one episode after a pour that cannot be taken back."""
    return _standard("t4-irreversible-v1", seed, number, pour_reversible=False, stages=(Stage.POURED,))


def _standard(
    suite: str, seed: int, number: int, *, pour_reversible: bool = True, stages: tuple[Stage, ...] = STAGES
) -> Scenario:
    rng = generator(suite, seed, number)
    task = CupTask(
        table_of(rng),
        stage=stages[number % len(stages)],
        linear_chain=bool(number // len(stages) % 2),
        pour_reversible=pour_reversible,
    )
    assumed = Assumptions(standard_events(task.declared_ml))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


def stress(seed: int, number: int) -> Scenario:
    """Return one stress episode: one of the three factors, or all of them."""
    suite = "t4-stress-v1"
    rng = generator(suite, seed, number)
    factor = STRESS_FACTORS[number % len(STRESS_FACTORS)]
    everything = factor == "combined"
    task = CupTask(
        table_of(rng),
        stage=STAGES[number // 4 % 3],
        linear_chain=bool(number // 12 % 2),
        shared_work=SHARED_WORK if everything or factor == "shared closures" else 0.0,
        sensing_budget=TIGHT_BUDGET if everything or factor == "sensing budget" else float("inf"),
    )
    events, shares = standard_events(task.declared_ml), Shares()
    if everything or factor == "common cause":
        events, shares = (*events, *common_cause_events(task.declared_ml)), replace(shares, common_cause=0.4)
    assumed = Assumptions(events, shares)
    return episode(
        suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={"factor": factor}
    )


def rank_ties(seed: int, number: int) -> Scenario:
    """Return one episode with two cups 4 ml apart: what crosses the boundary hides in the noise."""
    suite = "t4-ties-v1"
    rng = generator(suite, seed, number)
    first, _, *rest = table_of(rng)
    task = CupTask((first, round(first + 4.0, 1), *rest), stage=STAGES[number % 3])
    assumed = Assumptions(standard_events(task.declared_ml, margin_ml=2.0), Shares(swap=0.0, false_alarm=0.0))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


def evidence_conflict(seed: int, number: int) -> Scenario:
    """Return one episode in which the scales hide what happened, by a fault that no hypothesis knows of."""
    suite = "t4-conflict-v1"
    rng = generator(suite, seed, number)
    task = CupTask(table_of(rng), stage=STAGES[number % 3])
    events = standard_events(task.declared_ml)
    across = max(e.amount_ml for e in events if isinstance(e, Add) and e.cup == 0)
    gap = task.declared_ml[1] - task.declared_ml[0]
    happened, offset = ((Add(0, across),), (-across, 0.0, 0.0)) if number % 2 else ((Swap(0, 1),), (-gap, gap, 0.0))
    setting = Setting(scale_offset_ml=offset, events=happened)
    return episode(suite, seed, number, task=task, assumed=Assumptions(events), setting=setting, rng=rng, group={})


def shared_closure(seed: int, number: int) -> Scenario:
    """Return one episode in which undoing anything takes the same dear work, so that all corrections hang together."""
    suite = "t4-closure-v1"
    rng = generator(suite, seed, number)
    task = CupTask(table_of(rng), stage=STAGES[number % 3], shared_work=5 * SHARED_WORK)
    events = (*standard_events(task.declared_ml), *common_cause_events(task.declared_ml))
    assumed = Assumptions(events, Shares(common_cause=0.4))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


T4 = RecoverySuite(
    name="t4-v1",
    description=(
        "4,900 episodes of pouring into the least full of three cups, every action reversible: cups swapped, water "
        "added, a camera that is wrong, or a false alarm; three stages, causal and chain graphs."
    ),
    scenarios=980,
    seeds=5,
    policies=POLICIES,
    make=standard,
    own=OWN,
    expected_risk=False,
)

T4_IRREVERSIBLE = RecoverySuite(
    name="t4-irreversible-v1",
    description=(
        "1,200 episodes after a pour that cannot be undone: a correction that needs it undone must be handed over, "
        "while looking again may still show that nothing is wrong."
    ),
    scenarios=240,
    seeds=5,
    policies=POLICIES,
    make=irreversible,
    own=OWN,
    expected_risk=False,
)

T4_STRESS = RecoverySuite(
    name="t4-stress-v1",
    description=(
        "4,600 episodes under stress: events that break several beliefs at once, undoing that shares work, a tight "
        "sensing budget, and all three together."
    ),
    scenarios=920,
    seeds=5,
    policies=POLICIES,
    make=stress,
    own=OWN,
    expected_risk=False,
)

_KEPT_APART = "; kept apart from the averages."

DIAGNOSTICS: tuple[RecoverySuite, ...] = tuple(
    RecoverySuite(
        name,
        f"400 episodes {description}{_KEPT_APART}",
        scenarios=80,
        seeds=5,
        policies=(*POLICIES, "lookahead-3"),
        make=make,
        own=OWN,
        expected_risk=False,
    )
    for name, description, make in (
        ("t4-ties-v1", "with two cups 4 ml apart, a hard rank tie", rank_ties),
        ("t4-conflict-v1", "in which scales hide what happened by a fault that no hypothesis knows", evidence_conflict),
        ("t4-closure-v1", "in which undoing anything takes the same dear work", shared_closure),
    )
)

T4_ABLATION = RecoverySuite(
    name="t4-ablation-v1",
    description=(
        "AquaMend with one part taken away or exchanged, on 6,100 episodes like those of t4-v1 and t4-irreversible-v1 "
        "(4,900 to 1,200)."
    ),
    scenarios=1220,
    seeds=5,
    policies=("aquamend", "no-reprobe", "rewind", *ABLATIONS),
    make=ablation,
    own=OWN | ABLATIONS,
    expected_risk=False,
)

T4_SETTINGS = RecoverySuite(
    name="t4-settings-v1",
    description="The same 610 episodes on fine and chain graphs, with noisy probes, and with other stakes.",
    scenarios=122 * len(SETTINGS),
    seeds=5,
    policies=("oracle", "aquamend", "lookahead-2"),
    make=settings,
    own=OWN,
    expected_risk=False,
)

T4_SWEEP = RecoverySuite(
    name="t4-sweep-v1",
    description=(
        "100 episodes each with 3 to 8 cups, quieter and louder probes, better and worse alarms, and a prior that is "
        "wrong about the world; the same ones where noise or prior vary."
    ),
    scenarios=20 * len(SWEEP),
    seeds=5,
    policies=("oracle", "aquamend", "troubleshooting", "decoupled", "greedy", "no-reprobe"),
    make=sweep,
    own=OWN,
    expected_risk=False,
)


DEPTH_SOURCES = (stress, rank_ties, evidence_conflict, shared_closure)
DEPTH_NAMES = ("stress", "rank ties", "evidence conflict", "shared closure")


def depth(seed: int, number: int) -> Scenario:
    """Return one episode of the stress suite or of a diagnostic, to see whether planning further would have helped."""
    base, which = divmod(number, len(DEPTH_SOURCES))
    group = {"episodes": DEPTH_NAMES[which]}
    return replace(DEPTH_SOURCES[which](seed, base), suite="t4-depth-v1", number=number, group=group)


T4_DEPTH = RecoverySuite(
    name="t4-depth-v1",
    description=(
        "Would planning further help? 75 episodes each of the stress suite and the three diagnostics, with a planner "
        "that searches for a certified gap of 0.5: its bounds at the alarm beside the one-step policy's exact risk."
    ),
    scenarios=15 * len(DEPTH_SOURCES),
    seeds=5,
    policies=("oracle", "aquamend", "lookahead-2", "certified"),
    make=depth,
    own=OWN | {"certified": lambda: Certified(gap=0.5)},
    expected_risk=("aquamend", "lookahead-2"),
)

T4_SUITES = (T4, T4_IRREVERSIBLE, T4_STRESS, *DIAGNOSTICS, T4_DEPTH, T4_ABLATION, T4_SETTINGS, T4_SWEEP)
