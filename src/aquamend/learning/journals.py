"""Sessions in a journal as records: what probes read and what acts cost; what was found is for people to say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from aquamend.errors import InvalidData
from aquamend.learning.past_alarms import Record, Records
from aquamend.recovery import Journal
from aquamend.recovery.acts import Follow, Measure, Redo, Undo
from aquamend.recovery.events import Alarmed, Done, Intended


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
