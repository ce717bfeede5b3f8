"""The recoveries that agents conduct through one program, and how they stand, in words that a model can act on."""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from typing_extensions import TypedDict  # the library reads no other before Python 3.12

from aquamend.belief import InformationState
from aquamend.codec import json_number
from aquamend.decision.steps import Wording, step_from_data
from aquamend.errors import AquaMendError, BadArgument, ForeignSession, StaleReply, UnknownName
from aquamend.files import parse_problem
from aquamend.policies import Policy
from aquamend.problem import Problem
from aquamend.recovery import Log, Recovery, Robot, Rules, Session, Stoppable, Tracker, Verifying
from aquamend.recovery.acts import Act, Declare, Finish, Follow, HandOver, Measure, Redo, Undo
from aquamend.recovery.events import Decided
from aquamend.recovery.requests import Decide, End, Message, NoReceipt, Perform, Request, RunProbe, Stop, Verify, Wait
from aquamend.text import listed, quantity

MOST_CHARACTERS = 200_000
"""Of a problem that an agent writes itself."""
LONGEST_ERROR = 4_000

Value = str | float


class BeliefStanding(TypedDict):
    """How a belief stands."""

    name: str
    declared: Value | None
    """What is declared of it now; null where the problem knows no value."""
    wrong: float
    """How probably that is wrong."""


class Weighed(TypedDict):
    """A step that was considered, and what it would cost."""

    step: str
    expected_loss: float | str


class ToDo(TypedDict):
    """What is to be done now, the only thing."""

    kind: Literal["measure", "perform", "stop", "verify", "wait", "ask_person", "decide", "end"]
    number: int
    """The same number means the same thing: do it once."""
    act: str
    """The act that it is about, if it is about one."""
    begun: bool
    """Whether it was begun already; then it must not be begun again."""
    how: str
    """What to do, in words."""
    why: str


class RecoveryStanding(TypedDict):
    """A recovery as it stands."""

    session: str
    problem: str
    unit: str
    """Of every cost and loss."""
    beliefs: list[BeliefStanding]
    evidence: list[str]
    """What was found since the alarm."""
    weighed: list[Weighed]
    """What was considered at the last decision, the best first."""
    undone: list[str]
    """Actions that are undone now."""
    cost: float | str
    """What the recovery has cost so far."""
    ending: str
    """How it has ended; empty while it goes on."""
    to_do: ToDo


