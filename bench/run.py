"""Time what AquaMend promises to do fast, each beside the obvious way to do it, in one run on one machine.

    make bench                                     # all of it
    python bench/run.py exact sharing              # some parts
    make bench BENCH='--keep results/speed.json'   # and keep what came out, part by part, for the page on speed

Times are processor time, medians over repetitions after a warm-up, or of one call where it takes long. Ratios are what
to compare: machines differ and are noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median

import instances
import naive
from certificates import certificates
from deadlines import deadlines
from journal import journal
from large import large
from planning import on_files, on_the_robot
from pouring import pouring_table
from rich.console import Console
from rich.table import Table

from aquamend import AquaMend, InformationState, Reprobe
from aquamend.belief.support import spoken
from aquamend.decision import min_cut
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import probe_values
from aquamend.files.atomic import write_atomically
from aquamend.planning.exact import solve
from aquamend.problem import Problem
from aquamend_lab.benchmarks.m1 import M1, M1_DEPTH
from aquamend_lab.benchmarks.manifest import processor

ROOT = Path(__file__).parent.parent


def seconds(call: Callable[[], object], *, repeat: int) -> float:
    """Return the median processor time of a call, after one that does not count: a busy machine tells the same."""
    call()
    times = []
    for _ in range(repeat):
        start = time.thread_time()
        call()
        times.append(time.thread_time() - start)
    return median(times)


def cpu_seconds(call: Callable[[], object], *, repeat: int) -> float:
    """Return the median CPU time of the processes that a call starts and waits for."""

    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    times = []
    for _ in range(repeat):
        start = used()
        call()
        times.append(used() - start)
    return median(times)


class Report:
    """Rows of what was timed, against what, and the target."""

    def __init__(self, title: str) -> None:
        self.table = Table(title=f"{title}, processor time", title_justify="left")
        for column in ("what", "time", "target", "beside it", "ratio", ""):
            self.table.add_column(column, justify="left" if column in ("what", "beside it", "") else "right")

    def add(
        self, what: str, ours: float, *, target: float, beside: str = "", reference: float | None = None, note: str = ""
    ) -> None:
        """Note one row; ``target`` is in seconds."""
        ratio = "" if reference is None else f"{reference / ours:,.1f}×"
        other = "" if reference is None else f"{beside}: {_shown(reference)}"
        missed = "missed" if ours > target else ""
        self.table.add_row(what + note, _shown(ours), f"< {_shown(target)}", other, ratio, missed)


def _shown(t: float) -> str:
    return f"{t * 1e6:.0f} µs" if t < 1e-3 else f"{t * 1e3:.3g} ms" if t < 1 else f"{t:.3g} s"


def decision(report: Report) -> None:
    """One complete next_step at the paper's size, its state new each time."""
    problem = instances.decision_call()
    start = InformationState.alarmed(problem)
    policy = AquaMend()

    def fresh() -> Reprobe:
        step = policy.next_step(InformationState(problem, start.posterior))
        assert isinstance(step, Reprobe)
        return step

    assert fresh().probe == naive.next_step(start)
    # Turn and turn about, so that both meet the same noise.
    rounds = [(seconds(fresh, repeat=100), seconds(lambda: naive.next_step(start), repeat=5)) for _ in range(7)]
    ours, loop = median(r[0] for r in rounds), median(r[1] for r in rounds)
    report.add("next_step, 72 × 4·115 × 8 × 50", ours, target=loop / 20, beside="per-branch loop", reference=loop)


def robot_alarms(report: Report) -> None:
    """The robot's real alarms: cold, with nothing computed for the problem, and warm, at a state not seen before."""
    times: dict[str, list[float]] = {"cold": [], "warm": [], "screened": [], "loop": []}
    everything, screened = AquaMend(screen=None), AquaMend()
    for k, state in enumerate(instances.robot_alarms()):
        fresh = pickle.loads(pickle.dumps(state))  # pickles carry no results
        start = time.thread_time()
        everything.next_step(fresh)
        times["cold"].append(time.thread_time() - start)
        times["warm"].append(seconds(lambda state=fresh: everything.next_step(replace(state)), repeat=7))
        times["screened"].append(seconds(lambda state=fresh: screened.next_step(replace(state)), repeat=7))
        if k % 8 == 0:
            exactly, roughly = probe_values(fresh), naive.expected_losses(replace(fresh))
            for name, loss in zip(exactly.branches.probes, exactly.expected_loss, strict=True):
                assert abs(roughly[name] - loss) < 0.05 * loss, name
            times["loop"].append(seconds(lambda state=fresh: naive.expected_losses(replace(state)), repeat=1))
    cold, warm, other, loop = (median(times[key]) for key in ("cold", "warm", "screened", "loop"))
    what, beside = f"next_step, {len(times['cold'])} real alarms of the robot, median", "per-branch loop"
    report.add(f"{what}, cold", cold, target=4e-3, beside=beside, reference=loop)
    report.add("  the same, warm", warm, target=2e-3, beside=beside, reference=loop)
    report.add("  the same, screened", other, target=warm, beside="all candidates", reference=warm)


