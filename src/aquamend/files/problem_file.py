"""From a problem file, or its data, to a problem or every fault in it, by line and column; and back to its data."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from aquamend.caching import computed_once
from aquamend.codec import UNREAD, FaultReport, form_of, write
from aquamend.codec.fault_list import place
from aquamend.codec.plain_text import data_of, text_at
from aquamend.errors import AquaMendError, Fault, InvalidProblem, UnknownCondition
from aquamend.files.draft import Draft
from aquamend.files.format import (
    FORMAT,
    SAME,
    ProblemFile,
    Written,
    listed_plan,
    listed_restart,
    same_plan,
    same_plans,
    sections,
    with_listed_kernels,
)
from aquamend.problem import Ages, Plan, Problem
from aquamend.problem.building.rule_tables import vocabulary_of
from aquamend.problem.building.rules import Conditional, Vocabulary, noisy_or, resolved
from aquamend.problem.graph import Value
from aquamend.problem.model import Alarm, Hypothesis, JointModel
from aquamend.problem.model.joint_model import UNNAMED
from aquamend.problem.model.kernels import rows_by_name

MOST_BYTES = 4 * 1024 * 1024
"""Texts larger than this are not read a second time."""

AnyAges = Ages | float | Mapping[str, float] | None
"""How old beliefs are: one number for all, or by belief."""


def located(faults: Iterable[Fault], text: str) -> list[Fault]:
    """Return the faults with the line and the column that each stands at, as far as these are known."""
    found = list(faults)
    root = _composed(text) if any(fault.line is None for fault in found) else None
    if root is None:
        return found
    return [fault if fault.line is not None else _with_mark(fault, root) for fault in found]


def _composed(text: str) -> Any | None:
    import yaml

    if len(text) > MOST_BYTES:
        return None
    try:  # JSON is YAML, but for tabs between its parts; inside its texts there can be none
        plain = text.replace("\t", " ") if text.lstrip().startswith("{") else text
        return yaml.compose(plain, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _with_mark(fault: Fault, root: Any) -> Fault:
    mark = _mark(fault.where, root)
    return fault if mark is None else replace(fault, line=mark.line + 1, column=mark.column + 1)


def _mark(where: str, root: Any) -> Any:
    """Return where the value at a place begins, or as much of the way to it as there is."""
    node, mark, rest = root, root.start_mark, where
    while rest:
        step = _indexed(node, rest) if rest.startswith("[") else _keyed(node, rest)
        if step is None:
            return mark
        node, mark, rest = step
    return mark


def _indexed(node: Any, rest: str) -> tuple[Any, Any, str] | None:
    number, bracket, after = rest[1:].partition("]")
    items = node.value if type(node).__name__ == "SequenceNode" else ()
    if not bracket or not number.isdecimal() or len(number) > 9 or int(number) >= len(items):
        return None
    item = items[int(number)]
    return item, item.start_mark, after.removeprefix(".")


def _keyed(node: Any, rest: str) -> tuple[Any, Any, str] | None:
    """Return the value of the longest key that the rest of a place begins with; keys may have dots in them."""
    best: tuple[Any, Any, str] | None = None
    longest = -1
    for key, value in node.value if type(node).__name__ == "MappingNode" else ():
        if type(key).__name__ != "ScalarNode":
            continue
        name = place("", str(key.value))
        after = rest.removeprefix(name)
        if len(name) > longest and len(after) < len(rest) and (not after or after[0] in ".["):
            scalar = type(value).__name__ == "ScalarNode"
            best, longest = (value, (value if scalar else key).start_mark, after.removeprefix(".")), len(name)
    return best


def load_problem(path: str | os.PathLike[str], *, ages: AnyAges = None) -> Problem:
    """Return the problem that a JSON or YAML file describes.

    ``ages`` stand in for those of the file, for causes with a rate: one number replaces all, a mapping some.
    Raises `InvalidProblem` with every fault found, also where the file is missing, unreadable or no JSON or YAML.
    """
    return read_problem(text_at(path), suffix=Path(path).suffix, ages=ages)


def read_problem(text: str, *, suffix: str = "", ages: AnyAges = None) -> Problem:
    """Return the problem that a text describes, as JSON or YAML; faults come with their lines and columns.

    ``suffix`` is the end of the file's name, ``.json`` or ``.yaml``; without one, a leading brace means JSON.
    """
    data = data_of(text, suffix=suffix)
    try:
        return parse_problem(data, ages=ages)
    except InvalidProblem as error:
        raise InvalidProblem(located(error.faults, text)) from None


def parse_problem(data: Mapping[str, Any], *, ages: AnyAges = None) -> Problem:
    """Return the problem that plain data describes: mappings, lists, text and numbers, as a problem file has them.

    Raises `InvalidProblem` with every fault found: of the data's shape and, in all that could be read, of its meaning.
    """
    report = FaultReport()
    draft = _draft(data, report, Ages.from_any(ages))
    if report.count == 0:
        try:
            return draft.problem()
        except InvalidProblem as error:  # of the part that was built first; the others are judged below
            report.judge(error.faults)
    report.judge(draft.faults())
    raise report.error(sections())


def vocabulary_in(data: Mapping[str, Any]) -> Vocabulary:
    """Return what conditions in the data of a sound problem may speak of, and its hypotheses before any is split."""
    return _draft(data, FaultReport()).vocabulary


def hypotheses_in(data: Mapping[str, Any]) -> Sequence[Hypothesis]:
    """Return the hypotheses of a sound problem's data, one for each value of a spread, before any is split further."""
    return _draft(data, FaultReport()).hypotheses