class Recoveries:
    """Recoveries in one log, one request at a time; ``robot`` does what is asked, or else the agent itself."""

    def __init__(
        self,
        problems: Mapping[str, Problem],
        log: Log,
        *,
        policy: Policy | str = "best",
        rules: Rules | None = None,
        robot: Robot | None = None,
    ) -> None:
        self.problems, self.log, self.robot = dict(problems), log, robot
        self._policy, self._rules = policy, rules
        self._lock = threading.Lock()
        self._taking_up: dict[str, threading.Lock] = {}
        self._open: dict[str, Session] = {}
        self._begun = set[tuple[str, int]]()
        """What was begun, by session and number."""

    def describe(
        self,
        problem: str | Mapping[str, Any],
        session: str,
        *,
        believed: Mapping[str, Value | None] | None = None,
        done: Sequence[str] | None = None,
        alarms: Sequence[str] = (),
        silent: Sequence[str] = (),
    ) -> RecoveryStanding:
        """Begin a recovery: of a problem by its name, or of one written as data, as it stands, or with these done."""
        own = self._problem(problem)
        start: InformationState | Tracker
        if believed is None and done is None:
            start = InformationState.alarmed(own, tuple(alarms) or None, silent=silent)
            begun: dict[str, Any] = {}
        else:
            start = Tracker(own)
            for belief, value in (believed or {}).items():
                start.declare(belief, value)
            for action in done or ():
                start.done(action)
            begun = {"rung": tuple(alarms), "silent": tuple(silent)}
        made = Session.begin(start, self._policy, log=self.log, name=session, rules=self._rules, **begun)
        with self._lock:
            self._open[made.name] = made
        return self._after(made)

    def _problem(self, problem: str | Mapping[str, Any]) -> Problem:
        if isinstance(problem, Mapping):
            if len(str(problem)) > MOST_CHARACTERS:
                raise BadArgument(f"a problem may take at most {MOST_CHARACTERS:,} characters; make it smaller")
            return parse_problem(problem)
        if problem not in self.problems:
            raise UnknownName("problem", problem, self.problems)
        return self.problems[problem]

    def situation(self, session: str) -> RecoveryStanding:
        """Return how a recovery stands; nothing is changed, not even the time."""
        with self._lock:
            known = self._open.get(session)
        if known is not None:
            return self._standing(known.recovery, known.request)
        return self._standing(Recovery.of([entry.event for entry in self.log.read(session)], session), None)

    def recovery(self, session: str) -> Recovery:
        """Return a recovery that is conducted here, as far as it has come."""
        return self._conducted(session).recovery

    def decide(self, session: str) -> RecoveryStanding:
        """Return what is to be done now; one that nobody conducts here is taken up."""
        return self._after(self._conducted(session))

    def act(self, session: str, number: int) -> RecoveryStanding:
        """Begin what is to be done: with a robot, have it do it; otherwise the agent does, once this has returned."""
        own = self._conducted(session)
        request = own.tick()
        if not isinstance(request, RunProbe | Perform) or request.number != number:
            to_do = self._to_do(own.recovery, request)
            raise BadArgument(f"{number} cannot be begun now; what is to be done is {to_do['number']}: {to_do['how']}")
        with self._lock:
            if (session, number) in self._begun:
                what = "report what came of it; where you do not know, report that it is unknown"
                raise BadArgument(f"{number}, {str(request.act)!r}, was begun already: do not do it again, but {what}")
            self._begun.add((session, number))
        if self.robot is not None:
            self._reply(own, number, self.robot.measure if isinstance(request, RunProbe) else self.robot.perform)
        return self._after(own)

    def report(
        self,
        session: str,
        number: int,
        outcome: Literal["done", "not done", "unknown"],
        *,
        finding: Value | None = None,
        cost: float | None = None,
    ) -> RecoveryStanding:
        """Take in what came of something that an agent has begun, stopped or found out about."""
        own = self._conducted(session)
        act = own.recovery.act
        if act is None:
            raise BadArgument(f"nothing of {session!r} is under way; decide says what is to be done now")
        if outcome == "done" and isinstance(act, Measure):
            if finding is None:
                raise BadArgument(f"say what {act.probe!r} has shown, as the finding: {self._expected(own, act.probe)}")
            finding = self._answer(own, act.probe, finding)
        match outcome:
            case "done":
                own.reply(act.done(finding, cost=cost), to=number)
            case "not done":
                own.reply(act.failed(str(finding or "it could not be done"), cost=cost), to=number)
            case _:
                own.reply(NoReceipt(str(finding or "nobody knows what came of it")), to=number)
        return self._after(own)

    def observe(self, session: str, probe: str, value: Value) -> RecoveryStanding:
        """Take in what a probe has shown, whether it was asked for or not."""
        own = self._conducted(session)
        answer, request = self._answer(own, probe, value), own.tick()
        if isinstance(request, RunProbe) and request.act.probe == probe:
            own.reply(request.act.done(answer), to=request.number)
        else:
            own.observe(probe, answer)
        return self._after(own)

    def tell(self, session: str, message: Message) -> RecoveryStanding:
        """Take in what may be said at any time; an alarm, or calling it off, has what is under way stopped first."""
        own = self._conducted(session)
        own.receive(message)
        return self._after(own)

    def question(self, session: str) -> Wait:
        """Return what a person is asked."""
        own = self._conducted(session)
        request = own.tick()
        if not isinstance(request, Wait) or not request.token:
            raise BadArgument(f"nobody is asked in {session!r}: {self._to_do(own.recovery, request)['how']}")
        return request

    # Conducting.

    def _conducted(self, session: str) -> Session:
        """Return a session that is conducted here, taken up from the log where it is not yet."""
        with self._lock:
            alone = self._taking_up.setdefault(session, threading.Lock())
        with alone:  # two calls at once take it up once; others need not wait for that
            known = self._open.get(session)
            if known is None:
                policy = None if isinstance(self._policy, str) else self._policy
                known = self._open[session] = Session.resume(self.log, session, policy=policy)
        try:
            known.tick()
        except ForeignSession:  # another program conducts it now; the next call takes it up after that
            self._forget(session)
            raise
        return known

    def _forget(self, session: str) -> None:
        with self._lock:
            self._open.pop(session, None)
            self._taking_up.pop(session, None)
            self._begun -= {mark for mark in self._begun if mark[0] == session}

    def _after(self, session: Session) -> RecoveryStanding:
        """Do what needs no agent, and return what does."""
        while True:
            request = session.tick()
            match request:
                case Perform(number, Declare() | HandOver() as act):  # they move nothing
                    self._reply(session, number, lambda _, act=act: act.done())
                case Stop(number) if self.robot is not None:
                    self._reply(session, number, self.robot.stop if isinstance(self.robot, Stoppable) else _cannot)
                case Verify(number) if self.robot is not None:
                    self._reply(session, number, self.robot.verify if isinstance(self.robot, Verifying) else _cannot)
                case End():
                    standing = self._standing(session.recovery, request)
                    self._forget(session.name)
                    return standing
                case _:
                    return self._standing(session.recovery, request)

    def _reply(self, session: Session, number: int, call: Any) -> None:
        act = session.recovery.act
        try:
            answer = call(act)
        except Exception as error:  # noqa: BLE001 - what a robot raises is why there is no receipt
            answer = error
        with suppress(StaleReply):  # stopped or settled meanwhile
            session.reply(answer, to=number)

    def _answer(self, session: Session, probe: str, value: Value) -> Value:
        """Return what a probe can have shown; an agent that says anything else hears what it can."""
        said = session.recovery.state.probe(probe).channel.parse(value)
        if said is None:
            raise BadArgument(f"{probe!r} cannot have shown {value!r}; it shows {self._expected(session, probe)}")
        return said

    def _expected(self, session: Session, probe: str) -> str:
        return session.recovery.state.probe(probe).channel.expected

    # Telling.

    def _standing(self, now: Recovery, request: Request | None) -> RecoveryStanding:
        problem = now.state.problem
        declared = {d.belief: d.value for d in problem.declarations}
        wrong = now.state.failure_probabilities.tolist()
        return {
            "session": now.session,
            "problem": problem.name,
            "unit": problem.unit or "",
            "beliefs": [
                {"name": belief.name, "declared": declared.get(belief.name, belief.declared), "wrong": q}
                for belief, q in zip(problem.graph.beliefs, wrong, strict=True)
            ],
            "evidence": [str(observation) for observation in now.evidence],
            "weighed": self._weighed(now),
            "undone": list(now.to_redo),
            "cost": json_number(now.cost) or 0.0,
            "ending": "" if now.ending is None else str(now.ending),
            "to_do": self._to_do(now, request),
        }

    def _weighed(self, now: Recovery) -> list[Weighed]:
        entries = [entry.event for entry in self.log.read(now.session)]
        last = next((event for event in reversed(entries) if isinstance(event, Decided)), None)
        if last is None or last.explanation is None:
            return []
        words = Wording(now.decided_at)
        return [
            {"step": words.brief(step_from_data(each["step"])), "expected_loss": each["loss"]}
            for each in last.explanation["weighed"]
        ]

    def _to_do(self, now: Recovery, request: Request | None) -> ToDo:
        if request is None and now.ending is None:
            how = "nobody conducts it here: call decide to take it up"
            return {"kind": "decide", "number": 0, "act": str(now.act or ""), "begun": False, "how": how, "why": ""}
        act = None if isinstance(request, End | Decide | None) else request.act
        number = 0 if request is None else request.number
        kind = "end" if request is None else "ask_person" if getattr(request, "token", "") else request.kind
        return {
            "kind": kind,  # type: ignore[typeddict-item]
            "number": number,
            "act": "" if act is None else str(act),
            "begun": (now.session, number) in self._begun,
            "how": self._how(now, request),
            "why": getattr(request, "reason", "") or (now.reason if act is None else ""),
        }

    def _how(self, now: Recovery, request: Request | None) -> str:
        """Return in words what is to be done, and with which tool."""
        session, own = now.session, self.robot is None
        match request:
            case RunProbe(number, act):
                expected = now.state.probe(act.probe).channel.expected
                if not own:
                    return f"call act({session!r}, {number}) to run the probe {act.probe!r}"
                return f"run the probe {act.probe!r}, and call observe with what it shows: {expected}"
            case Perform(number, act) if (session, number) in self._begun:
                return f"{act_in_words(act)}, if you have not done so yet; then call report for {number}"
            case Perform(number, act):
                then = (
                    f"; then {act_in_words(act)}, and call report" if own else f", which does this: {act_in_words(act)}"
                )
                return f"call act({session!r}, {number}){then}"
            case Stop(number, act):
                return f"stop at once what you are doing ({act}), and report for {number} how far it came"
            case Verify(number, act):
                return (
                    f"find out whether this was done, without doing it: {act_in_words(act)}; "
                    f"then report for {number} whether it was, or that it is unknown"
                )
            case Wait(token=token) if token:
                return "a person has to answer: call ask_person"
            case Wait():
                return "what is under way cannot be stopped: call report once it has ended"
            case Decide():
                return "call decide"
            case _:
                return f"nothing: it has ended ({now.ending}{', ' if now.reason else ''}{now.reason})"


