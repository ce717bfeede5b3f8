"""One decision with all its numbers, ready to be written for a person or a program."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

from aquamend.belief import SURPRISING, InformationState
from aquamend.caching import KeepsResults
from aquamend.codec import dump, load
from aquamend.decision.detection import Detection, detection
from aquamend.decision.endings import TIE
from aquamend.decision.probe_value import ProbeValues, best_probe, probe_values
from aquamend.decision.standings import DeclarationStanding, standings
from aquamend.decision.step_words import Wording
from aquamend.decision.steps import Advice, Reprobe, RollBack, Step, advice
from aquamend.decision.terminal import PricedEnding, best_terminal, completed, price
from aquamend.errors import BadStep, IllegalProbe
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.policies.myopic import AquaMend
from aquamend.policies.policy import (
    CertifyingPolicy,
    Considered,
    DescribedPolicy,
    Description,
    NotingPolicy,
    Policy,
    considered_by,
)
from aquamend.problem.graph import Probe
from aquamend.problem.model.hypotheses import Declaration
from aquamend.text import column, table_html

if TYPE_CHECKING:
    from aquamend.decision.sensitivity.robustness import Robustness

FORMAT = "aquamend-report/1"
CONTRADICTED = "the evidence contradicts the model, so no answer could be interpreted"


@dataclass(frozen=True, slots=True)
class ProbeLine:
    """One probe of the problem: whether it may run, what it is worth one step ahead, what it tests."""

    probe: Probe
    why_illegal: str
    """Empty where it may run now."""
    screened_out: bool
    """Whether the policy left it out without pricing it."""
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


@dataclass(frozen=True, eq=False)
class DecisionReport(KeepsResults):
    """A step that a policy chose, with everything it was weighed against; costly parts are made when asked for."""

    state: InformationState
    policy: str
    step: Step
    """With all that it implies said: the whole closure it undoes, and every value it declares."""
    bounds: Bounds
    certified: bool
    """Whether the bounds are the policy's own, so that following it costs no more than the upper one."""
    considered: Considered
    """How much the policy looked at."""
    description: Description | None = None
    """What the policy says of itself."""
    screened_out: tuple[str, ...] = ()
    """Legal probes that the policy left out without pricing them."""
    surprising: float = SURPRISING
    """The chance below which an answer is called surprising."""
    note: str = ""
    """Why the policy departs from what is best one probe ahead, in its own words."""

    def __repr__(self) -> str:
        return f"<DecisionReport of {self.policy}: {self.step}; {self.state!r}>"

    def _repr_html_(self) -> str:
        from aquamend.policies.alternatives import alternatives  # here, since they are made from a report

        words, rows = Wording(self.state), alternatives(self).rows
        parts = [[getattr(row, part) for row in rows] for part in ("sensing", "recovery", "residual", "loss")]
        cells = zip(*(column(part) for part in parts), strict=True)
        said = (self.policy, "" if self.advice is None else self.advice.value, words.full(self.step))
        unit = self.state.problem.unit
        return table_html(
            ": ".join(part for part in said if part),
            ("alternative", "sensing", "recovery", "residual", f"expected loss ({unit})" if unit else "expected loss"),
            [(words.full(row.step), *numbers) for row, numbers in zip(rows, cells, strict=True)],
        )

    @cached_property
    def stop(self) -> PricedEnding:
        """The best way of ending the recovery now."""
        return best_terminal(self.state)

    @cached_property
    def chosen(self) -> PricedEnding | None:
        """What the step costs where it ends the recovery; None for a probe."""
        return None if isinstance(self.step, Reprobe) else price(self.state, self.step)

    @cached_property
    def values(self) -> ProbeValues:
        """One-step values of every legal probe, whatever the policy looked at."""
        return probe_values(self.state)

    @cached_property
    def probes(self) -> tuple[ProbeLine, ...]:
        """Every probe of the problem, in file order."""
        state, values = self.state, self.values
        tests, legal = detection(state), {name: i for i, name in enumerate(values.branches.probes)}
        unavailable = tuple(Detection(None, None) for _ in state.problem.declarations)
        lines = []
        for probe in state.problem.graph.probes:
            i = legal.get(probe.name)
            if i is None:
                lines.append(ProbeLine(probe, why_illegal(state, probe.name), False, None, None, unavailable))
                continue
            benefit, loss = float(values.net_benefit[i]), float(values.expected_loss[i])
            known = None if math.isnan(benefit) else benefit
            lines.append(ProbeLine(probe, "", probe.name in self.screened_out, known, loss, tests[probe.name]))
        return tuple(lines)

    @cached_property
    def beliefs(self) -> tuple[BeliefLine, ...]:
        """Every belief of the problem, in file order."""
        state, graph = self.state, self.state.problem.graph
        suspects, known = set(state.suspects), state.contradiction is None
        undoing = [graph.correcting([belief.name]) for belief in graph.beliefs]
        return tuple(
            BeliefLine(
                name=belief.name,
                failure_probability=float(q) if known else None,
                suspected=belief.name in suspects,
                residual=belief.residual if belief.may_keep else math.inf,
                undo=undo,
                undo_cost=cost,
            )
            for belief, q, (undo, cost) in zip(graph.beliefs, state.failure_probabilities, undoing, strict=True)
        )

    @property
    def declarations(self) -> tuple[DeclarationStanding, ...]:
        """Every declaration in force, and what the evidence now supports in its place."""
        return standings(self.state)

    @property
    def advice(self) -> Advice | None:
        """What the step says of going on with the action asked about; None where no action is."""
        return None if self.state.problem.before is None else advice(self.step)

    @cached_property
    def least(self) -> Step:
        """The step of least one-step loss, screened-out probes included."""
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
        return price(self.state, step).loss

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
        from aquamend.decision.sensitivity.robustness import robustness

        return robustness(self.state, self.step)

    def to_data(self) -> dict[str, Any]:
        """Return what the report was made from as plain data, without the problem; all else follows from it."""
        kept = _Kept(**{field.name: getattr(self, field.name) for field in fields(_Kept)})
        return {"format": FORMAT, "state": self.state.to_data(), **dump(kept, where="report")}

    @classmethod
    def from_data(cls, state: InformationState, data: Mapping[str, Any]) -> DecisionReport:
        """Return the report that plain data describe, at the state that ``InformationState.from_data`` gives back."""
        rest = {key: value for key, value in data.items() if key not in ("format", "state")}
        kept: _Kept = load(_Kept, rest, "report")
        return cls(state, **{field.name: getattr(kept, field.name) for field in fields(_Kept)})


