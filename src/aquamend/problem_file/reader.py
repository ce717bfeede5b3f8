"""From a problem file, or its data, to a problem; or to every fault found."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from aquamend.errors import InvalidProblem
from aquamend.graph import RecoveryGraph
from aquamend.model import JointModel
from aquamend.problem import Problem
from aquamend.problem_file.draft import Draft, draft_of
from aquamend.problem_file.judgement import meaning_faults
from aquamend.problem_file.report import FaultReport
from aquamend.problem_file.schema import PROBLEM, read_entry
from aquamend.problem_file.text import data_at


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """Return the problem that a JSON or YAML file describes.

    Raises `InvalidProblem` with every fault found, also where the file is missing, unreadable or no JSON or YAML.
    """
    return parse_problem(data_at(path))


def parse_problem(data: Mapping[str, Any]) -> Problem:
    """Return the problem that plain data describes: mappings, lists, text and numbers, as a problem file has them.

    Raises `InvalidProblem` with every fault found: of the data's shape and, in all that could be read, of its meaning.
    """
    report = FaultReport()
    top = read_entry(data, "", PROBLEM, report)
    if top is None:
        raise report.error()
    draft = draft_of(top, report)
    if report.count == 0:
        try:
            return _problem(draft)
        except InvalidProblem as error:  # of the part that was built first; the others are judged below
            report.judge(error.faults)
    report.judge(meaning_faults(draft))
    raise report.error()


def _problem(draft: Draft) -> Problem:
    kernels = {probe: kernel for probe, kernel in draft.kernels.items() if kernel is not None}
    return Problem(
        graph=RecoveryGraph(draft.beliefs, draft.actions, draft.probes, draft.edges, draft.operations),
        model=JointModel(draft.hypotheses, kernels, draft.alarm, draft.declarations),
        sensing_budget=draft.sensing_budget,
        restart=draft.restart,
        escalate=draft.escalate,
        name=draft.name,
        unit=draft.unit,
    )
