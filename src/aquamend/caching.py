"""Results kept with the immutable value they were computed from, out of sight and out of its pickles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

Subject = TypeVar("Subject")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


class KeepsResults:
    """Base of frozen dataclasses whose derived results are kept; pickles and copies carry the fields alone."""

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: self.__dict__[field.name] for field in fields(self)}  # type: ignore[arg-type]

    def __setstate__(self, values: dict[str, Any]) -> None:
        for value in values.values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)  # pickles forget that
        self.__dict__.update(values)


def computed_once(
    compute: Callable[Concatenate[Subject, Arguments], Result],
) -> Callable[Concatenate[Subject, Arguments], Result]:
    """Decorate a pure function of an immutable value so that it is computed once for each value and arguments."""

    @wraps(compute)
    def kept(subject: Subject, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        store = subject.__dict__.setdefault("_results", {})
        key = (compute, args, *kwargs.items())
        if key not in store:
            store[key] = compute(subject, *args, **kwargs)
        result: Result = store[key]
        return result

    return kept