@dataclass(frozen=True, slots=True)
class _Kept:
    """A report as it is written, without its state."""

    policy: str
    step: Step
    bounds: Bounds
    certified: bool
    considered: Considered
    description: Description | None
    screened_out: tuple[str, ...]
    surprising: float
    note: str = ""


NO_BOUNDS = Bounds(0.0, math.inf)
"""What is true of every loss."""


def decision_report(
    state: InformationState, policy: Policy, *, name: str, bounded: bool = True, surprising: float = SURPRISING
) -> DecisionReport:
    """Return the policy's decision at this state, with its numbers; it takes little longer if it is not bounded."""
    step = carried_out(state, policy.next_step(state), name=name)
    return DecisionReport(
        state=state,
        policy=name,
        step=step,
        bounds=_bounds(state, policy) if bounded else NO_BOUNDS,
        certified=bounded and isinstance(policy, CertifyingPolicy),
        considered=considered_by(policy, state),
        description=policy.description if isinstance(policy, DescribedPolicy) else None,
        screened_out=_screened_out(policy, state),
        surprising=surprising,
        note=policy.note(state) if isinstance(policy, NotingPolicy) else "",
    )


def _bounds(state: InformationState, policy: Policy) -> Bounds:
    return policy.bounds(state) if isinstance(policy, CertifyingPolicy) else quick_bounds(state)


def carried_out(state: InformationState, step: object, *, name: str) -> Step:
    """Return a step with all that it implies said; an error if it is none that may be taken here."""
    if not isinstance(step, Step):
        raise BadStep(f"policy {name!r} returned {step!r}, which is no step; return one of aquamend.decision.steps")
    if isinstance(step, Reprobe):
        reason = why_illegal(state, step.probe)
        if reason:
            raise IllegalProbe(step.probe, reason)
    if not isinstance(step, RollBack) or step.plan is not None:
        return step
    return completed(state, step)


def _screened_out(policy: Policy, state: InformationState) -> tuple[str, ...]:
    kept = policy.candidates(state) if isinstance(policy, AquaMend) else state.legal_probes
    return tuple(probe for probe in state.legal_probes if probe not in kept)


def why_illegal(state: InformationState, probe: str) -> str:
    """Return why a probe may not run now, also where the evidence contradicts the model."""
    reason = state.why_illegal(probe)
    return CONTRADICTED if not reason and state.contradiction is not None else reason


def labels(declarations: Sequence[Declaration]) -> tuple[str, ...]:
    """Return the declarations' names, with the version where several share one."""
    count = Counter(declaration.name for declaration in declarations)
    return tuple(d.name if count[d.name] == 1 else f"{d.name} v{d.version}" for d in declarations)
