"""One decision with all its numbers, every alternative to it, and what follows each answer of a probe."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import SURPRISING, InformationState
from aquamend.caching import KeepsResults
from aquamend.codec import dump, load
from aquamend.decision.detection import Detection, detection
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.probe_value import ProbeValues, best_probe, probe_values
from aquamend.decision.standings import DeclarationStanding, standings
from aquamend.decision.steps import (
    Advice,
    Continue,
    Decision,
    Reprobe,
    Restart,
    RollBack,
    Step,
    Wording,
    advice,
    but_for_numbers,
)
from aquamend.decision.terminal import PricedEnding, best_terminal, completed, correction_stops, decided_after, price
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
from aquamend.problem import Plan
from aquamend.problem.graph import Probe
from aquamend.problem.model.hypotheses import Declaration
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.text import column, table_html

if TYPE_CHECKING:
    from aquamend.decision.sensitivity.robustness import Robustness

FORMAT = "aquamend-report/1"
CONTRADICTED = "the evidence contradicts the model, so no answer could be interpreted"
MOST_ROWS = 14
MANY_CORRECTIONS, FEW_CORRECTIONS = 8, 4
"""With more correction sets than the first, only the second number of them, the best, are listed."""
MOST_SPLIT_BRANCHES = 400
"""Branches worth deciding one by one for the sake of a table; more costly probes show their total alone."""

Parts = tuple[float | None, float | None]
"""Recovery and residual; None where only their sum is known."""


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
    kept = policy.candidates(state) if isinstance(policy, AquaMend) else state.legal_probes
    return DecisionReport(
        state=state,
        policy=name,
        step=step,
        bounds=_bounds(state, policy) if bounded else NO_BOUNDS,
        certified=bounded and isinstance(policy, CertifyingPolicy),
        considered=considered_by(policy, state),
        description=policy.description if isinstance(policy, DescribedPolicy) else None,
        screened_out=tuple(probe for probe in state.legal_probes if probe not in kept),
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


def why_illegal(state: InformationState, probe: str) -> str:
    """Return why a probe may not run now, also where the evidence contradicts the model."""
    reason = state.why_illegal(probe)
    return CONTRADICTED if not reason and state.contradiction is not None else reason


def labels(declarations: Sequence[Declaration]) -> tuple[str, ...]:
    """Return the declarations' names, with the version where several share one."""
    count = Counter(declaration.name for declaration in declarations)
    return tuple(d.name if count[d.name] == 1 else f"{d.name} v{d.version}" for d in declarations)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One thing that could be done now, with its expected loss."""

    step: Step
    loss: float
    sensing: float
    recovery: float | None
    """This and the residual are None where only their sum is known: a plan's own loss covers both, and a probe with
    too many branches is not taken apart."""
    residual: float | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The best alternatives, best first; the chosen one is always among them."""

    rows: tuple[Alternative, ...]
    hidden_probes: int
    hidden_stops: int
    all_corrections: bool
    """Whether every set of beliefs that could be corrected is listed, rather than those worth listing."""


def alternatives(report: DecisionReport, *, most: int = MOST_ROWS, apart: bool = True) -> Alternatives:
    """Return what could be done now, by expected loss; a stop before a probe where they tie.

    Taking the losses of probes apart takes longer than all the rest, and can be left out.
    """
    stops = _stops(report)
    rows = tuple(_rows(report, _best(report, stops, report.values, most), MOST_SPLIT_BRANCHES if apart else -1))
    shown_probes = sum(isinstance(row.step, Reprobe) for row in rows)
    hidden_stops = len(stops) - (len(rows) - shown_probes)
    hidden_probes = len(report.values.branches.probes) - shown_probes
    return Alternatives(rows, hidden_probes, hidden_stops, _all_corrections(report, stops))


def weighed(report: DecisionReport, *, most: int = MOST_ROWS) -> list[tuple[Step, float]]:
    """Return the best alternatives that the policy weighed, with their losses: no probe that it had screened out.

    They are not taken apart, which would take much longer than deciding.
    """
    probes = [name for name in report.state.legal_probes if name not in report.screened_out]
    ranked = _best(report, _stops(report), probe_values(report.state, probes), most)
    return [(step, loss) for loss, step, _, _ in ranked]


_Ranked = tuple[float, Step, PricedEnding | None, bool]
"""Loss, step, how it ends the recovery where it does, and whether it was chosen."""


def _best(report: DecisionReport, stops: Sequence[PricedEnding], values: ProbeValues, most: int) -> list[_Ranked]:
    """Return the alternatives of least loss; the chosen one, and the best way of stopping, are always among them."""
    steps: list[_Ranked] = [(stop.loss, stop.decision, stop, stop.decision == report.step) for stop in stops]
    run = report.step.probe if isinstance(report.step, Reprobe) else None
    losses = zip(values.branches.probes, values.expected_loss.tolist(), strict=True)
    steps += [(loss, Reprobe(probe), None, probe == run) for probe, loss in losses]
    ranked = sorted(steps, key=lambda row: (round(row[0], 9), not row[3]))
    return ranked[:most] + [row for row in ranked[most:] if row[3] or row[1] == report.stop.decision]


def _rows(report: DecisionReport, kept: Sequence[_Ranked], budget: int) -> Iterator[Alternative]:
    """Yield the alternatives; those of probes are taken apart as long as their branches are within the budget."""
    branches = report.values.branches
    for loss, step, stop, chosen in kept:
        sensing, parts = 0.0, cost_parts(report.state, stop) if stop is not None else (None, None)
        if isinstance(step, Reprobe):
            sensing = float(branches.cost[branches.probes.index(step.probe)])
            where = branches.of(step.probe)
            budget -= where.stop - where.start
            parts = split_of(report.state, step.probe) if budget >= 0 else (None, None)
        yield Alternative(step, loss, sensing, *parts, chosen)


