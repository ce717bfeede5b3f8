"""Telling the user what is wrong: on standard error, everything found, never a traceback."""

from __future__ import annotations

from dataclasses import dataclass

import typer

from aquamend.errors import AquaMendError, InvalidProblem

BAD_INPUT = 2


@dataclass(slots=True)
class Complaints:
    """What was found wrong so far; the files that are sound are still worked on."""

    count: int = 0

    def about(self, where: str, error: AquaMendError) -> None:
        """Print an error with the file (or the option) it is about; one line a fault."""
        self.count += 1
        lines = [str(fault) for fault in error.faults] if isinstance(error, InvalidProblem) else [str(error)]
        for line in lines:
            typer.echo(f"{where}: {line}", err=True)

    def exit(self) -> None:
        """End the program with status 2 if anything was wrong."""
        if self.count:
            raise typer.Exit(BAD_INPUT)
