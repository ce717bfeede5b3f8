"""All that can be asked of the service, one entry each: OpenAPI, routing and the page in the docs follow from these."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from aquamend.codec import Amount, Whole, form_of
from aquamend.codec.forms import Schema
from aquamend.errors import AquaMendError
from aquamend.files import problem_schema
from aquamend.policies import POLICIES
from aquamend.policies.plan_tree import PlanTree, TwoPlans
from aquamend.policies.registry import FAMILIES
from aquamend.recovery import Session
from aquamend.recovery.events import Ended, Entry
from aquamend.recovery.log import said_by_a_person
from aquamend.recovery.plain import line_to_data, session_schema, to_json
from aquamend.recovery.requests import Cancel
from aquamend.serve import sessions
from aquamend.serve.problem_details import Refused, refusal, refusal_of
from aquamend.serve.questions import Situation, ToDecide, ToPlan, ToTurn, ToView, WhatIf
from aquamend.serve.service import Conducted, Service
from aquamend.story.story import story_schema

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WaitAtMost:
    """How long to wait for the next request of a session."""

    wait: Amount = 10.0
    """At most so many seconds, while a decision is being made."""


@dataclass(frozen=True, slots=True)
class After:
    """Which request is known already, and how long to wait for another."""

    after: Whole | None = None
    """Wait for a request of another number than this."""
    wait: Amount = 0.0
    """At most so many seconds."""


@dataclass(frozen=True, slots=True)
class Behind:
    """Which events are known already."""

    after: Whole | None = None
    """The number of the last one."""


@dataclass(frozen=True, slots=True)
class PartOfList:
    """Which sessions of many, the latest begun first."""

    after: Whole = 0
    """How many are known already."""
    limit: Whole | None = None
    """At most so many more; all, unless given."""


@dataclass(frozen=True, slots=True)
class AtFirst:
    """How much is sent before anything happens."""

    limit: Whole | None = None
    """The latest so many sessions; all, unless given."""


@dataclass(frozen=True, slots=True)
class RequestRead:
    """One request, read and checked."""

    service: Service
    http: Request
    body: Any
    """Of the route's type."""
    data: Mapping[str, Any]
    """The same as it was sent."""
    query: Any
    path: Mapping[str, str]

    async def unless_gone(self, work: Awaitable[T]) -> T:
        """Return what comes of work that ends when the caller has left, or the service has to stop."""
        doing = asyncio.ensure_future(work)
        leaving = [asyncio.ensure_future(self._gone()), asyncio.ensure_future(self.service.stopping.wait())]
        try:
            await asyncio.wait([doing, *leaving], return_when=asyncio.FIRST_COMPLETED)
            if not doing.done():
                raise Refused(
                    refusal(503, "stopping", "the service is being stopped; ask again later", retry_after_s=5)
                )
            return doing.result()
        finally:
            for one in (doing, *leaving):
                one.cancel()
            await asyncio.gather(doing, *leaving, return_exceptions=True)

    async def _gone(self) -> None:
        while (await self.http.receive())["type"] != "http.disconnect":
            pass


Answer = Response | Mapping[str, Any]
Handler = Callable[[RequestRead], Awaitable[Answer]]


@dataclass(frozen=True, slots=True)
class Route:
    """One thing that can be asked."""

    method: str
    path: str
    handle: Handler
    answers: Schema
    body: type | None = None
    query: type | None = None
    status: int = 200
    faults: tuple[int, ...] = ()
    """Statuses of problem documents, beside those that any request may meet."""
    media_type: str = "application/json"
    names: str | None = None
    """The key of the answer that is a part of other paths."""

    @property
    def operation(self) -> str:
        """Its name in the description."""
        return self.handle.__name__

    @property
    def summary(self) -> str:
        """What it does."""
        return (self.handle.__doc__ or "").partition("\n")[0]


# Problems.


async def about(asked: RequestRead) -> Answer:
    """Version and limits."""
    from importlib.metadata import version

    limits = asked.service.limits
    return {
        "version": version("aquamend"),
        "limits": {
            "body": limits.body,
            "seconds": limits.seconds,
            "sessions": limits.sessions,
            "streams": limits.streams,
            "problems": limits.problems,
            "wait": limits.wait_s,
        },
        "sessions": asked.service.conductor.count,
    }


async def policies(asked: RequestRead) -> Answer:
    """Who can decide."""
    made = {name: make().description for name, make in POLICIES.items()}
    listed = [{"name": name, "title": d.title, "summary": d.summary} for name, d in made.items()]
    return {"policies": listed, "more": [family.name for family in FAMILIES]}


