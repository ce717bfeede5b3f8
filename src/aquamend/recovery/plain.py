"""What a session asks, hears and keeps as plain data, ready for JSON, and back again.

It is exactly the same afterwards, or there is an error that says where it is wrong. What is written is read as a check,
so that whatever was written can be read. All of it has one JSON Schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, ClassVar, get_args

from aquamend.belief import InformationState
from aquamend.codec import Form, Whole, dump, form_of, load
from aquamend.codec.forms import SHARED, Schema
from aquamend.errors import InvalidData
from aquamend.files import parse_problem, problem_to_data
from aquamend.problem import Problem, Redeclared
from aquamend.recovery.acts import Receipt
from aquamend.recovery.clock import Instant
from aquamend.recovery.events import Alarmed, Entry, Event
from aquamend.recovery.requests import Message, Reply, Request
from aquamend.recovery.safety_rules import Rules

LONGEST = 256 * 1024 * 1024
"""Most characters that one event or one problem may take as JSON."""
_JUDGED_LATER = Form(lambda value, where, report: value, lambda: {"type": "object"})


@dataclass(frozen=True, slots=True)
class _Begun:
    """The first event as it is written: its state apart from the problem."""

    kind: ClassVar[str] = Alarmed.kind

    problem: Annotated[Any, _JUDGED_LATER]
    """As in a problem file."""
    redeclared: Mapping[str, Redeclared]
    """What was declared again before, by belief."""
    state: Annotated[Any, _JUDGED_LATER]
    """The public evidence, in the form ``aquamend-state/1``."""
    policy: str
    rules: Rules
    began: Instant
    attended: bool
    """Whether there is somebody who can be asked."""


@dataclass(frozen=True, slots=True)
class _Wording:
    """An event in words."""

    title: str
    text: str
    bad: bool
    """Whether something went wrong."""
    seconds: float | None
    """How long it took; null where that makes no sense."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an event stands, as it is exported, and in words."""

    session: str
    """The name of the session."""
    number: Whole
    """1, 2, 3 ... within the session."""
    time: float
    """When it was written, in seconds since 1970."""
    moment: _Wording | None = None
    """Its moment in the story; null where it has none."""


def request_to_data(request: Request) -> dict[str, Any]:
    """Return a request as plain data."""
    data: dict[str, Any] = dump(request, Request, "request")
    return data


def request_from_data(data: object) -> Request:
    """Return the request that plain data describe; ``InvalidData`` that says where if they describe none."""
    request: Request = load(Request, data, "request")
    return request


def reply_to_data(reply: Reply) -> dict[str, Any]:
    """Return a reply as plain data."""
    data: dict[str, Any] = dump(reply, Reply, "reply")
    return data


def reply_from_data(data: object) -> Reply:
    """Return the reply that plain data describe; ``InvalidData`` that says where if they describe none.

    Of a receipt, charge, what and cost are needed; the rest may be null or left out where there is nothing to say.
    """
    reply: Reply = load(Reply, data, "reply", complete=False)
    return reply


def message_to_data(message: Message | Reply) -> dict[str, Any]:
    """Return what somebody says to a session, a reply or not, as plain data."""
    data: dict[str, Any] = dump(message, Message | Reply, "message")
    return data


def message_from_data(data: object) -> Message | Reply:
    """Return the message or reply that plain data describe, for ``session.receive``; ``InvalidData`` if there is none.

    What has a default may be left out.
    """
    message: Message | Reply = load(Message | Reply, data, "message", complete=False)
    return message


