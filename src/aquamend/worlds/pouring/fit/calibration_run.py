"""One calibration run: an episode with known trouble, every probe once, and the skills timed."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from aquamend.recovery import Charge, Receipt
from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.configurations import RIVAL, TARGET, Configuration, Physical, Sensing
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.drawing import KINDS, draw_perturbation, draw_scene
from aquamend.worlds.pouring.episode import DOSE_G, Alarmed, Episode, Stage, until_alarm
from aquamend.worlds.pouring.handling import move
from aquamend.worlds.pouring.looking import localise, look, read_stamp, weigh
from aquamend.worlds.pouring.monitor import Report
from aquamend.worlds.pouring.perturbations import AddWater, BiasedCamera
from aquamend.worlds.pouring.pouring_skill import pour
from aquamend.worlds.pouring.probing import localised_as, offsets_mm
from aquamend.worlds.pouring.robot import Robot, drive
from aquamend.worlds.pouring.truth import really_failed, true_configuration
from aquamend.worlds.pouring.undoing import fetch, pour_back, put_back

SEED = 7_270_001
"""Seeds of calibration begin with this number, which no suite uses."""
STAGES = (*3 * (Stage.DECIDED,), *8 * (Stage.MOVED,), *6 * (Stage.POURED,))
"""Stages of the runs of one kind, most at the stage where screening is wanted."""
RUNS = len(KINDS) * len(STAGES)


@dataclass(frozen=True, slots=True)
class CalibrationRecord:
    """What one calibration run taught; the truth is part of it."""

    run: int
    kind: str
    stage: str
    configuration: Configuration
    shift_g: float | None
    """What was added beyond what the kind counts from, or the size of the bias; None where nothing of the sort was."""
    declared: Declared
    offsets_mm: tuple[float, ...]
    report: Report
    readings: dict[str, float]
    """By probe, for those that the camera could see."""
    localised: str
    stamp: str
    """What a frame's time stamp said."""
    failed: tuple[str, ...]
    """Beliefs that were really wrong at the alarm."""
    durations: tuple[tuple[str, float, bool], ...]
    """Skill, seconds and whether it succeeded."""

    def as_data(self) -> dict[str, Any]:
        """Return the record as plain data."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> CalibrationRecord:
        """Return the record that plain data hold."""
        declared = data["declared"]
        report = data["report"]
        configuration = data["configuration"]
        return cls(
            run=int(data["run"]),
            kind=data["kind"],
            stage=data["stage"],
            configuration=Configuration(Physical(configuration["physical"]), Sensing(configuration["sensing"])),
            shift_g=data["shift_g"],
            declared=Declared(
                declared["quantity_g"],
                declared["place"],
                tuple(declared["order"]),
                declared["poured_g"],
                declared["versions"],
                {name: tuple(probes) for name, probes in declared["support"].items()},
                declared.get("poured_at"),
            ),
            offsets_mm=tuple(data["offsets_mm"]),
            report=Report(report["signal"], report["cup"], report["excess"]),
            readings=data["readings"],
            localised=data["localised"],
            stamp=data["stamp"],
            failed=tuple(data["failed"]),
            durations=tuple((what, seconds, done) for what, seconds, done in data["durations"]),
        )


def calibrate_once(run: int) -> CalibrationRecord:
    """Return one calibration record; a pure function of its number."""
    kind, planned = KINDS[run % len(KINDS)], STAGES[run // len(KINDS) % len(STAGES)]
    rng = np.random.default_rng((SEED, run))
    scene = draw_scene(rng)
    episode = Episode(scene, planned, draw_perturbation(kind, scene, rng), (SEED, run))
    alarmed = until_alarm(episode)
    robot, declared = alarmed.robot, alarmed.declared
    failed = really_failed(robot.simulation, declared, robot.faults, alarmed.before_pouring_g)
    stage = alarmed.stage
    offsets = offsets_mm(robot, declared)
    readings, localised, stamp = drive(robot, _probe_all(robot, declared))
    drive(robot, _use_skills(robot, declared, run))
    return CalibrationRecord(
        run=run,
        kind=kind,
        stage=stage.value,
        configuration=true_configuration(alarmed),
        shift_g=_shift(alarmed),
        declared=declared,
        offsets_mm=offsets,
        report=alarmed.report,
        readings=readings,
        localised=localised,
        stamp=stamp,
        failed=failed,
        durations=tuple(timed(robot.leaves)),
    )


def _shift(alarmed: Alarmed) -> float | None:
    physical = true_configuration(alarmed).physical
    match alarmed.episode.perturbation:
        case AddWater(grams=grams) if physical is Physical.MUCH:
            held = {vessel.name: vessel.grams for vessel in alarmed.episode.scene.vessels}
            return grams - (held[alarmed.declared.order[RIVAL]] - held[alarmed.declared.order[TARGET]])
        case AddWater(grams=grams):
            return grams
        case BiasedCamera(bias_g=bias):
            return abs(bias)
        case _:
            return None


def _probe_all(robot: Robot, declared: Declared) -> Generator[None, None, tuple[dict[str, float], str, str]]:
    readings: dict[str, float] = {}
    for cup in dim.CUPS:
        seen = yield from look(robot, cup)
        if seen.value is not None:
            readings[f"look_{cup}"] = seen.value
        weighed = yield from weigh(robot, declared.place[cup])
        readings[f"weigh_{cup}"] = float(weighed.value or 0.0)
    yield from localise(robot, believe=False)
    stamp = yield from read_stamp(robot)
    return readings, localised_as(robot, declared), stamp.told


def _use_skills(robot: Robot, declared: Declared, run: int) -> Generator[None, None, None]:
    """Do what a recovery might do next, so that it is timed."""
    charge, target = Charge.CONTINUATION, declared.target
    if robot.holding is None:
        finding = yield from fetch(robot, dim.PITCHER, charge)
        if finding.succeeded:
            yield from robot.perform(f"move to {target}", charge, move(robot, target))
            yield from robot.perform(f"pour into {target}", charge, pour(robot, target, DOSE_G))
            yield from put_back(robot, charge)
    elif declared.poured_g > 0 and run // len(KINDS) % 2:
        yield from pour_back(robot, target, declared.poured_g, Charge.ROLLBACK)
    else:
        yield from put_back(robot, charge)


def timed(leaves: list[Receipt]) -> list[tuple[str, float, bool]]:
    """Return the durations of skills: single primitives, and those that always come together as one."""
    found: list[tuple[str, float, bool]] = []
    back = [leaf for leaf in leaves if leaf.charge is Charge.ROLLBACK]
    if back:
        whole = round(math.fsum(leaf.cost for leaf in back), 2)
        found.append(("pour back", whole, all(leaf.succeeded for leaf in back)))
    pairs = {"grasp": "fetch", "place": "put back"}
    forward = [leaf for leaf in leaves if leaf.charge is not Charge.ROLLBACK]
    for leaf, following in zip(forward, [*forward[1:], None], strict=True):
        verb = leaf.what.split()[0]
        found.append((verb, leaf.cost, leaf.succeeded))
        if verb in pairs and following is not None and following.what.split()[0] in ("lift", "retreat"):
            whole = round(leaf.cost + following.cost, 2)
            found.append((pairs[verb], whole, leaf.succeeded and following.succeeded))
    return found
