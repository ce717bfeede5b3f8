"""Random problems, random policies and robots at which everything fails now and then: what always holds."""

import math
import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from aquamend.belief import InformationState
from aquamend.decision.steps import RollBack
from aquamend.decision.terminal import price
from aquamend.policies import policy_named
from aquamend.policies.policy import Committed
from aquamend.problem import Plan
from aquamend.recovery import (
    UNATTENDED,
    Charge,
    Ending,
    Journal,
    MemoryLog,
    Recovery,
    Session,
    Stop,
    Verify,
    charged,
    recover,
)
from aquamend.recovery.acts import HandOver, Measure
from aquamend.recovery.events import Decided, Done, Ended, Intended
from aquamend.story.of_session import done_instead, expected_loss_of, with_moments

POLICIES = ("aquamend", "troubleshooting", "greedy", "rollback-only", "no-reprobe", "restart", "power-per-cost")


class Careless:
    """A robot drawn from a problem's model, at which each act may fail, raise, or bring another alarm."""

    def __init__(self, problem, seed, mishaps):
        self.problem, self.mishaps, self.dice = problem, mishaps, random.Random(seed)
        self.truth = self.dice.choices(range(len(problem.model.prior)), problem.model.prior)[0]

    def alarm(self):
        return InformationState.alarmed(self.problem)

    def measure(self, step):
        if self.dice.random() < self.mishaps:
            return self._mishap(step)
        rng = np.random.default_rng(self.dice.randrange(2**32))
        return step.done(self.problem.model.channels[step.probe].sample(self.truth, rng))

    def perform(self, act):
        if isinstance(act, HandOver) or self.dice.random() >= self.mishaps:
            return act.done()
        return self._mishap(act)

    def _mishap(self, act):
        match self.dice.randrange(4):
            case 0:
                raise RuntimeError("bump")
            case 1:
                return act.done("by the way", alarm=True) if not isinstance(act, Measure) else None
            case _:
                return act.failed("slipped")

    def verify(self, act):
        return None if self.dice.random() < 0.3 else act.failed("has not moved")


def problems(valued_problem, random_problem, seed):
    return valued_problem(seed) if seed % 2 else random_problem(random.Random(seed))


@pytest.mark.parametrize("seed", range(120))
def test_it_ends_and_its_books_are_right(valued_problem, random_problem, seed):
    problem = problems(valued_problem, random_problem, seed)
    log, rules = MemoryLog(), replace(UNATTENDED, attempts=2, decisions=60)
    recovery = recover(
        policy_named(POLICIES[seed % len(POLICIES)]),
        Careless(problem, seed, 0.3),
        journal=log, session="s", rules=rules,
    )  # fmt: skip
    assert recovery.ending in Ending
    events = [entry.event for entry in log.read("s")]
    receipts = [event.receipt for event in events if isinstance(event, Done)]
    assert tuple(receipts) == recovery.receipts
    assert sum(isinstance(event, Intended) for event in events) == len(receipts)
    assert recovery.cost == pytest.approx(math.fsum(charged(receipts, charge) for charge in Charge))
    assert isinstance(events[-1], Ended)
    succeeded = Counter(receipt.what for receipt in receipts if receipt.succeeded)
    undone_twice = [what for what, n in succeeded.items() if what.startswith("undo: ") and n > 1]
    redone = any(what.startswith("redo: ") for what in succeeded)
    assert not undone_twice or redone  # what is undone stays undone until it is done again


@pytest.mark.parametrize("seed", range(20))
def test_every_prefix_of_the_events_gives_the_same_recovery_again(valued_problem, random_problem, seed, tmp_path):
    problem = problems(valued_problem, random_problem, seed)
    with Journal(tmp_path / "robot.journal") as log:
        rules = replace(UNATTENDED, attempts=2, decisions=40)
        recovery = recover("aquamend", Careless(problem, seed, 0.3), journal=log, session="s", rules=rules)
        events = [entry.event for entry in log.read("s")]
        list(with_moments(log.read("s")))
    step_by_step = Recovery.begun(events[0], "s")
    for n, event in enumerate(events[1:], start=2):
        step_by_step = step_by_step.after(event)
        if n % 5 == 0 or n == len(events):
            again = Recovery.of(events[:n], "s")
            assert again.acts == step_by_step.acts
            assert again.receipts == step_by_step.receipts
            assert np.array_equal(again.state.posterior, step_by_step.state.posterior)
    assert np.array_equal(step_by_step.state.posterior, recovery.state.posterior)
    assert step_by_step.receipts == recovery.receipts


