"""A run with everything a report needs of it, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aquamend_lab.analysis.comparison import Comparison
from aquamend_lab.analysis.metrics import METRICS
from aquamend_lab.analysis.paper import PaperTable, paper_table
from aquamend_lab.analysis.report.paired import comparisons, comparisons_in_words, over_all
from aquamend_lab.analysis.report.wording import decimal, interval, policy_name, share
from aquamend_lab.analysis.summary import Summary, summarise, summarise_together
from aquamend_lab.analysis.table import RunTable, table_of
from aquamend_lab.records import Run


@dataclass(frozen=True, eq=False)
class Analysed:
    """A run, what it sums up to, and what its policies look like against each other."""

    run: Run
    title: str
    """What the run is called in the report."""
    anchor: str
    """The same for links and file names."""
    table: RunTable
    summaries: Sequence[Summary]
    together: Sequence[Summary]
    """One a policy over all groups, where they only divide what was drawn; else nothing."""
    comparisons: dict[str, list[Comparison]]
    """By each metric that is there, expected risk first; none where estimators were run."""
    paper: PaperTable | None

    @property
    def compares_estimators(self) -> bool:
        """Whether its "policies" estimate a risk instead of recovering."""
        return any(summary.cell.estimates for summary in self.summaries)

    @property
    def shares_scenarios(self) -> bool:
        """Whether every policy has numbers for every scenario of its group."""
        return not any(summary.missing for summary in self.summaries)

    @property
    def enumerates_truths(self) -> bool:
        """Whether every hidden truth of a scenario was played, so that a realised loss is the expected one."""
        sound = [record for record in self.run.records if record.get("error") is None]
        return bool(sound) and all("realisations" in record for record in sound)


def analysed(run: Run, *, title: str, anchor: str) -> Analysed:
    """Return a run analysed."""
    table = table_of(run)
    summaries = summarise(table)
    metrics = [] if any(summary.cell.estimates for summary in summaries) else ["expected_risk", "loss"]
    found = {metric: comparisons(table, metric=metric) for metric in metrics}
    kept = {metric: several for metric, several in found.items() if several}
    together = summarise_together(table) if table.pooled else []
    return Analysed(run, title, anchor, table, summaries, together, kept, paper_table(run.suite))


def headline(found: Analysed) -> str:
    """Return what a run says, in a sentence or three: by expected risk where it is known, since it is exact."""
    if found.compares_estimators:
        return f"{found.title}: normalised error {_errors(found)}."
    words = next((comparisons_in_words(over_all(several)) for several in found.comparisons.values()), "")
    reference = found.table.reference
    own = [summary for summary in found.together or found.summaries if summary.policy == reference]
    means = _means(own[0]) if len(own) == 1 else ""
    said = f"{policy_name(reference)}’s mean {means}." if reference and means else ""
    return f"{found.title}: {' '.join(filter(None, (said, words)))}" if said or words else ""


def _means(own: Summary) -> str:
    def mean_of(key: str) -> str:
        mean, ends = own[key], own.interval(key) or (None, None)
        return "" if mean is None else f"{METRICS[key].of_one} is {decimal(mean)} {interval(*ends)}".strip()

    return ", its mean ".join(filter(None, (mean_of("expected_risk"), mean_of("mean_loss"))))


def _errors(found: Analysed) -> str:
    texts = []
    for estimator in found.table.policies:
        errors = [
            error
            for summary in found.summaries
            if summary.policy == estimator and (error := summary["normalised_error"]) is not None
        ]
        if errors:
            low, high = share(min(errors)), share(max(errors))
            texts.append(f"{policy_name(estimator)} {low if low == high else f'{low} to {high}'}")
    return ", ".join(texts)
