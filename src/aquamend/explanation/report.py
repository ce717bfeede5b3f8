"""One decision with all its numbers, ready to be written for a person or a program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, assert_never

import numpy as np

from aquamend.decision.declaration_tests import Detection, detection
from aquamend.decision.probe_value import ProbeValues, probe_values
from aquamend.decision.steps import Continue, Decision, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.decision.terminal import TIE, Stop, best_terminal, stop_after_correcting
from aquamend.graph import Probe
from aquamend.inference import InformationState, Support, support
from aquamend.model.declarations import Declaration
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.planning.exact import best_probe
from aquamend.policies.myopic import AquaMend
from aquamend.policies.policy import CertifyingPolicy, Policy

if TYPE_CHECKING:
    from aquamend.decision.robustness import Robustness

CONTRADICTED = "the evidence contradicts the model, so no answer could be interpreted"


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """One probe of the problem: whether it may run, what it is worth one step ahead, what it tests."""

    probe: Probe
    why_illegal: str
    """Empty where it may run now."""
    net_benefit: float | None
    expected_loss: float | None
    tests: tuple[Detection, ...]
    """How it tests each declaration in force, in their order."""


@dataclass(frozen=True, slots=True)
class BeliefLine:
    """One belief: how likely it failed, what that costs if nothing is done, and what correcting it undoes."""

    name: str
    failure_probability: float | None
    """None once the evidence contradicts the model."""
    suspected: bool
    residual: float
    """Infinite where a possible failure may not be kept."""
    undo: tuple[str, ...]
    undo_cost: float


@dataclass(frozen=True, slots=True)
class DeclarationLine:
    """One declaration in force, with the evidence behind it."""

    label: str
    """Its name, with the version where several share the name."""
    declaration: Declaration
    invalidity: float | None
    support: Support


@dataclass(frozen=True, eq=False)
class DecisionReport:
    """A step that a policy chose, with everything it was weighed against; costly parts are made when asked for."""

    state: InformationState
    policy: str
    step: Step
    chosen: Stop | None
    """What the step costs where it ends the recovery; None for a probe."""
    stop: Stop
    """The best way of ending the recovery now."""
    values: ProbeValues
    """One-step values of every legal probe, whatever the policy looked at."""
    bounds: Bounds
    certified: bool
    """Whether the bounds are the policy's own, so that following it costs no more than the upper one."""

    @cached_property
    def probes(self) -> tuple[ProbeLine, ...]:
        """Every probe of the problem, in file order."""
        state, values = self.state, self.values
        tests = detection(state, values.branches, state.declarations)
        legal = {name: i for i, name in enumerate(values.branches.probes)}
        unavailable = tuple(Detection(None, None) for _ in state.declarations)
        lines = []
        for probe in state.problem.graph.probes:
            i = legal.get(probe.name)
            if i is None:
                lines.append(ProbeLine(probe, why_illegal(state, probe.name), None, None, unavailable))
            else:
                benefit, loss = float(values.net_benefit[i]), float(values.expected_loss[i])
                lines.append(ProbeLine(probe, "", None if math.isnan(benefit) else benefit, loss, tuple(tests[i])))
        return tuple(lines)

    @cached_property
    def beliefs(self) -> tuple[BeliefLine, ...]:
        """Every belief of the problem, in file order."""
        state, graph = self.state, self.state.problem.graph
        suspects = set(state.suspects)
        known = state.contradiction is None
        return tuple(
            BeliefLine(
                name=belief.name,
                failure_probability=float(q) if known else None,
                suspected=belief.name in suspects,
                residual=belief.residual if belief.may_keep else math.inf,
                undo=graph.downstream(belief.name),
                undo_cost=graph.correction_cost([belief.name]),
            )
            for belief, q in zip(graph.beliefs, state.failure_probabilities, strict=True)
        )

    @cached_property
    def declarations(self) -> tuple[DeclarationLine, ...]:
        """Every declaration in force."""
        state = self.state
        return tuple(
            DeclarationLine(label, declaration, state.invalidity(declaration), support(state, declaration))
            for label, declaration in zip(labels(state.declarations), state.declarations, strict=True)
        )

    @cached_property
    def least(self) -> Step:
        """The step of least one-step loss: what the default policy would do."""
        best = best_probe(self.values.expected_loss, self.stop.loss)
        return self.stop.decision if best is None else Reprobe(self.values.branches.probes[best])

    @cached_property
    def loss(self) -> float:
        """One-step expected loss of the step chosen."""
        return self.loss_of(self.step)

    def loss_of(self, step: Step) -> float:
        """Return the one-step expected loss of a step: of stopping so, or of probing once and then stopping."""
        if isinstance(step, Reprobe):
            return float(self.values.expected_loss[self.values.branches.probes.index(step.probe)])
        return stop_of(self.state, step).loss

    @property
    def is_least(self) -> bool:
        """Whether no other alternative has a smaller one-step loss."""
        return self.loss <= self.loss_of(self.least) + TIE

    @cached_property
    def robustness(self) -> Robustness | None:
        """What change of the posterior would flip the one-step decision.

        None where the policy chose otherwise, where the loss is infinite or where no posterior is left.
        """
        if self.state.contradiction is not None or self.step != self.least or math.isinf(self.loss):
            return None
        from aquamend.decision.robustness import robustness

        return robustness(self.state, self.step)


def decision_report(state: InformationState, policy: Policy, *, name: str) -> DecisionReport:
    """Return the policy's decision at this state, with its numbers."""
    step = policy.next_step(state)
    values = probe_values(state)
    return DecisionReport(
        state=state,
        policy=name,
        step=step,
        chosen=None if isinstance(step, Reprobe) else stop_of(state, step),
        stop=best_terminal(state),
        values=values,
        bounds=_bounds(policy, state, values),
        certified=isinstance(policy, CertifyingPolicy),
    )


def _bounds(policy: Policy, state: InformationState, values: ProbeValues) -> Bounds:
    if isinstance(policy, AquaMend):
        return policy.bounds(state, values)  # it would price every probe anew
    return policy.bounds(state) if isinstance(policy, CertifyingPolicy) else quick_bounds(state, values)


def stop_of(state: InformationState, decision: Decision) -> Stop:
    """Return what a terminal decision costs at this state, whether or not it is the best."""
    best = best_terminal(state)
    if best.decision == decision:
        return best
    match decision:
        case Continue():
            return stop_after_correcting(state, set())
        case RollBack(correct=correct, plan=None):
            return stop_after_correcting(state, set(correct))
        case RollBack(plan=plan):
            losses = next(p.loss for p in state.problem.plans if p.name == plan)
            possible = state.posterior > 0.0
            return Stop(decision, float(np.dot(state.posterior[possible], losses[possible])), 0.0)
        case Restart():
            return Stop(decision, state.problem.restart_loss, 0.0)
        case Escalate():
            return Stop(decision, state.problem.escalate_loss, 0.0)
        case _:
            assert_never(decision)


def why_illegal(state: InformationState, probe: str) -> str:
    """Return why a probe may not run now, also where the evidence contradicts the model."""
    reason = state.why_illegal(probe)
    return CONTRADICTED if not reason and state.contradiction is not None else reason


def labels(declarations: Sequence[Declaration]) -> tuple[str, ...]:
    """Return the declarations' names, with the version where several share one."""
    count = Counter(declaration.name for declaration in declarations)
    return tuple(d.name if count[d.name] == 1 else f"{d.name} v{d.version}" for d in declarations)
