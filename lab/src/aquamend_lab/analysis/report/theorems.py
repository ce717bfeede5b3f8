"""What must hold of the results: the order of expected risks, and realised losses that agree with them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aquamend_lab.analysis.report.document import Bullets, Cell, Column, Table
from aquamend_lab.analysis.report.wording import DASH, count, decimal, interval, policy_name, signed
from aquamend_lab.analysis.statistics import DECIMALS, difference, paired_bootstrap, rounded
from aquamend_lab.analysis.table import RunTable, knows_the_truth

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
    columns = (
        Column("lower policy", numeric=False),
        Column("upper policy", numeric=False),
        Column("status", numeric=False),
        Column("scenarios"),
        Column("equal"),
        Column("violations"),
        Column("largest violation"),
        Column("where", numeric=False),
    )
    rows = tuple(
        (
            Cell(policy_name(check.lower)),
            Cell(policy_name(check.upper)),
            Cell("theorem" if check.theorem else "not a theorem"),
            Cell(count(check.scenarios)),
            Cell(count(check.equal)),
            Cell(count(check.violations), strong=check.theorem and check.violations > 0),
            Cell(DASH if check.largest is None else decimal(check.largest, decimals=6)),
            Cell(DASH if check.worst is None else f"seed {check.worst[0]}, scenario {check.worst[1]}"),
        )
        for check in checks
    )
    caption = (
        "A violation is a scenario on which the lower policy has more expected risk than the upper one, "
        f"compared to {DECIMALS} decimals."
    )
    return Table(caption, columns, rows)


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
