"""Episodes of the pouring suites, each a pure function of seed and number."""

from __future__ import annotations

from dataclasses import replace

from aquamend_lab.benchmarks.scenario import Scenario, generator
from aquamend_lab.benchmarks.t4.episodes import Setting, declared_amounts, episode, poured
from aquamend_lab.pouring.discrete import Add, Assumptions, Nothing, Shares
from aquamend_lab.pouring.discrete.perturbations import common_cause_events, standard_events
from aquamend_lab.pouring.task import PouringTask

STRESS_FACTORS = ("common cause", "shared closures", "sensing budget", "combined")
STRESS_CUPS = (3, 5, 6)
SHARED_WORK = 4.0
SENSING_SHARE = 2 / 3
"""How many of the stress episodes have a sensing error among what happens."""


def standard(seed: int, number: int) -> Scenario:
    """Return one reversible episode; fine and chain graphs take turns."""
    return _standard("t4-v3", seed, number)


def irreversible(seed: int, number: int) -> Scenario:
    """Return one episode after a pour that cannot be taken back."""
    return _standard("t4-irreversible-v3", seed, number, pour_reversible=False)


def _standard(suite: str, seed: int, number: int, *, pour_reversible: bool = True) -> Scenario:
    rng = generator(suite, seed, number)
    task = replace(
        poured(declared_amounts(rng)),
        linear_chain=bool(number % 2),
        pour_reversible=pour_reversible,
    )
    assumed = Assumptions(standard_events(task.declared.quantity_g))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


def tight_budget(task: PouringTask) -> float:
    """Return the tight sensing budget: what reading one cup by both instruments costs."""
    return task.prices.look + task.prices.weigh


def stress(seed: int, number: int) -> Scenario:
    """Return one stress episode: one of the three factors, or all of them; there are no false alarms."""
    suite = "t4-stress-v3"
    rng = generator(suite, seed, number)
    factor = STRESS_FACTORS[number % 4]
    everything = factor == "combined"
    task = replace(
        poured(declared_amounts(rng, n_cups=STRESS_CUPS[number // 4 % 3])),
        linear_chain=bool(number // 12 % 2),
        shared_work=SHARED_WORK if everything or factor == "shared closures" else 0.0,
    )
    declared, physical = task.declared.quantity_g, 1 - SENSING_SHARE
    if everything or factor == "common cause":
        shares = Shares(0.0, 0.0, 0.0, 0.0, common_cause=physical, common_cause_with_camera=SENSING_SHARE)
        assumed = Assumptions(common_cause_events(declared), shares)
    else:
        shares = Shares(swap=physical / 2, add=physical / 2, drift=SENSING_SHARE, false_alarm=0.0)
        assumed = Assumptions(standard_events(declared), shares)
    limited = everything or factor == "sensing budget"
    setting = Setting(sensing_budget=tight_budget(task)) if limited else Setting()
    return episode(suite, seed, number, task=task, assumed=assumed, setting=setting, rng=rng, group={"factor": factor})


def rank_ties(seed: int, number: int) -> Scenario:
    """Return one episode with two cups 4 g apart: what crosses the boundary hides in the noise."""
    suite = "t4-ties-v3"
    rng = generator(suite, seed, number)
    first, _, *rest = declared_amounts(rng)
    task = poured((first, round(first + 4.0, 1), *rest))
    events = standard_events(task.declared.quantity_g, margin_g=2.0)
    assumed = Assumptions(events, Shares(swap=0.0, add=0.6, drift=0.4, false_alarm=0.0))
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})


def evidence_conflict(seed: int, number: int) -> Scenario:
    """Return one episode in which a scale hides added water, or shows some that is not there.

    No hypothesis knows of a scale that is wrong.
    """
    suite = "t4-conflict-v3"
    rng = generator(suite, seed, number)
    task = poured(declared_amounts(rng))
    events = standard_events(task.declared.quantity_g)
    across = max(e.amount_g for e in events if isinstance(e, Add) and e.cup == 0)
    happened, offset = (Add(0, across), -across) if number % 2 else (Nothing(), across)
    setting = Setting(scale_offset_g=(offset, 0.0, 0.0), event=happened)
    return episode(suite, seed, number, task=task, assumed=Assumptions(events), setting=setting, rng=rng, group={})


def shared_closure(seed: int, number: int) -> Scenario:
    """Return one episode in which undoing anything takes the same costly work, so that all corrections go together."""
    suite = "t4-closure-v3"
    rng = generator(suite, seed, number)
    task = replace(poured(declared_amounts(rng)), shared_work=5 * SHARED_WORK)
    declared = task.declared.quantity_g
    shares = Shares(0.2, 0.2, 0.15, 0.15, common_cause=0.15, common_cause_with_camera=0.15)
    assumed = Assumptions((*standard_events(declared), *common_cause_events(declared)), shares)
    return episode(suite, seed, number, task=task, assumed=assumed, setting=Setting(), rng=rng, group={})
