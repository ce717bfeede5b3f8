"""How near the bounds on the optimum come, and how soon: the searches that are hard, each against its target.

python bench/certificates.py
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Sequence
from statistics import median

import instances
from rich.console import Console
from rich.table import Table

from aquamend import InformationState, deadline
from aquamend.planning.bounds import Bounds
from aquamend.planning.limits import Limits, progress
from aquamend.planning.search import search
from aquamend_lab.benchmarks.catalogue import SUITES
from aquamend_lab.benchmarks.t4_suites import T4_SUITES

STRESS_EPISODES = 20


class Enough(KeyboardInterrupt):
    """The time is spent."""


def reached(
    state: InformationState, *, gap: float = 0.0, share: float = 0.0, deadline_s: float
) -> tuple[float, float, float]:
    """Return the bounds that a search reaches within so many seconds of this thread, and how many it took.

    It ends early with a gap as small as ``gap``, or as this share of the upper bound.
    Seconds by the clock would depend on what else the machine does.
    """
    start = time.thread_time()
    last = Bounds(-math.inf, math.inf), 0.0

    def listen(bounds: Bounds, _: float) -> None:
        nonlocal last
        took = time.thread_time() - start
        if took > deadline_s:
            raise Enough
        last = bounds, took
        if bounds.gap <= max(gap, share * bounds.upper):
            raise Enough

    before, deadline.clock = deadline.clock, time.thread_time
    try:
        with progress(listen):
            search(state, Limits(gap=0.0, deadline_s=deadline_s))
    finally:
        deadline.clock = before
    return last[0].lower, last[0].upper, last[1]


def relative(states: Sequence[InformationState], *, share: float, deadline_s: float) -> list[float]:
    """Return the gap that each search reaches, as a share of the upper bound."""
    gaps = []
    for state in states:
        lower, upper, _ = reached(state, share=share, deadline_s=deadline_s)
        gaps.append((upper - lower) / upper)
    return gaps


def certificates() -> Table:
    """Return the table of what is reached."""
    table = Table(title="Certificates", title_justify="left")
    for column in ("what", "bounds", "gap", "time", "target", ""):
        table.add_column(column, justify="left" if column in ("what", "") else "right")
    alarmed = InformationState.alarmed
    single = [
        (f"{n} independent beliefs, repeatable 90 % probes", alarmed(instances.independent(n, uses=math.inf)), gap, s)
        for n, gap, s in ((8, 0.01, 1.0), (10, 0.01, 60.0), (12, 0.3, 60.0))
    ]
    single += [(name, alarmed(problem), 0.01, 1.0) for name, problem in instances.shipped()]
    single += [("20 causes, two at once", alarmed(instances.two_at_once(20)), 1.6, 5.0)]
    noisy = instances.one_change(8, accuracy=0.9, uses=10, shared=True)
    single += [("one change among 8, ten uses", alarmed(noisy), 0.01, 5.0)]
    single += [("one change along a chain of 14", SUITES["m1-depth-scaled-v1"].make(0, 7).state, 0.01, 0.3)]
    for what, state, gap, target_s in single:
        lower, upper, took = reached(state, gap=gap, deadline_s=target_s)
        met = "" if upper - lower <= gap and took <= target_s else "missed"
        table.add_row(what, f"{lower:.4f} … {upper:.4f}", f"{upper - lower:.4f}", f"{took:.2f} s",
                      f"{gap:g} in {target_s:g} s", met)  # fmt: skip
    stress = next(suite for suite in T4_SUITES if suite.name.startswith("t4-stress"))
    episodes = [stress.make(k % stress.seeds, 47 * k % stress.scenarios).state for k in range(STRESS_EPISODES)]
    gaps = relative(episodes, share=0.01, deadline_s=1.0)
    close = sum(gap <= 0.01 for gap in gaps) / len(gaps)
    table.add_row(f"{len(gaps)} episodes of {stress.name}", "", f"median {median(gaps):.2%}", "≤ 1 s",
                  "1 % for nine in ten", f"{close:.0%} of them" + ("" if close >= 0.9 else ", missed"))  # fmt: skip
    gaps = relative(instances.robot_alarms(), share=0.05, deadline_s=1.0)
    close = sum(gap <= 0.05 for gap in gaps) / len(gaps)
    table.add_row(f"{len(gaps)} alarms of the robot", "", f"median {median(gaps):.2%}", "≤ 1 s", "5 % at the median",
                  f"{close:.0%} of them" + ("" if median(gaps) <= 0.05 else ", missed"))  # fmt: skip
    return table


if __name__ == "__main__":
    Console(width=max(120, Console().width)).print(certificates())
    sys.exit()
