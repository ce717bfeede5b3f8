"""One policy against every other on the same scenarios: a table, what it says in words, and what must hold.

What must hold is the order of expected risks, and that realised losses agree with them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.learning.estimates import DECIMALS, difference, rounded
from aquamend_lab.analysis.comparison import (
    Comparison,
    ComparisonVerdict,
    Conclusion,
    adjusted,
    compare,
    side,
    verdict_of,
)
from aquamend_lab.analysis.comparison_text import p_text
from aquamend_lab.analysis.metrics import COMPARABLE
from aquamend_lab.analysis.paper import PaperPair, PaperTable, family_order, holm_family
from aquamend_lab.analysis.report.document import (
    DASH,
    Bullets,
    Cell,
    Column,
    Table,
    count,
    decimal,
    interval,
    policy_name,
    signed,
    table_of_texts,
)
from aquamend_lab.analysis.statistics import paired_bootstrap
from aquamend_lab.analysis.table import CHARGES, RunTable, group_name, knows_the_truth

_BRIEF = {
    Conclusion.NO_PAIRS: "nothing to compare",
    Conclusion.TIE: "tie on every scenario",
    Conclusion.BOTH_INFINITE: "each infinite where the other is not",
    Conclusion.EXACT: "{lower}, exactly",
    Conclusion.CLEAR: "{lower}",
    Conclusion.MEAN_ONLY: "{lower} on average only",
    Conclusion.RANKS_ONLY: "{lower} scenario by scenario only",
    Conclusion.OPPOSED: "{lower} on average, {higher} scenario by scenario",
    Conclusion.OPEN: "no difference established",
}

_SENTENCES = {
    Conclusion.NO_PAIRS: "No scenario has a number of both {first} and {others}",
    Conclusion.TIE: "{first} ties on every scenario with {others}",
    Conclusion.EXACT: "{first} has exactly {lower} {measure} than {others}",
    Conclusion.CLEAR: "{first} has {lower} {measure} than {others}",
    Conclusion.MEAN_ONLY: (
        "On average {first} has {lower} {measure} than {others}, but scenario by scenario no difference is established"
    ),
    Conclusion.RANKS_ONLY: (
        "Scenario by scenario {first} has {lower} {measure} than {others}, but on average no difference is established"
    ),
    Conclusion.OPPOSED: "On average {first} has {lower} {measure} than {others}, but scenario by scenario {higher}",
    Conclusion.BOTH_INFINITE: (
        "On some scenarios {measure} is infinite for {first} but not for {others}, on some the other way round"
    ),
    Conclusion.OPEN: "No difference is established between {first} and {others}",
}


def comparisons(table: RunTable, *, metric: str) -> list[Comparison]:
    """Return the run's reference against every policy that does not know the truth, group by group.

    Within a group (and over all groups together, which comes first where there are several) the p-values are adjusted
    by Holm's method: as one family, or as the families that the paper designates for a suite.
    """
    reference = table.reference
    if reference is None:
        return []
    ours = side(table, reference)
    rivals = [policy for policy in table.policies if policy != reference and not knows_the_truth(policy)]
    found = [
        one for rival in rivals for one in compare(ours, side(table, rival), metric=metric, drivers=0) if one.pairs
    ]
    groups: dict[str, list[Comparison]] = {}
    for one in found:
        groups.setdefault(repr(one.group), []).append(one)
    return [one for within in groups.values() for one in _adjusted_by_family(table.run.suite, within)]


def _adjusted_by_family(suite: str, found: Sequence[Comparison]) -> list[Comparison]:
    families = [[one for one in found if _family(one) == name] for name in family_order(suite)]
    return [one for family in families for one in adjusted(family)]


def _family(one: Comparison) -> str:
    return holm_family(one.suite, one.policies[1])


def over_all(found: Sequence[Comparison]) -> list[Comparison]:
    """Return the comparisons that are over all scenarios: of all groups together, or of the only one."""
    if len({repr(one.group) for one in found}) == 1:
        return list(found)
    return [one for one in found if one.group is None]


def verdict_in_brief(verdict: ComparisonVerdict) -> str:
    """Return in a few words what a comparison shows of its first side."""
    if verdict.finding is Conclusion.INFINITE:
        first_is = verdict.better == "first"
        return "finite where the other is infinite" if first_is else "infinite where the other is not"
    return _BRIEF[verdict.finding].format_map(_direction(verdict))


def _direction(verdict: ComparisonVerdict) -> dict[str, str]:
    lower, higher = ("lower", "higher") if verdict.better == "first" else ("higher", "lower")
    return {"lower": lower, "higher": higher}


def paired_table(found: Sequence[Comparison], paper: PaperTable | None = None) -> Table:
    """Return one row for each comparison; the first policy minus the other, so negative favours the first."""
    grouped = any(one.group is not None for one in found)
    named = any(_family(one) for one in found)
    first = policy_name(found[0].first)
    theirs = {} if paper is None or grouped or found[0].metric != "loss" else paper.pairs
    columns = _columns(found, first, grouped=grouped, named=named, theirs=theirs)
    rows = ([tell(one) for _, tell in columns] for one in found)
    unit = found[0].unit if _units(found) == 1 else ""
    places = [(one.group, _family(one)) for one in found]
    breaks = [row for row in range(1, len(found)) if places[row] != places[row - 1]]
    caption = (
        f"{first} minus the other policy in {COMPARABLE[found[0].metric].of_one_in(unit)}, pair by pair: negative "
        f"favours {first}. A win is a scenario with less. “Detectable” is the mean difference that such pairs show "
        "four times in five. “On average”: the interval of the mean difference leaves zero out. "
        "“Scenario by scenario”: the exact two-sided signed-rank test, Holm-adjusted over the policies of the "
        f"{'same family' if named else 'table'}{', group by group' if grouped else ''}, is below 0.05. Without either "
        "word: both."
    )
    if paper and theirs and any(isinstance(column, Column) for column, _ in columns):
        caption += f" Columns called “paper’s” are from its {paper.title}."
    header = grouped + named + (_units(found) > 1)
    return table_of_texts(caption, [column for column, _ in columns], rows, words=WORDS, header=header, breaks=breaks)


ColumnOf = tuple[Column | str, Callable[[Comparison], str]]
WORDS = ("group", "unit", "family", "against")


def _units(found: Sequence[Comparison]) -> int:
    """Return how many units the comparisons are in."""
    return len({one.unit for one in found}) if COMPARABLE[found[0].metric].priced else 0


def _columns(
    found: Sequence[Comparison], first: str, *, grouped: bool, named: bool, theirs: Mapping[str, PaperPair]
) -> list[ColumnOf]:
    def printed(tell: Callable[[PaperPair], str]) -> Callable[[Comparison], str]:
        return lambda one: tell(theirs[one.policies[1]]) if one.policies[1] in theirs else DASH

    columns: list[ColumnOf] = [("group", lambda one: group_name(one.group))] if grouped else []
    columns += [("unit", lambda one: one.unit or DASH)] if _units(found) > 1 else []
    columns += [("family", _family)] if named else []
    columns += [
        ("against", lambda one: policy_name(one.second)),
        (Column(first, numeric=False), lambda one: verdict_in_brief(verdict_of(one))),
        ("wins", lambda one: count(one.wins)),
        ("ties", lambda one: count(one.ties)),
        ("losses", lambda one: count(one.losses)),
        ("mean difference", lambda one: signed(one.mean_difference, decimals=4)),
        ("95 % interval", lambda one: interval(*one.interval, decimals=4) if one.interval else DASH),
        ("detectable", lambda one: decimal(one.detectable, decimals=4)),
        ("exact p", lambda one: p_text(one.p_value)),
        ("Holm p", lambda one: p_text(one.p_holm)),
    ]
    if any(one.policies[1] in theirs for one in found):
        columns += [
            (Column("paper’s difference", paper=True), printed(lambda pair: signed(pair.difference))),
            (Column("paper’s interval", paper=True), printed(lambda pair: interval(pair.low, pair.high))),
            (Column("paper’s Holm p", paper=True), printed(lambda pair: p_text(pair.p_holm))),
        ]
    if any(one.unpaired for one in found):
        columns.append(("unpaired", lambda one: count(one.unpaired)))
    return columns


def comparisons_in_words(found: Sequence[Comparison]) -> str:
    """Return comparisons of one policy as one sentence a verdict; said of fewer scenarios where not all have a pair."""
    said: dict[tuple[ComparisonVerdict, int | None], list[str]] = {}
    for one in found:
        said.setdefault((verdict_of(one), one.pairs if one.unpaired else None), []).append(policy_name(one.second))
    order = list(Conclusion)
    sentences = []
    for verdict, pairs in sorted(said, key=lambda key: (order.index(key[0].finding), key[0].better or "", key[1] or 0)):
        names = {"first": policy_name(found[0].first), "others": _listed(said[verdict, pairs])}
        names["measure"] = COMPARABLE[found[0].metric].of_one
        both = f" (on the {count(pairs)} scenarios that both have)" if pairs is not None else ""
        sentences.append(f"{_sentence(verdict).format_map(names | _direction(verdict))}{both}.")
    return " ".join(sentences)


def _sentence(verdict: ComparisonVerdict) -> str:
    if verdict.finding is not Conclusion.INFINITE:
        return _SENTENCES[verdict.finding]
    better, worse = ("{first}", "{others}") if verdict.better == "first" else ("{others}", "{first}")
    return f"On some scenarios {{measure}} is infinite for {worse} but not for {better}"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def without_parts(table: RunTable, whole: Sequence[Comparison]) -> Table | None:
    """Return the paired differences in complete loss, and in all of it but one part, against every policy.

    One part may be so noisy that it hides the rest: its own row tells. Nothing where parts are unknown.
    """
    if not all(table.has(name) for name in CHARGES):
        return None
    metrics = ["loss", *(f"loss_without_{name}" for name in CHARGES)]
    by_metric = {metric: {one.second: one for one in over_all(comparisons(table, metric=metric))} for metric in metrics}
    rows: list[tuple[str, ...]] = []
    breaks: list[int] = []
    for rival in (one.second for one in whole):
        breaks.append(len(rows))
        for metric in metrics:
            if one := by_metric[metric].get(rival):
                ends = interval(*one.interval) if one.interval else DASH
                numbers = signed(one.mean_difference), ends, decimal(one.detectable), p_text(one.p_value)
                rows.append((policy_name(rival), COMPARABLE[metric].of_one, *numbers))
    if not rows:
        return None
    columns = ("against", "in", "mean difference", "95 % interval", "detectable", "exact p")
    caption = (
        f"{policy_name(whole[0].first)} minus the other policy, in the complete loss and in all of it but one part. "
        "“Detectable” is the mean difference that such pairs show four times in five. No p is adjusted here."
    )
    return table_of_texts(caption, columns, rows, words=("against", "in"), breaks=breaks[1:])


_NO_THEOREMS = (("lookahead-2", "aquamend"), ("lookahead-3", "lookahead-2"), ("certified", "aquamend"))


@dataclass(frozen=True, slots=True)
class OrderCheck:
    """Whether one policy's expected risk was at most another's, on every scenario where both have one."""

    lower: str
    upper: str
    theorem: bool
    scenarios: int
    violations: int
    equal: int
    largest: float | None
    """The largest amount by which ``lower`` exceeded ``upper``."""
    worst: tuple[int, int] | None
    """Seed and scenario where it did."""


def order_checks(table: RunTable) -> list[OrderCheck]:
    """Return every check that the policies of a run allow: the theorem about ``exact`` first."""
    honest = [policy for policy in table.policies if not knows_the_truth(policy)]
    pairs = [("exact", policy, True) for policy in honest if "exact" in honest and policy != "exact"]
    pairs += [(low, high, False) for low, high in _NO_THEOREMS if low in honest and high in honest]
    if not pairs:
        return []
    risks, gaps = table.column("expected_risk"), difference(table.column("upper"), table.column("lower"))
    columns = {policy: risks[:, column] for column, policy in enumerate(table.policies)}
    if "exact" in columns:  # beyond its limits it is the best plan found by a deadline, of which nothing is proved
        columns["exact"] = np.where(rounded(gaps[:, table.policies.index("exact")]) > 0.0, np.nan, columns["exact"])
    checks = [_check(table, low, high, columns, theorem=theorem) for low, high, theorem in pairs]
    return [check for check in checks if check.scenarios]


def _check(table: RunTable, lower: str, upper: str, columns: dict[str, np.ndarray], *, theorem: bool) -> OrderCheck:
    low, high = columns[lower], columns[upper]
    rows = np.flatnonzero(~np.isnan(low) & ~np.isnan(high))
    excess = rounded(difference(low[rows], high[rows]))
    violated = excess > 0.0
    worst = int(rows[np.argmax(excess)]) if violated.any() else None
    return OrderCheck(
        lower,
        upper,
        theorem,
        scenarios=len(rows),
        violations=int(violated.sum()),
        equal=int((excess == 0.0).sum()),
        largest=float(excess.max()) if worst is not None else None,
        worst=table.scenarios[worst] if worst is not None else None,
    )


def theorem_verdict(checks: list[OrderCheck]) -> Bullets:
    """Return in words whether the theorem held, and how often what is none failed."""
    theorem = [check for check in checks if check.theorem]
    broken = sum(check.violations for check in theorem)
    items = []
    if theorem:
        pairs = sum(check.scenarios for check in theorem)
        items.append(
            f"Theorem: no policy that sees the public evidence only has less expected risk than {policy_name('exact')}."
            + (f" It held in all {count(pairs)} comparisons." if not broken else f" BROKEN {count(broken)} times.")
        )
    for check in (check for check in checks if not check.theorem):
        names = f"{policy_name(check.lower)} ≤ {policy_name(check.upper)}"
        held = f"It held on all {count(check.scenarios)} scenarios here."
        failed = (
            f"It failed on {count(check.violations)} of {count(check.scenarios)} scenarios, "
            f"by at most {decimal(check.largest, decimals=6)}."
        )
        items.append(f"No theorem: {names} in expected risk. {failed if check.violations else held}")
    return Bullets(tuple(items))


def check_table(checks: list[OrderCheck]) -> Table:
    """Return one row for each check."""
    names = ("lower policy", "upper policy", "status")
    rows = (
        (
            policy_name(check.lower),
            policy_name(check.upper),
            "theorem" if check.theorem else "not a theorem",
            count(check.scenarios),
            count(check.equal),
            Cell(count(check.violations), strong=check.theorem and check.violations > 0),
            decimal(check.largest, decimals=6),
            DASH if check.worst is None else f"seed {check.worst[0]}, scenario {check.worst[1]}",
        )
        for check in checks
    )
    caption = (
        "A violation is a scenario on which the lower policy has more expected risk than the upper one, "
        f"compared to {DECIMALS} decimals."
    )
    columns = (*names, "scenarios", "equal", "violations", "largest violation", "where")
    return table_of_texts(caption, columns, rows, words=(*names, "where"))


def realised_against_expected(table: RunTable) -> str:
    """Return by how much realised losses exceed expected risks, and whose 95 % interval leaves zero out.

    Nothing where no policy has both, or all are infinite.
    """
    apart = difference(table.column("loss"), table.column("expected_risk"))
    means, off = [], []
    for column, policy in enumerate(table.policies):
        gaps = rounded(apart[~np.isnan(apart[:, column]), column])
        if not gaps.size or not np.isfinite(gaps).all():
            continue
        means.append(float(gaps.mean()))
        low, high = paired_bootstrap(gaps)
        if low > 0.0 or high < 0.0:
            off.append(f"{policy_name(policy)} {signed(means[-1])} {interval(low, high)}")
    if not means:
        return ""
    what = f"Realised loss minus expected risk is {signed(min(means))} to {signed(max(means))} on average"
    if not off:
        return f"{what}; the 95 % interval of this difference holds zero for {_all(len(means))}."
    return f"{what}; its 95 % interval leaves zero out for {count(len(off))} of {_all(len(means))}: {'; '.join(off)}."


def _all(number: int) -> str:
    return "the only policy" if number == 1 else f"all {count(number)} policies"
