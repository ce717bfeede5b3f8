"""A story in the terminal: a recovery moment by moment as it happens, or a session as its log has it."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aquamend.recovery.acts import Charge, charged
from aquamend.recovery.events import Entry
from aquamend.recovery.history import Recovery
from aquamend.recovery.log import SessionLine
from aquamend.story.of_session import how_it_stands, lasting
from aquamend.story.story import Choice, Kind, Moment, Story, comparison
from aquamend.text import WIDEST, quantity, shown

STYLES = {
    Kind.BELIEVED: "bold",
    Kind.ACTED: "dim",
    Kind.ALARM: "bold red",
    Kind.MEASURED: "cyan",
    Kind.DECIDED: "bold green",
    Kind.TROUBLE: "yellow",
    Kind.ENDED: "bold",
    Kind.UNSEEN: "magenta",
}
MARGIN = 11
"""Columns for the time."""
LOSS, MORE = 9, 11
"""Columns for an alternative's expected loss, and for what it is above the least."""
CLOCK, TITLE = 12, 11
"""Columns for the time of day and for the title of a session's moment."""
MOST_OPTIONS = 6


def _console() -> Console:
    console = Console(markup=False, highlight=False, emoji=False)
    if console.width > WIDEST:
        console.width = WIDEST
    return console


@dataclass(eq=False, slots=True)
class StoryPrinter:
    """Prints moments as they come: the time at the left, what happened beside it."""

    console: Console = field(default_factory=_console)
    unit: str = "s"

    def begin(self, title: str) -> None:
        """Print the title."""
        self.console.print(title, style="bold")
        self.console.print("Times are simulated seconds; losses are in seconds' worth.", style="dim")

    def section(self, title: str) -> None:
        """Print a heading between two stories."""
        self.console.print()
        self.console.print(title, style="bold reverse")

    def moment(self, moment: Moment) -> None:
        """Print one moment."""
        if moment.kind is Kind.ACTED:
            text = f"{moment.title}{f': {moment.text}' if moment.text else ''}"
            return self._headline(moment, text, "yellow" if moment.bad else STYLES[Kind.ACTED])
        self.console.print()
        mark = "(unseen) " if moment.kind is Kind.UNSEEN else ""
        self._headline(moment, mark + moment.title, STYLES.get(moment.kind, ""))
        self._indented(moment.text)
        if moment.choice is not None:
            self._choice(moment.choice)

    def _headline(self, moment: Moment, text: str, style: str) -> None:
        time = f"{moment.time:7.1f} s  "
        for i, line in enumerate(textwrap.wrap(text, self.console.width - MARGIN - 1) or [""]):
            self.console.print(Text.assemble((time if i == 0 else " " * MARGIN, "dim"), (line, style)))

    def _indented(self, text: str, style: str = "") -> None:
        for line in textwrap.wrap(text, self.console.width - MARGIN - 1):
            self.console.print(f"{'':{MARGIN}}{line}", style=style)

    def _choice(self, choice: Choice) -> None:
        self._indented(choice.why)
        least = min((option.loss for option in choice.options), default=0.0)
        width = min(
            max((len(o.name) for o in choice.options), default=0), self.console.width - MARGIN - LOSS - MORE - 3
        )
        self.console.print(Text(f"{'':{MARGIN + width}}{'loss':>{LOSS}}{'more':>{MORE}}", style="dim"))
        for i, option in enumerate(choice.options):
            if i >= MOST_OPTIONS and not option.chosen:
                continue
            more = option.loss - least
            above = "" if more < 1e-9 else "infinite" if math.isinf(more) else f"+{more:.2f}"
            first, *rest = textwrap.wrap(option.name, width) or [""]
            mark = ">" if option.chosen else " "
            lines = [f"{'':{MARGIN - 2}}{mark} {first:{width}}{option.loss:{LOSS}.2f}{above:>{MORE}}"]
            lines += [f"{'':{MARGIN}}  {line}" for line in rest]
            for line in lines:
                self.console.print(Text(line.rstrip(), style="green" if option.chosen else ""), soft_wrap=True)
        self._indented(choice.nearest_flip, style="dim")

    def end(self, story: Story) -> None:
        """Print what it cost, what was needless, and what hindsight would have cost."""
        split = " + ".join(f"{charge} {cost:.1f}" for charge in Charge if (cost := charged(story.receipts, charge)))
        self._indented(f"It cost {charged(story.receipts):.1f} {story.unit}: {split or 'nothing'}.")
        for note in story.notes:
            self._indented(note)

    def compare(self, stories: Sequence[Story]) -> None:
        """Print recoveries from the same alarm side by side."""
        table = Table(box=None, padding=(0, 2), pad_edge=False)
        table.add_column("")
        for story in stories:
            table.add_column(story.policy, justify="right")
        for name, *cells in comparison(stories):
            table.add_row(name, *cells, style="bold" if name == "total" else "")
        self.section("From the same alarm")
        self.console.print(table)


