"""Policies compared, as a person reads it in a terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.text import Text

from aquamend.decision.terminal import TIE
from aquamend.policies import Evaluation
from aquamend.problem import Problem
from aquamend.text.layout import CHOSEN, FAINT, HEADING, end_of, grid_of
from aquamend.text.words import column, percent, shown


def print_evaluations(problem: Problem, found: Mapping[str, Evaluation], console: Console, *, file: str) -> None:
    """Print a table of policies, least expected loss first; all that tie with the best are marked."""
    ranked = sorted(found.items(), key=lambda item: round(item[1].expected_loss, 9))
    least = min(evaluation.expected_loss for _, evaluation in ranked)
    in_unit = f"losses in {shown(problem.unit)} · " if problem.unit else ""
    console.print(Text(shown(problem.name), style=HEADING, overflow="ellipsis", no_wrap=True))
    console.print(Text(in_unit + end_of(file, console.width - len(in_unit)), style=FAINT))
    grid = grid_of(
        ("", "left"), ("policy", "left"), ("expected loss", "right"), ("probes", "right"), ("actions undone", "right"),
        ("success", "right"), flexible=(1,),
    )  # fmt: skip
    losses = column(evaluation.expected_loss for _, evaluation in ranked)
    for (name, evaluation), loss in zip(ranked, losses, strict=True):
        best = evaluation.expected_loss <= least + TIE
        grid.add_row(
            "▶" if best else "", shown(name), loss, f"{evaluation.expected_probes:.2f}",
            f"{evaluation.expected_undone:.2f}", percent(evaluation.success), style=CHOSEN if best else "",
        )  # fmt: skip
    console.print(grid)
    tied = sum(evaluation.expected_loss <= least + TIE for _, evaluation in ranked)
    if tied > 1:
        console.print(Text(f"{tied} policies tie for the least expected loss; a tie is a tie.", style=FAINT))
    console.print()
