"""One codec for all that is written and read: dataclasses, by what their annotations say.

Faults are collected, all of them, each with its place; a JSON Schema comes from the same annotations.
"""

from aquamend.codec.forms import (
    LARGEST,
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
from aquamend.codec.records import NOT_WRITTEN, Key, KeyedBy, dump, form_of, key_of, load, write
from aquamend.codec.report import FaultReport, place

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
    "Form",
    "Key",
    "KeyedBy",
    "Label",
    "Loss",
    "Name",
    "Number",
    "Probability",
    "Whole",
    "dump",
    "form_of",
    "key_of",
    "load",
    "place",
    "write",
]
