"""The pouring robot as a suite: physical scenes, each simulated once up to its alarm and branched for every policy."""

from __future__ import annotations

from aquamend.benchmarks.random_source import generator
from aquamend.benchmarks.scenario import Scenario, Truth
from aquamend.benchmarks.suite import RecoverySuite
from aquamend.model import Cause
from aquamend.worlds.pouring.configurations import Physical
from aquamend.worlds.pouring.drawing import READS_HIGH, READS_LOW, draw_perturbation, draw_scene
from aquamend.worlds.pouring.episode import Episode, Stage, until_alarm
from aquamend.worlds.pouring.truth import really_failed, true_configuration
from aquamend.worlds.pouring.world import PouringWorld

NAME = "pouring-v1"
FAMILIES = ("false alarm", "add water", "swap", "drift")
STAGES = (Stage.MOVED, Stage.POURED)
REPEATS = 4


def make(seed: int, number: int) -> Scenario:
    """Return one scene: families take turns, then stages, four of each as in the paper.

    Water is added to the target, twice so that it stays the least full and twice so that it does not; the target and
    its rival are swapped; the camera misreads the emptiest cup before the pour and the next one after it, high and low
    in turn.
    """
    family = FAMILIES[number % len(FAMILIES)]
    stage = STAGES[number // len(FAMILIES) % len(STAGES)]
    repeat = number // (len(FAMILIES) * len(STAGES))
    rng = generator(NAME, seed, number)
    table = draw_scene(rng)
    by_amount = sorted(table.vessels[:3], key=lambda vessel: vessel.grams)
    kind = {
        "false alarm": Physical.NOTHING.value,
        "add water": (Physical.LITTLE if repeat % 2 else Physical.MUCH).value,
        "swap": Physical.SWAP_RIVAL.value,
        "drift": READS_LOW if repeat % 2 else READS_HIGH,
    }[family]
    misread = by_amount[0 if stage is Stage.MOVED else 1].name if family == "drift" else None
    happening = draw_perturbation(kind, table, rng, cup=misread)
    alarmed = until_alarm(Episode(table, stage, happening, tuple(int(x) for x in rng.integers(2**31, size=2))))
    failed = really_failed(alarmed.robot.simulation, alarmed.declared, alarmed.robot.faults, alarmed.before_pouring_g)
    name = f"{true_configuration(alarmed).physical}, {true_configuration(alarmed).sensing}"
    cause = happening.cause if failed else Cause.FALSE_ALARM
    truth = Truth(name, failed, cause, lambda: PouringWorld(alarmed))
    return Scenario(
        suite=NAME,
        seed=seed,
        number=number,
        state=truth.enter().alarm(),
        truths=(truth,),
        group={"stage": stage.value, "family": family},
        features={"report": str(alarmed.report)},
    )


POURING = RecoverySuite(
    name=NAME,
    description=(
        "The MuJoCo pouring robot: 32 scenes (false alarm, water added, cups swapped, drifting camera; alarm before or "
        "after the pour). Every recovery is carried out by hand, and costs are simulated seconds from its receipts."
    ),
    scenarios=len(FAMILIES) * len(STAGES) * REPEATS,
    seeds=1,
    policies=("aquamend", "troubleshooting", "no-reprobe", "restart", "linear-chain"),
    make=make,
    expected_risk=False,
)
