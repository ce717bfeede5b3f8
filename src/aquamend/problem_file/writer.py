"""From a problem to the data of its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from aquamend.codec import write
from aquamend.errors import AquaMendError, UnknownCondition
from aquamend.model import Alarm
from aquamend.model.hypotheses import Conditions
from aquamend.model.joint_model import UNNAMED
from aquamend.model.kernels import rows_by_name
from aquamend.modelling.rules import resolved
from aquamend.modelling.tables import vocabulary_of
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
            alarm=model.alarm and _alarm(problem, UNNAMED),
            alarms={name: _alarm(problem, name) for name in model.alarms},
            declarations=model.declarations,
            restart=_restarting(problem.restart, model.names),
            plans=[_plan(plan, model.names) for plan in problem.plans],
            **{key: getattr(problem, key) for key in _SAME},
        )
    )
    return data


_SAME = ("name", "unit", "sensing_budget", "escalate", "corrections", "coverage")


def _alarm(problem: Problem, name: str) -> Alarm:
    """Return an alarm by its conditions where these ask about beliefs, which may be read again; else by hypothesis."""
    alarm = problem.model.monitors[name]
    again = None if alarm.again is None else _row(problem, alarm.again_by, problem.ringing(name, again=True))
    return replace(alarm, likelihood=_row(problem, alarm.conditions, problem.ringing(name)), again=again)


def _row(problem: Problem, conditions: Conditions | None, row: Any) -> Mapping[str, float]:
    """Return conditions where they say beside a list of the hypotheses what they say now; else just that."""
    rules = None if conditions is None else conditions.as_listed()
    if rules is not None:
        try:
            said = resolved(rules, vocabulary_of(problem.model.hypotheses, problem.graph.beliefs))
        except UnknownCondition:
            said = None
        if said is not None and not said.clashes and list(said) == row.tolist():
            return rules
    return dict(zip(problem.model.names, row.tolist(), strict=True))


def _restarting(restart: float | Plan | None, names: Sequence[str]) -> float | Restarting | None:
    return Restarting(**_ending(restart, names)) if isinstance(restart, Plan) else restart


def _plan(plan: Plan, names: Sequence[str]) -> WrittenPlan:
    return WrittenPlan(name=plan.name, last_resort=plan.last_resort, **_ending(plan, names))


def _ending(plan: Plan, names: Sequence[str]) -> dict[str, Any]:
    losses = np.asarray(plan.loss, dtype=float).tolist()
    loss = losses[0] if len(set(losses)) == 1 else dict(zip(names, losses, strict=True))
    return {"loss": loss, "correct": plan.correct, "undo": plan.undo}
