"""A story in the terminal, moment by moment as it happens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aquamend.cli.output import WIDEST

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.replay.story import Moment, Story

STYLES = {
    "believed": "bold",
    "acted": "dim",
    "alarm": "bold red",
    "probed": "cyan",
    "decided": "bold green",
    "ended": "bold",
    "revealed": "magenta",
}
MARGIN = 10
"""Columns for the time."""


def _console() -> Console:
    from rich.console import Console

    console = Console(markup=False, highlight=False, emoji=False)
    if console.width > WIDEST:
        console.width = WIDEST
    return console


@dataclass(eq=False, slots=True)
class StoryPrinter:
    """Prints moments as they come: the time at the left, what happened beside it."""

    console: Console = field(default_factory=_console)

    def begin(self, title: str) -> None:
        """Print the title."""
        self.console.print(title, style="bold")
        self.console.print("Times are simulated seconds; losses are in seconds' worth.\n", style="dim")

    def moment(self, moment: Moment) -> None:
        """Print one moment."""
        from rich.padding import Padding
        from rich.text import Text

        style = STYLES.get(str(moment.kind), "")
        time = f"{moment.time_s:7.1f} s"
        if str(moment.kind) == "acted":
            self.console.print(Text(f"{time}  {moment.title}: {moment.text}", style=style))
            return
        mark = "(unseen) " if str(moment.kind) == "revealed" else ""
        self.console.print(Text.assemble((f"{time}  ", "dim"), (mark + moment.title, style)))
        if moment.text and not moment.options:
            self.console.print(Padding(Text(moment.text), (0, 0, 0, MARGIN + 1)))
        if moment.options:
            self._options(moment)

    def _options(self, moment: Moment) -> None:
        from rich.padding import Padding
        from rich.table import Table

        table = Table(box=None, padding=(0, 1), pad_edge=False)
        table.add_column("")
        table.add_column("alternative", overflow="fold")
        for column in ("expected loss", "sensing", "recovery", "finishing", "residual"):
            table.add_column(column, justify="right", style="bold" if column == "expected loss" else "dim")

        def number(value: float | None) -> str:
            return "" if value is None else f"{value:.1f}"

        for option in moment.options:
            parts = (option.loss, option.sensing, option.recovery, option.finishing, option.residual)
            row = [">" if option.chosen else "", option.name, *map(number, parts)]
            table.add_row(*row, style="green" if option.chosen else "")
        self.console.print(Padding(table, (0, 0, 0, MARGIN - 1)))

    def end(self, story: Story) -> None:
        """Print what it cost."""
        from rich.text import Text

        parts: dict[str, float] = {}
        for bill in story.ledger:
            parts[bill.charge] = parts.get(bill.charge, 0.0) + bill.cost
        split = " + ".join(f"{charge} {cost:.1f}" for charge, cost in parts.items())
        self.console.print()
        self.console.print(Text(story.verdict, style="bold green" if story.success else "bold yellow"))
        self.console.print(f"It cost {sum(parts.values()):.1f} {story.unit}: {split}.")
