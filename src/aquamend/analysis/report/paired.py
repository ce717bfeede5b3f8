"""AquaMend against every other policy on the same scenarios: a table, and what it says in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from aquamend.analysis.comparison import Comparison, Metric, adjusted, compare, side
from aquamend.analysis.report.document import Cell, Column, Table
from aquamend.analysis.report.names import OURS, group_name, knows_the_truth, policy_name
from aquamend.analysis.report.numbers import DASH, count, interval, p_value, signed
from aquamend.records import Run

SIGNIFICANT = 0.05

METRIC_NAMES: dict[Metric, str] = {"loss": "realised loss", "expected_risk": "expected risk"}


def comparisons(run: Run, policies: Sequence[str], *, metric: Metric) -> list[Comparison]:
    """Return AquaMend against each other policy that is not told the truth, group by group.

    Within a group (and over all groups together, which comes first where there are several) the p-values are adjusted
    as one family by Holm's method.
    """
    rivals = [policy for policy in policies if policy != OURS and not knows_the_truth(policy)]
    if OURS not in policies:
        return []
    ours = side(run, OURS)
    found = [one for rival in rivals for one in compare(ours, side(run, rival), metric=metric, drivers=0) if one.pairs]
    families: dict[str, list[Comparison]] = {}
    for one in found:
        families.setdefault(repr(one.group), []).append(one)
    return [one for family in families.values() for one in adjusted(family)]


def verdict(one: Comparison) -> str:
    """Return what a comparison shows of AquaMend: a tie is a tie, and what cannot be told apart is not ranked.

    The mean has a direction where its interval leaves zero out; the ranks differ where the adjusted p-value is below
    0.05. Who is lower on more scenarios is said where that and the mean disagree.
    """
    if not one.wins and not one.losses:
        return "tie on every scenario"
    low, high = one.interval or (-math.inf, math.inf)
    mean = "lower" if high < 0.0 else "higher" if low > 0.0 else ""
    often = "lower" if one.wins > one.losses else "higher" if one.losses > one.wins else mean
    if one.p_holm is None or one.p_holm >= SIGNIFICANT:
        return f"mean {mean}, ranks not told apart" if mean else "not told apart"
    if not mean:
        return f"{often} more often, means not told apart" if often else "ranks differ, means not told apart"
    return mean if often == mean else f"mean {mean}, but {often} more often"


def paired_table(found: Sequence[Comparison], *, metric: Metric) -> Table:
    """Return one row a comparison; differences are AquaMend minus the other, so negative favours AquaMend."""
    grouped = any(one.group for one in found)
    unpaired = any(one.unpaired for one in found)
    columns = [Column("group", numeric=False)] if grouped else []
    columns += [
        Column("against", numeric=False),
        Column("wins"),
        Column("ties"),
        Column("losses"),
        Column("mean difference"),
        Column("95 % interval"),
        Column("exact p"),
        Column("Holm p"),
        Column(policy_name(OURS), numeric=False),
    ]
    columns += [Column("unpaired")] if unpaired else []
    rows = tuple(_row(one, grouped=grouped, unpaired=unpaired) for one in found)
    breaks = frozenset(row for row in range(1, len(found)) if found[row].group != found[row - 1].group)
    caption = (
        f"{policy_name(OURS)} minus the other policy in {METRIC_NAMES[metric]}, pair by pair: negative favours "
        f"{policy_name(OURS)}. A win is a scenario with less. Exact two-sided signed-rank test, Holm-adjusted over the "
        "policies of the table" + (", group by group." if grouped else ".")
    )
    return Table(caption, tuple(columns), rows, header=1 if grouped else 0, breaks=breaks)


def _row(one: Comparison, *, grouped: bool, unpaired: bool) -> tuple[Cell, ...]:
    said = verdict(one)
    cells = [Cell("all" if one.group is None else group_name(one.group))] if grouped else []
    cells += [
        Cell(policy_name(one.second)),
        Cell(count(one.wins)),
        Cell(count(one.ties)),
        Cell(count(one.losses)),
        Cell(signed(one.mean_difference, decimals=4)),
        Cell(interval(*one.interval, decimals=4) if one.interval else DASH),
        Cell(p_value(one.p_value)),
        Cell(p_value(one.p_holm)),
        Cell(said),
    ]
    return (*cells, Cell(count(one.unpaired))) if unpaired else tuple(cells)


def in_words(found: Sequence[Comparison], *, metric: Metric) -> str:
    """Return the comparisons over a whole suite as one sentence a verdict."""
    groups: dict[str, list[str]] = {}
    for one in found:
        groups.setdefault(verdict(one), []).append(policy_name(one.second))
    ours, measure = policy_name(OURS), METRIC_NAMES[metric]
    phrases = {"tie on every scenario": f"{ours} ties on every scenario with {{}}"}
    for said, other in (("lower", "higher"), ("higher", "lower")):
        phrases |= {
            said: f"{ours} has {said} {measure} than {{}}",
            f"mean {said}, but {other} more often": (
                f"{ours} has {said} {measure} in the mean, though {other} on more scenarios, than {{}}"
            ),
            f"mean {said}, ranks not told apart": f"{ours} has {said} {measure} in the mean, not in ranks, than {{}}",
            f"{said} more often, means not told apart": (
                f"{ours} has {said} {measure} more often, though the means are not told apart, than {{}}"
            ),
        }
    phrases |= {
        "ranks differ, means not told apart": f"{ours} differs in ranks but not in the mean from {{}}",
        "not told apart": f"{ours} is not told apart from {{}}",
    }
    sentences = [phrase.format(_listed(groups[key])) for key, phrase in phrases.items() if key in groups]
    return ". ".join(sentences) + "." if sentences else ""


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
