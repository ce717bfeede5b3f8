"""The alternatives worth showing at a decision, with what each is expected to cost by kind, and how to read them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from aquamend.belief import InformationState
from aquamend.decision.steps import Decision, Escalate, Reprobe, Restart, RollBack
from aquamend.decision.terminal import Stop, price
from aquamend.explanation.alternatives import answers_to
from aquamend.explanation.alternatives import weighed as weighed_steps
from aquamend.explanation.report import DecisionReport
from aquamend.story.story import Option
from aquamend_lab.pouring.demonstration.wording import step_name
from aquamend_lab.pouring.model.fitted import Fitted
from aquamend_lab.pouring.model.problem import PROBE_S, AlarmModel
from aquamend_lab.pouring.task import LIFT, MOVE, POUR

MOST_PROBES, MOST_ROLL_BACKS = 3, 3
EVERYTHING = 10_000


class Parts(NamedTuple):
    """An expected loss, by what it is for."""

    sensing: float = 0.0
    rollback: float = 0.0
    continuation: float = 0.0
    residual: float = 0.0


def finishing_s(fitted: Fitted, executed: tuple[str, ...]) -> float:
    """Return what is left of the task after these actions, by fitted durations."""
    skills = {LIFT: "fetch", MOVE: "move", POUR: "pour"}
    return math.fsum(fitted.seconds(skill) for action, skill in skills.items() if action not in executed) + (
        fitted.seconds("put back")
    )


@dataclass(frozen=True, slots=True)
class Pricing:
    """Takes expected losses apart, with what finishing the task takes added to every ending but a safe stop."""

    model: AlarmModel

    @property
    def finishing(self) -> float:
        """What is left of the task, in seconds."""
        return finishing_s(self.model.fitted, self.model.task.stage.executed)

    def of(self, state: InformationState, step: Decision | Reprobe) -> Parts:
        """Return what a step is expected to cost: of a probe, with the best ending after each answer."""
        if not isinstance(step, Reprobe):
            return self.stop(state, price(state, step))
        sums = [state.probe(step.probe).cost, 0.0, 0.0, 0.0]
        for answer in answers_to(state, step.probe):
            for i, part in enumerate(self.stop(state, answer.stop)):
                sums[i] += answer.probability * part
        return Parts(*sums)

    def stop(self, state: InformationState, stop: Stop) -> Parts:
        """Return what an ending is expected to cost; what a plan leaves wrong is residual, too."""
        task = self.model.task
        match stop.decision:
            case Escalate() | RollBack(plan=str()):  # the only plan there is: to stop safely
                return Parts(0.0, task.safe_stop_cost, 0.0, stop.loss - task.safe_stop_cost)
            case Restart():
                looking = len(task.cups) * task.prices.look + PROBE_S
                again = self._redo(state, task.stage.executed)
                undoing = task.restart_cost + PROBE_S - looking - again
                residual = stop.loss - task.restart_cost - PROBE_S
                return Parts(looking, undoing, again + self.finishing, residual)
            case RollBack(undo=undo, correct=correct):
                again = self._redo(state, {*undo, *state.problem.graph.closure(correct)})
                return Parts(0.0, stop.recovery - again, again + self.finishing, stop.residual)
            case _:
                return Parts(0.0, 0.0, self.finishing, stop.residual)

    def _redo(self, state: InformationState, undone: tuple[str, ...] | set[str]) -> float:
        return math.fsum(a.redo for a in state.problem.graph.executed if a.name in undone)


def weighed(report: DecisionReport, pricing: Pricing) -> Iterator[Option]:
    """Yield the options, cheapest first: the best probes, the best ways to roll back, and every other ending."""
    shown: dict[str, int] = {}
    named: set[str] = set()
    for step, _ in weighed_steps(report, most=EVERYTHING):
        kind, name, chosen = type(step).__name__, step_name(step, report.state), step == report.step
        if name in named and not chosen:
            continue
        shown[kind] = shown.get(kind, 0) + 1
        most = {"Reprobe": MOST_PROBES, "RollBack": MOST_ROLL_BACKS}.get(kind, 1)
        if chosen or shown[kind] <= most:
            named.add(name)
            parts = pricing.of(report.state, step)
            yield Option(name, math.fsum(parts), *parts, chosen=chosen)


def how_to_read(report: DecisionReport, finishing: float) -> str:
    """Return how the losses of the options and the choice belong together, in a sentence or two."""
    about, name = report.description, report.policy
    if about is not None and about.one_step:
        if report.is_least:
            return f"One probe ahead, this has the least expected loss, so {name} takes it."
        return (
            f"{name} takes the least expected loss among what it priced; {len(report.screened_out)} were screened out."
        )
    if about is not None and about.plans_ahead and report.certified:
        own = report.bounds.upper + finishing
        return (
            f"The losses below look one probe ahead. {name} plans further: followed to its end, its own plan is "
            f"expected to lose {own:.1f} s."
        )
    agrees = "they agree here" if report.is_least else "here another would be the least"
    return f"{name} decides by its own rule, not by these losses one probe ahead; {agrees}."
