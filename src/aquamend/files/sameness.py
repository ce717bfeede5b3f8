"""Whether two problems are one: every name, number and table of them, to the last bit."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np

from aquamend.files.written import SAME, same_plan
from aquamend.problem import Plan, Problem
from aquamend.problem.model import Hypothesis, JointModel


def same_problem(one: Problem, other: Problem) -> bool:
    """Whether two problems are the same but for the words that they were written in."""
    return (
        _same_graph(one, other)
        and same_hypotheses(one.model, other.model)
        and not different_kernels(one.model, other.model)
        and _same_model(one.model, other.model)
        and _same_endings(one, other)
        and [_plain(d) for d in one.declarations] == [_plain(d) for d in other.declarations]
        and all(getattr(one, key) == getattr(other, key) for key in SAME)
        and (one.ageing and one.ageing.ages) == (other.ageing and other.ageing.ages)
    )


def same_hypotheses(one: JointModel, other: JointModel) -> bool:
    """Whether the hypotheses are the same, in the same order."""
    return len(one.hypotheses) == len(other.hypotheses) and all(map(_alike, one.hypotheses, other.hypotheses))


def different_kernels(one: JointModel, other: JointModel) -> list[str]:
    """Return the probes that answer otherwise, of models with the same hypotheses."""
    channels = other.channels
    return [name for name, own in one.channels.items() if name not in channels or not _equal(own, channels[name])]


def _alike(one: Hypothesis, other: Hypothesis) -> bool:
    return (
        (one.name, one.prior, one.cause, one.part_of) == (other.name, other.prior, other.cause, other.part_of)
        and tuple(one.failed) == tuple(other.failed)
        and dict(one.truth) == dict(other.truth)
    )


def _same_graph(one: Problem, other: Problem) -> bool:
    sections = ("beliefs", "actions", "probes", "operations", "edges")
    return all(
        [_plain(node) for node in getattr(one.graph, key)] == [_plain(node) for node in getattr(other.graph, key)]
        for key in sections
    )


def _same_model(one: JointModel, other: JointModel) -> bool:
    grown = [tuple(m.grown) for m in (one, other)]
    return (
        list(one.monitors) == list(other.monitors)
        and all(_same_monitor(one, other, name) for name in one.monitors)
        and grown[0] == grown[1]
        and one.left_out == other.left_out
        and len(one.declarations) == len(other.declarations)
    )


def _same_monitor(one: JointModel, other: JointModel, name: str) -> bool:
    alarms = [m.monitors[name] for m in (one, other)]
    said = [(tuple(a.suspects), a.conditions is None, a.again_by is None) for a in alarms]
    rows = [(m.rung[name], m.rung_again.get(name)) for m in (one, other)]
    return said[0] == said[1] and all(map(_equal, *rows))


def _same_endings(one: Problem, other: Problem) -> bool:
    now, before = one.restart, other.restart
    both = isinstance(now, Plan) and isinstance(before, Plan)
    alike = same_plan(now, before) if both else now == before  # type: ignore[arg-type]
    return alike and len(one.plans) == len(other.plans) and all(map(same_plan, one.plans, other.plans))


def _plain(value: Any) -> Any:
    """Return a node, an edge or a declaration as what it says, lists and tuples alike."""
    said = value if isinstance(value, tuple) else [getattr(value, field.name) for field in fields(value)]
    return tuple(tuple(one) if isinstance(one, list | tuple) else one for one in said)


def _equal(one: Any, other: Any) -> bool:
    """Whether two tables, or two compiled kernels, are the same."""
    if one is None or other is None or type(one) is not type(other):
        return one is other
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return all(np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