@pytest.mark.parametrize("seed", range(20))
def test_without_mishaps_a_recovery_costs_what_was_priced(valued_problem, random_problem, seed):
    problem = problems(valued_problem, random_problem, seed)
    recovery = recover("aquamend", Careless(problem, seed, 0.0), rules=UNATTENDED, strict=True)
    decision = recovery.decision
    undone = charged(recovery.receipts, Charge.ROLLBACK)
    known = recovery.decided_at
    assert sum(not isinstance(step, type(decision)) for step in recovery.steps) == len(recovery.evidence)
    if not any(receipt.what in ("restart",) for receipt in recovery.receipts) and recovery.followed is None:
        graph = problem.graph
        wanted = {*graph.closure(getattr(decision, "correct", ())), *getattr(decision, "undo", ())}
        assert undone == pytest.approx(graph.rollback_cost(wanted))
        assert price(known, decision).loss >= undone - 1e-9
    assert done_instead(recovery, policy_named("aquamend")).steps == recovery.steps


def test_a_plan_is_expected_to_leave_what_it_costs_beyond_its_price(table, scripted):
    state = table()
    losses = np.linspace(1.0, 9.0, len(state.posterior))
    state = replace(state, problem=replace(state.problem, plans=[Plan("by hand", losses)]))
    policy = Committed(RollBack((), plan="by hand"))
    recovery = recover(policy, scripted.Scripted(state))
    assert recovery.cost == 1.0
    assert expected_loss_of(recovery) == pytest.approx(float(state.posterior @ losses))
    assert expected_loss_of(recovery) == pytest.approx(done_instead(recovery, policy).loss)


def test_an_operation_done_is_not_paid_again(table, scripted):
    """Undoing one action performs a shared operation; undoing the other later does not need it any more."""
    state = table()
    robot = scripted.Scripted(state, script={"undo: lower": [scripted.fails()]})
    policy = scripted.Steps([RollBack(("cup",)), RollBack(("cup",))])
    recover(policy, robot)
    assert robot.did.count("undo: clear") == 1
    assert robot.did.count("undo: lower") == 2


def test_decided_events_stand_in_the_order_of_steps(table, scripted):
    log = MemoryLog()
    recovery = recover("aquamend", Careless(table().problem, 3, 0.2), journal=log, session="s", rules=UNATTENDED)
    assert tuple(entry.event.step for entry in log.read("s") if isinstance(entry.event, Decided)) == recovery.steps


@pytest.mark.parametrize("stop_came", [True, False])
@pytest.mark.parametrize("preempted", [True, False])
def test_an_act_that_ended_without_receipt_while_it_could_not_be_stopped_is_verified(
    table, scripted, preempted, stop_came
):
    log = MemoryLog()
    rules = replace(UNATTENDED, timeout_s=5.0, stop_s=1.0)
    policy = scripted.Steps([RollBack(("cup",))])
    session = Session.begin(table(), policy, log=log, name="s", rules=rules, attended=False, at=0.0)
    act = session.request
    then = 1.0 if preempted else 5.0
    asked = session.interrupt("look here", at=then) if preempted else session.tick(at=then)
    assert isinstance(asked, Stop)
    session.reply(ConnectionError("unplugged"), to=act.number, at=then + 0.1)
    assert session.request.number == asked.number
    wanted = session.reply(None, to=asked.number, at=then + 0.2) if stop_came else session.tick(at=then + 1.0)
    assert isinstance(wanted, Verify)
    events = len(list(log.read("s")))
    assert session.tick(at=then + 1.1) == wanted
    assert len(list(log.read("s"))) == events
