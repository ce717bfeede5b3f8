"""A story in the terminal, moment by moment as it happens."""

from __future__ import annotations

import textwrap
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
MARGIN, NUMBERS = 10, 39
"""Columns for the time, and for the five numbers of an alternative."""
WIDTHS = (6, 8, 9, 7, 9)


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
        self.console.print("Times are simulated seconds; losses are in seconds' worth.", style="dim")

    def moment(self, moment: Moment) -> None:
        """Print one moment."""
        from rich.text import Text

        style = STYLES.get(str(moment.kind), "")
        time = f"{moment.time_s:7.1f} s  "
        if str(moment.kind) == "acted":
            told = f"{time}{moment.title}{f': {moment.told}' if moment.told else ''}"
            self.console.print(Text(told, style="yellow" if moment.failed else style))
            return
        mark = "(unseen) " if str(moment.kind) == "revealed" else ""
        self.console.print()
        self.console.print(Text.assemble((time, "dim"), (mark + moment.title, style)))
        self._indented(moment.told)
        if moment.options:
            self._options(moment)

    def _indented(self, text: str) -> None:
        for line in textwrap.wrap(text, self.console.width - MARGIN - 1):
            self.console.print(f"{'':{MARGIN + 1}}{line}")

    def _options(self, moment: Moment) -> None:
        from rich.text import Text

        names = [option.name for option in moment.options]
        width = min(max(map(len, names)), self.console.width - MARGIN - NUMBERS - 3)
        head = "".join(
            f"{column:>{n}}"
            for column, n in zip(("loss", "sensing", "rollback", "go on", "residual"), WIDTHS, strict=True)
        )
        self.console.print(Text(f"{'':{MARGIN + 1}}{'':{width + 2}}{head}", style="dim"))

        for option in moment.options:
            parts = (option.loss, option.sensing, option.rollback, option.continuation, option.residual)
            name = option.name if len(option.name) <= width else option.name[: width - 1] + "…"
            numbers = "".join(
                f"{'' if value is None else f'{value:.1f}':>{n}}" for value, n in zip(parts, WIDTHS, strict=True)
            )
            mark = ">" if option.chosen else " "
            line = f"{'':{MARGIN - 1}}{mark} {name:{width + 2}}{numbers}"
            self.console.print(Text(line.rstrip(), style="green" if option.chosen else ""), soft_wrap=True)

    def end(self, story: Story) -> None:
        """Print what it cost."""
        parts: dict[str, float] = {}
        for receipt in story.ledger:
            parts[receipt.charge] = parts.get(receipt.charge, 0.0) + receipt.cost
        split = " + ".join(f"{charge} {cost:.1f}" for charge, cost in parts.items())
        self.console.print(f"{'':{MARGIN + 1}}It cost {sum(parts.values()):.1f} {story.unit}: {split}.")
