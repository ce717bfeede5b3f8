"""A conformance check for policies, other people's above all."""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.decision.branches import predictive_quantiles
from aquamend.decision.steps import Continue, Decision, Escalate, NewDeclaration, Reprobe, Restart, RollBack
from aquamend.decision.terminal import declarable, price
from aquamend.errors import AquaMendError
from aquamend.policies.policy import Policy
from aquamend.problem import Problem
from aquamend.problem.building import Effect, joint_model
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Cause, Declaration, Discrete, Hypothesis, JointModel, OneOf, ValueOf
from aquamend.problem.model.kernels import Outcomes, Readings

MOST_STATES = 2_000
"""Information states visited in one problem before the check has seen enough."""
LEVELS = np.array([0.05, 0.3, 0.5, 0.7, 0.95])
"""Where the predictive distribution reaches these levels, a probe that reads a number is followed."""


class PolicyFault(AquaMendError, AssertionError):
    """A policy broke the contract; says at which evidence and how."""


@dataclass(frozen=True, slots=True)
class PolicyCheck:
    """What a check saw."""

    problems: int
    states: int
    """Information states the policy was asked at."""


def check_policy(policy: Policy, problems: list[Problem] | None = None) -> PolicyCheck:
    """Follow a policy through every answer it may get, and raise ``PolicyFault`` at the first broken promise.

    Checked at every state: the step is one of the five; a re-probe is legal; a rollback names beliefs of the graph,
    undoes at least their minimal upper closure and declares only values that may be declared; a plan is one of the
    problem's, named with what it does; the decision is admissible (handing over always is); the same state gives the
    same step twice; the state is left as it was; and the policy ends, since legal probes run out. Without problems of
    your own, four small ones are used.
    """
    chosen = sample_problems() if problems is None else problems
    return PolicyCheck(len(chosen), sum(_check_problem(policy, problem) for problem in chosen))


def _check_problem(policy: Policy, problem: Problem) -> int:
    waiting, seen = [InformationState.alarmed(problem)], 0
    while waiting and seen < MOST_STATES:
        state = waiting.pop()
        seen += 1
        step = _ask(policy, state)
        if isinstance(step, Reprobe):
            if step.probe not in state.legal_probes:
                _fail(state, f"re-probes {step.probe!r}, which is not legal; legal: {list(state.legal_probes)}")
            waiting.extend(_answers(state, step.probe))
        else:
            _check_decision(state, step)
    return seen


def _ask(policy: Policy, state: InformationState) -> Reprobe | Decision:
    before = copy.copy(state)
    posterior = state.posterior.copy()
    step: object = policy.next_step(state)  # a stranger's policy may return anything
    if not isinstance(step, Reprobe | RollBack | Continue | Restart | Escalate):
        _fail(state, f"returns {step!r}, which is not a step")
    same = all(getattr(before, name) is getattr(state, name) for name in ("problem", "posterior", "evidence", "origin"))
    if not same or not np.array_equal(posterior, state.posterior) or before.alarm_heard != state.alarm_heard:
        _fail(state, "changes the information state it was given")
    again = policy.next_step(state)
    if again != step:
        _fail(state, f"returns {step!r} and then, at the same state, {again!r}")
    return step


def _check_decision(state: InformationState, decision: Decision) -> None:
    match decision:
        case RollBack(plan=None):
            _check_rollback(state, decision)
        case RollBack():
            _check_plan(state, decision)
        case Restart():
            if state.problem.restart_plan is None:
                _fail(state, "restarts, which this problem does not allow")
        case Continue():
            if not state.problem.corrections:
                _fail(state, "continues, but in this problem only plans, restart and escalation end a recovery")
        case Escalate():
            return
    if math.isinf(price(state, decision).loss):
        _fail(state, f"takes {decision!r}, which is inadmissible here: its loss is infinite")


def _check_plan(state: InformationState, decision: RollBack) -> None:
    plans = {plan.name: plan for plan in state.problem.plans}
    plan = plans.get(str(decision.plan))
    if plan is None:
        _fail(state, f"follows plan {decision.plan!r}, which this problem does not have")
    if (decision.correct, decision.undo, decision.declare) != (plan.correct, plan.undo, ()):
        _fail(
            state,
            f"follows plan {plan.name!r} as {decision!r}, but it corrects {list(plan.correct)}, undoes "
            f"{list(plan.undo)} and declares nothing",
        )


def _check_rollback(state: InformationState, decision: RollBack) -> None:
    graph = state.problem.graph
    if not state.problem.corrections:
        _fail(state, "rolls back, but in this problem only plans, restart and escalation end a recovery")
    unknown = [name for name in decision.correct if name not in graph.belief_index]
    if unknown or len(set(decision.correct)) < len(decision.correct):
        _fail(state, f"rolls back to correct {list(decision.correct)}; name beliefs of the graph, each once")
    if not (decision.correct or decision.undo):
        _fail(state, "rolls back, but names no belief to correct and no action to undo; return Continue() instead")
    closure = graph.closure(decision.correct)
    kept = [name for name in closure if name not in decision.undo]
    if kept or len(set(decision.undo)) < len(decision.undo):
        _fail(state, f"undoes {list(decision.undo)}, but the minimal upper closure is {list(closure)}")
    executed = [action.name for action in graph.executed]
    never = [name for name in decision.undo if name not in executed]
    if never:
        _fail(state, f"undoes {never}, which was not executed")
    if math.isinf(graph.rollback_cost(decision.undo)):
        _fail(state, f"undoes {list(decision.undo)}, which holds an irreversible action")
    _check_declared(state, decision)


