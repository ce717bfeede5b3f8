"""A random schedule: one session, its model, its robot and the people around it, each saying things in any order."""

import json
import math
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pytest
from tests.reference.session import Refused, SessionModel, Stage
from tests.soak.checks import WrittenLog, assert_same, check_log, kind_of

from aquamend import InformationState
from aquamend.codec import dump, load
from aquamend.decision.steps import Continue, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.errors import AquaMendError, ForeignSession, StaleReply
from aquamend.recovery import (
    HandOver,
    Measure,
    NoReceipt,
    Recovery,
    Request,
    Rules,
    Session,
    acts_of,
    approve,
    settle,
)
from aquamend.recovery.events import (
    Decided,
    Intended,
)

LONGEST = 60
BOUND = 400
"""Calls within which a session has to end where everybody answers."""

ROLL_BACKS = (
    RollBack(("level",), declare=(NewDeclaration("level", 40.0),)),
    RollBack(("cup",)),
    RollBack(("cup", "level"), declare=(NewDeclaration("level", 40.0),)),
)
ANSWERS = {"look": ("there", "gone"), "weigh": ("18", "40")}


class Chooser:
    """A policy that takes any step; it keeps what it chose, and what that comes to."""

    def __init__(self, rng):
        self.rng, self.chosen, self.calm = rng, [], False
        self.to_redo = tuple

    def next_step(self, state):
        if not self.calm and self.rng.random() < 0.05:
            self.chosen.append(None)
            raise RuntimeError("no idea")
        self.chosen.append(self.choice(state))
        return self.chosen[-1][0]

    def choice(self, state):
        """Return a step, and the acts that carry it out."""
        steps = [Continue(), Escalate(), Restart(), *ROLL_BACKS, *ROLL_BACKS]
        steps += [] if self.calm else [Reprobe(view.name) for view in state.legal] * 2
        while True:
            step = self.rng.choice(steps)
            try:
                return step, acts_of(state, step, undone=self.to_redo())
            except AquaMendError:
                steps.remove(step)


@dataclass
class Call:
    """A call of the robot for an act."""

    number: int
    open: bool = True
    """Whether it may still return."""
    moves: bool = True


