"""What looks odd in what a problem says of its moment: monitors, ages, and actions to check before they are done."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aquamend.belief import InformationState
from aquamend.lint.finding import Finding, Severity
from aquamend.problem.building.guard import leading_to
from aquamend.text import percent


def odd_monitors(state: InformationState) -> Iterator[Finding]:
    """Yield monitors that tell nothing, and those that go on blaming what was corrected."""
    model = state.problem.model
    possible = model.prior > 0.0
    for name, alarm in model.monitors.items():
        where = f"alarms.{name}" if name in model.alarms else name
        row = model.rung[name][possible]
        if float(np.ptp(row)) == 0.0:
            said = f"{name!r} rings with {percent(float(row[0]))} whatever is true: neither alarm nor silence counts"
            yield Finding("monitor-never-matters", f"{where}.likelihood", said, 0.0, Severity.WARNING)
        elif name in model.alarms and alarm.conditions is None:
            said = (
                f"{name!r} is given by causes or hypotheses: rung again after a correction, it blames what was "
                "corrected; write what it sees by beliefs"
            )
            yield Finding("monitor-by-cause", f"{where}.likelihood", said, 0.0)


def causes_at_rest(state: InformationState) -> Iterator[Finding]:
    """Yield causes with a rate that cannot have come: it is 0, or all that they overtake was measured just now."""
    ageing = state.problem.ageing
    for name in ageing.at_rest if ageing is not None else ():
        said = f"{name!r} has a rate and cannot have come: its rate is 0, or what it makes wrong has the age 0"
        yield Finding("rate-never-counts", "causes", f"{said}; give `age`, or --age", 0.0, Severity.WARNING)


def unquestioned_actions(state: InformationState) -> Iterator[Finding]:
    """Yield planned actions that cannot be undone and that no belief leads to: checking them only says to go on."""
    graph = state.problem.graph
    for i, action in enumerate(graph.actions):
        if not action.executed and not action.reversible and not leading_to(graph, action.name):
            said = (
                f"{action.name!r} cannot be undone, and no belief leads to it: a check before it can only say to go on"
            )
            yield Finding("nothing-leads-to", f"actions[{i}]", said, 0.0)
