"""From a problem file, or its data, to a problem; or to every fault found."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aquamend.codec import UNREAD, FaultReport, form_of
from aquamend.errors import InvalidProblem
from aquamend.files.draft import Draft
from aquamend.files.format import ProblemFile, sections
from aquamend.files.location import located
from aquamend.files.text import data_of, text_at
from aquamend.problem import Problem
from aquamend.problem.building.rules import Vocabulary
from aquamend.problem.model import Hypothesis
from aquamend.problem.model.ages import Ages

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
