"""Stated probabilities in a report: how good they were, beside the paper's, and how doubts went on."""

from __future__ import annotations

from collections.abc import Sequence

from aquamend.analysis.figures import Curve, curve_plot
from aquamend.analysis.paper import family_of, paper_quality
from aquamend.analysis.probabilities import Doubt, EventQuality, doubts, event_qualities
from aquamend.analysis.report.document import Cell, Column, Figure, Table
from aquamend.analysis.report.numbers import count, decimal
from aquamend.analysis.report.plots import label_of
from aquamend.analysis.table import RunTable, knows_the_truth

MOST_DRAWN = 3
UNAVAILABLE = "unavailable"


def quality_table(table: RunTable) -> Table | None:
    """Return a row for every event and version; nothing where records keep no probabilities."""
    found, family = event_qualities(table), family_of(table.run.suite)
    if not found:
        return None
    beside = any(paper_quality(family, one.event, one.when) for one in found)
    heads = ("scenes", "share invalid", "mean stated", "Brier", "ECE")
    columns = [Column("version", numeric=False), Column("event", numeric=False), *map(Column, heads)]
    columns += [Column(f"paper’s {head}", paper=True) for head in heads[1:]] if beside else []
    rows = [(*_ours(one), *(_theirs(family, one) if beside else ())) for one in found]
    breaks = frozenset(row for row in range(1, len(found)) if found[row].when != found[row - 1].when)
    caption = (
        "Probability that a declaration is invalid, as stated at the first decision, against the truth: “old” in its "
        "version before the alarm, “current” in the one that the evidence then supports. ECE has ten bins. Scenes "
        "without a known truth are left out, and what has none at all is unavailable. Events within a scene are not "
        "independent; one that never happens can have a score of zero without anything being detected."
    )
    return Table(caption, tuple(columns), tuple(tuple(map(Cell, row)) for row in rows), header=1, breaks=breaks)


def _ours(one: EventQuality) -> tuple[str, ...]:
    quality = one.quality
    numbers = (quality.rate, quality.mean, quality.brier, quality.calibration_error)
    told = [UNAVAILABLE if value is None else decimal(value, decimals=4) for value in numbers]
    return one.when, one.event, count(quality.queries), *told


def _theirs(family: str, one: EventQuality) -> tuple[str, ...]:
    printed = paper_quality(family, one.event, one.when) or (None,) * 4
    return tuple(decimal(value, decimals=4) for value in printed)


def doubt_curves(name: str, table: RunTable) -> Figure | None:
    """Return mean doubt against the number of decisions: of beliefs that had failed, and of those that had not."""
    honest = [one for one in doubts(table) if not knows_the_truth(one.policy)]
    told = [one for one in honest if max(len(one.failed), len(one.sound)) > 1]
    told.sort(key=lambda one: one.policy != table.reference)
    curves = [curve for one in told[:MOST_DRAWN] for curve in _curves(one)]
    if not curves:
        return None
    drawn = curve_plot(name, curves, axes=("decision", "mean probability of having failed"), whole=True)
    caption = (
        "How doubtful beliefs were at each decision, on average over scenes: those that had really failed, and those "
        "that had not. A recovery that has ended keeps its last doubts."
    )
    return Figure(name, caption, drawn.svg, drawn.png)


def _curves(one: Doubt) -> Sequence[Curve]:
    kinds = (("failed", one.failed), ("sound", one.sound))
    return [
        Curve(one.policy, f"{label_of(one.policy)}, {kind}", tuple((float(k), q) for k, q in enumerate(path, start=1)))
        for kind, path in kinds
        if path
    ]