def session_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of all requests, replies, messages and events of a session."""
    kinds = [_Begun if kind is Alarmed else kind for kind in get_args(Event)]
    events = kinds[0]
    for kind in kinds[1:]:
        events = events | kind
    parts = {"request": Request, "reply": Reply, "message": Message, "event": events}
    schemas = {name: form_of(part).schema() for name, part in parts.items()}
    schemas["line"] = {"anyOf": [_line_schema(kind) for kind in schemas["event"]["anyOf"]]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AquaMend session",
        "description": "What a session asks for (request), is answered (reply), may hear at any time (message), "
        "keeps (event) and exports (line).",
        "anyOf": [{"$ref": f"#/$defs/{name}"} for name in schemas],
        "$defs": {**SHARED, **schemas, "Receipt": form_of(Receipt).schema()},
    }


def _line_schema(event: Schema) -> Schema:
    """Return the schema of an event with the place where it stands."""
    place = form_of(_Place).schema()
    properties = {**place["properties"], **event["properties"]}
    return {**event, "properties": properties, "required": [*place["required"], *event["required"]]}


def line_to_data(session: str, entry: Entry) -> dict[str, Any]:
    """Return an event as plain data, with its session, number and time: a line of what is exported."""
    return {"session": session, "number": entry.number, "time": entry.time, **event_to_data(entry.event)}


def line_from_data(data: object) -> tuple[str, Entry]:
    """Return the session and the entry that a line of an export describes; its words there do not count."""
    items = data if isinstance(data, Mapping) else {}
    own = {field.name: items[field.name] for field in fields(_Place) if field.name in items}
    place: _Place = load(_Place, {"moment": None, **own}, "line")
    event = event_from_data({name: value for name, value in items.items() if name not in own})
    return place.session, Entry(place.number, place.time, event)


def event_to_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data; ``InvalidData`` where it holds something that cannot be kept."""
    if not isinstance(event, Alarmed):
        data: dict[str, Any] = dump(event, Event, "event")
        return data
    if not isinstance(event.state, InformationState):
        raise InvalidData("event.state", f"{event.state!r} is no information state")
    problem = event.state.problem
    plain = problem_to_data(replace(problem, redeclared={}) if problem.redeclared else problem)
    begun = _Begun(
        plain, problem.redeclared, event.state.to_data(), event.policy, event.rules, event.began, event.attended
    )
    return {"kind": event.kind, **dump(begun, where="event")}


def event_from_data(data: object, *, problem: Problem | None = None) -> Event:
    """Return the event that plain data describe; an ``AquaMendError`` that says where if they describe none.

    ``problem`` is the one of an alarm whose data do not hold it themselves.
    """
    if not isinstance(data, Mapping) or data.get("kind") != Alarmed.kind:
        event: Event = load(Event, data, "event")
        return event
    opening: _Begun = load(_Begun, {key: value for key, value in data.items() if key != "kind"}, "event")
    problem = parse_problem(opening.problem) if problem is None else problem
    for belief, new in opening.redeclared.items():
        known = belief in problem.graph.belief_index and all(name in problem.graph.probe_index for name in new.support)
        if not known or new.times < 1:
            said = f"the problem {problem.name!r} has no such belief, or not all of these probes"
            raise InvalidData(f"event.redeclared.{belief}", said)
    if opening.redeclared:
        problem = replace(problem, redeclared=opening.redeclared)
    state = InformationState.from_data(problem, opening.state, where="event.state")
    return Alarmed(state, opening.policy, opening.rules, opening.began, opening.attended)


def to_json(data: Mapping[str, Any]) -> str:
    """Return plain data as one line of JSON, in ASCII; every float to its last bit."""
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidData("data", f"not for JSON: {error}") from None
    if len(text) > LONGEST:
        raise InvalidData("data", f"{len(text):,} characters are more than can be kept ({LONGEST:,})")
    return text


def from_json(text: str | bytes) -> Any:
    """Return the plain data of a JSON text."""
    if len(text) > LONGEST:
        raise InvalidData("data", f"{len(text):,} characters are more than can be read ({LONGEST:,})")
    try:
        return json.loads(text, parse_constant=_no_number)
    except ValueError as error:  # no JSON, no text, or a number of thousands of digits
        raise InvalidData("data", f"not JSON: {error}") from None
    except RecursionError:
        raise InvalidData("data", "nested too deeply") from None


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number in JSON")
