"""What very many hypotheses or beliefs take: built, decided among, and the memory of a process that does nothing else.

    python bench/large.py

Each line is measured in a process of its own, so that its peak of memory is its own, too.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import instances
from rich.console import Console
from rich.table import Table

from aquamend import AquaMend, InformationState
from aquamend.problem import Problem


class Large(NamedTuple):
    """A problem with very many of something, and what it is meant to take."""

    make: Callable[[], Problem]
    build_s: float = 1.0
    build_mb: float = 400.0
    step_s: float = 40e-3


def from_arrays(outcomes: int) -> Callable[[], Problem]:
    """Return what builds a problem from arrays that are there already."""
    drawn = instances.Arrays.drawn(1_000_000, outcomes)
    return lambda: instances.many_hypotheses(drawn)


LARGE: dict[str, Callable[[], Large]] = {
    "a million from arrays, probes of 2 outcomes": lambda: Large(from_arrays(2)),
    "a million from arrays, probes of 8 outcomes": lambda: Large(from_arrays(8)),
    "20 causes, all at once: 1,048,576": lambda: Large(lambda: instances.many_causes(20, 20)),
    "40 causes, four at once: 102,091": lambda: Large(lambda: instances.many_causes(40, 4)),
    "24 causes, four at once: 12,951": lambda: Large(lambda: instances.many_causes(24, 4)),
    "100,000 beliefs, 300,000 edges": lambda: Large(lambda: instances.many_beliefs(100_000, 300_000), 5.0, 500.0, 1.0),
}


def peak_mb() -> float:
    """Return the most memory that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measured(name: str) -> dict[str, Any]:
    """Return the seconds of this thread, and megabytes, that one of them takes."""
    large = LARGE[name]()
    started = time.thread_time()
    problem = large.make()
    found = {"build": time.thread_time() - started, "built_mb": peak_mb(), "targets": large[1:]}
    state = InformationState.alarmed(problem)
    steps = []
    for _ in range(6):  # a new state each time, so that nothing is kept but the tables of the problem
        fresh, started = replace(state), time.thread_time()
        AquaMend().next_step(fresh)
        steps.append(time.thread_time() - started)
    return found | {"first": steps[0], "step": median(steps[1:]), "peak_mb": peak_mb()}


def large() -> Table:
    """Return the table of them all."""
    table = Table(title="Very many hypotheses or beliefs, processor time", title_justify="left")
    for column in ("what", "build", "memory then", "first step", "next ones", "peak", "targets", ""):
        table.add_column(column, justify="left" if column in ("what", "") else "right")
    for name in LARGE:
        command = [sys.executable, __file__, name]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=Path(__file__).parent).stdout)
        build_s, build_mb, step_s = found["targets"]
        got = {
            "build": found["build"] / build_s,
            "memory": found["built_mb"] / build_mb,
            "step": found["step"] / step_s,
        }
        missed = [word for word, share in got.items() if share > 1.0]
        table.add_row(
            name, f"{found['build']:.2f} s", f"{found['built_mb']:.0f} MB", f"{1e3 * found['first']:.0f} ms",
            f"{1e3 * found['step']:.1f} ms", f"{found['peak_mb']:.0f} MB",
            f"{build_s:g} s, {build_mb:g} MB, {1e3 * step_s:g} ms",
            f"missed: {', '.join(missed)}" if missed else "",
        )  # fmt: skip
    return table


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measured(sys.argv[1])))
    else:
        Console(width=max(130, Console().width)).print(large())
