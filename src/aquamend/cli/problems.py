"""Problems that commands are given: files, or standard input where a file is named ``-``."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from aquamend.errors import Fault, InvalidProblem

if TYPE_CHECKING:
    from aquamend.problem import Problem

STANDARD_INPUT = "-"


def problem_at(file: str) -> Problem:
    """Return the problem that a file describes, or standard input; ``InvalidProblem`` with every fault."""
    from aquamend.problem_file import load_problem, read_problem

    return read_problem(_standard_input()) if file == STANDARD_INPUT else load_problem(file)


def _standard_input() -> str:
    from aquamend.problem_file.text import MAX_BYTES, decoded

    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        raise InvalidProblem([Fault("file", "standard input is too large", "give a smaller problem")])
    return decoded(raw)
