"""The files a benchmark run leaves behind: what the runner writes and the analysis reads."""

from aquamend.records.causes import CAUSES, FALSE_ALARM, UNRESOLVED
from aquamend.records.lines import as_line, json_number, read_lines, write_atomically, write_lines
from aquamend.records.run_folder import Run, RunFolder, load_run

__all__ = [
    "CAUSES",
    "FALSE_ALARM",
    "UNRESOLVED",
    "Run",
    "RunFolder",
    "as_line",
    "json_number",
    "load_run",
    "read_lines",
    "write_atomically",
    "write_lines",
]
