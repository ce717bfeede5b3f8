"""What went wrong as a problem document (RFC 9457), wherever it was found: every fault of the service is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Annotated, Any

from aquamend import errors
from aquamend.codec import Form, Whole, write
from aquamend.deadline import OutOfTime
from aquamend.errors import AquaMendError, Fault, InvalidData

MEDIA_TYPE = "application/problem+json"

_Status = Annotated[int, Form(lambda value, where, report: value, lambda: {"type": "integer"})]


@dataclass(frozen=True, slots=True)
class FoundFault:
    """One thing wrong with what was sent."""

    where: str
    problem: str
    remedy: str
    line: Whole | None = None
    """Counted from 1; null where there was no text."""
    column: Whole | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done."""

    type: str
    """What kind of fault it is, for programs: ``urn:aquamend:stale-reply``."""
    title: str
    status: _Status
    """The status of the response."""
    detail: str
    """What happened, with the value, and what to do."""
    faults: tuple[FoundFault, ...] = ()
    """All that is wrong with a problem or with a request."""
    retry_after_s: Whole | None = field(default=None)
    """When it may be worth trying again."""

    def to_data(self) -> dict[str, Any]:
        """Return the document."""
        data: dict[str, Any] = write(self, complete=True)
        return data


class Refused(AquaMendError):
    """A request that is not carried out, and the document that says why."""

    def __init__(self, found: Refusal) -> None:
        self.refusal = found
        super().__init__(found.detail)


def refusal(
    status: int, kind: str, detail: str, faults: Sequence[FoundFault] = (), *, retry_after_s: int | None = None
) -> Refusal:
    """Return a document; ``kind`` is a word for programs."""
    return Refusal(f"urn:aquamend:{kind}", HTTPStatus(status).phrase, status, detail, tuple(faults), retry_after_s)


def refusal_of(error: BaseException) -> Refusal:
    """Return the document that says what an error says."""
    match error:
        case Refused():
            return error.refusal
        case errors.InvalidProblem(faults=faults):
            return refusal(422, "invalid-problem", _summary(faults), [_found(fault) for fault in faults])
        case InvalidData():
            return refusal(422, "makes-no-sense", str(error), [FoundFault(error.where, error.problem, "correct it")])
        case errors.UnknownName(kind=kind):
            return refusal(404 if kind in ("session", "kept problem") else 422, "unknown-name", str(error))
        case errors.StaleReply() | errors.UsedName() | errors.ForeignSession():
            return refusal(409, _KINDS.get(type(error), "foreign-session"), str(error))
        case OutOfTime():
            return refusal(504, "out-of-time", str(error))
        case errors.BadJournal():
            return refusal(
                500, "bad-journal", "the sessions cannot be read or written; the log of the service says why"
            )
        case errors.Unreachable():
            what = "the database of the sessions does not answer; nothing was written, and the same may be said again"
            return refusal(503, "unreachable", what, retry_after_s=5)
        case AquaMendError():
            return refusal(422, "not-possible", str(error))
        case ArithmeticError() | MemoryError() | RecursionError():
            what = f"its numbers or its size are beyond what can be computed ({type(error).__name__})"
            remedy = "bring costs and losses closer together, or make the problem smaller"
            return refusal(422, "beyond-computing", f"{what}; {remedy}")
        case _:
            return refusal(500, "broken", "something is wrong in the service itself; its log says what")


_KINDS: Mapping[type, str] = {
    errors.StaleReply: "stale-reply",
    errors.UsedName: "used-name",
    errors.HeldSession: "held-session",
    errors.LostLease: "lost-lease",
}


def malformed(error: InvalidData) -> Refusal:
    """Return the document on a request that has not the form that the description gives it."""
    return refusal(400, "malformed", str(error), [FoundFault(error.where, error.problem, "correct it")])


def _found(fault: Fault) -> FoundFault:
    return FoundFault(fault.where, fault.problem, fault.advice, fault.line, fault.column)


def _summary(faults: Sequence[Fault]) -> str:
    return f"the problem has {len(faults)} fault{'s' if len(faults) > 1 else ''}; the first: {faults[0]}"
