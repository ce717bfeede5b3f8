"""From a problem to the data of its file."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from aquamend.graph import Action, Belief, Probe
from aquamend.model import Alarm, Cause, Declaration, Discrete, Hypothesis, Kernel
from aquamend.model.kernels import Rows
from aquamend.problem import Problem
from aquamend.problem_file.schema import FORMAT


def problem_to_data(problem: Problem) -> dict[str, Any]:
    """Return the problem as plain data, ready for JSON or YAML; what equals its default is left out.

    Raises `ValueError` for what the format cannot say: plans, and declarations with a value of their own.
    """
    _refuse_unwritable(problem)
    graph, model = problem.graph, problem.model
    names = [hypothesis.name for hypothesis in model.hypotheses]
    data: dict[str, Any] = {
        "format": FORMAT,
        "name": problem.name,
        "unit": problem.unit,
        "beliefs": [_belief(belief) for belief in graph.beliefs],
        "actions": [_action(action) for action in graph.actions],
        "operations": [{"name": op.name, "cost": _number(op.cost)} for op in graph.operations],
        "probes": [_probe(probe) for probe in graph.probes],
        "edges": [[source, target, str(kind)] for source, target, kind in graph.edges],
        "hypotheses": [_hypothesis(hypothesis) for hypothesis in model.hypotheses],
        "kernels": {probe: _kernel(kernel, names) for probe, kernel in model.kernels.items()},
        "alarm": None if model.alarm is None else _alarm(model.alarm),
        "declarations": [_declaration(declaration) for declaration in model.declarations],
        "sensing_budget": None if problem.sensing_budget == math.inf else _number(problem.sensing_budget),
        "restart": None if problem.restart is None else _number(problem.restart),
        "escalate": None if problem.escalate is None else _number(problem.escalate),
    }
    needed = ("beliefs", "hypotheses")
    return {key: value for key, value in data.items() if key in needed or value not in (None, "", [], {})}


def _refuse_unwritable(problem: Problem) -> None:
    if problem.plans or not problem.corrections:
        raise ValueError("a problem file has no plans; only problems decided by correction sets can be written")
    for declaration in problem.model.declarations:
        if declaration.value is not None or declaration.true_value is not None:
            raise ValueError(f"declaration {declaration.name!r} has a value, which a problem file cannot hold; drop it")


def _number(value: float) -> float | str:
    number = float(value)
    if math.isinf(number):
        return "inf"
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _belief(belief: Belief) -> dict[str, Any]:
    data: dict[str, Any] = {"name": belief.name, "residual": _number(belief.residual)}
    return data if belief.may_keep else {**data, "may_keep": False}


def _action(action: Action) -> dict[str, Any]:
    data: dict[str, Any] = {"name": action.name}
    if action.undo is not None:
        data["undo"] = _number(action.undo)
    if action.operations:
        data["operations"] = list(action.operations)
    if action.executed:
        data["status"] = "executed"
    return data if action.reversible else {**data, "reversible": False}


def _probe(probe: Probe) -> dict[str, Any]:
    data: dict[str, Any] = {"name": probe.name, "cost": _number(probe.cost)}
    if probe.modality:
        data["modality"] = probe.modality
    return data if probe.max_uses == 1 else {**data, "max_uses": _number(probe.max_uses)}


def _hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
    data = {"name": hypothesis.name, "prior": _number(hypothesis.prior), "failed": list(hypothesis.failed)}
    cause = Cause(hypothesis.cause)
    return data if cause is Cause.UNKNOWN else {**data, "cause": cause.value}


def _kernel(kernel: Kernel, names: list[str]) -> dict[str, Any]:
    if isinstance(kernel, Discrete):
        return {"outcomes": list(kernel.outcomes), "likelihood": _rows(kernel.likelihood, names)}
    return {"gaussian": _rows(kernel.mean_sd, names)}


def _rows(rows: Rows, names: list[str]) -> dict[str, list[float | str]]:
    named: Iterable[tuple[str, Any]] = rows.items() if isinstance(rows, Mapping) else zip(names, rows, strict=True)
    return {name: [_number(value) for value in row] for name, row in named}


def _alarm(alarm: Alarm) -> dict[str, Any]:
    data: dict[str, Any] = {"suspects": list(alarm.suspects)} if alarm.suspects else {}
    return {**data, "likelihood": {name: _number(value) for name, value in alarm.likelihood.items()}}


def _declaration(declaration: Declaration) -> dict[str, Any]:
    return {
        "name": declaration.name,
        "version": declaration.version,
        "belief": declaration.belief,
        "invalid_in": list(declaration.invalid_in),
        "support": list(declaration.support),
    }
