"""From a problem to the data of its file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from aquamend.errors import AquaMendError
from aquamend.graph import Action, Belief, Probe, Value
from aquamend.model import Alarm, Cause, Coverage, Declaration, Hypothesis
from aquamend.problem import Plan, Problem
from aquamend.problem_file.report import FORMATS
from aquamend.problem_file.schema import ACTION, ALARM, BELIEF, DECLARATION, HYPOTHESIS, KERNEL, PROBE, PROBLEM, Keys

_NEEDED = ("beliefs", "hypotheses")


def problem_to_data(problem: Problem) -> dict[str, Any]:
    """Return the problem as plain data, ready for JSON or YAML; what equals its default is left out.

    The data have the oldest format that can say all of it. Hypotheses that were generated from causes are written one
    by one, without how much was left out; no file says what a recovery under way has declared anew.
    """
    if problem.redeclared:
        name = next(iter(problem.redeclared))
        raise AquaMendError(f"{name!r} was declared anew by a recovery under way; write the problem that it began with")
    graph, model = problem.graph, problem.model
    data: dict[str, Any] = {
        "name": problem.name,
        "unit": problem.unit or None,
        "beliefs": [_belief(belief) for belief in graph.beliefs],
        "actions": [_action(action) for action in graph.actions],
        "operations": [{"name": op.name, "cost": _number(op.cost)} for op in graph.operations],
        "probes": [_probe(probe) for probe in graph.probes],
        "edges": [[source, target, str(kind)] for source, target, kind in graph.edges],
        "hypotheses": [_hypothesis(hypothesis) for hypothesis in model.hypotheses],
        "kernels": {probe: _plain(kernel.to_data(model.names)) for probe, kernel in model.kernels.items()},
        "alarm": model.alarm and _alarm(model.alarm),
        "declarations": [_declaration(declaration) for declaration in model.declarations],
        "sensing_budget": None if problem.sensing_budget == math.inf else _number(problem.sensing_budget),
        "restart": _restart(problem.restart, model.names),
        "escalate": None if problem.escalate is None else _number(problem.escalate),
        "plans": [_plan(plan, model.names) for plan in problem.plans],
        "corrections": None if problem.corrections else False,
        "coverage": problem.coverage and _coverage(problem.coverage),
    }
    kept = {
        key: value for key, value in data.items() if key in _NEEDED or (value is not None and value not in ([], {}))
    }
    return {"format": FORMATS[max(_versions(kept)) - 1], **kept}


def _versions(data: Mapping[str, Any]) -> Iterator[int]:
    """Yield the version of the format that each part of the data needs."""
    yield 2 if isinstance(data.get("restart"), Mapping) else 1
    tables: dict[str, Keys] = {
        "beliefs": BELIEF,
        "actions": ACTION,
        "probes": PROBE,
        "hypotheses": HYPOTHESIS,
        "declarations": DECLARATION,
    }
    entries = [(PROBLEM, data), *((KERNEL, kernel) for kernel in data.get("kernels", {}).values())]
    entries += [(ALARM, data["alarm"])] if "alarm" in data else []
    entries += [(keys, entry) for section, keys in tables.items() for entry in data.get(section, ())]
    for keys, entry in entries:
        for key in entry:
            yield keys[key].since if key in keys else len(FORMATS)


def _given(**data: Any) -> dict[str, Any]:
    """Return what is not None, and no empty lists and mappings."""
    return {key: value for key, value in data.items() if value is not None and value not in ([], {})}


def _number(value: float) -> float | str:
    number = float(value)
    if number == math.inf:
        return "inf"
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _value(value: Value | None) -> float | str | None:
    return value if value is None or isinstance(value, str) else _number(value)


def _plain(data: Any) -> Any:
    """Return data whose numbers are written as numbers are, down to the last row."""
    if isinstance(data, Mapping):
        return {key: _plain(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value) for value in data]
    return data if isinstance(data, str) else _number(data)


def _unless(default: float, value: float) -> float | str | None:
    return None if value == default else _number(value)


def _belief(belief: Belief) -> dict[str, Any]:
    return _given(
        name=belief.name,
        residual=_unless(0.0, belief.residual),
        may_keep=None if belief.may_keep else False,
        declared=_value(belief.declared),
        tolerance=_unless(0.0, belief.tolerance),
        needs_support=True if belief.needs_support else None,
    )


def _action(action: Action) -> dict[str, Any]:
    return _given(
        name=action.name,
        undo=None if action.undo is None else _number(action.undo),
        redo=_unless(0.0, action.redo),
        undo_succeeds=_unless(1.0, action.undo_succeeds),
        operations=list(action.operations),
        status="executed" if action.executed else None,
        reversible=None if action.reversible else False,
    )


def _probe(probe: Probe) -> dict[str, Any]:
    return _given(
        name=probe.name,
        cost=_number(probe.cost),
        modality=probe.modality or None,
        max_uses=_unless(1, probe.max_uses),
        source=probe.source,
    )


def _hypothesis(hypothesis: Hypothesis) -> dict[str, Any]:
    cause = Cause(hypothesis.cause)
    return _given(
        name=hypothesis.name,
        prior=_number(hypothesis.prior),
        failed=list(hypothesis.failed),
        cause=None if cause is Cause.UNKNOWN else cause.value,
        truth={b: _value(v) for b, v in hypothesis.truth.items() if isinstance(v, str | float | int)},
    )


def _alarm(alarm: Alarm) -> dict[str, Any]:
    again = None if alarm.again is None else _plain(alarm.again)
    return {**_given(suspects=list(alarm.suspects)), "likelihood": _plain(alarm.likelihood), **_given(again=again)}


def _declaration(declaration: Declaration) -> dict[str, Any]:
    data = _given(
        name=declaration.name,
        version=_unless(1, declaration.version),
        belief=declaration.belief,
        support=list(declaration.support),
        value=_value(declaration.value),
    )
    # An empty list is not the same as none: it is never invalid, whatever the belief declares.
    return data if declaration.invalid_in is None else {**data, "invalid_in": list(declaration.invalid_in)}


def _restart(restart: float | Plan | None, names: Sequence[str]) -> float | str | dict[str, Any] | None:
    if isinstance(restart, Plan):
        return _ending(restart, names)
    return None if restart is None else _number(restart)


def _plan(plan: Plan, names: Sequence[str]) -> dict[str, Any]:
    return {"name": plan.name, **_ending(plan, names), **_given(last_resort=True if plan.last_resort else None)}


def _ending(plan: Plan, names: Sequence[str]) -> dict[str, Any]:
    losses = [_number(loss) for loss in np.asarray(plan.loss, dtype=float)]
    alike = len(set(losses)) == 1
    loss = losses[0] if alike else dict(zip(names, losses, strict=True))
    return {"loss": loss, **_given(correct=list(plan.correct), undo=list(plan.undo))}


def _coverage(coverage: Coverage) -> dict[str, Any]:
    groups = [
        {
            "name": group.name,
            "probes": list(group.probes),
            **_given(prototype_g=_plain(group.prototype_g), prototype_mm=_plain(group.prototype_mm)),
        }
        for group in coverage.groups
    ]
    measured = _given(quantities_g=_plain(coverage.quantities_g), offsets_mm=_plain(coverage.offsets_mm))
    return {"stage": coverage.stage, "covered_stages": list(coverage.covered_stages), "groups": groups, **measured}
