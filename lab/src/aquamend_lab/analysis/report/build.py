"""From runs to a report, and from a report to files: a section for each run, with all that the report says about it.

The report also says where its numbers come from: what was run, by which versions, where and when, and whether all of it
is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aquamend.files.atomic import write_atomically
from aquamend_lab.analysis.charts import require_matplotlib
from aquamend_lab.analysis.comparison import Comparison
from aquamend_lab.analysis.metrics import COMPARABLE, METRICS, Summary, metrics_in, summarise, summarise_together
from aquamend_lab.analysis.paper import PaperTable, differences_from_paper, paper_table
from aquamend_lab.analysis.report import executions, paired, plots, scenarios, tables
from aquamend_lab.analysis.report.document import (
    DASH,
    Block,
    Bullets,
    Cell,
    Column,
    Document,
    Explorer,
    Figure,
    Folded,
    Notice,
    Paragraph,
    Section,
    Table,
    as_anchors,
    count,
    decimal,
    interval,
    policy_name,
    share,
    table_of_texts,
)
from aquamend_lab.analysis.report.rendering import as_html, as_markdown, exported
from aquamend_lab.analysis.report.scenarios import MOST_WITH_STEPS, explorer_data
from aquamend_lab.analysis.table import RunTable, group_key, group_name, narrowed, table_of
from aquamend_lab.records import Run

_FIRST = (
    "format", "suite", "policies", "scenarios", "seeds", "records", "errors", "aquamend", "commit", "code", "python",
    "numpy", "libraries", "machine", "started", "finished",
)  # fmt: skip
_ELSEWHERE = ("description", "looks")


def expected_records(run: Run) -> int:
    """Return how many records the manifest promises."""
    return int(run.manifest["scenarios"] * run.manifest["seeds"] * len(run.manifest["policies"]))


def incomplete(run: Run, *, title: str = "This run") -> Notice | None:
    """Return a loud word about a run that lacks records."""
    expected, here = expected_records(run), len(run.records)
    if here >= expected:
        return None
    return Notice(
        f"{title} is incomplete: {count(here)} of {count(expected)} records are here. "
        "Its numbers are over what is here; continue the run before citing them."
    )


def notices(run: Run) -> list[Notice]:
    """Return what the reader must know before trusting a run's numbers: what is left out or missing, and refusals."""
    less = narrowed(run)
    found = [notice for notice in (incomplete(run), Notice(less) if less else None) if notice]
    errors = [record for record in run.records if _refused(record)]
    if errors:
        counts = Counter(policy_name(record["policy"]) for record in errors)
        listed = ", ".join(f"{name} {count(number)}" for name, number in counts.items())
        found.append(
            Notice(
                f"{count(len(errors))} of {count(len(run.records))} records are refusals or failures ({listed}). They "
                "count as failures in success; losses are over the rest. "
                f"The first says: {str(errors[0]['error'])[:300]}"
            )
        )
    return found


def provenance_table(runs: Sequence[Run], titles: Sequence[str]) -> Table:
    """Return the manifests side by side, with how many records and failures each run holds; a row for each field."""
    manifests = [_entries(run) for run in runs]
    found = dict.fromkeys(name for entries in manifests for name in entries)
    names = [*(name for name in _FIRST if name in found), *(name for name in found if name not in _FIRST)]
    rows = ((name, *(entries.get(name, DASH) for entries in manifests)) for name in names)
    columns: tuple[Column | str, ...] = ("", *(Column(title, numeric=False, long=True) for title in titles))
    caption = "What was run, by which versions, where and when, as each run’s manifest has it."
    return table_of_texts(caption, columns, rows, words=("",))


def _entries(run: Run) -> dict[str, str]:
    return {name: _text(value) for name, value in run.manifest.items() if name not in _ELSEWHERE} | {
        "folder": run.folder.name,
        "records": f"{count(len(run.records))} of {count(expected_records(run))}",
        "errors": count(sum(_refused(record) for record in run.records)),
        "annotations": count(len(run.annotations)),
        "timings": count(len(run.timings)),
    }


def _refused(record: dict[str, Any]) -> bool:
    return record.get("error") is not None


def _text(value: Any) -> str:
    match value:
        case dict():
            return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
        case list():
            return ", ".join(_text(item) for item in value)
        case None:
            return "unknown"
        case _:
            return str(value)


