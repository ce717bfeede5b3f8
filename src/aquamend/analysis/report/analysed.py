"""A run with everything a report needs of it, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aquamend.analysis.comparison import Comparison, Metric
from aquamend.analysis.paper import PaperTable, paper_table
from aquamend.analysis.report.grid import Grid, grid_of
from aquamend.analysis.report.names import OURS, policy_name
from aquamend.analysis.report.numbers import decimal, interval, share
from aquamend.analysis.report.paired import comparisons, in_words
from aquamend.analysis.summary import Summary, summarise
from aquamend.records import Run

METRICS: tuple[Metric, ...] = ("loss", "expected_risk")


@dataclass(frozen=True, eq=False)
class Analysed:
    """A run, what it sums up to, and what its policies look like against each other."""

    run: Run
    title: str
    """What the run is called in the report."""
    anchor: str
    """The same for links and file names."""
    grid: Grid
    summaries: Sequence[Summary]
    comparisons: dict[Metric, list[Comparison]]
    paper: PaperTable | None

    @property
    def compares_estimators(self) -> bool:
        """Whether its "policies" estimate a risk instead of recovering."""
        return any(summary.proxy for summary in self.summaries)


def analysed(run: Run, *, title: str, anchor: str) -> Analysed:
    """Return a run analysed."""
    grid = grid_of(run)
    found = {metric: comparisons(run, grid.policies, metric=metric) for metric in METRICS}
    return Analysed(run, title, anchor, grid, summarise(run), found, paper_table(run.suite))


def headline(found: Analysed) -> str:
    """Return what a run says, in a sentence or three."""
    if found.compares_estimators:
        return f"{found.title}: normalised error {_errors(found)}."
    ours = [summary for summary in found.summaries if summary.policy == OURS]
    words = in_words([one for one in found.comparisons["loss"] if not one.group], metric="loss")
    if len(ours) != 1 or ours[0].mean_loss is None:
        return f"{found.title}: {words}" if words else ""
    loss = f"{decimal(ours[0].mean_loss)} {interval(*(ours[0].mean_loss_interval or (None, None)))}".strip()
    return f"{found.title}: {policy_name(OURS)}’s mean realised loss is {loss}. {words}".strip()


def _errors(found: Analysed) -> str:
    texts = []
    for estimator in found.grid.policies:
        errors = [
            s.normalised_error for s in found.summaries if s.policy == estimator and s.normalised_error is not None
        ]
        if errors:
            low, high = share(min(errors)), share(max(errors))
            texts.append(f"{policy_name(estimator)} {low if low == high else f'{low} to {high}'}")
    return ", ".join(texts)
