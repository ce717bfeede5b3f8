"""A conformance check for policies, other people's above all."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.errors import AquaMendError
from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Alarm, Cause, Discrete, Hypothesis, JointModel
from aquamend.model.kernels import NormalTable, OutcomeTable
from aquamend.policies.policy import Policy
from aquamend.problem import Problem

MOST_STATES = 2_000
"""Information states visited in one problem before the check has seen enough."""


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

    Checked at every state: the step is one of the five; a re-probe is legal; a rollback names beliefs of the graph and
    undoes at least their minimal upper closure; the same state gives the same step twice; the state is left as it was;
    and the policy ends, since legal probes run out. Without problems of your own, three small ones are used.
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
    before = copy.deepcopy((state.posterior, state.evidence, state.declarations))
    step: object = policy.next_step(state)  # a stranger's policy may return anything
    if not isinstance(step, Reprobe | RollBack | Continue | Restart | Escalate):
        _fail(state, f"returns {step!r}, which is not a step")
    if not np.array_equal(before[0], state.posterior) or before[1:] != (state.evidence, state.declarations):
        _fail(state, "changes the information state it was given")
    again = policy.next_step(state)
    if again != step:
        _fail(state, f"returns {step!r} and then, at the same state, {again!r}")
    return step


def _check_decision(state: InformationState, decision: Decision) -> None:
    problem, graph = state.problem, state.problem.graph
    if isinstance(decision, Restart) and np.isinf(problem.restart_loss):
        _fail(state, "restarts, which this problem does not allow")
    if not isinstance(decision, RollBack):
        return
    if decision.plan is not None:
        if decision.plan not in [plan.name for plan in problem.plans]:
            _fail(state, f"follows plan {decision.plan!r}, which this problem does not have")
        return
    unknown = [name for name in decision.correct if name not in graph.belief_index]
    if unknown or not decision.correct:
        _fail(state, f"rolls back to correct {list(decision.correct)}; name at least one belief of the graph")
    closure = graph.closure(decision.correct)
    kept = [name for name in closure if name not in decision.undo]
    if kept or len(set(decision.undo)) < len(decision.undo):
        _fail(state, f"undoes {list(decision.undo)}, but the minimal upper closure is {list(closure)}")
    executed = [action.name for action in graph.executed]
    never = [name for name in decision.undo if name not in executed]
    if never:
        _fail(state, f"undoes {never}, which was not executed")
    if np.isinf(graph.rollback_cost(decision.undo)):
        _fail(state, f"undoes {list(decision.undo)}, which holds an irreversible action")


def _answers(state: InformationState, probe: str) -> Iterator[InformationState]:
    table = state.problem.model.tables[probe]
    match table:
        case OutcomeTable():
            for outcome, p in zip(table.outcomes, state.posterior @ table.likelihood, strict=True):
                if p > 0.0:
                    yield state.after(Observation(probe, outcome))
        case NormalTable():
            for mean in np.unique(table.mean[state.posterior > 0])[:5]:
                yield state.after(Observation(probe, float(mean)))


def _fail(state: InformationState, what: str) -> NoReturn:
    evidence = ", ".join(str(observation) for observation in state.evidence) or "nothing observed yet"
    raise PolicyFault(f"in {state.problem.name!r}, with {evidence}: the policy {what}")


def sample_problems() -> list[Problem]:
    """Return three small problems: a false alarm to rule out, a shared closure, an irreversible step."""
    return [_two_beliefs(), _two_beliefs(irreversible=True), _two_beliefs(budget=0.5)]


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