def exact(report: Report) -> None:
    """Complete adaptive planning on one-change chains, and on noisy probes with shared closures."""
    for n, target, repeat, values in (
        (6, 1e-3, 50, False),
        (12, 50e-3, 5, False),
        (12, 50e-3, 5, True),
        (18, 5.0, 1, False),
    ):
        state = InformationState.alarmed(instances.one_change(n, values=values))
        ours = seconds(lambda state=state: solve(state), repeat=repeat)
        plain = None
        if n <= 12:
            plain = seconds(lambda state=state: naive.adaptive_optimum(state), repeat=1)
            table = solve(state)
            assert table is not None
            assert table.loss < table.stop[0], "looking pays, so there is something to plan"
            assert abs(naive.adaptive_optimum(state) - table.loss) < 1e-9
        report.add(
            f"exact, one-change chain, n = {n}{', values' if values else ''}",
            ours,
            target=target,
            beside="memoised recursion",
            reference=plain,
        )
    for name, problem in (
        ("10 hypotheses", instances.one_change(10, accuracy=0.9, shared=True)),
        ("1024 hypotheses", instances.independent(10)),
    ):
        state = InformationState.alarmed(problem)
        ours = seconds(lambda state=state: solve(state), repeat=3)
        report.add(f"exact, 10 noisy probes, shared, {name}", ours, target=1.0)


def minimum_cut(report: Report) -> None:
    """V_stop over 10,000 beliefs and more."""
    for n, n_edges, target, values in (
        (10_000, 30_000, 50e-3, False),
        (10_000, 30_000, 50e-3, True),
        (10_000, 200_000, 0.5, False),
        (100_000, 300_000, 1.0, False),
    ):
        problem = instances.many_beliefs(n, n_edges, values=values)
        state = InformationState.alarmed(problem)
        endings = endings_of(problem)
        sums = (state.posterior @ endings.features)[None, :]
        ours = seconds(lambda e=endings, sums=sums, x=state: e.values(sums, spoken(e.support, x)), repeat=5)
        cut = max(endings.groups.cuts, key=lambda c: len(c.members))
        gain = endings.by_belief(sums, spoken(endings.support, state)).gain[cut.members, 0]
        loss = float(cut.best(gain[:, None])[0][0])
        beside, other = "", None
        if (theirs := naive.cut_by_ortools(cut, gain)) is not None:
            assert (theirs == cut.best(gain[:, None])[1][:, 0]).all()
            beside, other = "OR-Tools", seconds(lambda c=cut, g=gain: naive.cut_by_ortools(c, g), repeat=3)
        elif n_edges <= 30_000:
            start = time.thread_time()
            assert abs(naive.closure_by_linear_program(cut, gain) - loss) < 1e-6 * loss
            beside, other = "linear program", time.thread_time() - start
        what = f"V_stop, {n:,} beliefs, {n_edges:,} edges{', values' if values else ''}"
        report.add(what, ours, target=target, beside=beside, reference=other)


def sharing(report: Report) -> None:
    """One next_step where beliefs share operations: beside none shared, and beside cuts made by SciPy."""
    for n in (20, 50):
        apart = decided_in(instances.sharing(n, 20, "nothing"))
        one = decided_in(instances.sharing(n, 20, "one"))
        what = f"next_step, {n} beliefs, 20 Gaussian probes"
        report.add(f"{what}, one shared operation", one, target=3 * apart, beside="none shared", reference=apart)
        ring = instances.sharing(n, 20, "neighbours")
        ours = decided_in(ring)
        kept, min_cut.solver = min_cut.solver, lambda: min_cut.by_maximum_flow
        other = decided_in(ring)
        min_cut.solver = kept
        beside = "cuts by SciPy" if min_cut.kernel() else "the same: no compiled kernel"
        report.add(f"{what}, neighbours share one", ours, target=20e-3, beside=beside, reference=other)


def decided_in(problem: Problem) -> float:
    """Return how long the one-step policy takes for a state not seen before."""
    start = InformationState.alarmed(problem)
    return seconds(lambda: AquaMend().next_step(InformationState(problem, start.posterior)), repeat=5)