def runs_table(runs: Sequence[Run], titles: Sequence[str]) -> Table:
    """Return one row for each run, for the beginning of a report."""
    estimators = any("estimate" in record for run in runs for record in run.records[:1])
    who = "policies or estimators" if estimators else "policies"
    rows: list[tuple[Cell | str, ...]] = []
    for run, title in zip(runs, titles, strict=True):
        complete = "NO" if incomplete(run) else "narrowed" if narrowed(run) else "yes"
        numbers = (
            len({record["policy"] for record in run.records}),
            len({(record["seed"], record["scenario"]) for record in run.records}),
            len(run.records),
            sum(_refused(record) for record in run.records),
        )
        rows.append((title, Cell(complete, strong=complete != "yes"), *map(count, numbers)))
    columns = ("run", "complete", who, "scenarios", "records", "errors")
    return table_of_texts("The runs this report is made from.", columns, rows, words=("run", "complete"))


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
        return any(summary.estimates for summary in self.summaries)

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
    metrics = [] if any(summary.estimates for summary in summaries) else ["expected_risk", "loss"]
    found = {metric: paired.comparisons(table, metric=metric) for metric in metrics}
    kept = {metric: several for metric, several in found.items() if several}
    together = summarise_together(table) if table.pooled else []
    return Analysed(run, title, anchor, table, summaries, together, kept, paper_table(run.suite))


def headline(found: Analysed) -> str:
    """Return what a run says, in a sentence or three: by expected risk where it is known, since it is exact."""
    if found.compares_estimators:
        return f"{found.title}: normalised error {_errors(found)}."
    words = next((paired.comparisons_in_words(paired.over_all(several)) for several in found.comparisons.values()), "")
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


_SWAYED = (
    "Realised losses depend on which truth happened to be drawn: the best policy can lose more than another on most "
    "draws, and even on average. Which policy is better is what expected risk, above, says."
)


def suite_section(found: Analysed) -> Section:
    """Return the section of a run; its parts are those that its records have something to say about."""
    description = found.run.manifest.get("description")
    lead: list[Block] = [*notices(found.run), *([Paragraph(str(description))] if description else [])]
    if not found.run.records:
        return Section(found.title, found.anchor, (*lead, Paragraph("There are no records yet.")))
    setting, commands = executions.setting_table(found.table), executions.first_command_table(found.run.annotations)
    stated, doubts = (
        executions.quality_table(found.table),
        executions.doubt_curves(f"{found.anchor}-doubts", found.table),
    )
    reasons = (*differences_from_paper(found.run.suite), *_disjoint(found))
    parts = (
        _results(found),
        _part(found, "What distorting the posterior changes", "settings", setting),
        _paired(found),
        _part(found, "Stated probabilities", "probabilities", stated, doubts),
        _timing(found),
        _checks(found),
        _part(found, "Where we differ from the paper, and why", "paper", Bullets(reasons) if reasons else None),
        _part(found, "First commands", "commands", commands),
        _failures(found),
        _scenarios(found),
    )
    return Section(found.title, found.anchor, tuple(lead), tuple(part for part in parts if part is not None))


def _results(found: Analysed) -> Section:
    many = len(found.summaries) > tables.MOST_ROWS
    table = tables.result_table(found.summaries, found.paper)
    blocks: list[Block] = [tables.result_table(found.together, found.paper)] if found.together else []
    # Where groups are worth a mean together, decision time has a section of its own.
    blocks += tables.pivot_tables(found.summaries, metrics_in(["by kind"]) if found.together else None) if many else []
    blocks += [Folded("Everything, group by group", (table,))] if blocks else [table]
    if found.enumerates_truths:
        blocks.append(Paragraph("Every hidden truth of a scenario was played, so realised loss is expected risk."))
    elif len(found.table.units) < 2 and (text := paired.realised_against_expected(found.table)):
        blocks.append(Paragraph(text))
    blocks += [figure for figure in _figures(found, many=many) if figure is not None]
    if parts := tables.parts_table(found.together or found.summaries, found.paper):
        bars = plots.loss_bars(f"{found.anchor}-parts", found.together or found.summaries, found.paper)
        if bars:
            blocks.append(bars)
        blocks.append(Folded("What the loss is made of", (parts,)))
    return Section("Results", f"{found.anchor}-results", tuple(blocks))


def _part(found: Analysed, title: str, anchor: str, *blocks: Block | None) -> Section | None:
    """Return a part of the section, of those blocks that there are; nothing where there are none."""
    kept = tuple(block for block in blocks if block is not None)
    return Section(title, f"{found.anchor}-{anchor}", kept) if kept else None


