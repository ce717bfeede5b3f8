"""Everything a report says about one run."""

from __future__ import annotations

from collections.abc import Sequence

from aquamend.analysis.comparison import Comparison
from aquamend.analysis.paper import PaperTable, differences_from_paper
from aquamend.analysis.report import paired, theorems
from aquamend.analysis.report.analysed import Analysed
from aquamend.analysis.report.document import Block, Bullets, Figure, Folded, Paragraph, Section
from aquamend.analysis.report.names import OURS, policy_name
from aquamend.analysis.report.numbers import count
from aquamend.analysis.report.plots import difference_dots, error_dots, gap_distribution, loss_dots, risk_by_size
from aquamend.analysis.report.provenance import notices
from aquamend.analysis.report.scenarios import main_pair, measures_of, most_differing
from aquamend.analysis.report.tables import MOST_ROWS, parts_table, pivot_tables, result_table
from aquamend.analysis.summary import Summary


def suite_section(found: Analysed) -> Section:
    """Return the section of a run; its parts are those that its records have something to say about."""
    description = found.run.manifest.get("description")
    lead: list[Block] = [*notices(found.run), *([Paragraph(str(description))] if description else [])]
    if not found.run.records:
        return Section(found.title, found.anchor, (*lead, Paragraph("There are no records yet.")))
    parts = (_results(found), _paired(found), _checks(found), _differences(found), _scenarios(found))
    return Section(found.title, found.anchor, tuple(lead), tuple(part for part in parts if part is not None))


def _results(found: Analysed) -> Section:
    many = len(found.summaries) > MOST_ROWS
    table = result_table(found.summaries, found.paper, caption=_caption(found.summaries, found.paper))
    blocks: list[Block] = [table]
    if many:
        blocks = [*pivot_tables(found.summaries), Folded("Everything, group by group", (table,))]
    blocks += [figure for figure in _figures(found, many=many) if figure is not None]
    if not found.compares_estimators:
        parts = parts_table(found.summaries, caption="Means over the scenarios; a dash is unavailable.")
        blocks.append(Folded("What the loss is made of", (parts,)))
    return Section("Results", f"{found.anchor}-results", tuple(blocks))


def _figures(found: Analysed, *, many: bool) -> list[Figure | None]:
    if found.compares_estimators:
        return [error_dots(f"{found.anchor}-error", found.summaries, found.paper)]
    return [
        risk_by_size(f"{found.anchor}-risk", found.summaries, found.grid, found.paper),
        None if many else loss_dots(f"{found.anchor}-loss", found.summaries, found.paper),
        None if any(found.grid.groups) else gap_distribution(f"{found.anchor}-gap", found.grid),
    ]


def _caption(summaries: Sequence[Summary], paper: PaperTable | None) -> str:
    sizes = sorted({summary.scenarios for summary in summaries})
    over = count(sizes[0]) if len(sizes) == 1 else f"{count(sizes[0])} to {count(sizes[-1])}"
    bold = "Bold: best, as shown, of those not told the truth, unless all are equal."
    beside = f" Columns called “paper’s” are from its {paper.title}." if paper else ""
    return f"Means over {over} scenarios a row. {bold}{beside}"


def _paired(found: Analysed) -> Section | None:
    blocks: list[Block] = []
    for metric, comparisons in found.comparisons.items():
        if comparisons and metric != "loss" and _same(found.comparisons["loss"], comparisons):
            blocks.append(Paragraph("By expected risk the comparison is the same, as every hidden truth was played."))
            continue
        whole = [one for one in comparisons if not one.group]
        within = [one for one in comparisons if one.group]
        name = paired.METRIC_NAMES[metric]
        if whole:
            blocks += [Paragraph(paired.in_words(whole, metric=metric)), paired.paired_table(whole, metric=metric)]
            figure = difference_dots(f"{found.anchor}-paired-{metric.replace('_', '-')}", whole, measure=name)
            blocks += [figure] if figure else []
        if within:
            table = paired.paired_table(within, metric=metric)
            blocks.append(Folded(f"By group, {name}", (table,)) if whole else table)
    if not blocks:
        return None
    return Section(f"{policy_name(OURS)} against each other policy", f"{found.anchor}-paired", tuple(blocks))


def _same(first: Sequence[Comparison], second: Sequence[Comparison]) -> bool:
    def shown(found: Sequence[Comparison]) -> list[object]:
        return [(one.group, one.second, one.wins, one.losses, round(one.mean_difference or 0.0, 9)) for one in found]

    return shown(first) == shown(second)


def _checks(found: Analysed) -> Section | None:
    checks = theorems.order_checks(found.grid)
    if not checks:
        return None
    table = Folded("Every check", (theorems.check_table(checks),))
    return Section("What must hold", f"{found.anchor}-checks", (theorems.verdict(checks), table))


def _differences(found: Analysed) -> Section | None:
    reasons = differences_from_paper(found.run.suite)
    if not reasons:
        return None
    return Section("Where we differ from the paper, and why", f"{found.anchor}-paper", (Bullets(reasons),))


def _scenarios(found: Analysed) -> Section | None:
    pair = main_pair(found.grid, measures_of(found.grid))
    if pair is None:
        return None
    names = [policy_name(found.grid.policies[column]) for column in (pair.left, pair.right)]
    table = most_differing(found.grid, pair, found.run)
    block: Block = table or Paragraph(f"{names[0]} and {names[1]} tie on every scenario.")
    return Section("Scenarios that differ most", f"{found.anchor}-scenarios", (block,))
