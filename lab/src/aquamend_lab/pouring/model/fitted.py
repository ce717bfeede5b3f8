"""The frozen model: what calibration runs taught about readings, alarms and durations, in a small readable file.

How likely an alarm is under every configuration follows from counts, relative to what is affected.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from aquamend.codec import load
from aquamend.errors import AquaMendError, InvalidData
from aquamend.files.atomic import write_atomically
from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    CAMERA_KINDS,
    MISREADS,
    RIVAL,
    ROLES,
    TARGET,
    Amount,
    CameraState,
    Configuration,
    Happening,
    Shifts,
)
from aquamend_lab.pouring.task import OF_A_CUP, SIGNED, Report, Sense, Signal

SMOOTHING = 0.5
"""Added to every count (Jeffreys), so that no report is impossible for not having been seen."""
MISREADING = "camera misreads a cup"
KINDS = (*(h.value for h in Happening), MISREADING, CameraState.FROZEN.value, CameraState.MIXED_UP.value)
"""What one thing may be the matter; which cup it is about is told apart by what is affected."""


def cells(*, some_affected: bool) -> tuple[str, ...]:
    """Return every report there can be, relative to what is affected, where something is."""
    whose = ("affected", "other") if some_affected else ("other",)
    found = []
    for signal in Signal:
        signs = "+-" if signal in SIGNED else ("",)
        found += [f"{signal}{s} {w}" if signal in OF_A_CUP else signal.value for s in signs for w in whose]
    return tuple(dict.fromkeys(found))


def cell_of(report: Report, affected: Sequence[int], order: Sequence[str]) -> str:
    """Return what a report says relative to the roles that are affected; ``order`` names the cups by role."""
    if report.signal not in OF_A_CUP:
        return report.signal.value
    hit = order.index(report.cup) in affected
    return f"{report.signal}{report.sign} {'affected' if hit else 'other'}"


def affected_by(configuration: Configuration, swapped: Sequence[int] = ()) -> tuple[int, ...]:
    """Return the roles that something is the matter with; ``swapped`` are the two that would have been."""
    happened, camera = configuration.happened, configuration.camera
    roles = set(swapped) if happened is Happening.SWAPPED else set()
    roles |= {ADDED_TO[happened]} if happened in ADDED_TO else set()
    roles |= {MISREADS[camera]} if camera in MISREADS else set()
    roles |= {TARGET, RIVAL} if camera is CameraState.MIXED_UP else set()
    return tuple(sorted(roles))


def kinds_of(configuration: Configuration) -> dict[str, Configuration]:
    """Return the things that are the matter, each as a configuration of its own."""
    happened, camera = configuration.happened, configuration.camera
    found = {}
    if happened is not Happening.NOTHING or camera is CameraState.SOUND:
        found[happened.value] = Configuration(happened)
    if camera is not CameraState.SOUND:
        found[MISREADING if camera in MISREADS else camera.value] = Configuration(camera=camera)
    return found


def alarm_likelihood(
    report: Report,
    order: Sequence[str],
    configuration: Configuration,
    swapped: Sequence[int],
    alarms: Mapping[str, Mapping[str, float]],
) -> float:
    """Return how likely this report is under a configuration.

    Where two things are the matter at once, either may have been the first to be noticed, so their chances are
    averaged: calibration has no records of both. A scale that is off all along raises no alarm.
    """
    parts = kinds_of(configuration)
    total = 0.0
    for kind, alone in parts.items():
        affected = affected_by(alone, swapped)
        cell = cell_of(report, affected, order)
        among = len(affected) if cell.endswith(" affected") else len(ROLES) - len(affected)
        total += alarms[kind].get(cell, 0.0) / (among if report.signal in OF_A_CUP else 1)
    return total / len(parts)


TIMED = ("fetch", "move", "draw back", "pour", "put back", "pour back")
"""Skills that every recovery is priced by."""
FORMAT = "aquamend-pouring-model/3"
SHIPPED = Path(__file__).parent / "fitted.json"


class InvalidModel(AquaMendError):
    """A model file that cannot be used."""


@dataclass(frozen=True, slots=True)
class Duration:
    """How long something takes, in simulated seconds."""

    mean_s: float
    sd_s: float
    records: int


@dataclass(frozen=True, slots=True)
class FittedReadings:
    """How far readings scatter about what a configuration predicts, and how often camera routines are right."""

    look_same_sd_g: float
    """A look at water that lies as it lay when it was measured."""
    look_new_sd_g: float
    """A look at water that was poured since."""
    weigh_sd_g: float
    """The declared amount was read by the camera, so its own error is in here."""
    localise_right: float
    """Share of the times that the camera tells rightly who stands where."""
    finds_faulty: Mapping[str, float]
    """By state of the camera: how often its self test calls it faulty."""
    scale_off: float
    """How often one of the scales of a table is off."""

    def sd_g(self, sense: Sense, *, disturbed: bool = False) -> float:
        """Return how far a sensor's readings scatter, at water poured since it was measured or not."""
        if sense is Sense.WEIGH:
            return self.weigh_sd_g
        return self.look_new_sd_g if disturbed else self.look_same_sd_g


