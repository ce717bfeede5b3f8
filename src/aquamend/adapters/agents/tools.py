"""The tools themselves: what each takes, what it says about itself, and how a person is asked."""

# Annotations are read by the library when the tools are made, and name what is only known then.

import functools
from collections.abc import Callable
from typing import Annotated, Any, Literal, ParamSpec, TypeVar

from mcp.server import MCPServer
from mcp.server.elicitation import AcceptedElicitation, DeclinedElicitation, ElicitationResult
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

from aquamend.adapters.agents.recoveries import Recoveries, RecoveryStanding, Value, refused, told_question
from aquamend.errors import AquaMendError
from aquamend.recovery import Wait
from aquamend.recovery.requests import AlarmRaised, Answer, Cancel, Settle

P = ParamSpec("P")
R = TypeVar("R")

INSTRUCTIONS = """\
Use these tools when something that you measured, read or heard, and acted on, may not be true any more: a test
fails that should pass, somebody contradicts you, a file is not what you took it for. Call describe_situation first.
From then on, every tool returns the situation and `to_do`, the one thing to be done now: do exactly that, and nothing
else, until its kind is "end". Never do twice what has the same number. If you have forgotten what you did, call decide,
and report as unknown what you do not know.\
"""

Session = Annotated[str, Field(description="The name of the recovery.")]
Number = Annotated[int, Field(description="The number in to_do.")]


class Permission(BaseModel):
    """What a person answers to a question."""

    allow: bool = Field(description="Whether it may be done.")
    name: str = Field(default="", description="Who says so.")
    note: str = Field(default="", description="What else is to be known.")


class Settlement(BaseModel):
    """What a person says of an act of which nobody knows what became."""

    what: Literal["it was done", "it was not done", "I take over"] = Field(description="What became of it.")
    name: str = Field(default="", description="Who says so.")
    note: str = Field(default="", description="What else is to be known.")


