"""The files a benchmark run leaves behind: what the runner writes and the analysis reads."""

from aquamend_lab.records.lines import as_line, read_lines, sealed_line, write_lines
from aquamend_lab.records.run_folder import (
    KIND,
    KINDS,
    PROBLEM,
    SETTING,
    SIZE,
    STRATUM,
    USUAL_KINDS,
    Run,
    RunFolder,
    load_run,
    with_stories,
)

__all__ = [
    "KIND",
    "KINDS",
    "PROBLEM",
    "SETTING",
    "SIZE",
    "STRATUM",
    "USUAL_KINDS",
    "Run",
    "RunFolder",
    "as_line",
    "load_run",
    "read_lines",
    "sealed_line",
    "with_stories",
    "write_lines",
]
