"""From a problem file, or its data, to a problem; or to every fault found, by its line and column."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aquamend.codec import UNREAD, FaultReport, form_of
from aquamend.codec.fault_list import place
from aquamend.codec.plain_text import data_of, text_at
from aquamend.errors import Fault, InvalidProblem
from aquamend.files.draft import Draft
from aquamend.files.format import ProblemFile, sections
from aquamend.problem import Ages, Problem
from aquamend.problem.building.rules import Vocabulary
from aquamend.problem.model import Hypothesis

MOST_BYTES = 4 * 1024 * 1024
"""Texts larger than this are not read a second time."""


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


AnyAges = Ages | float | Mapping[str, float] | None
"""How old beliefs are: one number for all, or by belief."""


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
