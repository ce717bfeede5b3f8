"""A world with every call to it checked: the promises of ``aquamend.execution.World``, one by one."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import NoReturn

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import AquaMendError
from aquamend.execution import Charge, Outcome, Receipt, World, charged
from aquamend.graph import RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model.kernels import Outcomes
from aquamend.problem import Problem


class WorldFault(AquaMendError, AssertionError):
    """A world broke the contract; says after which evidence and how."""


@dataclass(slots=True)
class Known:
    """What worlds of the episode have said so far; each new one has to agree."""

    start: InformationState | None = None
    answers: dict[tuple[str, int], str | float] = field(default_factory=dict)
    """By probe and how many times it had been run."""


@dataclass(slots=True)
class WatchedWorld:
    """A world, with every call to it checked."""

    world: World
    known: Known
    given: list[InformationState] = field(default_factory=list)
    """The state that the world gave at the alarm, and a copy of it."""
    heard: list[Observation] = field(default_factory=list)

    def alarm(self) -> InformationState:
        """Return the public evidence, checked against that of the other worlds."""
        for method in ("alarm", "measure", "commit"):
            if not callable(getattr(self.world, method, None)):
                raise WorldFault(f"{self.world!r} has no {method}(); see aquamend.execution.World")
        state: object = self.world.alarm()  # a stranger's world may return anything
        if not isinstance(state, InformationState):
            raise WorldFault(f"the world returns {state!r} as its alarm, which is not an information state")
        self.given = [state, _copied(state)]
        if state.problem.model.alarm is not None and not state.alarm_heard:
            self._fail("starts from a state that has not heard the alarm; use InformationState.alarmed")
        if not np.allclose(state.posterior, _replayed(state).posterior, rtol=1e-6, atol=1e-12):
            self._fail("starts from a posterior other than prior, alarm (once) and evidence make")
        again: object = self.world.alarm()
        if not isinstance(again, InformationState) or not _alike(state, again):
            self._fail("returns another alarm when it is asked again")
        self.known.start = self.known.start or self.given[1]
        if not _alike(state, self.known.start):
            self._fail("returns another alarm than an earlier world of the same episode")
        return state

    def measure(self, step: Reprobe) -> Observation:
        """Return the world's answer, checked against the model and the other worlds."""
        answer: object = self.world.measure(step)
        if not isinstance(answer, Observation) or answer.probe != step.probe:
            self._fail(f"answers {answer!r} to {step.probe!r}; return an Observation of the probe asked")
        self._check_outcome(answer)
        use = 1 + sum(earlier.probe == step.probe for earlier in self.heard)
        before = self.known.answers.setdefault((step.probe, use), answer.outcome)
        if before != answer.outcome:
            told = Observation(step.probe, before).told
            self._fail(f"answers {answer.told} to use {use} of {step.probe!r}, but {told} where else was asked before")
        self.heard.append(answer)
        self._check_untouched()
        return answer

    def commit(self, decision: Decision) -> Outcome:
        """Return how the world says it ended, checked against what was asked and decided."""
        outcome: object = self.world.commit(decision)
        if not isinstance(outcome, Outcome):
            self._fail(f"returns {outcome!r} after {decision}, which is not an Outcome")
        self._check_untouched()
        self._check_receipts(outcome, decision)
        self._check_undone(outcome, decision)
        self._check_success(outcome, decision)
        return outcome

    def _check_outcome(self, answer: Observation) -> None:
        outcome: object = answer.outcome
        channel = self.given[0].problem.model.channels[answer.probe]
        if isinstance(channel, Outcomes):
            if outcome not in channel.outcomes:
                self._fail(f"answers {outcome!r} to {answer.probe!r}, which is none of {list(channel.outcomes)}")
        elif not isinstance(outcome, Real) or not math.isfinite(outcome):
            self._fail(f"answers {outcome!r} to {answer.probe!r}, which is not a finite number")

    def _check_receipts(self, outcome: Outcome, decision: Decision) -> None:
        receipts: tuple[object, ...] = outcome.receipts
        for receipt in receipts:
            if not isinstance(receipt, Receipt) or not receipt.cost >= 0:
                self._fail(f"hands over {receipt!r}, which is no receipt of a cost of at least 0")
        cost = {probe.name: probe.cost for probe in self._graph.probes}
        due = Counter((o.probe, cost[o.probe]) for o in self.heard)
        paid = Counter((r.what, r.cost) for r in outcome.receipts if r.charge is Charge.SENSING)
        # A restart and a world's own plan may measure by themselves; nothing else does.
        extra = Counter[tuple[str, float]]() if _measures_itself(decision) else paid - due
        for what, price in sorted([*(due - paid), *extra]):
            have, ran = paid[what, price], due[what, price]
            self._fail(f"has {have} sensing receipts of {price:g} for {what!r}; {ran} such probes were run")
        operations = Counter(r.what for r in outcome.receipts if r.charge is Charge.RECOVERY)
        for operation, count in operations.items():
            if count > 1:
                self._fail(f"charges the operation {operation!r} {count} times; each is paid once")
        if math.isinf(charged(outcome.receipts)) and _feasible(self.given[0].problem, decision, outcome):
            self._fail(f"charges infinity for {decision}, which was feasible")

    def _check_undone(self, outcome: Outcome, decision: Decision) -> None:
        executed = [action.name for action in self._graph.executed]
        never = [name for name in outcome.undone if name not in executed]
        if never or len(set(outcome.undone)) < len(outcome.undone):
            self._fail(f"undid {list(outcome.undone)}; name executed actions, each once: {executed}")
        if isinstance(decision, RollBack) and decision.plan is None:
            due = dict.fromkeys((*self._graph.closure(decision.correct), *decision.undo))
            kept = [name for name in due if name not in outcome.undone]
            if kept:
                self._fail(f"left {kept} done, which {decision} takes undoing")

    def _check_success(self, outcome: Outcome, decision: Decision) -> None:
        unknown = [name for name in outcome.uncorrected if name not in self._graph.belief_index]
        if unknown:
            self._fail(f"left {unknown} uncorrected, which is no belief of the graph")
        if outcome.success and outcome.uncorrected:
            self._fail(f"calls it a success and left {list(outcome.uncorrected)} uncorrected")
        if outcome.success and isinstance(decision, Escalate):
            self._fail("calls it a success that somebody was called")

    def _check_untouched(self) -> None:
        if not _alike(*self.given):
            self._fail("changes the information state it gave at the alarm")

    @property
    def _graph(self) -> RecoveryGraph:
        return self.given[0].problem.graph

    def _fail(self, what: str) -> NoReturn:
        evidence = ", ".join(str(observation) for observation in self.heard) or "nothing observed yet"
        raise WorldFault(f"in {self.given[0].problem.name!r}, with {evidence}: the world {what}")


