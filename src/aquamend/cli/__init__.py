"""The program ``aquamend``: what a command of it is.

A package adds a command by an entry point of the group ``aquamend.commands``: its name is the command's, and it
leads to a ``Command``. The function behind it is imported only when that command is run, or help lists them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from aquamend import plugins


class Command(NamedTuple):
    """A command: where its function is, what it does in a few words, and whether it needs arguments."""

    function: str
    """As ``module:name``; a function for typer, or a ``Typer`` with commands of its own."""
    short_help: str
    needs_arguments: bool = True

    def load(self) -> Callable[..., Any]:
        """Return the function, or the ``Typer``."""
        loaded: Callable[..., Any] = plugins.found_at(self.function)
        return loaded