async def schemas(asked: RequestRead) -> Answer:
    """JSON Schemas of problem files, of sessions and of stories."""
    return Response(await asyncio.to_thread(_schemas), media_type="application/json")


@cache
def _schemas() -> str:
    return to_json({"problem": problem_schema(), "session": session_schema(), "story": story_schema()})


def _question(name: str, summary: str) -> Handler:
    """Return what has a question of this name answered by a process of its own."""

    async def ask(asked: RequestRead) -> Answer:
        service = asked.service
        seconds = service.seconds(getattr(asked.body, "seconds", None))
        work = service.workers.ask(name, service.resolved(asked.body, asked.data), seconds=seconds)
        return await asked.unless_gone(work)

    return _named(name, summary, ask)


def _named(name: str, summary: str, handle: Handler) -> Handler:
    """Return a handler under the name and with the summary that stand in the description."""
    handle.__name__, handle.__doc__ = name.replace("-", "_"), summary
    return handle


async def list_problems(asked: RequestRead) -> Answer:
    """List the problems that are kept."""
    return {"problems": list(asked.service.problems)}


async def show_problem(asked: RequestRead) -> Answer:
    """Show a problem as it was given."""
    return {"name": asked.path["name"], "problem": asked.service.kept(asked.path["name"])}


async def keep_problem(asked: RequestRead) -> Answer:
    """Keep a sound problem under a name, for `kept` in other requests."""
    service, name = asked.service, asked.path["name"]
    if asked.body.kept is not None:
        raise Refused(refusal(422, "makes-no-sense", "give the problem itself, under the key 'problem'"))
    work = service.workers.ask("check", dict(asked.data), seconds=service.limits.seconds)
    await asked.unless_gone(work)
    service.keep(name, asked.body.problem)
    return {"name": name}


async def delete_problem(asked: RequestRead) -> Answer:
    """Keep a problem no longer."""
    asked.service.kept(asked.path["name"])
    del asked.service.problems[asked.path["name"]]
    return {"name": asked.path["name"]}


# Sessions.


async def list_sessions(asked: RequestRead) -> Answer:
    """List the sessions of the log, the latest begun first, or a part of them."""
    lines = (await asyncio.to_thread(asked.service.journal.sessions))[::-1]
    here, part = asked.service.conductor, asked.query
    found = lines[part.after :][: part.limit]
    listed = [one.to_data() | {"conducted": here.find(one.name) is not None} for one in found]
    return {"sessions": listed, "total": len(lines)}


async def begin_session(asked: RequestRead) -> Answer:
    """Begin a recovery."""
    service, body = asked.service, asked.body
    data = service.resolved(body, asked.data)
    situation = {key: data[key] for key in _SITUATION if key in data}
    await asked.unless_gone(service.workers.ask("check", situation, seconds=service.limits.seconds))
    state = await asyncio.to_thread(service.state, replace(body, problem=data["problem"]))
    begun = await service.conductor.begin(
        state, body.policy, name=body.session, rules=body.rules, attended=body.attended
    )
    return await _after(asked, begun, known=None)


_SITUATION = tuple(form_of(Situation).schema()["properties"])


async def show_session(asked: RequestRead) -> Answer:
    """Show how a session stands."""
    return await _standing(asked)


async def resume_session(asked: RequestRead) -> Answer:
    """Take up a session that nobody conducts any more."""
    return await _after(asked, await asked.service.conductor.resume(asked.path["session"]), known=None)


async def next_request(asked: RequestRead) -> Answer:
    """Wait for what a session wants next."""
    return await _after(asked, _conducted(asked), known=asked.query.after)


async def reply(asked: RequestRead) -> Answer:
    """Say what came of the act that a request was about."""
    body = asked.body

    def say(session: Session) -> object:
        return session.reply(sessions.receipt_for(session, body), to=body.to)

    return await _heard(asked, say)


def _message(name: str, summary: str) -> Handler:
    """Return what says to a session what was sent."""

    async def say(asked: RequestRead) -> Answer:
        return await _heard(asked, lambda session: session.receive(asked.body))

    return _named(name, summary, say)


def _by_a_person(name: str, summary: str) -> Handler:
    """Return what takes in what a person says, whichever program conducts the session."""

    async def say(asked: RequestRead) -> Answer:
        if (found := _here(asked)) is not None:
            await found.call(lambda session: session.receive(asked.body))
        else:
            await asyncio.to_thread(said_by_a_person, asked.service.journal, asked.path["session"], asked.body)
        return await _standing(asked)

    return _named(name, summary, say)


