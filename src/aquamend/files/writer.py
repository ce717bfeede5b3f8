"""From a problem to the data of its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from aquamend.caching import computed_once
from aquamend.codec import write
from aquamend.errors import AquaMendError, UnknownCondition
from aquamend.files.format import FORMAT, ProblemFile
from aquamend.files.reader import parse_problem
from aquamend.files.sameness import different_kernels, same_hypotheses, same_problem
from aquamend.files.written import SAME, Written, listed_plan, listed_restart, with_listed_kernels
from aquamend.problem import Problem
from aquamend.problem.building.noisy_or import noisy_or
from aquamend.problem.building.rules import Vocabulary, resolved
from aquamend.problem.building.tables import vocabulary_of
from aquamend.problem.graph import Value
from aquamend.problem.model import Alarm
from aquamend.problem.model.hypotheses import Conditions
from aquamend.problem.model.joint_model import UNNAMED
from aquamend.problem.model.kernels import rows_by_name


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
    return listed(problem)


def with_declared(problem: Problem, values: Mapping[str, Value]) -> Problem:
    """Return what a problem would be if these values had been declared to begin with.

    Read again from the words of its file, so that kernels, spreads and effects follow; one without a file keeps its
    tables. ``InvalidProblem`` where its file says nothing that can be meant then.
    """
    return _with_declared(problem, tuple(values.items()))


@computed_once
def _with_declared(problem: Problem, given: tuple[tuple[str, Value], ...]) -> Problem:
    values = dict(given)
    beliefs = tuple(replace(b, declared=values.get(b.name, b.declared)) for b in problem.graph.beliefs)
    if beliefs == tuple(problem.graph.beliefs):
        return problem
    if isinstance(problem.written, Written) and problem.written.unchanged(problem):
        return parse_problem(_data(problem.written.with_declared(values)))
    return replace(problem, graph=replace(problem.graph, beliefs=beliefs))


def listed(problem: Problem) -> dict[str, Any]:
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


def _row(problem: Problem, conditions: Conditions | None, row: Any) -> Mapping[str, float]:
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
