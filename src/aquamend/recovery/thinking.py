"""Decisions computed apart from the session that needs them, with the same result: here, or in another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aquamend.belief import InformationState
from aquamend.decision.steps import Reprobe
from aquamend.errors import IllegalProbe
from aquamend.files.decision_format import decision_record
from aquamend.policies.decision_report import decision_report
from aquamend.policies.policy import Policy
from aquamend.recovery.events import Decided
from aquamend.recovery.requests import Decide, Request

if TYPE_CHECKING:
    from aquamend.recovery.session import Session


@dataclass(frozen=True, eq=False, slots=True)
class Deliberation:
    """A decision to be made: all that it needs, so that it can be computed anywhere, with the same result."""

    number: int
    """Of the request that it answers."""
    policy: Policy
    name: str
    state: InformationState
    explained: bool
    """Whether what was weighed is kept with it."""

    def compute(self) -> Decided:
        """Let the policy decide; whatever goes wrong in it is raised."""
        if self.explained:
            report = decision_report(self.state, self.policy, name=self.name, bounded=False)
            step, explanation = report.step, decision_record(report)
        else:
            step, explanation = self.policy.next_step(self.state), None
        if isinstance(step, Reprobe) and (reason := self.state.why_illegal(step.probe)):
            raise IllegalProbe(step.probe, reason)
        return Decided(step, explanation=explanation)


class Thinking:
    """Decides for a session in a thread of its own, so that a caller with a short tick is never kept waiting.

    Begin the session with ``decide_apart=True``, and call ``tick`` instead of the session's.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self._number = -1
        self._thought: Future[Any] = Future()

    def tick(self) -> Request:
        """Return what is wanted now: ``Decide`` for as long as a decision is being computed."""
        request = self.session.tick()
        if not isinstance(request, Decide):
            return request
        if self._number != request.number:
            thought = self.session.deliberation
            self._number, self._thought = thought.number, Future()
            threading.Thread(target=settled, args=(thought.compute, self._thought), daemon=True).start()
        if not self._thought.done():
            return request
        error = self._thought.exception()
        if error is not None and (self.session.strict or not isinstance(error, Exception)):
            raise error
        return self.session.reply(error or self._thought.result(), to=self._number)


def settled(call: Callable[[], Any], answer: Future[Any]) -> None:
    """Call, unless that was cancelled before, and have what comes of it in a future."""
    if not answer.set_running_or_notify_cancel():
        return
    try:
        answer.set_result(call())
    except BaseException as error:  # noqa: BLE001 - it belongs to the thread that waits
        answer.set_exception(error)
