"""How likely an alarm is under every configuration: counts from calibration, told relative to what is affected."""

from __future__ import annotations

from collections.abc import Mapping

from aquamend.worlds.pouring.configurations import BIASED, Configuration, Physical, Sensing
from aquamend.worlds.pouring.declared import ROLES, Declared
from aquamend.worlds.pouring.monitor import LEVEL, LOAD, POSITION, ROUTINE, Report

NOTHING = Physical.NOTHING.value
SMOOTHING = 0.5
"""Added to every count (Jeffreys), so that no report is impossible for not having been seen."""

SIGNED = (f"{POSITION} +", *(f"{signal} {sign}" for signal in (LEVEL, LOAD) for sign in "+-"))
"""What a signal may say; a displacement has no sign."""


def cells(*, some_affected: bool) -> tuple[str, ...]:
    """Return every report there can be, told relative to what is affected, where something is."""
    places = ("affected", "other") if some_affected else ("other",)
    return (*(f"{signed} {place}" for signed in SIGNED for place in places), ROUTINE)


def kind_of_sensing(sensing: Sensing) -> str:
    """Return the kind of an error of the camera: which cup it reads wrong is told apart by what is affected."""
    if sensing in BIASED:
        return "camera reads high" if BIASED[sensing][1] > 0 else "camera reads low"
    return sensing.value


def cell_of(report: Report, affected: tuple[int, ...], declared: Declared) -> str:
    """Return what a report says relative to the roles that are affected."""
    if report.signal == ROUTINE:
        return ROUTINE
    hit = ROLES.index(declared.role(report.cup)) in affected
    return f"{report.signal} {report.sign} {'affected' if hit else 'other'}"


def alarm_likelihood(
    report: Report, declared: Declared, configuration: Configuration, alarms: Mapping[str, Mapping[str, float]]
) -> float:
    """Return how likely this report is under a configuration.

    Where two things are the matter at once, either may have been the first to be noticed, so their chances are
    averaged: calibration has no records of both.
    """
    physical, sensing = configuration.physical, configuration.sensing
    parts: list[tuple[str, Configuration]] = []
    if physical is not Physical.NOTHING or sensing is Sensing.SOUND:
        parts.append((physical.value, Configuration(physical, Sensing.SOUND)))
    if sensing is not Sensing.SOUND:
        parts.append((kind_of_sensing(sensing), Configuration(Physical.NOTHING, sensing)))
    return sum(_likelihood(report, declared, alone, alarms[kind]) for kind, alone in parts) / len(parts)


def _likelihood(report: Report, declared: Declared, alone: Configuration, table: Mapping[str, float]) -> float:
    cell = cell_of(report, alone.affected, declared)
    if cell == ROUTINE:
        return table[cell]
    cups = len(alone.affected) if cell.endswith("affected") else 3 - len(alone.affected)
    return table[cell] / cups
