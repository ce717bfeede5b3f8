"""A session as an MCAP file: every event as it was, what was believed, what it cost and the story, each on its channel.

All messages are JSON, and every channel carries its JSON Schema. The channel of events holds all that the log held, so
the session can be read back and shown, replayed and learnt from as from the journal itself.
"""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aquamend.codec import json_number
from aquamend.errors import AquaMendError, InvalidData, MissingLibrary
from aquamend.files.atomic import write_atomically
from aquamend.recovery import Log
from aquamend.recovery.acts import Charge, charged
from aquamend.recovery.events import Entry
from aquamend.recovery.history import Recovery
from aquamend.recovery.plain import event_from_data, event_to_data, from_json, session_schema, to_json
from aquamend.story.of_session import Telling
from aquamend.story.story import Moment

try:
    from mcap.reader import make_reader
    from mcap.writer import Writer
except ImportError:
    raise MissingLibrary("mcap", "recordings", "or write JSON Lines with `aquamend session export`") from None

EVENTS: Final = "/aquamend/events"
BELIEFS: Final = "/aquamend/beliefs"
COSTS: Final = "/aquamend/costs"
STORY: Final = "/aquamend/story"
PROFILE: Final = "aquamend"
INFO, WARNING = 2, 3
"""Levels of a `foxglove.Log`."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class SessionRecording:
    """A session read back from a file."""

    session: str
    entries: tuple[Entry, ...]

    @property
    def recovery(self) -> Recovery:
        """The recovery that its events make."""
        return Recovery.of([entry.event for entry in self.entries], self.session)


def write_recording(path: str | os.PathLike[str], log: Log, session: str) -> None:
    """Write a session of a log to an MCAP file, all or nothing; one that goes on is written as far as it has come."""
    entries = list(log.read(session))
    stream = io.BytesIO()
    writer = Writer(stream)
    writer.start(PROFILE, library=f"aquamend; {Writer.__module__}")
    channels = {topic: _channel(writer, topic, schema) for topic, schema in _schemas(entries).items()}
    telling = Telling(session)
    for entry in entries:  # a log that makes no sense is refused before anything is written
        now, moment = telling.take(entry)
        at = _nanoseconds(entry.time)
        for topic, message in _messages(session, entry, moment, now):
            writer.add_message(channels[topic], at, to_json(message).encode(), at, sequence=entry.number)
    writer.finish()  # type: ignore[no-untyped-call]
    write_atomically(Path(path), stream.getvalue())


def read_recording(path: str | os.PathLike[str]) -> SessionRecording:
    """Read a session back from an MCAP file that `write_recording` has written; other channels are left alone."""
    stream = io.BytesIO(Path(path).read_bytes())
    try:
        messages = make_reader(stream, validate_crcs=True).iter_messages([EVENTS], log_time_order=False)
        found = [from_json(message.data) for _, _, message in messages]
    except Exception as error:  # noqa: BLE001 - a damaged file makes readers and decompressors raise anything
        raise AquaMendError(f"{path}: not a whole MCAP file ({type(error).__name__}: {error})") from None
    if not found:
        raise AquaMendError(f"{path}: no message on the channel {EVENTS}; record a session with write_recording")
    entries = tuple(_entry(data, number) for number, data in enumerate(found, start=1))
    names = {str(data["session"]) for data in found}
    if len(names) > 1:
        raise AquaMendError(f"{path}: events of several sessions ({', '.join(sorted(names))}); a file holds one")
    return SessionRecording(names.pop(), entries)


def _entry(data: object, number: int) -> Entry:
    expected = {"session", "number", "time", "event"}
    if not isinstance(data, Mapping) or set(data) != expected or data["number"] != number:
        raise InvalidData(f"{EVENTS}[{number}]", f"it is to be event {number}, with the keys {sorted(expected)}")
    return Entry(number, float(data["time"]), event_from_data(data["event"]))


def _messages(
    session: str, entry: Entry, moment: Moment | None, now: Recovery
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield what an event brings to each channel."""
    event = event_to_data(entry.event)
    yield EVENTS, {"session": session, "number": entry.number, "time": entry.time, "event": event}
    named = zip(now.state.problem.graph.beliefs, now.state.failure_probabilities.tolist(), strict=True)
    yield BELIEFS, {belief.name: q for belief, q in named}
    yield COSTS, {charge.value: json_number(charged(now.receipts, charge)) for charge in _CHARGES}
    if moment is not None:
        seconds, nanoseconds = divmod(_nanoseconds(entry.time), 10**9)
        yield (
            STORY,
            {
                "timestamp": {"sec": seconds, "nsec": nanoseconds},
                "level": WARNING if moment.bad else INFO,
                "message": f"{moment.title}: {moment.text}",
                "name": session,
                "file": "",
                "line": entry.number,
            },
        )


_CHARGES = (Charge.SENSING, Charge.ROLLBACK, Charge.CONTINUATION)
"""What a session can know; what is left wrong is known to judges alone."""
_NUMBER: Schema = {"anyOf": [{"type": "number"}, {"const": "inf"}]}
_TIME: Schema = {"type": "object", "properties": {"sec": {"type": "integer"}, "nsec": {"type": "integer"}}}


def _schemas(entries: list[Entry]) -> dict[str, tuple[str, Schema]]:
    """Return the name and the JSON Schema of the messages on each channel."""
    session = session_schema()
    state = Recovery.of([entry.event for entry in entries[:1]]).state
    beliefs = [belief.name for belief in state.problem.graph.beliefs]
    event: dict[str, Schema] = {
        "session": {"type": "string"},
        "number": {"type": "integer", "minimum": 1},
        "time": {"type": "number", "description": "Seconds since 1970."},
        "event": {"$ref": "#/$defs/event"},
    }
    log: dict[str, Schema] = {
        "timestamp": _TIME, "level": {"type": "integer"}, "message": {"type": "string"},
        "name": {"type": "string"}, "file": {"type": "string"}, "line": {"type": "integer"},
    }  # fmt: skip
    return {
        EVENTS: ("aquamend.Event", {**_object(event), "$schema": session["$schema"], "$defs": session["$defs"]}),
        BELIEFS: ("aquamend.Beliefs", _object({name: {"type": "number", "maximum": 1} for name in beliefs})),
        COSTS: ("aquamend.Costs", _object({charge.value: _NUMBER for charge in _CHARGES})),
        STORY: ("foxglove.Log", _object(log)),
    }


def _object(properties: Mapping[str, Schema]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _channel(writer: Writer, topic: str, described: tuple[str, Schema]) -> int:
    name, schema = described
    written = json.dumps(schema).encode()
    return writer.register_channel(topic, "json", writer.register_schema(name, "jsonschema", written))


def _nanoseconds(seconds: float) -> int:
    """Return a time as MCAP has it; before 1970 there is none."""
    return max(0, math.floor(seconds * 1e9))
