"""Events as plain data, ready for JSON, and back again: exactly the same, or an error that says where it is wrong.

Every kind of thing has one table that says how each of its fields is written and read; what is written is checked as
strictly as what is read, so that whatever was written can be read.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from aquamend.decision.steps import Step, step_from_data, step_to_data
from aquamend.errors import InvalidData
from aquamend.inference import InformationState
from aquamend.problem import Problem, Redeclared
from aquamend.problem_file import parse_problem, problem_to_data
from aquamend.records import checked, json_number
from aquamend.recovery.acts import Declare, Finish, Follow, HandOver, Measure, Redo, Undo
from aquamend.recovery.events import (
    Alarmed,
    AlarmedAgain,
    Approved,
    Asked,
    Decided,
    Done,
    Ended,
    Ending,
    Event,
    Intended,
    Resumed,
    Rules,
)
from aquamend.recovery.receipts import Charge, Receipt

LONGEST = 256 * 1024 * 1024
"""Most characters that one event or one problem may take as JSON."""


def event_to_data(event: Event) -> dict[str, Any]:
    """Return an event as plain data; ``InvalidData`` where it holds something that cannot be kept."""
    if isinstance(event, Alarmed):
        return _alarmed_to_data(event)
    data: dict[str, Any] = _EVENT.write(event, "event")
    return data


def event_from_data(data: object, *, problem: Problem | None = None) -> Event:
    """Return the event that plain data describe; an ``AquaMendError`` that says where if they describe none.

    ``problem`` is the one of an alarm whose data do not hold it themselves.
    """
    if isinstance(data, Mapping) and data.get("kind") == _ALARMED:
        return _alarmed_from_data(data, problem)
    event: Event = _EVENT.read(data, "event")
    return event


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


class _Form(NamedTuple):
    """How one kind of value is written and read; both check, and name the place of what is wrong."""

    write: Callable[[Any, str], Any]
    read: Callable[[Any, str], Any]


def _same(check: Callable[[object, str], Any]) -> _Form:
    return _Form(check, check)


def _write_amount(value: object, where: str) -> float | str | None:
    if isinstance(value, float) and value == math.inf:
        return json_number(math.inf)
    return _read_amount(value, where)


def _read_amount(data: object, where: str) -> float:
    """Return a number of at least zero, infinity included."""
    if isinstance(data, str) and data == json_number(math.inf):
        return math.inf
    amount = float(checked.number(data, where))
    if amount < 0:
        raise InvalidData(where, f"{amount!r} is less than zero")
    return amount


def _or_none(form: _Form) -> _Form:
    return _Form(
        lambda value, where: None if value is None else form.write(value, where),
        lambda data, where: None if data is None else form.read(data, where),
    )


def _list_of(form: _Form) -> _Form:
    return _Form(
        lambda value, where: [form.write(v, f"{where}[{i}]") for i, v in enumerate(checked.items(value, where))],
        lambda data, where: tuple(form.read(d, f"{where}[{i}]") for i, d in enumerate(checked.items(data, where))),
    )


def _by_name(form: _Form) -> _Form:
    return _Form(
        lambda value, where: {k: form.write(v, f"{where}.{k}") for k, v in checked.mapping(value, where).items()},
        lambda data, where: {k: form.read(v, f"{where}.{k}") for k, v in checked.mapping(data, where).items()},
    )


def _one_of(words: type[Charge | Ending]) -> _Form:
    def read(data: object, where: str) -> Charge | Ending:
        word = checked.text(data, where)
        if word not in set(words):
            raise InvalidData(where, f"{word!r} is none of {', '.join(words)}")
        return words(word)

    return _Form(lambda value, where: read(value, where).value, read)


def _fields(made: type[Any], fields: Mapping[str, _Form], **tag: str) -> _Form:
    """Return the form of a class with these fields, each under its own name."""
    keys = (*tag, *fields)

    def write(value: object, where: str) -> dict[str, Any]:
        if not isinstance(value, made):
            raise InvalidData(where, f"{value!r} is no {made.__name__}")
        return {**tag, **{name: form.write(getattr(value, name), f"{where}.{name}") for name, form in fields.items()}}

    def read(data: object, where: str) -> Any:
        given = checked.mapping(data, where, keys)
        return made(**{name: form.read(given[name], f"{where}.{name}") for name, form in fields.items()})

    return _Form(write, read)


def _kinds(forms: Mapping[str, tuple[type[Any], Mapping[str, _Form]]]) -> _Form:
    """Return the form of one of several classes, told apart by the key ``kind``."""
    by_word = {word: _fields(kind, fields, kind=word) for word, (kind, fields) in forms.items()}
    by_class = {kind: by_word[word] for word, (kind, _) in forms.items()}

    def write(value: object, where: str) -> dict[str, Any]:
        form = by_class.get(type(value))
        if form is None:
            raise InvalidData(where, f"{value!r} is none of {', '.join(kind.__name__ for kind in by_class)}")
        data: dict[str, Any] = form.write(value, where)
        return data

    def read(data: object, where: str) -> Any:
        word = checked.text(checked.mapping(data, where).get("kind"), f"{where}.kind")
        if word not in by_word:
            raise InvalidData(f"{where}.kind", f"{word!r} is none of {', '.join(by_word)}")
        return by_word[word].read(data, where)

    return _Form(write, read)


def _write_step(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, Step):
        raise InvalidData(where, f"{value!r} is no step")
    data = step_to_data(value)
    step_from_data(data, where=where)
    return data


def _parts(method: str) -> Callable[[Any, str], Any]:
    """Return a method of a receipt's parts, which are receipts themselves, down to a reasonable depth."""

    def apply(value: object, where: str) -> Any:
        if where.count(".parts") > checked.MOST_NESTED:
            raise InvalidData("receipt", f"its parts have parts more than {checked.MOST_NESTED} levels deep")
        return getattr(_list_of(_RECEIPT), method)(value, where)

    return apply


