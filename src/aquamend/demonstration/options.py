"""The alternatives worth showing at a decision: the best probes, and the best way of every way of ending it."""

from __future__ import annotations

from collections.abc import Iterator

from aquamend.decision.steps import Continue, Escalate, Reprobe, Restart, RollBack, Step
from aquamend.demonstration.wording import step_name
from aquamend.explanation.alternatives import Alternative, alternatives
from aquamend.explanation.report import DecisionReport
from aquamend.replay.story import Option

MOST_PROBES, MOST_ROLL_BACKS = 3, 3
EVERYTHING = 10_000


def weighed(report: DecisionReport, *, finishing_s: float) -> Iterator[Option]:
    """Yield the options, cheapest first, with what finishing the task takes added to each but a safe stop."""
    shown: dict[str, int] = {}
    named: set[str] = set()
    for row in alternatives(report, most=EVERYTHING).rows:
        kind, name = _kind(row.step), step_name(row.step)
        if name in named and not row.chosen:
            continue
        shown[kind] = shown.get(kind, 0) + 1
        most = {"probe": MOST_PROBES, "roll back": MOST_ROLL_BACKS}.get(kind, 1)
        if row.chosen or shown[kind] <= most:
            named.add(name)
            yield _option(row, name, finishing_s)


def _kind(step: Step) -> str:
    match step:
        case Reprobe():
            return "probe"
        case RollBack(plan=None):
            return "roll back"
        case RollBack(plan=plan):
            return str(plan)
        case Continue():
            return "continue"
        case Restart():
            return "restart"
        case Escalate():
            return "stop"


def _option(row: Alternative, name: str, finishing_s: float) -> Option:
    loss = row.loss + finishing_s
    # A person finishes instead; the problem's loss of calling one is net of what that saves.
    stops = isinstance(row.step, Escalate)
    return Option(
        name=name,
        loss=loss,
        sensing=row.sensing,
        rollback=0.0 if stops else row.recovery,
        continuation=loss if stops else finishing_s,
        residual=row.residual,
        chosen=row.chosen,
    )