def _cannot(act: Act) -> NoReceipt:
    return NoReceipt("the robot cannot")


def act_in_words(act: Act) -> str:
    """Return what an act asks for, in words for the one who has to do it."""
    match act:
        case Measure(probe):
            return f"run the probe {probe!r}"
        case Undo(operation, actions):
            return f"undo {listed([repr(name) for name in actions])} by {operation!r}"
        case Declare(belief, value):
            return f"believe from now on that {belief!r} is {value!r}" if value is not None else f"put {belief!r} right"
        case Redo(action):
            return f"do {action!r} again, by what is believed now"
        case Follow(plan):
            return f"follow the plan {plan!r}"
        case Finish(actions):
            return f"finish the task: {listed([repr(name) for name in actions])}" if actions else "finish the task"
        case HandOver(reason):
            return f"hand over to a person ({reason})"


def told_question(now: Recovery, question: Wait) -> str:
    """Return a question as a person reads it."""
    cost = question.act.cost
    price = f" It costs {quantity(cost, now.state.problem.unit)}." if math.isfinite(cost) and cost > 0 else ""
    doubt = f" Nobody knows whether this was done: {act_in_words(question.in_doubt)}." if question.in_doubt else ""
    return f"{now.session}: may this be done: {act_in_words(question.act)}? ({question.reason}.){price}{doubt}"


def refused(error: AquaMendError) -> str:
    """Return an error as a model can act on it."""
    said = str(error)
    return said if len(said) <= LONGEST_ERROR else f"{said[:LONGEST_ERROR]} …"
