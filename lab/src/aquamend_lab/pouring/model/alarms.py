"""How likely an alarm is under every configuration: counts from calibration, relative to what is affected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    MISREADS,
    RIVAL,
    ROLES,
    TARGET,
    CameraState,
    Configuration,
    Happening,
)
from aquamend_lab.pouring.reports import OF_A_CUP, SIGNED, Report, Signal

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
