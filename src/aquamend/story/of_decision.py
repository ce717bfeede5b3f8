"""A decision as part of a story, or as one: the reason, every alternative, what each answer leads to, flips.

And the situation in which it is made: how likely everything was, what was declared, what rests on what; and as a page
shows it, with what each probe might answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from aquamend.belief import InformationState
from aquamend.codec import Loss, write
from aquamend.decision.sensitivity.knobs import Knob, knobs_of
from aquamend.decision.steps import Reprobe, RollBack, Step, Wording
from aquamend.policies.decision_report import DecisionReport, alternatives, answers_to, decision_report, why_illegal
from aquamend.policies.policy import Description
from aquamend.policies.registry import POLICIES
from aquamend.problem import Problem
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.recovery.history import Recovery
from aquamend.story.reasons import certificate, flips, reasons
from aquamend.story.story import AfterAnswer, Choice, Flip, Kind, Moment, Node, Option, Statement, Story, Update
from aquamend.text import capital, percent, quantity, shown

VIEW_FORMAT = "aquamend-view/1"
DENSITY_POINTS = 121
MOST_CURVES, MOST_LISTED = 6, 12
MOST_OPTIONS, MOST_ANSWERS = 10, 24
MOST_EXPLANATIONS = 11
"""Explanations shown by themselves; what is left is counted together."""
UNLIKELY = 0.01
"""Explanations that never get above this are not shown by themselves."""

Explained = Callable[[InformationState], Mapping[str, float]]
Named = Callable[[Step, InformationState], str]
"""Returns what a step is called."""


def hypotheses(state: InformationState) -> Mapping[str, float]:
    """Return the probability of every hypothesis by its name; nothing where the evidence contradicts the model."""
    if state.contradiction is not None:
        return {}
    names = (hypothesis.name for hypothesis in state.problem.model.hypotheses)
    return dict(zip(names, map(float, state.posterior), strict=True))


def update_of(state: InformationState, when: str, time: float, *, explained: Explained = hypotheses) -> Update:
    """Return what is believed at a state."""
    wrong, declarations = state.invalidity, state.problem.declarations
    doubts = {one.name: None if wrong is None else float(wrong[i]) for i, one in enumerate(declarations)}
    return Update(time, when, explained(state), doubts)


def alarm_updates(state: InformationState, time: float) -> Iterator[Update]:
    """Yield what was believed before the alarm and after it, and after each answer that came with it."""
    problem = state.problem
    heard = InformationState.alarmed(problem, state.rung, silent=state.silent)
    if heard.rung:
        yield update_of(InformationState.start(problem), "before the alarm", time)
    yield update_of(heard, "after the alarm" if heard.rung else "to begin with", time)
    for observation in state.evidence:
        heard = heard.after(observation)
        yield update_of(heard, f"after {shown(observation)}", time)


def likeliest(updates: Sequence[Update]) -> tuple[Update, ...]:
    """Return the updates with the same few explanations in each, those that were ever the likeliest."""
    most: dict[str, float] = {}
    for update in updates:
        for name, p in update.explanations.items():
            most[name] = max(p, most.get(name, 0.0))
    ranked = sorted((name for name in most if most[name] >= UNLIKELY), key=lambda name: -most[name])
    kept = set(ranked[:MOST_EXPLANATIONS])
    return tuple(
        replace(update, explanations={name: p for name, p in update.explanations.items() if name in kept})
        for update in updates
    )


def statements_of(state: InformationState, wrong: Collection[str] | None = None) -> tuple[Statement, ...]:
    """Return what was declared; ``wrong`` names what was not so in truth, where somebody knows."""
    return tuple(
        Statement(
            one.name,
            "" if one.value is None else str(one.value),
            tuple(one.support),
            None if wrong is None else one.name in wrong or one.belief in wrong,
        )
        for one in state.problem.declarations
    )


def edges_of(problem: Problem) -> tuple[tuple[str, str, str], ...]:
    """Return what rests on what."""
    return tuple((edge[0], edge[1], str(edge[2])) for edge in problem.graph.edges)


def nodes_of(
    problem: Problem, recovery: Recovery | None = None, *, state: InformationState | None = None,
    step: Step | None = None, wrong: Collection[str] = (),
) -> Iterator[Node]:  # fmt: skip
    """Yield the nodes of a graph: what each costs, the doubt in a belief, and what becomes or became of it."""
    now = state or (recovery.decided_at if recovery is not None else None)
    graph, alarm, unit = problem.graph, problem.model.alarm, problem.unit
    used = {o.probe for o in now.evidence} if now is not None else set()
    used |= {s.probe for s in recovery.steps if isinstance(s, Reprobe)} if recovery is not None else set()
    undone = set(recovery.undone if recovery else step.undo if isinstance(step, RollBack) else ())
    corrected = set(recovery.corrected if recovery else step.correct if isinstance(step, RollBack) else ())
    next_probe = step.probe if isinstance(step, Reprobe) else None
    marked = {"suspected": set(alarm.suspects) if alarm else set(), "wrong": set(wrong), "corrected": corrected}
    for probe in graph.probes:
        marks = tuple(mark for mark, has in (("used", probe.name in used), ("next", probe.name == next_probe)) if has)
        yield Node(probe.name, "probe", quantity(probe.cost, unit), marks=marks)
    doubts = [None] * len(graph.beliefs) if now is None else [float(q) for q in now.failure_probabilities]
    for belief, q in zip(graph.beliefs, doubts, strict=True):
        marks = tuple(mark for mark, names in marked.items() if belief.name in names)
        yield Node(belief.name, "belief", "" if q is None else f"{percent(q)} doubt", q, marks)
    for action in graph.actions:
        if action.executed:
            cost = graph.rollback_cost([action.name])
            note = "cannot be undone" if math.isinf(cost) else f"undo {quantity(cost, unit)}"
            yield Node(action.name, "action", note, marks=("undone",) if action.name in undone else ())
        else:
            yield Node(action.name, "action", "planned", marks=("planned",))


def brief(step: Step, state: InformationState) -> str:
    """Return a step as `decide` calls it."""
    return Wording(state).brief(step)


def choice_of(report: DecisionReport, *, name: Named = brief, with_flips: bool = True) -> Choice:
    """Return a decision for a story.

    What would flip it, and how the losses of probes split, takes the longest; without flips both are left out.
    """
    words, table = Wording(report.state), alternatives(report, most=MOST_OPTIONS, apart=with_flips)
    scope = words.scope if name is brief else lambda step: ""  # another name says it all
    options = tuple(
        Option(
            name(row.step, report.state), scope(row.step), row.loss, row.sensing, row.recovery, row.residual, row.chosen
        )
        for row in table.rows
    )
    known = with_flips and report.robustness is not None and report.robustness.distance is not None
    nearest = next(flips(report), "") if known else ""
    return Choice(
        policy=report.policy,
        step=name(report.step, report.state),
        scope=scope(report.step),
        why=reasons(report, table),
        options=options,
        answers=tuple(_answers(report, name, scope)),
        flips=tuple(sorted(_flips(report), key=lambda flip: abs(flip.at - flip.now))) if with_flips else (),
        nearest_flip=nearest,
        lower=report.bounds.lower,
        upper=report.bounds.upper,
        certificate=certificate(report),
    )


def recorded_choice(state: InformationState, policy: str, step: Step) -> Choice:
    """Return a decision that somebody made earlier, explained at the state in which it was made."""
    shipped = POLICIES.get(policy)  # a module that a log names is not imported
    recorded = _Recorded(step, None if shipped is None else shipped().description)
    return choice_of(decision_report(state, recorded, name=policy))


class _Recorded:
    """Takes the step that is on record."""

    def __init__(self, step: Step, description: Description | None) -> None:
        self.step = step
        if description is not None:
            self.description = description

    def next_step(self, state: InformationState) -> Step:
        return self.step


def _answers(report: DecisionReport, name: Named, scope: Callable[[Step], str]) -> Iterator[AfterAnswer]:
    if not isinstance(report.step, Reprobe) or report.state.contradiction is not None:
        return
    found = answers_to(report.state, report.step.probe)
    likely = sorted(range(len(found)), key=lambda i: -found[i].probability)[:MOST_ANSWERS]
    for answer in (found[i] for i in sorted(likely)):
        then = answer.stop.decision
        yield AfterAnswer(answer.label, answer.probability, name(then, report.state), scope(then), answer.stop.loss)


def _flips(report: DecisionReport) -> Iterator[Flip]:
    found = report.robustness
    for threshold in () if found is None else found.thresholds:
        for at, to in ((threshold.below, threshold.below_step), (threshold.above, threshold.above_step)):
            if at is not None:
                yield Flip(threshold.belief, threshold.now, at, to or "another step")


def decision_story(report: DecisionReport, *, file: str) -> Story:
    """Return the story of one decision."""
    state = report.state
    problem, choice = state.problem, choice_of(report)
    next_step = Wording(state).full(report.step)
    decided = Moment(0.0, Kind.DECIDED, capital(choice.step), choice.why, choice=choice)
    verb = "Next, " if isinstance(report.step, Reprobe) else "Now "
    return Story(
        title=problem.name,
        facts={"file": file, "policy": report.policy},
        unit=problem.unit,
        policy=report.policy,
        moments=(decided,),
        updates=likeliest(list(alarm_updates(state, 0.0))),
        statements=statements_of(state),
        nodes=tuple(nodes_of(problem, state=state, step=report.step)),
        edges=edges_of(problem),
        verdict=f"{verb}{next_step}.",
    )


@dataclass(frozen=True, slots=True)
class PossibleAnswer:
    """An outcome of a probe, and how probable it is now."""

    outcome: str
    probability: float


@dataclass(frozen=True, slots=True)
class Curve:
    """How a probe would read under the hypotheses that read alike, weighed by how probable they are."""

    label: str
    density: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ProbeAnswers:
    """A probe, and what it might answer now."""

    name: str
    cost: float
    why_illegal: str
    """Empty where it may run now."""
    answers: tuple[PossibleAnswer, ...] = ()
    """Of a probe with outcomes."""
    low: float | None = None
    """Of a probe that reads numbers: the range of readings worth looking at."""
    high: float | None = None
    curves: tuple[Curve, ...] = ()


@dataclass(frozen=True, slots=True)
class Undoing:
    """What correcting a belief undoes."""

    belief: str
    undo: tuple[str, ...]
    cost: Loss
    """Infinite where it cannot be undone."""


@dataclass(frozen=True, slots=True)
class View:
    """Everything a page shows of one situation."""

    name: str
    unit: str
    choice: Choice
    doubts: dict[str, float | None]
    explanations: dict[str, float]
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str, str], ...]
    probes: tuple[ProbeAnswers, ...]
    corrections: tuple[Undoing, ...]
    knobs: tuple[Knob, ...] = ()

    def to_data(self) -> dict[str, Any]:
        """Return the view as plain data."""
        return {"format": VIEW_FORMAT, **write(self, complete=True)}


def view_of(report: DecisionReport, *, with_flips: bool = True, with_knobs: bool = True) -> View:
    """Return what a page shows of a decision and the situation it was made in."""
    state = report.state
    problem = state.problem
    explanations = sorted(hypotheses(state).items(), key=lambda item: -item[1])[:MOST_LISTED]
    return View(
        name=problem.name,
        unit=problem.unit,
        choice=choice_of(report, with_flips=with_flips),
        doubts={line.name: line.failure_probability for line in report.beliefs},
        explanations=dict(explanations),
        nodes=tuple(nodes_of(problem, state=state, step=report.step)),
        edges=edges_of(problem),
        probes=tuple(_probes(state)),
        corrections=tuple(Undoing(line.name, line.undo, line.undo_cost) for line in report.beliefs),
        knobs=tuple(knobs_of(problem)) if with_knobs else (),
    )


def _probes(state: InformationState) -> Iterator[ProbeAnswers]:
    for probe in state.problem.graph.probes:
        channel, barred = state.problem.model.channels[probe.name], why_illegal(state, probe.name)
        if state.contradiction is not None:
            yield ProbeAnswers(probe.name, probe.cost, barred)
        elif isinstance(channel, Outcomes):
            chances = state.posterior @ channel.table
            found = zip(channel.outcomes, chances.tolist(), strict=True)
            yield ProbeAnswers(probe.name, probe.cost, barred, tuple(PossibleAnswer(o, p) for o, p in found))
        elif isinstance(channel, Readings):
            yield _readings(state, probe.name, probe.cost, barred, channel)


def _readings(state: InformationState, name: str, cost: float, barred: str, channel: Readings) -> ProbeAnswers:
    mass = channel.gathered(state.posterior)
    likely = mass > 1e-4 * mass.max()
    worth_seeing = likely[channel.owner]
    low = float((channel.mean - 3.5 * channel.sd)[worth_seeing].min())
    high = float((channel.mean + 3.5 * channel.sd)[worth_seeing].max())
    grid = np.linspace(low, high, DENSITY_POINTS)
    each = channel.density(grid) * mass
    ranked = np.argsort(-mass, kind="stable")[:MOST_CURVES]
    curves = [Curve("all together", tuple(float(f"{d:.4g}") for d in each.sum(axis=1).tolist()))]
    if channel.n_labels <= 40:
        names = state.problem.model.names
        for label in ranked.tolist():
            at = np.flatnonzero(channel.of == label)
            best = at[int(np.argmax(state.posterior[at]))]
            more = f" and {len(at) - 1} more" if len(at) > 1 else ""
            curves.append(Curve(f"{names[int(best)]}{more}", tuple(float(f"{d:.4g}") for d in each[:, label].tolist())))
    return ProbeAnswers(name, cost, barred, (), low, high, tuple(curves))