def _check_declared(state: InformationState, decision: RollBack) -> None:
    """Check that every new value belongs to a corrected belief and may be declared now."""
    graph = state.problem.graph
    for belief, times in Counter(new.belief for new in decision.declare).items():
        if belief not in decision.correct or times > 1:
            _fail(state, f"declares {belief!r}, which it does not correct, or declares it twice")
    said = {new.belief: new for new in decision.declare}
    for name in decision.correct:
        i = graph.belief_index[name]
        if not graph.beliefs[i].declares and name not in said:
            continue
        allowed = [NewDeclaration(name, value.value) for value, _ in declarable(state, i) if value.value is not None]
        if not allowed:
            _fail(state, f"corrects {name!r}, which no value may be declared for now")
        if name in said and said[name] not in allowed:
            _fail(state, f"declares {said[name]!r}; what may be declared now: {allowed}")


def _answers(state: InformationState, probe: str) -> Iterator[InformationState]:
    channel = state.probe(probe).channel
    if isinstance(channel, Outcomes):
        for outcome, p in zip(channel.outcomes, state.posterior @ channel.table, strict=True):
            if p > 0.0:
                yield state.after(Observation(probe, outcome))
    elif isinstance(channel, Readings):
        for reading in predictive_quantiles(state, channel, LEVELS):
            yield state.after(Observation(probe, float(reading)))


def _fail(state: InformationState, what: str) -> NoReturn:
    evidence = ", ".join(str(observation) for observation in state.evidence) or "nothing observed yet"
    raise PolicyFault(f"in {state.problem.name!r}, with {evidence}: the policy {what}")


def sample_problems() -> list[Problem]:
    """Return four small problems: a shared closure, an irreversible step, a tight budget, values that need support."""
    return [_two_beliefs(), _two_beliefs(irreversible=True), _two_beliefs(budget=0.5), _values()]


def _two_beliefs(*, irreversible: bool = False, budget: float = np.inf) -> Problem:
    graph = RecoveryGraph(
        beliefs=[Belief("level", residual=10.0), Belief("target", residual=80.0)],
        actions=[
            Action("grasp", undo=4.0, executed=True),
            Action("pour", undo=9.0, executed=True, reversible=not irreversible),
        ],
        probes=[Probe("look", cost=0.2, max_uses=2), Probe("weigh", cost=0.6)],
        edges=[
            ("look", "level", "detection"),
            ("weigh", "level", "detection"),
            ("level", "target", "inference"),
            ("target", "grasp", "belief_to_action"),
            ("grasp", "pour", "action_causal"),
        ],
    )
    model = JointModel(
        hypotheses=[
            Hypothesis("nothing", 0.6, (), Cause.FALSE_ALARM),
            Hypothesis("water added", 0.3, ("level", "target"), Cause.EXTERNAL),
            Hypothesis("camera off", 0.1, ("level",), Cause.SELF_ERROR),
        ],
        kernels={
            "look": Discrete(["low", "high"], np.array([[0.95, 0.05], [0.1, 0.9], [0.5, 0.5]])),
            "weigh": Discrete(["light", "heavy"], np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])),
        },
        alarm=Alarm({"nothing": 0.2, "water added": 0.9, "camera off": 0.7}, ["level", "target"]),
    )
    name = "irreversible pour" if irreversible else "tight budget" if np.isfinite(budget) else "reversible pour"
    return Problem(graph, model, sensing_budget=budget, restart=20.0, escalate=60.0, name=name)


def _values() -> Problem:
    """A level and a target that must be declared again; a camera that may be biased reads the level, and a scale."""
    graph = RecoveryGraph(
        beliefs=[
            Belief("level", 10.0, declared=18.0, tolerance=3.0),
            Belief("target", 80.0, declared="A", needs_support=True),
            Belief("camera", 40.0, declared="sound"),
        ],
        actions=[Action("grasp", undo=4.0, executed=True)],
        probes=[Probe("look", 0.2, source="camera"), Probe("weigh", 0.6)],
        edges=[
            ("look", "level", "detection"),
            ("weigh", "level", "detection"),
            ("level", "target", "inference"),
            ("target", "grasp", "belief_to_action"),
        ],
    )
    model = joint_model(
        graph,
        hypotheses=[
            Hypothesis("nothing", 0.5, cause=Cause.FALSE_ALARM),
            Hypothesis("water added", 0.3, cause=Cause.EXTERNAL, truth={"level": OneOf((25.0, 45.0))}),
            Hypothesis("camera off", 0.2, cause=Cause.SELF_ERROR, truth={"camera": "biased"}),
        ],
        effects=[Effect("level > 30", truth={"target": "B"})],
        kernels={
            "look": ValueOf("level", right=0.9, likelihood={"camera off": [0.3, 0.4, 0.3]}),
            "weigh": ValueOf("level", right=0.98),
        },
        alarm=Alarm({"nothing": 0.2, "water added": 0.9, "camera off": 0.7}, ["target"]),
        declarations=[Declaration("A is least full", "target", support=["look"])],
    )
    return Problem(graph, model, restart=30.0, escalate=60.0, name="values that need support")