def print_sessions(console: Console, lines: Sequence[SessionLine]) -> None:
    """Print the sessions of a log: how each stands, and what it has cost."""
    if not lines:
        console.print("No session has been kept yet.")
        return
    columns = ("session", "status", "began (UTC)", "events", "cost", "policy", "problem")
    rows = [
        (
            shown(line.name), str(line.status), datetime.fromtimestamp(line.started, UTC).strftime("%d %b %H:%M"),
            str(line.events), quantity(line.cost), shown(line.policy), shown(line.problem),
        )
        for line in lines
    ]  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for i, column in enumerate(columns):
        widest = max(len(cell) for cell in (column, *(row[i] for row in rows)))
        whole = None if column in ("policy", "problem") else widest  # where there is no room, these are cut short
        table.add_column(
            column, justify="right" if column in ("events", "cost") else "left", no_wrap=True, min_width=whole
        )
    for row in rows:
        table.add_row(*row)
    console.print(table)


def print_session(
    console: Console, moments: Sequence[Moment], now: Recovery, entries: Sequence[Entry], where: str
) -> None:
    """Print a session: moment by moment, what it cost, and how it stands; ``where`` finds its journal."""
    began = entries[0].time
    console.print(f"{shown(now.session)}, begun on {_day(began)} at {_clock(began)} UTC")
    console.print()
    print_moments(console, moments, began, day=_day(began))
    so_far = "So far" if now.ending is None else "From the alarm to the end"
    for sentence in (*_standing(now, where), f"{so_far}: {lasting(entries[-1].time - began)}."):
        console.print()
        said, _, command = sentence.partition("\n")
        console.print(said)
        if command:
            console.print(f"  {command}", soft_wrap=True)  # to be copied, so in one line


def print_moments(console: Console, moments: Sequence[Moment], began: float, *, day: str | None = None) -> None:
    """Print moments of a session; a day is named where it is another than the one before."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for width in (CLOCK, TITLE, None):
        table.add_column(width=width, no_wrap=width is not None, overflow="fold")
    for moment in moments:
        time = began + moment.time
        if day is not None and _day(time) != day:
            day = _day(time)
            table.add_row("", "", day)
        table.add_row(_clock(time), moment.title, shown(moment.text), style="red" if moment.bad else None)
    console.print(table)


def _standing(now: Recovery, where: str) -> Iterator[str]:
    unit = now.start.problem.unit
    split = ", ".join(
        f"{charge} {quantity(charged(now.receipts, charge), unit)}" for charge in Charge if charge != Charge.RESIDUAL
    )
    yield f"Cost so far: {split}." if now.ending is None else f"Cost: {split}. What was left wrong, nobody knows here."
    yield from how_it_stands(now, where)


def _clock(moment: float) -> str:
    """Return the time of day to the millisecond."""
    return datetime.fromtimestamp(moment, UTC).strftime("%H:%M:%S.%f")[:-3]


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