def suites(report: Report) -> None:
    """One scenario of a suite with all its policies, exact risk and annotation, on one core."""
    for suite, n, target_s in ((M1, 80, 120.0), (M1_DEPTH, 40, 60.0)):
        scenarios = [(i // suite.scenarios, i % suite.scenarios) for i in range(n)]
        start = time.perf_counter()
        for seed, number in scenarios:
            suite.play(seed, number, suite.policies)
        each = (time.perf_counter() - start) / n
        total = suite.scenarios * suite.seeds
        # The target is for the full suite on two cores.
        report.add(
            f"{suite.name}, {len(suite.policies)} policies, one scenario",
            each,
            target=2 * target_s / total,
            note=f"\n  all {total:,} on two cores: about {each * total / 2:.0f} s",
        )


def starting(report: Report) -> None:
    """Import and the whole command, as separate processes."""

    def run(*command: str) -> Callable[[], object]:
        return lambda: subprocess.run(command, check=True, capture_output=True, cwd=ROOT, env=installed)

    # Compiled once and kept, as what is installed is, whatever the shell says.
    installed = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    bare = cpu_seconds(run(sys.executable, "-c", "pass"), repeat=5)
    numpy = cpu_seconds(run(sys.executable, "-c", "import numpy"), repeat=5) - bare
    ours = cpu_seconds(run(sys.executable, "-c", "import aquamend"), repeat=5) - bare
    report.add("import aquamend", ours, target=0.3, beside="import numpy", reference=numpy)
    command = str(Path(sys.executable).parent / "aquamend")
    decide = cpu_seconds(run(command, "decide", "examples/pouring.yaml", "--json"), repeat=9)
    beside = cpu_seconds(run(sys.executable, "-c", "import numpy"), repeat=9)
    what = "aquamend decide --json, small file, CPU"
    report.add(what, decide, target=0.25, beside="import numpy", reference=beside)
    both = cpu_seconds(run(command, "decide", "examples/pouring.yaml", "--json", "--robustness"), repeat=5)
    report.add("  with --robustness, CPU", both, target=0.4, beside="without", reference=decide)


def tabled(part: Callable[[Report], None], title: str) -> Callable[[], Table]:
    """Return a part that adds rows to a report as one that returns the table of its rows."""

    def run() -> Table:
        report = Report(title)
        part(report)
        return report.table

    return run


PARTS: dict[str, Callable[[], Table]] = {
    "starting": tabled(starting, "Starting"),
    "decision": tabled(decision, "One decision"),
    "robot_alarms": tabled(robot_alarms, "One decision at the robot's alarms"),
    "robot_policies": on_the_robot,
    "planning": on_files,
    "sharing": tabled(sharing, "Beliefs that share what undoing them takes"),
    "minimum_cut": tabled(minimum_cut, "Which of very many beliefs to correct"),
    "exact": tabled(exact, "Optimal plans"),
    "certificates": certificates,
    "large": large,
    "deadlines": deadlines,
    "journal": tabled(journal, "Journals"),
    "suites": tabled(suites, "Benchmark suites"),
    "pouring": pouring_table,
}


def kept(table: Table, commit: str) -> dict[str, object]:
    """Return a table as JSON keeps it, with what it was measured with."""
    columns = {str(column.header): [str(cell) for cell in column.cells] for column in table.columns}
    return {
        "title": str(table.title),
        "columns": list(columns),
        "rows": [list(row) for row in zip(*columns.values(), strict=True)],
        "commit": commit,
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
        "processor": processor(),
    }


def main() -> None:
    """Run everything, or the parts that are named, and print what comes of it as soon as it is there."""
    options = argparse.ArgumentParser(description="Time what AquaMend promises to do fast.")
    options.add_argument("parts", nargs="*", metavar="PART", help=f"one of {', '.join(PARTS)}; default: all of them")
    options.add_argument(
        "--keep", type=Path, metavar="FILE", help="keep each part's table in this file, in place of its last"
    )
    asked = options.parse_args()
    if unknown := [name for name in asked.parts if name not in PARTS]:
        options.error(f"no part is called {', '.join(unknown)}; there are {', '.join(PARTS)}")
    console, names = Console(), asked.parts or list(PARTS)
    # Asked before anything is kept, which changes the tree.
    commit = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    console.width = max(console.width, 112)
    for number, name in enumerate(names, start=1):
        console.print(f"{number} of {len(names)}: {name} …")
        table = PARTS[name]()
        console.print(table)
        if asked.keep:
            found = json.loads(asked.keep.read_text(encoding="utf-8")) if asked.keep.is_file() else {}
            found[name] = kept(table, commit.stdout.strip())
            in_order = {part: found[part] for part in PARTS if part in found}
            write_atomically(asked.keep, (json.dumps(in_order, indent=1, ensure_ascii=False) + "\n").encode())


if __name__ == "__main__":
    main()