class Schedule:
    """One session, its model, its robot, and the people around it."""

    def __init__(self, seed, table):
        self.rng = rng = random.Random(seed)
        self.again = rng.random() < 0.6
        again = {"nothing": 0.5, "moved": 0.7, "added": 0.6} if self.again else None
        self.state: InformationState = table(again=again, reversible=rng.random() < 0.4)
        self.rules = Rules(
            attempts=rng.choice([1, 2, 3]),
            decisions=rng.choice([2, 5, 12]),
            seconds=rng.choice([math.inf, math.inf, 100.0]),
            timeout_s=rng.choice([math.inf, 5.0, 5.0]),
            timeouts=rng.choice([{}, {"clear": 2.0, "look": 3.0}]),
            stop_s=rng.choice([3.0, 10.0]),
            probes_move=rng.random() < 0.5,
            ask_before_handing_over=rng.random() < 0.6,
            ask_before_irreversible=rng.random() < 0.7,
            surprising=rng.choice([0.0, 1e-3]),
            approval_s=rng.choice([20.0, 600.0]),
        )
        self.attended, self.apart = rng.random() < 0.75, rng.random() < 0.6
        self.honest = rng.random() < 0.8
        self.log, self.t = WrittenLog(), 1_000.0
        self.policy = Chooser(rng)
        self.seen: Counter[str] = Counter()
        self.calls: list[Call] = []
        self.asked_of: dict[int, Request] = {}
        self.problem_cost = self.state.problem.escalate_loss
        self.model = SessionModel(
            self.rules, self.attended, self.again, self.t, self.chosen, self.problem_cost, now=self.t
        )  # fmt: skip
        self.session = Session.begin(
            self.state, self.policy, log=self.log, name="s", rules=self.rules, attended=self.attended,
            decide_apart=self.apart, at=self.t,
        )  # fmt: skip
        self.policy.to_redo = lambda: self.session.recovery.to_redo
        self.replayed = Recovery.of([entry.event for entry in self.log.read("s")][:1], "s")
        self.read = 1
        self.newest = 0
        self.compare()

    def chosen(self):
        """Have the model hear what the policy has chosen here, if it has; return whether it has."""
        if not self.policy.chosen:
            return False
        step = self.policy.chosen.pop(0)
        if step is None:
            self.model.policy_failed()
        else:
            self.model.decided(*step)
        return True

    # Saying something to both, and comparing.

    def say(self, what, call, means, *, may_be_stale=False):
        """Call the session, and have the model hear the same; both refuse it, or neither."""
        self.seen[what] += 1
        error = None
        try:
            call()
        except AquaMendError as caught:
            error = caught
        if may_be_stale and isinstance(error, StaleReply):
            self.model.passes(self.t)
        else:
            try:
                means()
            except Refused:
                assert error is not None, f"{what} makes no sense and was not refused"
            else:
                assert error is None, f"{what} was refused: {error}"
        self.compare()

    def timed(self, means):
        """Return what it means to say something now, behind what follows from time."""

        def both():
            self.model.passes(self.t)
            means()

        return both

    def compare(self):
        """Compare the session with the model, and with its log; then let the robot begin what is asked of it."""
        wanted, request, now = self.model.wanted(), self.session.request, self.session.recovery
        assert kind_of(request) == wanted
        assert (now.in_doubt is not None) == (self.model.act is not None and self.model.stage is Stage.IN_DOUBT)
        assert now.to_redo == self.model.undone
        assert math.isclose(now.cost, self.model.cost, abs_tol=1e-9)
        assert math.isclose(self.session.due, self.model.due(), abs_tol=1e-6)
        if self.model.due() > 0:
            assert self.session.tick(self.t) == request  # asking again changes nothing
        self.compare_with_log(now)
        plain = json.loads(json.dumps(dump(request, Request)))
        assert load(Request, plain) == request
        assert request.number >= self.newest
        self.newest = request.number
        assert self.asked_of.setdefault(request.number, request) == request
        if request.kind in ("measure", "perform"):
            self.begin(request)

    def compare_with_log(self, now):
        for entry in self.log.read("s", self.read):
            self.replayed, self.read = self.replayed.after(entry.event), entry.number
        assert_same(self.replayed, now)

    # The robot.

    @property
    def call(self):
        """The call of the act under way, if it may still return."""
        last = self.calls[-1] if self.calls else None
        return last if last is not None and last.open and self.model.act is not None else None

    def begin(self, request):
        if self.calls and self.calls[-1].number == request.number:
            return
        last = list(self.log.read("s", request.number - 1))
        assert isinstance(last[0].event, Intended)  # it stands in the log, before it is begun
        assert last[0].event.act == request.act
        assert request.timeout_s == self.rules.timeout(request.act)
        if self.honest:
            assert not any(call.moves for call in self.calls), "two acts at once"
        self.calls.append(Call(request.number))

    def stands(self):
        """The robot, or a person, has made sure that nothing moves any more; calls return when they like."""
        for call in self.calls:
            call.moves = False

    def reply_of_act(self):
        call, act = self.call, self.model.act
        call.open = call.moves = False
        cost = self.rng.choice([act.cost, 2.0, 0.0])
        how = self.rng.choice(["done", "done", "done", "failed", "alarm", "odd", "nothing"])
        how = self.rng.choice([how, "done"]) if self.policy.calm else how
        send = partial(self.session.reply, to=call.number, at=self.t)
        if how == "nothing":
            answer = self.rng.choice([None, 7, RuntimeError("bump"), NoReceipt("gone"), HandOver])
            self.say("a call without a receipt", lambda: send(answer), self.timed(self.model.call_ended))
            return
        if how == "failed":
            receipt = act.failed("slipped", cost=cost, alarm=self.rng.random() < 0.2)
        elif isinstance(act, Measure) and how == "odd":
            receipt = act.done(self.rng.choice(["maybe", None]), cost=cost)
        else:
            finding = self.rng.choice(ANSWERS[act.probe]) if isinstance(act, Measure) else None
            receipt = act.done(finding, cost=cost, alarm=how == "alarm")
        late = self.model.stage is not Stage.UNDER_WAY
        self.say("a late receipt" if late else "a receipt", lambda: send(receipt), self.timed(self.means(receipt)))

    def means(self, receipt):
        def heard():
            measured = isinstance(self.model.act, Measure)
            if measured and receipt.finding == "maybe":
                self.model.odd = True
            answered = receipt.succeeded and not (measured and receipt.finding is None)
            self.model.receipt(succeeded=answered, cost=receipt.cost, alarm=receipt.alarm)

        return heard

    def reply_of_stop_or_verify(self):
        request, act, asks = self.session.request, self.model.act, self.model.asks
        moving = any(call.moves for call in self.calls)
        stopping = request.kind == "stop"
        telling = self.rng.random() < 0.6 and (stopping or not moving or not self.honest)
        if stopping and self.rng.random() < 0.2:
            self.t += self.model.due() + 1.0  # it took too long
        send = partial(self.session.reply, to=request.number, at=self.t)
        if not telling:
            answer = self.rng.choice([None, OSError("no link"), NoReceipt("no idea")])
            says = self.model.stop_failed if stopping else self.model.cannot_tell
            self.say(f"{request.kind} in vain", lambda: send(answer), self.timed(self.in_time(asks, says)))
            return
        if self.honest:
            self.stands()
        if self.rng.random() < 0.5:
            receipt = act.failed("half-way")
        else:
            receipt = act.done(self.rng.choice(ANSWERS[act.probe]) if isinstance(act, Measure) else None)
        late = self.t - self.model.now >= self.model.due()
        means = self.timed(self.means(receipt))
        self.say(f"{request.kind} with a receipt", lambda: send(receipt), means, may_be_stale=late)

    def in_time(self, asks, says):
        def heard():
            if self.model.asks != asks:
                raise Refused
            says()

        return heard

    def stale_reply(self):
        under_way = self.model.act is not None
        over = [call.number for call in (self.calls[:-1] if under_way else self.calls)]
        number = self.rng.choice([number for number in (*over, 0, 10**6) if number != self.session.request.number])
        answer = self.rng.choice([HandOver().done(), NoReceipt("late"), Decided(Continue())])
        send = partial(self.session.reply, answer, to=number, at=self.t)
        self.say("a reply to something else", send, self.timed(refuse))

    # Everybody else.

    def passes(self):
        due = self.model.due()
        waits = [0.5, 4.0, 30.0, 700.0] if self.rng.random() < 0.2 else [0.5, 4.0]
        if math.isfinite(due):
            waits += [max(0.0, due - 1e-3), due + 1e-3, due + 5.0]
        self.t += self.rng.choice(waits)
        self.say("time passes", lambda: self.session.tick(self.t), lambda: self.model.passes(self.t))

    def alarm(self):
        self.say("an alarm", lambda: self.session.alarm(at=self.t), self.timed(self.model.alarm))

    def observe(self):
        probe = self.rng.choice(["look", "weigh", "nobody"])
        outcome = self.rng.choice([*ANSWERS.get(probe, ()), "maybe"])

        def means():
            if probe == "nobody":
                raise Refused
            self.model.observation(possible=outcome != "maybe")

        self.say("an observation", lambda: self.session.observe(probe, outcome, at=self.t), self.timed(means))

    def cancel(self):
        self.say("a cancellation", lambda: self.session.cancel(at=self.t), self.timed(self.model.cancel))

    def interrupt(self):
        call = partial(self.session.interrupt, "its driver has to go", at=self.t)
        self.say("an interruption", call, self.timed(self.model.interrupt))

    def decide(self):
        number = self.session.request.number
        if not self.policy.calm and self.rng.random() < 0.1:
            send = partial(self.session.reply, ValueError("no idea"), to=number, at=self.t)
            self.say("no decision", send, self.timed(self.model.policy_failed))
            return
        chosen = self.policy.choice(self.session.deliberation.state)
        send = partial(self.session.reply, Decided(chosen[0]), to=number, at=self.t)
        self.say("a decision", send, self.timed(lambda: self.policy.chosen.append(chosen)))

    def answer(self, *, calm=False):
        """Let a person answer: here or from elsewhere, at once or late, to this question or to another one."""
        asked, rng = self.session.recovery.asked, self.rng
        granted = calm or rng.random() < 0.7
        token = "wrong" if not calm and (asked is None or rng.random() < 0.15) else asked.token
        right = asked is not None and token == asked.token
        answered_at = self.t
        if right and self.model.act is not None:
            self.stands()

        def means():
            if not right:
                raise Refused
            self.model.answered(granted=granted, at=answered_at)

        if rng.random() < 0.5:
            call = partial(self.session.answer, granted=granted, by="Ada", token=token, at=self.t)
            self.say("a person's answer", call, self.timed(means))
            return
        if not calm and rng.random() < 0.1:
            answered_at += 50.0  # her clock is ahead
        call = partial(approve, self.log, "s", granted=granted, by="Ada", token=token, at=answered_at)
        self.elsewhere("an answer from elsewhere", call, means)

    def settle(self):
        done = self.rng.random() < 0.5 and not isinstance(self.model.act, Measure)
        if self.model.act is not None and self.model.stage is Stage.IN_DOUBT:
            self.stands()
        means = partial(self.model.settled, done=done)
        if self.rng.random() < 0.5:
            call = partial(self.session.settle, done=done, by="Ada", at=self.t)
            self.say("a person settles", call, self.timed(means))
        else:
            call = partial(settle, self.log, "s", done=done, by="Ada", at=self.t)
            self.elsewhere("settled from elsewhere", call, means)

    def elsewhere(self, what, call, means):
        """Have a person write into the log; the session hears it some time later, or whoever takes it up does."""
        self.seen[what] += 1
        try:
            means()
        except Refused:
            with pytest.raises(AquaMendError):
                call()
            return
        call()
        if self.rng.random() < 0.3:
            self.t += self.rng.choice([5.0, 30.0, 700.0])
        if self.rng.random() < 0.3:
            self.crash()
        else:
            self.say("heard from elsewhere", lambda: self.session.tick(self.t), lambda: self.model.passes(self.t))

    def crash(self):
        """Lose the program; what it had called is gone with it."""
        self.seen["a crash"] += 1
        self.program_ends()
        self.t += self.rng.choice([0.0, 1.0, 20.0, 700.0])
        self.session = self.resumed()
        self.model.now = self.t
        self.model.crashes()
        self.compare()

    def resumed(self):
        session = Session.resume(self.log, "s", policy=self.policy, at=self.t)
        session.decide_apart = self.apart
        return session

    def rival(self):
        """Let another program take the session up: whoever had it is refused, and shows nothing else to begin."""
        self.seen["a rival"] += 1
        before, old = self.session.request, self.session
        ended = self.model.ending is not None
        self.session = self.resumed()
        if not ended:
            with pytest.raises(ForeignSession):
                old.alarm(at=self.t)
            with pytest.raises(ForeignSession):
                old.tick(at=self.t)
            assert old.request.kind not in ("measure", "perform") or old.request == before
        self.program_ends()
        self.model.now = self.t
        self.model.crashes()
        self.compare()

    def program_ends(self):
        for call in self.calls:
            call.open = call.moves = False

    # One schedule.

    def options(self):
        """Return what may happen now, and how often it does."""
        wanted = self.session.request.kind
        options: dict[Callable[[], None], float] = {
            self.passes: 2.0, self.alarm: 0.4, self.observe: 0.4, self.stale_reply: 0.4, self.crash: 0.3,
            self.cancel: 0.08, self.interrupt: 0.15, self.rival: 0.08,
            self.answer: 3.0 if self.model.asked is not None else 0.1,
            self.settle: 1.0 if self.model.stage is Stage.IN_DOUBT else 0.1,
        }  # fmt: skip
        if self.call is not None:
            options[self.reply_of_act] = 5.0 if wanted in ("measure", "perform") else 1.0
        if wanted in ("stop", "verify"):
            options[self.reply_of_stop_or_verify] = 3.0
        if wanted == "decide":
            options[self.decide] = 5.0
        return options

    def run(self):
        """Let all sorts of things happen, then let everybody answer until it ends."""
        for _ in range(self.rng.randint(5, LONGEST)):
            if self.model.ending is not None and self.rng.random() < 0.5:
                break
            options = self.options()
            self.rng.choices(list(options), list(options.values()))[0]()
        self.end()
        check_log(list(self.log.read("s")), self.rules, self.attended)
        begun = [str(entry.event.act) for entry in self.log.read("s") if isinstance(entry.event, Intended)]
        assert begun == self.model.begun

    def end(self):
        self.policy.calm = True
        for _ in range(BOUND):
            request = self.session.request
            match request.kind:
                case "end":
                    return
                case "decide":
                    self.decide()
                case "measure" | "perform":
                    self.reply_of_act()
                case "stop" | "verify":
                    self.reply_of_stop_or_verify()
                case "wait" if request.token:
                    self.answer(calm=True)
                case _ if self.call is not None:
                    self.reply_of_act()
                case _:
                    self.passes()
        raise AssertionError(f"it has not ended: {self.session.request}")


def refuse():
    raise Refused