def _figures(found: Analysed, *, many: bool) -> list[Figure | None]:
    if len(found.table.units) > 1:
        return []  # no axis has two units
    if found.together:
        return [plots.mean_dots(f"{found.anchor}-means", found.together, found.paper)]
    if swept := plots.sweep_figures(f"{found.anchor}-sweep", found.summaries):
        return list(swept)
    means = plots.risk_by_size(f"{found.anchor}-risk", found.summaries, found.table, found.paper)
    if means is None and not many:
        means = plots.mean_dots(f"{found.anchor}-means", found.summaries, found.paper)
    return [means, None if any(found.table.groups) else plots.gap_distribution(f"{found.anchor}-gap", found.table)]


def _failures(found: Analysed) -> Section | None:
    policy = str(found.run.manifest.get("reference", "aquamend"))
    table = executions.failure_table(found.run.records, policy, found.run.stories)
    if table is None:
        return None
    how = Paragraph(
        f"Any of them can be watched: `aquamend demo --scene {found.run.suite}:NUMBER --seed SEED`. With `--out "
        "RUN/stories/SEED-NUMBER` in the folder of this run, its next report leads there."
    )
    return Section("What was not recovered", f"{found.anchor}-failed", (table, how))


def _paired(found: Analysed) -> Section | None:
    blocks: list[Block] = []
    by_metric = dict(list(found.comparisons.items())[:1]) if found.enumerates_truths else found.comparisons
    for metric, compared in by_metric.items():
        whole = paired.over_all(compared)
        if metric == "loss" and blocks:
            blocks.append(Paragraph(_SWAYED))
        if whole:
            blocks += [Paragraph(paired.comparisons_in_words(whole)), paired.paired_table(whole, found.paper)]
            name = f"{found.anchor}-paired-{metric.replace('_', '-')}"
            figures = (plots.difference_dots(name, whole), plots.scene_stems(f"{name}-scenes", whole, found.table))
            blocks += [figure for figure in figures if figure is not None]
            if metric == "loss" and (parts := paired.without_parts(found.table, whole)):
                blocks.append(Folded("The difference without one part of the loss", (parts,)))
        if within := [one for one in compared if one not in whole]:
            table = paired.paired_table(within)
            folded = whole or len(within) > tables.MOST_ROWS
            blocks.append(Folded(f"By group, {COMPARABLE[metric].of_one}", (table,)) if folded else table)
    if not blocks:
        return None
    first = policy_name(next(iter(found.comparisons.values()))[0].first)
    return Section(f"{first} against each other policy", f"{found.anchor}-paired", tuple(blocks))


def _timing(found: Analysed) -> Section | None:
    dots = executions.timing_dots(f"{found.anchor}-times", found.table)
    counts = executions.counts_table(found.table, found.paper)
    folded = Folded("How much was computed", (counts,)) if counts else None
    return _part(found, "Decision time", "timing", executions.timing_table(found.table), dots, folded)


def _checks(found: Analysed) -> Section | None:
    checks = paired.order_checks(found.table)
    if not checks:
        return None
    table = Folded("Every check", (paired.check_table(checks),))
    return Section("Order of expected risks", f"{found.anchor}-checks", (paired.theorem_verdict(checks), table))


def _disjoint(found: Analysed) -> list[str]:
    """Return how many states share no rollback, beside the paper's, in the groups that it has too."""
    alike = [s for s in found.summaries if s.estimates and found.paper and found.paper.row(s.policy, s.group)]
    states = sum(s["scenarios"] or 0 for s in alike)
    if not states:
        return []
    apart = share(sum(s["disjoint_states"] or 0 for s in alike) / states)
    return [
        f"In this run the rollback sets are pairwise disjoint in {apart} of the states of the paper’s kind; the paper "
        "has 243 of 4,000 (6.1 %)."
    ]


def _scenarios(found: Analysed) -> Section | None:
    pair = scenarios.main_pair(found.table, scenarios.measures_of(found.table))
    if pair is None or len(found.table.units) > 1:  # what is more, 5 min or 7 EUR, nobody can say
        return None
    names = [policy_name(found.table.policies[column]) for column in (pair.left, pair.right)]
    table = scenarios.most_differing(found.table, pair)
    both = "every scenario" if found.shares_scenarios else "every scenario that both have"
    block: Block = table or Paragraph(f"{names[0]} and {names[1]} tie on {both}.")
    return Section("Scenarios that differ most", f"{found.anchor}-scenarios", (block,))


TITLE = "Recovery policies compared"


