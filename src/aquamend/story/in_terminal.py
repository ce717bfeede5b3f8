"""A story in the terminal, moment by moment as it happens."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from aquamend.text import WIDEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from aquamend.story.story import Moment, Story

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

    def section(self, title: str) -> None:
        """Print a heading between two tellings."""
        self.console.print()
        self.console.print(title, style="bold reverse")

    def moment(self, moment: Moment) -> None:
        """Print one moment."""
        from rich.text import Text

        style = STYLES.get(str(moment.kind), "")
        time = f"{moment.time_s:7.1f} s  "
        if str(moment.kind) == "acted":
            style = "yellow" if moment.failed else style
            told = f"{moment.title}{f': {moment.told}' if moment.told else ''}"
            for i, line in enumerate(self._wrapped(told)):
                self.console.print(Text.assemble((time if i == 0 else f"{'':{MARGIN + 3}}", "dim"), (line, style)))
            return
        mark = "(unseen) " if str(moment.kind) == "revealed" else ""
        self.console.print()
        for i, line in enumerate(self._wrapped(mark + moment.title)):
            self.console.print(Text.assemble((time if i == 0 else f"{'':{MARGIN + 1}}", "dim"), (line, style)))
        self._indented(moment.told if not moment.failed else "")
        if moment.options:
            self._indented(moment.weighing)
            self._options(moment)

    def _wrapped(self, text: str) -> list[str]:
        return textwrap.wrap(text, self.console.width - MARGIN - 3) or [""]

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
            first, *rest = textwrap.wrap(option.name, width) or [""]
            numbers = "".join(
                f"{'' if value is None else f'{value:.1f}':>{n}}" for value, n in zip(parts, WIDTHS, strict=True)
            )
            lines = [f"{'':{MARGIN - 1}}{'>' if option.chosen else ' '} {first:{width + 2}}{numbers}"]
            lines += [f"{'':{MARGIN + 1}}  {line}" for line in rest]
            for line in lines:
                self.console.print(Text(line.rstrip(), style="green" if option.chosen else ""), soft_wrap=True)

    def end(self, story: Story) -> None:
        """Print what it cost, what was needless, and what hindsight would have cost."""
        from aquamend.recovery.receipts import charged
        from aquamend.story.comparing import in_hindsight, needless
        from aquamend.story.losses_chart import subtotals

        parts = subtotals(story.ledger)
        split = " + ".join(f"{charge} {cost:.1f}" for charge, cost in parts)
        self._indented(f"It cost {charged(story.ledger):.1f} {story.unit}: {split}.")
        if story.hindsight is not None:
            self._indented(needless(story.hindsight))
            self._indented(in_hindsight(story.hindsight, story.unit))

    def compare(self, stories: Sequence[Story]) -> None:
        """Print recoveries from the same alarm side by side."""
        from rich.table import Table

        from aquamend.story.comparing import comparison

        table = Table(box=None, padding=(0, 2), pad_edge=False)
        table.add_column("")
        for story in stories:
            table.add_column(story.policy, justify="right")
        for name, *cells in comparison(stories):
            table.add_row(name, *cells, style="bold" if name == "total" else "")
        self.section("From the same alarm")
        self.console.print(table)
