"""Episodes of the pouring suites, each a pure function of seed and number."""

from __future__ import annotations

from dataclasses import replace

from aquamend.benchmarks.random_source import generator
from aquamend.benchmarks.scenario import Scenario
from aquamend.benchmarks.t4.episodes import Setting, episode, table_of
from aquamend.worlds.cups import Add, CupTask, Stage, Swap
from aquamend.worlds.cups.events import common_cause_events, standard_events
from aquamend.worlds.cups.model import Assumptions, Shares

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


DEPTH_SOURCES = {
    "stress": stress,
    "rank ties": rank_ties,
    "evidence conflict": evidence_conflict,
    "shared closure": shared_closure,
}


def depth(seed: int, number: int) -> Scenario:
    """Return one episode of the stress suite or of a diagnostic, to see whether planning further would have helped."""
    base, which = divmod(number, len(DEPTH_SOURCES))
    name, make = list(DEPTH_SOURCES.items())[which]
    return replace(make(seed, base), suite="t4-depth-v1", number=number, group={"episodes": name})
