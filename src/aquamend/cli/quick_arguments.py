"""Keeping typer from loading pydantic, a fifth of a second, to find that the text it was given is text."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

KNOWN = "0.29."
"""The typer whose parameters are known to work this way; with another one, typer converts them itself."""


class QuickCommand(TyperCommand):
    """A command whose text arguments are taken as they come."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the help option included."""
        return _quick(super().get_params(ctx))


class QuickGroup(TyperGroup):
    """The program itself, whose own options are few."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, the help option included."""
        return _quick(super().get_params(ctx))


def _quick(params: list[Any]) -> list[Any]:
    if typer.__version__.startswith(KNOWN):
        for param in params:
            if getattr(param, "_runtime_param", "unknown") is None:
                param._runtime_param = _Converter()
    return params


class _Converter:
    """Stands in for typer's conversion: text and absent values as they are, the rest by typer after all."""

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if value is None:
            return () if param.multiple or param.nargs == -1 else None
        annotation = param.type_descriptor.annotation
        if annotation is str and isinstance(value, str):
            return value
        if annotation == list[str] and isinstance(value, (list, tuple)):
            return list(value)
        from typer._coercion import build_runtime_param

        return build_runtime_param(param.type_descriptor).coerce(value, param=param, ctx=ctx)
