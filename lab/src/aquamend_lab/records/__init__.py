"""The files a benchmark run leaves behind: what the runner writes and the analysis reads."""

from aquamend.files.atomic import write_atomically

from aquamend.belief.causes import CAUSES, FALSE_ALARM, UNRESOLVED
from aquamend.codec import json_number
from aquamend_lab.records.group_kinds import KIND, KINDS, PROBLEM, SETTING, SIZE, STRATUM, USUAL_KINDS
from aquamend_lab.records.lines import as_line, read_lines, sealed_line, write_lines
from aquamend_lab.records.run_folder import Run, RunFolder, load_run

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