def analysed_runs(runs: Sequence[Run]) -> list[Analysed]:
    """Return runs analysed, each under a title of its own."""
    titles = _titles(runs)
    return [
        analysed(run, title=title, anchor=anchor)
        for run, title, anchor in zip(runs, titles, as_anchors(titles, untitled="run"), strict=True)
    ]


def report_of(found: Sequence[Analysed]) -> Document:
    """Return the report of one or more runs, a section for each run."""
    require_matplotlib()
    explorer = _explorer(found)
    provenance = Section("Provenance", "provenance", (provenance_table(*_runs_and_titles(found)),))
    sections = (*map(suite_section, found), *([explorer] if explorer else []), provenance)
    return Document(TITLE, tuple(_lead(found)), sections)


def write_report(document: Document, folder: Path, *, export: bool = False) -> list[Path]:
    """Write a report as HTML, Markdown and figures, each file whole or not at all; return their paths, the page first.

    With ``export`` its tables and figures are also written for other programs and for print.
    The page is written last: it is there only if everything that stands beside it is.
    """
    pages = {folder / "report.html": as_html(document).encode(), folder / "report.md": as_markdown(document).encode()}
    figures = {}
    for figure in document.figures:
        figures[folder / "figures" / f"{figure.name}.svg"] = figure.svg
        figures[folder / "figures" / f"{figure.name}.png"] = figure.png
    more = {folder / path: data for path, data in exported(document).items()} if export else {}
    files = pages | figures | more
    for path in files:
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder")
    for path in reversed(files):
        write_atomically(path, files[path])
    return list(files)


def _runs_and_titles(found: Sequence[Analysed]) -> tuple[list[Run], list[str]]:
    """Return every run that the report is made from, and what to call it."""
    runs = [run for one in found for run in one.run.parts or (one.run,)]
    return runs, _titles(runs)


def _lead(found: Sequence[Analysed]) -> list[Block]:
    notices = [notice for one in found if (notice := incomplete(one.run, title=one.title))]
    notices += [Notice(f"{one.title}. {less}") for one in found if (less := narrowed(one.run))]
    headlines = tuple(text for one in found if (text := headline(one)))
    paired = (
        "All that a run compares met the same scenarios, so comparisons are paired."
        if all(one.shares_scenarios for one in found)
        else "Comparisons are paired: over the scenarios on which both sides have numbers."
    )
    return [
        *notices,
        *([Bullets(headlines)] if headlines else []),
        Paragraph(
            "Every number is computed from the records of the runs below. Losses, risks and errors are in the unit "
            f"that stands with them, or else in that of the suite; less is better. {paired}"
        ),
        runs_table(*_runs_and_titles(found)),
    ]


def _titles(runs: Sequence[Run]) -> list[str]:
    """Return the name of each run's suite; with its folder where a suite comes twice, as long as it takes to differ."""
    suites, folders = [run.suite for run in runs], [run.folder.resolve() for run in runs]
    names = [folder.name for folder in folders]
    labels = [name if names.count(name) == 1 else str(folder) for name, folder in zip(names, folders, strict=True)]
    return [
        suite if suites.count(suite) == 1 else f"{suite} ({where})" for suite, where in zip(suites, labels, strict=True)
    ]


def _of_one_unit(one: Analysed) -> list[tuple[RunTable, str]]:
    """Return a run's table, or one for each group where groups have units of their own: means are over one table."""
    table = one.table
    if len(table.units) < 2:
        return [(table, one.title)]
    parts = []
    for group in table.distinct_groups:
        own = [line for line in one.run.records if group_key(line["group"]) == group_key(group)]
        unit = table.unit_of(group)
        title = f"{one.title}: {group_name(group)}" + (f" ({unit})" if unit else "")
        parts.append((table_of(replace(one.run, records=own)), title))
    return parts


def _explorer(found: Sequence[Analysed]) -> Section | None:
    data = [explorer_data(table, title=title) for one in found for table, title in _of_one_unit(one)]
    suites = [suite for suite in data if suite is not None]
    if not suites:
        return None
    text = (
        "Choose what to compare, and open a scenario to see the rest of it. Numbers are rounded to four decimals where "
        "that hides no difference."
    )
    if any(suite["some_steps"] for suite in suites):
        text += (
            f" Steps are kept for at most {MOST_WITH_STEPS} scenarios a suite: each policy in turn offers the scenario "
            "where it differs most from the one that the page compares first."
        )
    return Section("Scenario by scenario", "explore", (Paragraph(text), Explorer({"suites": suites})))