def _draft(data: Mapping[str, Any], report: FaultReport, ages: Ages | None = None) -> Draft:
    file = form_of(ProblemFile).read(data, "", report)
    if file is UNREAD:
        raise report.error(sections())
    return Draft(file, report, ages)


def problem_to_data(problem: Problem) -> dict[str, Any]:
    """Return the problem as plain data, ready for JSON or YAML; what equals its default is left out.

    One that was read from a file is written in the words of that file, its causes, rules and spreads, with what has
    changed since. Only words that mean exactly this problem are used; where the file's cannot say it, hypotheses and
    tables are written one by one, without how much was left out. No file says what a recovery under way has declared
    again.
    """
    if problem.redeclared:
        name = next(iter(problem.redeclared))
        raise AquaMendError(f"{name!r} was declared again by a recovery under way; write the problem it began with")
    written = problem.written
    if isinstance(written, Written):
        if written.unchanged(problem):
            return _data(written.updated(problem))
        for file in _in_its_words(problem, written):
            data = _data(file)
            again = _read(data)
            if again is not None and same_problem(problem, again):
                return data
    return fully_listed(problem)


def with_declared(problem: Problem, values: Mapping[str, Value]) -> Problem:
    """Return what a problem would be if these values had been declared to begin with.

    Read again from the words of its file, so that kernels, spreads and effects follow; one without a file keeps its
    tables. ``InvalidProblem`` where its file says nothing that can be meant then.
    """
    return _with_declared(problem, tuple(values.items()))


@computed_once
def _with_declared(problem: Problem, in_force: tuple[tuple[str, Value], ...]) -> Problem:
    values = dict(in_force)
    beliefs = tuple(replace(b, declared=values.get(b.name, b.declared)) for b in problem.graph.beliefs)
    if beliefs == tuple(problem.graph.beliefs):
        return problem
    if isinstance(problem.written, Written) and problem.written.unchanged(problem):
        return parse_problem(_data(problem.written.with_declared(values)))
    return replace(problem, graph=replace(problem.graph, beliefs=beliefs))


def fully_listed(problem: Problem) -> dict[str, Any]:
    """Return the problem as plain data with every hypothesis, and a row for each in every table."""
    graph, model = problem.graph, problem.model
    file: Any = ProblemFile
    return _data(
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
            restart=listed_restart(problem.restart, model.names),
            plans=[listed_plan(plan, model.names) for plan in problem.plans],
            **{key: getattr(problem, key) for key in SAME},
        )
    )


def _in_its_words(problem: Problem, written: Written) -> Iterator[ProblemFile]:
    """Yield files that may say what a problem is: in the words of its own, then with some kernels row by row."""
    file = written.updated(problem)
    yield file
    again = _read(_data(file))
    if again is not None and same_hypotheses(problem.model, again.model):
        other = different_kernels(problem.model, again.model)
        if other:
            yield with_listed_kernels(file, problem, other)


def _data(file: ProblemFile) -> dict[str, Any]:
    data: dict[str, Any] = write(file)
    return data


def _alarm(problem: Problem, name: str) -> Alarm:
    """Return an alarm by its conditions where these ask about beliefs, which may be read again; else by hypothesis."""
    alarm = problem.model.monitors[name]
    again = None if alarm.again is None else _row(problem, alarm.again_by, problem.ringing(name, again=True))
    row: Any = problem.ringing(name)
    if alarm.conditions is not None and alarm.conditions.noisy:
        numbers = alarm.conditions.as_listed()
        if numbers is not None and noisy_or(numbers, _words(problem)).tolist() == row.tolist():
            return replace(alarm, likelihood={}, noisy_or=numbers, again=again)
    return replace(alarm, likelihood=_row(problem, alarm.conditions, row), again=again)


def _words(problem: Problem) -> Vocabulary:
    return vocabulary_of(problem.model.hypotheses, problem.graph.beliefs)


def _row(problem: Problem, conditions: Conditional | None, row: Any) -> Mapping[str, float]:
    """Return conditions where they say beside a list of the hypotheses what they say now; else just that."""
    rules = None if conditions is None or conditions.noisy else conditions.as_listed()
    if rules is not None:
        try:
            said = resolved(rules, _words(problem))
        except UnknownCondition:
            said = None
        if said is not None and not said.clashes and list(said) == row.tolist():
            return rules
    return dict(zip(problem.model.names, row.tolist(), strict=True))


def _read(data: dict[str, Any]) -> Problem | None:
    """Return the problem that data describe; None where they describe none."""
    try:
        return parse_problem(data)
    except AquaMendError:
        return None


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
    return alike and same_plans(one.plans, other.plans)


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
