"""One codec for all that is written and read: dataclasses, by what their annotations say.

Faults are collected, all of them, each with its place; a JSON Schema comes from the same annotations.
"""

from collections.abc import Mapping
from typing import Annotated

from aquamend.codec.annotations import NOT_WRITTEN, Key, KeyedBy, dump, form_of, key_of, load, write
from aquamend.codec.conditional_tables import FirstThatHolds, by_condition, number_or_table, place_of_rule
from aquamend.codec.fault_list import FaultReport, place
from aquamend.codec.forms import (
    LARGEST,
    PROBABILITY,
    SUM_TOLERANCE,
    TRUE_VALUE,
    UNREAD,
    VALUE,
    Amount,
    Cost,
    Count,
    Finite,
    Form,
    Label,
    Loss,
    Name,
    Number,
    Probability,
    Whole,
)
from aquamend.codec.plain_data import json_number

ProbabilityTable = Annotated[Mapping[str, float], by_condition(PROBABILITY)]
"""A probability for every hypothesis: by conditions, or by name."""

__all__ = [
    "LARGEST",
    "NOT_WRITTEN",
    "SUM_TOLERANCE",
    "TRUE_VALUE",
    "UNREAD",
    "VALUE",
    "Amount",
    "Cost",
    "Count",
    "FaultReport",
    "Finite",
    "FirstThatHolds",
    "Form",
    "Key",
    "KeyedBy",
    "Label",
    "Loss",
    "Name",
    "Number",
    "Probability",
    "ProbabilityTable",
    "Whole",
    "by_condition",
    "dump",
    "form_of",
    "json_number",
    "key_of",
    "load",
    "number_or_table",
    "place",
    "place_of_rule",
    "write",
]
