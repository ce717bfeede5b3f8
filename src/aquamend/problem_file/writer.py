"""From a problem to the data of its file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aquamend.codec import write
from aquamend.errors import AquaMendError
from aquamend.model import Alarm
from aquamend.model.kernels import rows_by_name
from aquamend.problem import Plan, Problem
from aquamend.problem_file.format import FORMAT, ProblemFile, Restarting, WrittenPlan


def problem_to_data(problem: Problem) -> dict[str, Any]:
    """Return the problem as plain data, ready for JSON or YAML; what equals its default is left out.

    Hypotheses that were generated from causes are written one by one, without how much was left out; no file says what
    a recovery under way has declared again.
    """
    if problem.redeclared:
        name = next(iter(problem.redeclared))
        raise AquaMendError(f"{name!r} was declared again by a recovery under way; write the problem it began with")
    graph, model = problem.graph, problem.model
    file: Any = ProblemFile
    data: dict[str, Any] = write(
        file(
            format=FORMAT,
            beliefs=graph.beliefs,
            actions=graph.actions,
            operations=graph.operations,
            probes=graph.probes,
            edges=graph.edges,
            hypotheses=model.hypotheses,
            kernels={probe: rows_by_name(kernel, model.names) for probe, kernel in model.kernels.items()},
            alarm=model.alarm and _alarm(model.alarm),
            alarms={name: _alarm(one) for name, one in model.alarms.items()},
            declarations=model.declarations,
            restart=_restarting(problem.restart, model.names),
            plans=[_plan(plan, model.names) for plan in problem.plans],
            **{key: getattr(problem, key) for key in _SAME},
        )
    )
    return data


_SAME = ("name", "unit", "sensing_budget", "escalate", "corrections", "coverage")


def _alarm(alarm: Alarm) -> Alarm:
    """Return an alarm by its conditions where these ask about beliefs, which may be read again; else by hypothesis."""
    likelihood = alarm.conditions and alarm.conditions.as_listed()
    again = alarm.again_by and alarm.again_by.as_listed()
    return replace(alarm, likelihood=likelihood or alarm.likelihood, again=again or alarm.again)


def _restarting(restart: float | Plan | None, names: Sequence[str]) -> float | Restarting | None:
    return Restarting(**_ending(restart, names)) if isinstance(restart, Plan) else restart


def _plan(plan: Plan, names: Sequence[str]) -> WrittenPlan:
    return WrittenPlan(name=plan.name, last_resort=plan.last_resort, **_ending(plan, names))


def _ending(plan: Plan, names: Sequence[str]) -> dict[str, Any]:
    losses = np.asarray(plan.loss, dtype=float).tolist()
    loss = losses[0] if len(set(losses)) == 1 else dict(zip(names, losses, strict=True))
    return {"loss": loss, "correct": plan.correct, "undo": plan.undo}