async def decided_instead(asked: RequestRead) -> Answer:
    """Ask what another policy would have done with the same answers."""
    return await _recorded("instead", asked, asked.body.policy)


async def session_as_story(asked: RequestRead) -> Answer:
    """Tell a session as a story, with all that was weighed at every decision."""
    return await _recorded("story", asked, "best")


async def _recorded(question: str, asked: RequestRead, policy: str) -> Answer:
    entries, name, seconds = await _entries(asked), asked.path["session"], asked.service.limits.seconds
    lines = await asyncio.to_thread(lambda: [line_to_data(name, entry) for entry in entries])
    work = asked.service.workers.ask(question, {"lines": lines, "policy": policy}, seconds=seconds)
    return await asked.unless_gone(work)


async def events(asked: RequestRead) -> Answer:
    """List the events of a session, each with its words."""
    entries, name = await _entries(asked), asked.path["session"]
    return {"session": name, "events": sessions.events_data(entries, name, after=asked.query.after or 0)}


async def live_session(asked: RequestRead) -> Answer:
    """Follow a session as server-sent events, until it has ended."""
    after = sessions.checked_after(asked.query.after, asked.http.headers.get("last-event-id"))
    name, service = asked.path["session"], asked.service
    entries = await _entries(asked)
    if after >= len(entries) and isinstance(entries[-1].event, Ended):
        return Response(status_code=204)  # there is nothing to come, and no reason to connect again
    return _stream(asked, sessions.live(service.journal, service.conductor, name, after=after))


async def live_sessions(asked: RequestRead) -> Answer:
    """Follow all sessions as server-sent events."""
    return _stream(asked, sessions.all_live(asked.service.journal, asked.service.conductor, most=asked.query.limit))


def _stream(asked: RequestRead, messages: AsyncIterator[bytes]) -> Response:
    service = asked.service
    if service.streams >= service.limits.streams:
        raise Refused(refusal(503, "too-many-streams", f"{service.streams} follow live already", retry_after_s=5))
    return StreamingResponse(_until_gone(asked, messages), media_type="text/event-stream")


