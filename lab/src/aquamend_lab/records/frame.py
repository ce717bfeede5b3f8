"""A run as a pandas data frame: one line for each recovery, with all that was recorded of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pandas import DataFrame

    from aquamend_lab.records.run_folder import Record

FIRST = ("suite", "seed", "scenario", "policy", "error")
"""The columns that every frame has, whatever was recorded."""


def frame_of(records: Sequence[Record], timings: Sequence[Record]) -> DataFrame:
    """Return a line for each record, with its group as ``group.NAME`` and, where it was timed, its times.

    Columns of numbers are floats, NaN where nothing is known; of answers, booleans that may be unknown; all else
    (steps, endings, probabilities) is as it was written.
    """
    import pandas

    timed = {(line["seed"], line["scenario"], line["policy"]): line for line in timings}
    lines = [
        {f"group.{name}": value for name, value in record.get("group", {}).items()}
        | timed.get((record["seed"], record["scenario"], record["policy"]), {})
        | record
        for record in records
    ]
    names = dict.fromkeys([*FIRST, *(name for line in lines for name in line if name != "group")])
    return pandas.DataFrame({name: _column([line.get(name) for line in lines]) for name in names})


def _column(values: list[Any]) -> Any:
    import pandas

    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pandas.array(values, dtype="boolean")
    if kinds <= {bool, int, float, str} and all(value in ("inf", "-inf") for value in values if type(value) is str):
        try:
            return np.array([math.nan if value is None else float(value) for value in values])
        except OverflowError:  # a whole number beyond any float: left as it was written
            pass
    return pandas.Series(values, dtype=object)
