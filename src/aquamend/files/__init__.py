"""The problem file of docs/problem-format.md: reading one, with every fault found, and writing one."""

from aquamend.files.format import FORMAT, problem_schema
from aquamend.files.problem_file import (
    hypotheses_in,
    load_problem,
    parse_problem,
    problem_to_data,
    read_problem,
    vocabulary_in,
    with_declared,
)

__all__ = [
    "FORMAT",
    "hypotheses_in",
    "load_problem",
    "parse_problem",
    "problem_schema",
    "problem_to_data",
    "read_problem",
    "vocabulary_in",
    "with_declared",
]
