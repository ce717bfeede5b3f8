"""What is wrong with the input, said on standard error: everything that was found, never a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from aquamend.errors import AquaMendError, Fault, InvalidProblem

BAD_INPUT = 2


def _position(file: str, fault: Fault) -> str:
    """Return where in the file a fault stands, as terminals and editors follow it."""
    if fault.line is None:
        return ""
    return f" (line {fault.line}, column {fault.column})" if file == "-" else f" ({file}:{fault.line}:{fault.column})"


@dataclass(slots=True)
class Refusals:
    """What was found wrong so far; the files that are sound are still worked on."""

    count: int = 0

    def about(self, where: str, error: AquaMendError) -> None:
        """Print an error with the file (or the option) it is about; one line for each fault."""
        self.count += 1
        faults = error.faults if isinstance(error, InvalidProblem) else ()
        for line in [f"{fault}{_position(where, fault)}" for fault in faults] or [str(error)]:
            typer.echo(f"{where}: {line}", err=True)

    @contextmanager
    def at(self, where: str) -> Iterator[None]:
        """Report what goes wrong in the block; what comes after the block goes on."""
        try:
            yield
        except AquaMendError as error:
            self.about(where, error)
        except (ArithmeticError, MemoryError, RecursionError) as error:
            what = f"its numbers or its size are beyond what can be computed ({type(error).__name__}: {error})"
            remedy = "bring costs and losses closer together, or make the problem smaller"
            self.about(where, AquaMendError(f"{what}; {remedy}"))

    def exit(self) -> None:
        """End the program with status 2 if anything was wrong."""
        if self.count:
            raise typer.Exit(BAD_INPUT)