def _copied(state: InformationState) -> InformationState:
    return replace(state, posterior=state.posterior.copy())


def _replayed(state: InformationState) -> InformationState:
    """Return the state that prior, alarm and the evidence of a state lead to; itself where they contradict."""
    if state.contradiction is not None:
        return state
    replayed = InformationState.alarmed(state.problem)
    for observation in state.evidence:
        replayed = replayed.after(observation)
    return replayed


def _alike(one: InformationState, other: InformationState) -> bool:
    """Whether two states say the same, whatever they keep in their caches."""
    return bool(np.array_equal(one.posterior, other.posterior)) and _said(one) == _said(other)


def _said(state: InformationState) -> tuple[object, ...]:
    problem, graph = state.problem, state.problem.graph
    return (
        *(state.evidence, state.alarm_heard, state.contradiction, problem.declarations),
        *(graph.beliefs, graph.actions, graph.probes, graph.operations, graph.edges),
        [(h.name, tuple(h.failed), h.cause, dict(h.truth)) for h in problem.model.hypotheses],
        *(problem.sensing_budget, problem.escalate),
        [(plan.name, plan.loss.tolist()) for plan in (*problem.plans, problem.restart_plan) if plan is not None],
    )


def _measures_itself(decision: Decision) -> bool:
    return isinstance(decision, Restart) or (isinstance(decision, RollBack) and decision.plan is not None)


def _feasible(problem: Problem, decision: Decision, outcome: Outcome) -> bool:
    """Whether a decision has a finite price in this problem, what it left uncorrected included."""
    beliefs = {belief.name: belief for belief in problem.graph.beliefs}
    left = [beliefs[name] for name in outcome.uncorrected if name in beliefs]
    if not isinstance(decision, Escalate) and not all(b.may_keep and math.isfinite(b.residual) for b in left):
        return False
    match decision:
        case Escalate():
            return math.isfinite(problem.escalate_loss)
        case Restart():
            return problem.restart_plan is not None and bool(np.isfinite(problem.restart_plan.loss).all())
        case RollBack(plan=None):
            undo = {*problem.graph.closure(decision.correct), *decision.undo}
            return math.isfinite(problem.graph.rollback_cost(undo))
        case RollBack():
            plans = [plan for plan in problem.plans if plan.name == decision.plan]
            return all(bool(np.isfinite(plan.loss).all()) for plan in plans)
        case Continue():
            return True
