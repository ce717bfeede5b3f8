"""Events as plain data, ready for JSON, and back again: exactly the same, or an error that says where it is wrong.

What is written is read as a check, so that whatever was written can be read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from aquamend.codec import Form, dump, load
from aquamend.errors import InvalidData
from aquamend.inference import InformationState
from aquamend.problem import Problem, Redeclared
from aquamend.problem_file import parse_problem, problem_to_data
from aquamend.recovery.clock import Instant
from aquamend.recovery.events import Alarmed, Event
from aquamend.recovery.rules import Rules

LONGEST = 256 * 1024 * 1024
"""Most characters that one event or one problem may take as JSON."""
_JUDGED_LATER = Form(lambda value, where, report: value, dict)


@dataclass(frozen=True, slots=True)
class _Begun:
    """The first event as it is written: its state apart from the problem."""

    problem: Annotated[Any, _JUDGED_LATER]
    redeclared: Mapping[str, Redeclared]
    state: Annotated[Any, _JUDGED_LATER]
    policy: str
    rules: Rules
    began: Instant
    attended: bool


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
    given: _Begun = load(_Begun, {key: value for key, value in data.items() if key != "kind"}, "event")
    problem = parse_problem(given.problem) if problem is None else problem
    for belief, new in given.redeclared.items():
        known = belief in problem.graph.belief_index and all(name in problem.graph.probe_index for name in new.support)
        if not known or new.times < 1:
            said = f"the problem {problem.name!r} has no such belief, or not all of these probes"
            raise InvalidData(f"event.redeclared.{belief}", said)
    if given.redeclared:
        problem = replace(problem, redeclared=given.redeclared)
    state = InformationState.from_data(problem, given.state, where="event.state")
    return Alarmed(state, given.policy, given.rules, given.began, given.attended)


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
        return json.loads(text)
    except ValueError as error:  # no JSON, no text, or a number of thousands of digits
        raise InvalidData("data", f"not JSON: {error}") from None
    except RecursionError:
        raise InvalidData("data", "nested too deeply") from None