@dataclass(frozen=True, slots=True)
class Group:
    """Calibration records with the same public history: what the monitor said, about which cup."""

    name: str
    records: int
    probes: tuple[str, ...]
    """Probes whose answers were informative in these records, by role."""
    gaps_g: tuple[float, ...]
    """Prototype: how much more the rival and the third were measured to hold than the target."""
    offsets_mm: tuple[float, ...]
    """Prototype: how far each cup was found from the middle of its place, in the order of the roles."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Everything that was learned from calibration runs, and nothing else."""

    readings: FittedReadings
    shifts: Shifts
    alarms: Mapping[str, Mapping[str, float]]
    """By kind of perturbation: probability of every report."""
    durations: Mapping[str, Duration]
    """By primitive and by composite skill."""
    groups: tuple[Group, ...]
    records: int
    """Calibration records it was fitted to; the rest were held back to check it."""
    calibration: Mapping[str, Any]
    """How it fares on the records held back."""

    @property
    def hash(self) -> str:
        """A fingerprint of everything that decisions depend on."""
        content = {key: value for key, value in asdict(self).items() if key != "calibration"}
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]

    def seconds(self, what: str) -> float:
        """Return how long something takes on average."""
        if what not in self.durations:
            raise InvalidModel(f"the fitted model has no duration of {what!r}; it has {', '.join(self.durations)}")
        return self.durations[what].mean_s


def uncalibrated() -> Fitted:
    """Return what a robot assumes before anything was calibrated: round numbers, and every report alike.

    Calibration itself runs with it; nothing else should.
    """
    alike = {kind: cells(some_affected=True) for kind in KINDS}
    return Fitted(
        readings=FittedReadings(1.0, 1.0, 1.0, 0.9, dict.fromkeys(CAMERA_KINDS, 0.5), 0.1),
        shifts=Shifts(*[Amount(8.0, 3.0)] * 5),
        alarms={kind: {cell: 1 / len(all_) for cell in all_} for kind, all_ in alike.items()},
        durations={what: Duration(10.0, 5.0, 0) for what in TIMED},
        groups=(),
        records=0,
        calibration={},
    )


def save_fitted(fitted: Fitted, path: Path) -> None:
    """Write a model file, all of it or nothing."""
    data = {"format": FORMAT, "hash": fitted.hash, **asdict(fitted)}
    write_atomically(path, (json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())


@cache
def load_fitted(path: Path = SHIPPED) -> Fitted:
    """Return a model from its file; without a path, the one that ships with the project."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidModel(f"{path}: {error.strerror}; `aquamend fit pouring` makes a model file") from error
    except ValueError as error:
        raise InvalidModel(f"{path}: not a model file ({error})") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InvalidModel(f"{path}: its format is not {FORMAT}; fit it again with `aquamend fit pouring`")
    content = {key: value for key, value in data.items() if key not in ("format", "hash")}
    try:
        fitted: Fitted = load(Fitted, content, "model")
    except InvalidData as error:
        raise InvalidModel(f"{path}: incomplete or damaged ({error}); fit it again") from error
    if fitted.hash != data.get("hash"):
        raise InvalidModel(
            f"{path}: its hash is {data.get('hash')!r} but its content has {fitted.hash!r}: it was edited"
        )
    return fitted