def cost_parts(state: InformationState, stop: PricedEnding) -> Parts:
    """Return what a way of stopping costs in recovery and in residual, as far as the problem tells them apart."""
    planned = isinstance(stop.decision, RollBack) and stop.decision.plan is not None
    started_over = isinstance(stop.decision, Restart) and isinstance(state.problem.restart, Plan)
    return (None, None) if planned or started_over else (stop.recovery, stop.residual)


def _stops(report: DecisionReport) -> list[PricedEnding]:
    state = report.state
    found = [report.stop, *([] if report.chosen is None else [report.chosen])]
    corrections = correction_stops(state, most=MANY_CORRECTIONS + 1)
    found += corrections if len(corrections) <= MANY_CORRECTIONS else corrections[:FEW_CORRECTIONS]
    others = [price(state, ending.decision) for ending in endings_of(state.problem).others.usual]
    if state.problem.corrections:
        others.insert(0, price(state, Continue()))
    found += [stop for stop in others if math.isfinite(stop.loss)]
    return list({stop.decision: stop for stop in reversed(found)}.values())[::-1]


def _all_corrections(report: DecisionReport, stops: Sequence[PricedEnding]) -> bool:
    """Whether every set of beliefs that could be corrected is among the stops."""
    at_risk = sum(b.residual > 0 and b.failure_probability != 0.0 for b in report.beliefs)
    sets = sum(isinstance(stop.decision, RollBack | Continue) for stop in stops)
    return sets == 0 or (at_risk < 60 and sets >= 2**at_risk)


@dataclass(frozen=True, slots=True)
class Branch:
    """One outcome of a probe, or one interval of its readings, with the best terminal decision after it."""

    label: str
    probability: float
    stop: PricedEnding
    above: float | None = None
    """This and the next are the ends of the interval, None where it has none."""
    below: float | None = None


def answers_to(state: InformationState, probe: str) -> tuple[Branch, ...]:
    """Return the possible answers of a legal probe; readings with the same decision are joined."""
    branches, channel = probe_values(state).branches, state.probe(probe).channel
    cuts = branches.cuts[branches.probes.index(probe)]
    if isinstance(channel, Readings) and cuts is not None:
        ends = (None, *cuts.tolist(), None)
        every = _answers(state, probe, interval_labels(cuts, channel.sharpest), tuple(pairwise(ends)))
        # An interval of no probability breaks the chain of neighbours.
        return tuple(_joined(every, cuts, channel.sharpest) if len(every) == len(cuts) + 1 else every)
    return tuple(_answers(state, probe, channel.outcomes if isinstance(channel, Outcomes) else None))


def split_of(state: InformationState, probe: str) -> Parts:
    """Return what the decisions after a probe's answers cost on average, in recovery and in residual."""
    every = _answers(state, probe)
    if any(cost_parts(state, answer.stop) == (None, None) for answer in every):
        return None, None
    return _average(every, "recovery"), _average(every, "residual")


def _average(answers: Sequence[Branch], part: str) -> float:
    return math.fsum(answer.probability * getattr(answer.stop, part) for answer in answers)


def _answers(
    state: InformationState,
    probe: str,
    names: Sequence[str] | None = None,
    intervals: Sequence[tuple[float | None, float | None]] | None = None,
) -> list[Branch]:
    found = []
    for i, decided in enumerate(decided_after(state, probe)):
        if decided is not None:
            label = f"answer {i + 1}" if names is None else names[i]
            ends = (None, None) if intervals is None else intervals[i]
            found.append(Branch(label, *decided, *ends))
    return found


def _joined(every: Sequence[Branch], cuts: Floats, sharpest: float) -> Iterator[Branch]:
    runs = [list(run) for _, run in groupby(every, key=lambda answer: but_for_numbers(answer.stop.decision))]
    starts = np.cumsum([len(run) for run in runs])[:-1]
    for label, run in zip(interval_labels(cuts[starts - 1], sharpest), runs, strict=True):
        whole = math.fsum(answer.probability for answer in run)
        decision = _from_to(run[0].stop.decision, run[-1].stop.decision)
        stop = PricedEnding(decision, _average(run, "recovery") / whole, _average(run, "residual") / whole)
        yield Branch(label, whole, stop, run[0].above, run[-1].below)


def _from_to(first: Decision, last: Decision) -> Decision:
    """Return a decision for a whole run of readings, with the numbers that are declared from one end to the other."""
    if first == last or not isinstance(first, RollBack) or not isinstance(last, RollBack):
        return first
    pairs = zip(first.declare, last.declare, strict=True)
    declare = [a if a.value == b.value else replace(a, value=f"{a.value:g} to {b.value:g}") for a, b in pairs]
    return replace(first, declare=tuple(declare))


def interval_labels(cuts: Floats, sharpest: float) -> tuple[str, ...]:
    """Return the intervals between the cuts in words, to a tenth of the finest distance that matters."""
    if len(cuts) == 0:
        return ("any reading",)
    decimals = min(12, max(0, math.ceil(1.0 - math.log10(sharpest))))
    texts = [f"{cut:.{decimals}f}" for cut in cuts]
    return (f"below {texts[0]}", *(f"{a} to {b}" for a, b in pairwise(texts)), f"above {texts[-1]}")
