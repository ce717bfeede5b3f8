"""Whether deadlines hold: random problems, each searched, evaluated, sampled or decided with a random deadline.

python bench/deadlines.py [PROBLEMS]

What counts is the processor time of this thread, by which deadlines go here too, so that a busy machine tells the same.
A deadline holds if the whole call takes at most 1.2 times the deadline and 50 ms.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable

import instances
import numpy as np
from rich.console import Console
from rich.table import Table

from aquamend import InformationState, deadline
from aquamend.errors import NotDiscrete, TooLarge
from aquamend.planning.limits import Limits
from aquamend.planning.search import search
from aquamend.policies import AquaMend, Best, Certified, Exact, evaluate
from aquamend.policies.evaluation import sampled_value

clock = time.thread_time
PROBLEMS = 1_000
FACTOR, SLACK_S = 1.2, 0.05
MOST_DEADLINE_S = 0.5
Work = Callable[[InformationState, float], object]


def _evaluated(policy: Callable[[], object]) -> Work:
    def work(state: InformationState, deadline_s: float) -> object:
        try:
            return evaluate(policy(), state, deadline_s=deadline_s)
        except (TooLarge, NotDiscrete):
            return None

    return work


def _sampled(state: InformationState, deadline_s: float) -> object:
    try:
        return sampled_value(AquaMend(), state, seconds=deadline_s)
    except TooLarge:
        return None


WORK: dict[str, Work] = {
    "search": lambda state, deadline_s: search(state, Limits(gap=0.0, deadline_s=deadline_s)),
    "best": lambda state, deadline_s: Best(deadline_s=deadline_s).next_step(state),
    "exact": lambda state, deadline_s: Exact(deadline_s=deadline_s).next_step(state),
    "evaluate aquamend": _evaluated(AquaMend),
    "evaluate best": _evaluated(Best),
    "evaluate certified": _evaluated(Certified),
    "evaluate exact": _evaluated(Exact),
    "sample aquamend": _sampled,
}


def took(seed: int) -> tuple[str, float, float, str]:
    """Return what was done to a random problem, its deadline, how much processor time that took, and its size."""
    rng = np.random.default_rng((seed, 9))
    name = list(WORK)[seed % len(WORK)]
    problem = instances.anything(seed)
    state = InformationState.alarmed(problem)
    deadline_s = float(MOST_DEADLINE_S ** rng.uniform(1.0, 6.0))
    before, deadline.clock = deadline.clock, clock
    started = time.thread_time()
    try:
        WORK[name](state, deadline_s)
    finally:
        deadline.clock = before
    size = f"{len(state.posterior):,} hypotheses, {len(problem.graph.beliefs)} beliefs, {len(state.legal)} probes"
    return name, deadline_s, time.thread_time() - started, size


def late(deadline_s: float, took_s: float) -> float:
    """Return by how many seconds a deadline was missed; negative where it held."""
    return took_s - (FACTOR * deadline_s + SLACK_S)


def deadlines(n: int = PROBLEMS) -> Table:
    """Return the table of what held."""
    counts, held, worst = Counter[str](), Counter[str](), defaultdict[str, list[tuple[float, str]]](list)
    for seed in range(n):
        name, deadline_s, took_s, size = took(seed)
        over = late(deadline_s, took_s)
        counts[name] += 1
        held[name] += over <= 0.0
        worst[name].append((over, f"{deadline_s:.3f} s took {took_s:.3f} s: number {seed}, {size}"))
    title = f"Deadlines: {sum(held.values()) / n:.1%} of {n:,} hold (target 99 %), processor time"
    table = Table(title=title, title_justify="left")
    for column in ("what", "held", "worst"):
        table.add_column(column, justify="right" if column == "held" else "left")
    for name in WORK:
        if counts[name]:
            table.add_row(name, f"{held[name]}/{counts[name]}", max(worst[name])[1])
    return table


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else PROBLEMS
    Console(width=max(130, Console().width)).print(deadlines(count))
