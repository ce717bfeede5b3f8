"""What a command of the program ``aquamend`` is, and those that other installed packages add to it.

A package adds a command by an entry point of the group ``aquamend.commands``: its name is the command's, and it
leads to a ``Command``. The function behind it is imported only when that command is run, or help lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from importlib import import_module
from typing import Any, NamedTuple

GROUP = "aquamend.commands"


class Command(NamedTuple):
    """A command: where its function is, what it does in a few words, and whether it needs arguments."""

    function: str
    """As ``module:name``; a function for typer, or a ``Typer`` with commands of its own."""
    short_help: str
    needs_arguments: bool = True

    def load(self) -> Callable[..., Any]:
        """Return the function, or the ``Typer``."""
        module, _, name = self.function.partition(":")
        loaded: Callable[..., Any] = getattr(import_module(module), name)
        return loaded


def added_commands(taken: Collection[str]) -> dict[str, Command]:
    """Return the commands of installed packages by name; none takes a name that is taken."""
    from importlib.metadata import entry_points  # here, since the product's own commands need no look at packages

    found = sorted(entry_points(group=GROUP), key=lambda point: (point.value, point.name))
    return {point.name: point.load() for point in found if point.name not in taken}
