"""Labelled records of past alarms: what was found in the end, what each probe read, what each act cost.

The sessions of a journal are such records; what was found in them is for people to say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aquamend.errors import AquaMendError, InvalidData
from aquamend.problem.graph import Value
from aquamend.recovery import Journal
from aquamend.recovery.acts import Follow, Measure, Redo, Undo
from aquamend.recovery.events import Alarmed, Done, Intended
from aquamend.text import shown

Reading = str | float
MISSING = frozenset(("", "nan", "na", "n/a", "#n/a", "null", "nil", "none", "-", "--", "nat", "<na>"))
"""What programs and people write where nothing is known; of a probe with an outcome of that name, it is the outcome."""
LARGEST = 1e50
"""Beyond it a number is as good as infinite: squares of such numbers overflow."""
MOST_LISTED = 50
"""Most faults that one message lists."""


class InvalidRecords(InvalidData):
    """Records that cannot be meant: every fault, with its row and column."""

    def __init__(self, source: str, faults: Sequence[str]) -> None:
        self.where, self.faults = source, tuple(faults)
        self.problem = "; ".join(self.faults[:1])
        more = [f"and {len(faults) - MOST_LISTED} more faults"] if len(faults) > MOST_LISTED else []
        AquaMendError.__init__(self, "\n".join(f"{source}: {said}" for said in [*faults[:MOST_LISTED], *more]))


@dataclass(slots=True)
class Faults:
    """What is wrong with records: collected, and reported all at once; or left out, where somebody wants that."""

    source: str = "records"
    skip: bool = False
    """Leave out what is faulty, and only say so."""
    found: list[str] = field(default_factory=list)

    def add(self, place: str, column: str, problem: str) -> None:
        """Note a fault in a cell, or in a row where no column is named."""
        at = f"{place}, column {shown(column)!r}" if column else place
        self.found.append(f"{at}: {problem}")

    def check(self) -> None:
        """Raise ``InvalidRecords`` with all faults, unless they are to be left out."""
        if self.found and not self.skip:
            raise InvalidRecords(self.source, self.found)


@dataclass(frozen=True, slots=True)
class Record:
    """One past alarm, or one time at which none was raised."""

    found: str | None
    """What turned out to be the case: a hypothesis, or causes joined by ``+``; None where nobody found out."""
    readings: Mapping[str, tuple[Reading, ...]] = field(default_factory=dict)
    """For every probe that was used, what it answered, in order."""
    costs: Mapping[str, float] = field(default_factory=dict)
    """What probes, undoing actions, operations, plans, ``restart`` and ``escalate`` really cost, by name."""
    alarm: bool = True
    """Whether the alarm was raised."""
    when: float | None = None
    """When, in whatever unit, if anybody knows: for telling drift."""
    truth: Mapping[str, Value] = field(default_factory=dict)
    """What was really true of beliefs that declare a value: 45 g, floor 3."""
    rung: Mapping[str, bool] = field(default_factory=dict)
    """Of several monitors, whether each rang; one that is not named was not watching."""
    ages: Mapping[str, float] = field(default_factory=dict)
    """How long ago beliefs had been measured; under the empty name, all others."""
    with_delay: bool = False
    """Whether the costs include what the delay cost, as receipts do."""
    place: str = ""
    """Where it stands in its file."""


@dataclass(frozen=True, slots=True)
class Records:
    """Records with where they come from."""

    records: tuple[Record, ...]
    source: str
    digest: str | None = None
    """Of the bytes they were read from, where it was a file that does not change."""
    columns: tuple[str, ...] = ()
    dated: bool = False
    """Whether times are seconds since 1970."""
    faults: tuple[str, ...] = ()
    """What was wrong with rows that were left out."""


def causes_in(found: str) -> frozenset[str]:
    """Return the parts of what was found: causes joined by ``+``, in whatever order."""
    return frozenset(part.strip() for part in found.split("+"))


def day_of(moment: float) -> str:
    """Return the day of a time in seconds since 1970; the number itself where no calendar reaches."""
    try:
        return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
    except (ValueError, OverflowError, OSError):
        return f"{moment:g}"


def by_time(records: Sequence[Record]) -> list[Record]:
    """Return the records by time; those without one stay where they are, before the others."""
    return sorted(records, key=lambda record: -math.inf if record.when is None else record.when)


def journal_records(path: Path, labels: Mapping[str, str] | None = None) -> Records:
    """Return one record for every session; ``labels`` say, by session, what was found in the end.

    A journal does not know the truth: a session without a label tells of costs alone. A cost counts where it was
    measured: a receipt that charges just the price of the problem says nothing of it.
    """
    found = dict(labels or {})
    records = []
    with Journal.open(path, read_only=True) as journal:
        for line in journal.sessions():
            records.append(_record(journal, line.name, found.pop(line.name, None)))
    if found:
        raise InvalidData("labels", f"the journal has no session {next(iter(found))!r}")
    if not records:
        raise InvalidData(str(path), "it holds no session")
    return Records(tuple(records), path.name)


def _record(journal: Journal, session: str, found: str | None) -> Record:
    readings: dict[str, tuple[str | float, ...]] = {}
    costs: dict[str, float] = {}
    act, when = None, None
    for entry in journal.read(session):
        match entry.event:
            case Alarmed(state=state):
                when = entry.time
                for said in state.evidence:  # measured for the alarm itself
                    readings[said.probe] = (*readings.get(said.probe, ()), said.outcome)
            case Intended(act=intended):
                act = intended
            case Done(receipt=receipt, known=True) if receipt.succeeded and act is not None:
                if isinstance(act, Measure) and receipt.finding is not None:
                    readings[act.probe] = (*readings.get(act.probe, ()), receipt.finding)
                if receipt.cost == act.cost:
                    continue  # the price that the problem has; nobody measured it
                if isinstance(act, Measure | Undo | Follow):
                    costs[act.name] = receipt.cost
                elif isinstance(act, Redo):
                    costs[f"redo {act.action}"] = receipt.cost
            case _:
                pass
    return Record(found, readings, costs, True, when, with_delay=True, place=f"session {session}")