def server(recoveries: Recoveries) -> MCPServer[Any]:
    """Return a server with the tools; run it with ``.run("stdio")``, or give it to a client of a test."""
    made: MCPServer[Any] = MCPServer("aquamend", instructions=INSTRUCTIONS, log_level="ERROR")
    own = recoveries.robot is None
    names = ", ".join(recoveries.problems) or "none is known here"
    known = f"A problem by its name ({names}), or one written as an object in the format aquamend-problem/1."

    def tool(
        *, title: str, reads: bool = False, destroys: bool = False, same: bool = False, outside: bool = False
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Register a function as a tool, with what it truly does; what it refuses is said in words."""
        hints = ToolAnnotations(
            title=title,
            read_only_hint=reads,
            destructive_hint=destroys,
            idempotent_hint=reads or same,
            open_world_hint=outside,
        )

        def register(function: Callable[P, R]) -> Callable[P, R]:
            worded = _in_words(function)
            made.add_tool(worded, title=title, annotations=hints, structured_output=True)
            return worded

        return register

    @tool(title="Describe a situation")
    def describe_situation(
        problem: Annotated[str | dict[str, Any], Field(description=known)],
        session: Annotated[str, Field(description="A new name for this recovery, in one line.")],
        believed: Annotated[
            dict[str, Value | None] | None,
            Field(description="What you believed when you acted: values by belief. Left out: as the problem says."),
        ] = None,
        done: Annotated[
            list[str] | None,
            Field(description="The actions that you have done, in order. Left out: as the problem says."),
        ] = None,
        alarms: Annotated[list[str], Field(description="The monitors that have rung, where there are several.")] = [],  # noqa: B006
        silent: Annotated[list[str], Field(description="Those that were watching and have not rung.")] = [],  # noqa: B006
    ) -> RecoveryStanding:
        """Say what you believed and did, now that it may be wrong. A recovery begins, with the first thing to do."""
        return recoveries.describe(problem, session, believed=believed, done=done, alarms=alarms, silent=silent)

    @tool(title="Look at a situation", reads=True)
    def look(session: Session) -> RecoveryStanding:
        """Return how a recovery stands. Nothing is changed."""
        return recoveries.situation(session)

    @tool(title="Decide what to do", same=True)
    def decide(session: Session) -> RecoveryStanding:
        """Return what is to be done now, and what was weighed. Also takes up a recovery after a restart of anything."""
        return recoveries.decide(session)

    @tool(title="Begin an act", destroys=not own, outside=not own)
    def act(session: Session, number: Number) -> RecoveryStanding:
        """Begin what is to be done. The same number can be begun once only, whatever you remember."""
        return recoveries.act(session, number)

    if own:

        @tool(title="Report what came of an act")
        def report(
            session: Session,
            number: Number,
            outcome: Annotated[
                Literal["done", "not done", "unknown"],
                Field(description="Say done only of what was done to its end; unknown where you cannot tell."),
            ],
            finding: Annotated[
                Value | None, Field(description="What a probe has shown; or why it was not done.")
            ] = None,
            cost: Annotated[
                float | None, Field(ge=0, description="What it has cost, if not what the problem says.")
            ] = None,
        ) -> RecoveryStanding:
            """Say what came of what you have begun, stopped or found out about. Nothing outside is changed."""
            return recoveries.report(session, number, outcome, finding=finding, cost=cost)

    @tool(title="Say what was observed")
    def observe(session: Session, probe: str, value: Value) -> RecoveryStanding:
        """Say what a probe has shown: the one that is to be run, or one that answered without being asked."""
        return recoveries.observe(session, probe, value)

    @tool(title="Say that an alarm rang again", outside=not own, destroys=not own)
    def alarm(
        session: Session,
        name: Annotated[str | None, Field(description="Which monitor, where there are several.")] = None,
    ) -> RecoveryStanding:
        """Say that a monitor rang again. What is under way is to be stopped first."""
        return recoveries.tell(session, AlarmRaised(name))

    @tool(title="Call a recovery off", same=True, outside=not own, destroys=not own)
    def call_off(
        session: Session, why: Annotated[str, Field(description="Why; it is written down.")]
    ) -> RecoveryStanding:
        """End a recovery before its end. What is under way is to be stopped first; nothing is undone by this."""
        return recoveries.tell(session, Cancel(why))

    def asked(session: str, context: Context[Any, Any]) -> Wait:
        question = _said(lambda: recoveries.question(session))
        elicitation = context.client_capabilities.elicitation if context.client_capabilities else None
        if elicitation is None or (elicitation.form is None and elicitation.url is not None):
            answer = f"aquamend session approve {session!r} --token {question.token}"
            raise ToolError(f"this client cannot ask a person; have one answer with: {answer}")
        return question

    def permitted(session: str, question: Annotated[Wait, Resolve(asked)]) -> Elicit[Permission] | None:
        return None if question.in_doubt else Elicit(_words(recoveries, session, question), Permission)

    def settled(session: str, question: Annotated[Wait, Resolve(asked)]) -> Elicit[Settlement] | None:
        return Elicit(_words(recoveries, session, question), Settlement) if question.in_doubt else None

    @tool(title="Ask a person", outside=True)
    def ask_person(
        session: Session,
        question: Annotated[Wait, Resolve(asked)],
        permission: Annotated[ElicitationResult[Permission], Resolve(permitted)],
        settlement: Annotated[ElicitationResult[Settlement], Resolve(settled)],
    ) -> RecoveryStanding:
        """Have a person answer what the recovery asks. Only a person can: you cannot answer for them."""
        token = question.token
        match settlement if question.in_doubt else permission:
            case AcceptedElicitation(data=Permission(allow=allow, name=by, note=note)):
                return recoveries.tell(session, Answer(allow, _who(by), token, note))
            case AcceptedElicitation(data=Settlement(what="I take over", name=by, note=note)):
                return recoveries.tell(session, Answer(True, _who(by), token, note))
            case AcceptedElicitation(data=Settlement(what=what, name=by, note=note)):
                return recoveries.tell(session, Settle(what == "it was done", _who(by), note))
            case DeclinedElicitation() if not question.in_doubt:
                return recoveries.tell(session, Answer(False, _who(""), token, "declined"))
            case _:  # they went away, and the question stands
                return recoveries.situation(session)

    return made


def _in_words(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function whose errors reach the model: any other would look like a crash."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        return _said(lambda: function(*args, **kwargs))

    return called


def _said(call: Callable[[], R]) -> R:
    try:
        return call()
    except AquaMendError as error:
        raise ToolError(refused(error)) from error


def _words(recoveries: Recoveries, session: str, question: Wait) -> str:
    return _said(lambda: f"{told_question(recoveries.recovery(session), question)}\nQuestion {question.token}")


def _who(name: str) -> str:
    return name.strip() or "the person at the agent"
