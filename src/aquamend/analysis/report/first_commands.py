"""What distorting the posterior does to the first command, without playing it out (Q1, the offline table)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from aquamend.analysis.report.document import Cell, Column, Table
from aquamend.analysis.report.numbers import decimal

ORIGINAL = "original"
PAPER: Mapping[str, tuple[str, str, str]] = {
    "original": ("0/32", "0.0000", "63.9249"),
    "concentrated": ("1/32", "0.0516", "63.7192"),
    "dispersed": ("8/32", "0.0644", "64.4001"),
    "negative": ("0/32", "0.1450", "62.5118"),
    "positive": ("8/32", "0.1446", "65.2785"),
}
"""Changed commands, mean total variation and mean predicted loss, as printed."""
CAPTION = (
    "AquaMend's first command at every alarm under five distortions of the posterior; nothing is played out. Our "
    "predicted losses leave out what finishing the task takes, which is due in any case; the paper's include it."
)


def first_command_table(annotations: Sequence[Mapping[str, Any]]) -> Table | None:
    """Return a row a distortion; nothing where the scenes are not annotated with first commands."""
    found = [a["features"]["first_commands"] for a in annotations if a.get("features", {}).get("first_commands")]
    if not found:
        return None
    heads = ("changed commands", "mean total variation", "mean predicted loss")
    columns = (
        Column("posterior", numeric=False),
        *map(Column, heads),
        *(Column(f"paper’s {head}", paper=True) for head in heads),
    )
    rows = [(setting, *_ours(found, setting), *PAPER.get(setting, ("–",) * 3)) for setting in found[0]]
    return Table(CAPTION, columns, tuple(tuple(map(Cell, row)) for row in rows))


def _ours(found: Sequence[Mapping[str, Any]], setting: str) -> tuple[str, str, str]:
    changed = sum(scene[setting]["command"] != scene[ORIGINAL]["command"] for scene in found)
    distance = fmean(scene[setting]["total_variation"] for scene in found)
    loss = fmean(scene[setting]["predicted_loss"] for scene in found)
    return f"{changed}/{len(found)}", decimal(distance, decimals=4), decimal(loss, decimals=4)
