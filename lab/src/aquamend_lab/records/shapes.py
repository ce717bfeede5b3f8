"""What the files of a run look like, so that who reads one can go by that: a run may come from anywhere.

Numbers are checked where they are read, by name: see ``RunTable.column``. What the names in a scenario's group
stand for is declared in the manifest by the suite.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

KIND = "kind"
"""What kind of scenario was drawn: a mean over all kinds is one over scenarios."""
STRATUM = "stratum"
"""The same, drawn in numbers that were fixed beforehand: intervals of that mean are resampled within each."""
SETTING = "setting"
"""How the same scenarios were varied: pairs of different settings are not independent of each other."""
SIZE = "size"
"""What was varied on purpose, such as how large a scenario is: a mean over its values is one over how it was varied."""
PROBLEM = "problem"
"""Which problem it is, of which only the truth is drawn: what is expected of a policy there is one exact number."""

KINDS = (KIND, STRATUM, SETTING, SIZE, PROBLEM)

USUAL_KINDS: Mapping[str, str] = {"factor": KIND, "stage": STRATUM, "family": STRATUM, "setting": SETTING}
"""For suites that declare nothing; every other name is a size."""


Shape = Any
"""A type; a text that a value must be; ``(…)`` where one of several must fit; ``[…]`` for a list of one shape; or a
mapping from names to shapes, where a name that ends in ``?`` may be missing and ``*`` stands for every name."""

NUMBER: Shape = (float, int, "inf", "-inf")
PROBABILITY: Shape = (float, int)
PLAIN: Shape = (str, *NUMBER, bool, NoneType)
TEXTS: Shape = ([str], NoneType)

ABOUT: Shape = {"suite": str, "scenario": int, "seed": int, "group": {"*": PLAIN}}
TIMING: Shape = ABOUT | {"policy": str}
RECORD: Shape = TIMING | {
    "ending?": (str, NoneType),
    "left?": TEXTS,
    "faults?": TEXTS,
    "declarations?": ([{"event": str, "when": str, "so": (bool, NoneType), "q": (NUMBER, NoneType)}], NoneType),
    "posterior?": ({"beliefs": [str], "at": [([PROBABILITY], NoneType)]}, NoneType),
}
ANNOTATION: Shape = ABOUT | {
    "truths?": ([{"failed?": TEXTS, "rollback?": ({"*": TEXTS}, NoneType), "minimal_reprobe?": TEXTS}], NoneType),
    "features?": (
        {
            "first_commands?": (
                {"*": {"command": str, "total_variation": NUMBER, "predicted_loss": NUMBER}}, NoneType
            ),
        }, NoneType
    ),
}  # fmt: skip
MANIFEST: Shape = {
    "suite": str, "policies": [str], "scenarios": int, "seeds": int, "reference?": (str, NoneType),
    "normalised?": ({"*": (float, int)}, NoneType),
    "full?": ({"policies": [str], "scenarios": int, "seeds": int}, NoneType),
}  # fmt: skip

LARGEST = 1 << 63
"""Whole numbers are smaller, as in any table."""

_NAMES = {str: "text", int: "whole number", float: "number", bool: "answer", dict: "object", list: "list"}


def misfit(value: Any, shape: Shape, name: str = "it") -> str:
    """Return the first place where a value is not of a shape, with what is there; nothing where it fits."""
    match shape:
        case dict():
            return _misfit_in(value, shape, name) if isinstance(value, dict) else _no(value, dict, name)
        case [inner] if isinstance(shape, list):
            if not isinstance(value, list):
                return _no(value, list, name)
            return next((fault for each in value if (fault := misfit(each, inner, name))), "")
        case tuple():
            faults = [misfit(value, one, name) for one in shape]
            if "" in faults:
                return ""
            return faults[0] if isinstance(shape[0], dict | list) else f"{value!r:.80} for {name!r}, which is not plain"
        case str():
            return "" if value == shape else _no(value, str, name)
        case _:
            fits = isinstance(value, shape) and (shape is bool or not isinstance(value, bool))
            small = not isinstance(value, int) or abs(value) < LARGEST
            return "" if fits and small else _no(value, shape, name)


def record_fault(record: Any) -> str:
    """Return what is wrong with a record; nothing where its readers can go by it."""
    if fault := misfit(record, RECORD):
        return fault
    kept = record.get("posterior") or {"at": ()}
    uneven = any(at is not None and len(at) != len(kept["beliefs"]) for at in kept["at"])
    return "a posterior with more or fewer probabilities than beliefs" if uneven else ""


def _misfit_in(value: dict[str, Any], shapes: dict[str, Shape], name: str) -> str:
    for key, shape in shapes.items():
        plain = key.removesuffix("?")
        names = value if key == "*" else [plain] if plain in value or plain == key else []
        for each in names:
            if fault := misfit(value.get(each), shape, each if name == "it" else f"{name}.{each}"):
                return fault
    return ""


def _no(value: Any, kind: type, name: str) -> str:
    return f"{value!r:.80} for {name!r}, which is no {_NAMES.get(kind, kind.__name__)}"
