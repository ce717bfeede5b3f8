"""One situation as a page shows it: the decision, the graph, and what each probe might answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from aquamend.belief import InformationState
from aquamend.codec import Loss, write
from aquamend.decision.sensitivity.knobs import Knob, knobs_of
from aquamend.policies.decision_report import DecisionReport, why_illegal
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.story.of_decision import choice_of, edges_of, hypotheses, nodes_of
from aquamend.story.story import Choice, Node

FORMAT = "aquamend-view/1"
DENSITY_POINTS = 121
MOST_CURVES, MOST_EXPLANATIONS = 6, 12


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
        return {"format": FORMAT, **write(self, complete=True)}


def view_of(report: DecisionReport, *, with_flips: bool = True, with_knobs: bool = True) -> View:
    """Return what a page shows of a decision and the situation it was made in."""
    state = report.state
    problem = state.problem
    likeliest = sorted(hypotheses(state).items(), key=lambda item: -item[1])[:MOST_EXPLANATIONS]
    return View(
        name=problem.name,
        unit=problem.unit,
        choice=choice_of(report, with_flips=with_flips),
        doubts={line.name: line.failure_probability for line in report.beliefs},
        explanations=dict(likeliest),
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
    shown = likely[channel.owner]
    low = float((channel.mean - 3.5 * channel.sd)[shown].min())
    high = float((channel.mean + 3.5 * channel.sd)[shown].max())
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
