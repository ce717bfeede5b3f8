"""The files a benchmark run leaves behind: what the runner writes and the analysis reads."""

from aquamend.records.causes import CAUSES, FALSE_ALARM, UNRESOLVED
from aquamend.records.group_kinds import KIND, KINDS, PROBLEM, SETTING, SIZE, STRATUM, USUAL_KINDS
from aquamend.records.lines import as_line, json_number, read_lines, sealed_line, write_atomically, write_lines
from aquamend.records.run_folder import Run, RunFolder, load_run

__all__ = [
    "CAUSES",
    "FALSE_ALARM",
    "KIND",
    "KINDS",
    "PROBLEM",
    "SETTING",
    "SIZE",
    "STRATUM",
    "UNRESOLVED",
    "USUAL_KINDS",
    "Run",
    "RunFolder",
    "as_line",
    "json_number",
    "load_run",
    "read_lines",
    "sealed_line",
    "write_atomically",
    "write_lines",
]
