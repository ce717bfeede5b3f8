"""The work of a run, cut into pieces that any process on any machine can do."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from aquamend_lab.benchmarks.catalogue import suite_named
from aquamend_lab.records import sealed_line
from aquamend_lab.records.run_folder import Key


@dataclass(frozen=True, slots=True)
class Unit:
    """One scenario, and the policies that still have to meet it."""

    seed: int
    number: int
    policies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Some units of one suite: what a worker is handed."""

    suite: str
    """As ``suite_named`` finds it, in whatever process."""
    units: tuple[Unit, ...]


def missing_units(policies: Sequence[str], *, scenarios: int, seeds: int, done: Collection[Key]) -> list[Unit]:
    """Return what is left to do, in order."""
    units = []
    for seed in range(seeds):
        for number in range(scenarios):
            missing = tuple(name for name in policies if (seed, number, name) not in done)
            if missing:
                units.append(Unit(seed, number, missing))
    return units


def cut(suite: str, units: Sequence[Unit], *, size: int) -> list[Piece]:
    """Return the units in pieces of at most ``size``."""
    return [Piece(suite, tuple(units[i : i + size])) for i in range(0, len(units), size)]


def do(piece: Piece) -> list[str]:
    """Return the lines that a piece of work leaves behind: records, annotations and timings, each marked as such.

    A pure function of the piece (timings aside): the same lines in any process.
    """
    suite = suite_named(piece.suite)
    lines = []
    for unit in piece.units:
        played = suite.play(unit.seed, unit.number, unit.policies)
        lines += [sealed_line({"record": record}) for record in played.records]
        if played.annotation is not None:
            lines.append(sealed_line({"annotation": played.annotation}))
        lines += [sealed_line({"timing": timing}) for timing in played.timings]
    return lines
