"""Whether what was realised is what was expected."""

from __future__ import annotations

import numpy as np

from aquamend.analysis.report.names import policy_name
from aquamend.analysis.report.numbers import count, interval, signed
from aquamend.analysis.table import RunTable
from aquamend.statistics import difference, paired_bootstrap, rounded


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
    told = f"Realised loss minus expected risk is {signed(min(means))} to {signed(max(means))} on average"
    if not off:
        return f"{told}; the 95 % interval of this difference holds zero for {_all(len(means))}."
    return f"{told}; its 95 % interval leaves zero out for {count(len(off))} of {_all(len(means))}: {'; '.join(off)}."


def _all(number: int) -> str:
    return "the only policy" if number == 1 else f"all {count(number)} policies"