async def _until_gone(asked: RequestRead, messages: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield messages until the reader leaves, or the service stops."""
    service = asked.service
    service.streams += 1
    try:
        while not service.stopping.is_set():
            try:
                yield await asked.unless_gone(anext(messages))
            except (StopAsyncIteration, Refused):
                return
            except AquaMendError as error:  # the session was deleted, or its log cannot be read any more
                yield sessions.message("refused", refusal_of(error).to_data())
                return
    finally:
        service.streams -= 1


async def _entries(asked: RequestRead, name: str | None = None) -> list[Entry]:
    """Return the events of a session: the one that the path names, unless it is another."""
    return await asyncio.to_thread(lambda: list(asked.service.journal.read(name or asked.path["session"])))


async def _standing(asked: RequestRead, found: Conducted | None = None) -> Answer:
    """Return how a session stands: one that was just heard, or the one that the path names."""
    name = asked.path["session"] if found is None else found.session.name
    return sessions.session_view(await _entries(asked, name), name, found or _here(asked))


def _here(asked: RequestRead) -> Conducted | None:
    return asked.service.conductor.find(asked.path["session"])


def _conducted(asked: RequestRead) -> Conducted:
    name, found = asked.path["session"], _here(asked)
    if found is None:
        next(asked.service.journal.read(name))  # refused if there is none of that name
        what = f"session {name!r} is not conducted here, or has ended; if nobody conducts it any more, resume it"
        raise Refused(refusal(409, "not-conducted", what))
    return found


async def _heard(asked: RequestRead, said: Callable[[Session], object]) -> Answer:
    found = _conducted(asked)
    await found.call(said)
    return await _after(asked, found, known=None)


async def _after(asked: RequestRead, found: Conducted, *, known: int | None) -> Answer:
    """Return how a session stands once it wants something of the robot."""
    seconds = min(getattr(asked.query, "wait", 0.0), asked.service.limits.wait_s)
    await asked.unless_gone(found.next_request(after=known, seconds=seconds))
    return await _standing(asked, found)


def _keys(*names: str, **more: Schema) -> Schema:
    return {"type": "object", "properties": more, "required": [*names, *more]}


_TEXT: Schema = {"type": "string"}
_WHOLE: Schema = {"type": "integer", "minimum": 0}
_LIST: Schema = {"type": "array"}
_NAME = _keys(name=_TEXT)
VIEW = _keys(
    "started", "updated", "events", "cost", "request", "asked", "in_doubt", "beliefs", "ending",
    session=_TEXT, status=_TEXT, problem=_TEXT, unit=_TEXT, policy=_TEXT, conducted={"type": "boolean"}, reason=_TEXT,
)  # fmt: skip
_ONE = "/api/sessions/{session}"

ROUTES = (
    Route("GET", "/api", about, _keys("version", "limits", "sessions")),
    Route("GET", "/api/policies", policies, _keys(policies=_LIST, more=_LIST)),
    Route("GET", "/api/schemas", schemas, _keys("problem", "session", "story")),
    Route("POST", "/api/validate",
          _question("validate", "Say every fault of a problem, or what looks odd in a sound one."),
          _keys("valid", "faults", "findings"), body=Situation, faults=(504,)),
    Route("POST", "/api/decide", _question("decide", "Decide what to do next, and say why."),
          _keys("step", "stop", "probes", "weighed", "words"), body=ToDecide, faults=(504,)),
    Route("POST", "/api/plan", _question("plan", "Say what a policy will do, answer by answer."),
          {"anyOf": [form_of(PlanTree).schema(), form_of(TwoPlans).schema()]}, body=ToPlan, faults=(504,)),
    Route("POST", "/api/view",
          _question("view", "Show a situation as a page does: decision, graph, possible answers, knobs."),
          _keys("choice", "nodes", "edges", "probes", "knobs"), body=ToView, faults=(504,)),
    Route("POST", "/api/ticks", _question("ticks", "Say where the decision flips as one knob is turned."),
          _keys("knob", "ticks"), body=ToTurn, faults=(504,)),
    Route("POST", "/api/what-if", _question("what-if", "Say what each answer of a probe would lead to."),
          _keys("probe", "policy", "cost", "loss", "answers"), body=WhatIf, faults=(504,)),
    Route("GET", "/api/problems", list_problems, _keys(problems=_LIST)),
    Route("GET", "/api/problems/{name}", show_problem, _keys("name", "problem")),
    Route("PUT", "/api/problems/{name}", keep_problem, _NAME, body=Situation, faults=(409, 504), names="name"),
    Route("DELETE", "/api/problems/{name}", delete_problem, _NAME),
    Route("GET", "/api/sessions", list_sessions, _keys(sessions=_LIST, total=_WHOLE), query=PartOfList),
    Route("POST", "/api/sessions", begin_session, VIEW, body=sessions.ToBegin, query=WaitAtMost, names="session",
          status=201, faults=(409, 504)),
    Route("GET", "/api/live", live_sessions, _TEXT, query=AtFirst, media_type="text/event-stream"),
    Route("GET", _ONE, show_session, VIEW),
    Route("POST", f"{_ONE}/resume", resume_session, VIEW, body=sessions.NothingToSay, query=WaitAtMost, faults=(409,)),
    Route("GET", f"{_ONE}/request", next_request, VIEW, query=After, faults=(409,)),
    Route("POST", f"{_ONE}/reply", reply, VIEW, body=sessions.ToReply, query=WaitAtMost, faults=(409,)),
    Route("POST", f"{_ONE}/alarm", _message("alarm", "Say that a monitor rang."), VIEW,
          body=sessions.ToAlarm, query=WaitAtMost, faults=(409,)),
    Route("POST", f"{_ONE}/observe", _message("observe", "Say what was observed unasked."), VIEW,
          body=sessions.ToObserve, query=WaitAtMost, faults=(409,)),
    Route("POST", f"{_ONE}/cancel", _message("cancel", "Call a recovery off."), VIEW,
          body=Cancel, query=WaitAtMost, faults=(409,)),
    Route("POST", f"{_ONE}/answer", _by_a_person("answer", "Allow or refuse, as a person, what a session asks."),
          VIEW, body=sessions.ToAnswer, faults=(409,)),
    Route("POST", f"{_ONE}/settle",
          _by_a_person("settle_session", "Say, as a person, what became of an act in doubt."),
          VIEW, body=sessions.ToSettle, faults=(409,)),
    Route("POST", f"{_ONE}/instead", decided_instead, _keys("session", "policy", "steps", "happened"),
          body=sessions.AnotherPolicy, faults=(504,)),
    Route("GET", f"{_ONE}/story", session_as_story, _keys("title", "moments", "updates", "receipts"), faults=(504,)),
    Route("GET", f"{_ONE}/events", events, _keys(session=_TEXT, events=_LIST), query=Behind),
    Route("GET", f"{_ONE}/live", live_session, _TEXT, query=Behind, media_type="text/event-stream"),
)  # fmt: skip