_TEXT, _FLAG, _WHOLE = _same(checked.text), _same(checked.flag), _same(checked.whole)
_NAMES = _list_of(_TEXT)
_VALUE, _PLAIN = _same(checked.value_or_text), _same(checked.plain)
_AMOUNT = _Form(_write_amount, _read_amount)
_COST = {"cost": _AMOUNT}
_STEP = _Form(_write_step, lambda data, where: step_from_data(data, where=where))

_ACT = _kinds(
    {
        Measure.kind: (Measure, {"probe": _TEXT, **_COST}),
        Undo.kind: (Undo, {"operation": _TEXT, "actions": _NAMES, **_COST}),
        Declare.kind: (
            Declare,
            {"belief": _TEXT, "value": _or_none(_VALUE), **_COST},
        ),
        Redo.kind: (Redo, {"action": _TEXT, "reversible": _FLAG, **_COST}),
        Follow.kind: (Follow, {"plan": _TEXT, "correct": _NAMES, "undo": _NAMES, **_COST}),
        Finish.kind: (Finish, {"actions": _NAMES, "reversible": _FLAG, **_COST}),
        HandOver.kind: (HandOver, {"reason": _TEXT, **_COST}),
    }
)

_RECEIPT = _fields(
    Receipt,
    {
        "charge": _one_of(Charge),
        "what": _TEXT,
        "cost": _AMOUNT,
        "start_s": _or_none(_same(checked.number)),
        "end_s": _or_none(_same(checked.number)),
        "succeeded": _FLAG,
        "finding": _or_none(_VALUE),
        "alarm": _FLAG,
        "parts": _Form(_parts("write"), _parts("read")),
    },
)

_RULES = _fields(
    Rules,
    {
        "attempts": _WHOLE,
        "decisions": _WHOLE,
        "seconds": _AMOUNT,
        "timeout_s": _AMOUNT,
        "timeouts": _by_name(_AMOUNT),
        "ask_before_handing_over": _FLAG,
        "ask_before_irreversible": _FLAG,
    },
)

_EVENT = _kinds(
    {
        "alarmed again": (AlarmedAgain, {"refused": _or_none(_TEXT)}),
        "decided": (Decided, {"step": _STEP, "reason": _TEXT, "explanation": _or_none(_by_name(_PLAIN))}),
        "asked": (Asked, {"act": _ACT, "reason": _TEXT}),
        "approved": (Approved, {"granted": _FLAG, "by": _TEXT, "note": _TEXT}),
        "intended": (Intended, {"act": _ACT}),
        "done": (Done, {"receipt": _RECEIPT, "known": _FLAG}),
        "resumed": (Resumed, {"by": _TEXT}),
        "ended": (Ended, {"ending": _one_of(Ending), "reason": _TEXT}),
    }
)

_ALARMED = "alarmed"


def _alarmed_to_data(event: Alarmed) -> dict[str, Any]:
    if not isinstance(event.state, InformationState):
        raise InvalidData("event.state", f"{event.state!r} is no information state")
    problem = event.state.problem
    return {
        "kind": _ALARMED,
        "problem": problem_to_data(replace(problem, redeclared={}) if problem.redeclared else problem),
        "redeclared": {belief: _redeclared_to_data(new) for belief, new in problem.redeclared.items()},
        "state": event.state.to_data(),
        "policy": checked.text(event.policy, "event.policy"),
        "rules": _RULES.write(event.rules, "event.rules"),
    }


def _alarmed_from_data(data: Mapping[str, Any], problem: Problem | None) -> Alarmed:
    keys = ("kind", "problem", "redeclared", "state", "policy", "rules")
    given = checked.mapping(data, "event", keys)
    if problem is None:
        problem = parse_problem(given["problem"])
    new = checked.mapping(given["redeclared"], "event.redeclared")
    if new:
        again = {belief: _redeclared(problem, belief, data) for belief, data in new.items()}
        problem = replace(problem, redeclared=again)
    state = InformationState.from_data(problem, given["state"], where="event.state")
    policy = checked.text(given["policy"], "event.policy")
    return Alarmed(state, policy, _RULES.read(given["rules"], "event.rules"))


def _redeclared_to_data(new: Redeclared) -> dict[str, Any]:
    return {"value": new.value, "support": list(new.support), "times": new.times}


def _redeclared(problem: Problem, belief: str, data: object) -> Redeclared:
    where = f"event.redeclared.{belief}"
    given = checked.mapping(data, where, ("value", "support", "times"))
    support = checked.texts(given["support"], f"{where}.support")
    if belief not in problem.graph.belief_index or any(name not in problem.graph.probe_index for name in support):
        raise InvalidData(where, f"the problem {problem.name!r} has no such belief, or not all of these probes")
    value = _or_none(_VALUE).read(given["value"], f"{where}.value")
    return Redeclared(value, support, checked.whole(given["times"], where, least=1))
