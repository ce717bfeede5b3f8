"""The faults found so far, and what could not be read: which values others stand in for, and what stood where."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import replace

from aquamend.codec.plain_data import shown_value
from aquamend.errors import Fault, InvalidData, InvalidProblem, meant

LISTED = 100
"""Most faults that one error lists; the rest are counted."""
_KEPT = 10_000


class FaultReport:
    """Collects faults, each once."""

    def __init__(self, *, complete: bool = False, nulls: bool = False) -> None:
        self.complete, self.nulls = complete, nulls
        """Whether every key must be given, and whether null stands for nothing where a key may be left out."""
        self.count = 0
        """Faults added, repeated ones included; a reader that leaves it alone found nothing."""
        self.unread: set[str] = set()
        """Places of keys that are missing or could not be read, so that something stands in for their values."""
        self.positions: dict[str, list[int]] = {}
        """Of every list with unreadable entries, by its place: where the readable ones stood."""
        self.depth = 0
        """How many records the one that is being read stands in."""
        self._kept: dict[Fault, None] = {}
        self._not_kept = 0

    def add(self, where: str, problem: str, remedy: str) -> None:
        """Note one fault."""
        self.keep(Fault(where, problem, remedy))

    def keep(self, fault: Fault) -> None:
        """Note one fault as it is."""
        self.count += 1
        if len(self._kept) < _KEPT:
            self._kept[fault] = None
        elif fault not in self._kept:
            self._not_kept += 1

    def judge(self, faults: Iterable[Fault]) -> None:
        """Note faults found in the readable entries alone, at the places these have in the file."""
        for fault in faults:
            self.keep(replace(fault, where=self._in_file(fault.where)))

    def lacks(self, *places: str) -> bool:
        """Whether something could not be read at, or in the list at, one of these places of the readable entries."""
        return any(where in self.unread or where in self.positions for where in map(self._in_file, places))

    def faulty(self, *places: str) -> bool:
        """Whether there is a fault at, or anywhere inside, one of these places."""
        inside = tuple(where + sign for where in places for sign in ".[")
        return any(fault.where in places or fault.where.startswith(inside) for fault in self._kept)

    def guess(self, word: str, valid: Iterable[str]) -> str | None:
        """Return the valid word that this one was probably meant to be."""
        if len(word) > 40 or len(self._kept) >= LISTED:
            return None  # nobody would read the answer, and a million such questions take minutes
        return meant(word, valid)

    def unknown_key(self, where: str, key: str, valid: Collection[str]) -> str | None:
        """Note a key that means nothing; return the valid key it was probably meant to be."""
        near = self.guess(key, valid)
        hint = f"did you mean {near!r}? " if near else ""
        self.add(place(where, key), f"{shown_value(key)} is not a key", f"{hint}the keys here are {', '.join(valid)}")
        return near

    def error(self, sections: Iterable[str]) -> InvalidProblem:
        """Return the faults in the order of the sections, the first hundred of them in full."""
        rank = {section: i for i, section in enumerate(sections)}
        faults = sorted(self._kept, key=lambda fault: rank.get(re.split(r"[.\[]", fault.where)[0], -1))
        more = len(faults) - LISTED + self._not_kept
        if more > 0:
            rest = Fault("file", f"{more} more {'fault is' if more == 1 else 'faults are'} not listed", "correct these")
            faults = [*faults[:LISTED], rest]
        return InvalidProblem(faults)

    def refusal(self) -> InvalidData:
        """Return the first fault as an error, and how many more there are."""
        first, more = next(iter(self._kept)), self.count - 1
        return InvalidData(first.where, f"{first.problem}{f' (and {more} more)' if more else ''}; {first.advice}")

    def _in_file(self, where: str) -> str:
        if not self.positions:
            return where
        done = ""
        for i, piece in enumerate(re.split(r"\[(\d+)\]", where)):  # text and index by turns
            if i % 2 == 0:
                done += piece
            else:
                positions, index = self.positions.get(done, []), int(piece)
                done += f"[{positions[index] if index < len(positions) else index}]"
        return done


def place(where: str, key: str) -> str:
    """Return the place of a key in the mapping at a place; odd keys are quoted, so that a place is one line."""
    name = key if key.isprintable() and 0 < len(key) <= 60 else shown_value(key)
    return f"{where}.{name}" if where else name
