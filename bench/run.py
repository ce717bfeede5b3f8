"""Time what AquaMend promises to do fast, each beside the obvious way to do it, in one run on one machine.

    make bench

Times are medians over repetitions after a warm-up, or of one call where it takes long. Ratios are what to compare:
machines differ and are noisy.
"""

from __future__ import annotations

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
from journal import journal
from planning import planning
from pouring import pouring_table
from rich.console import Console
from rich.table import Table

from aquamend import AquaMend, InformationState, Reprobe
from aquamend.benchmarks.catalogue import M1, M1_DEPTH
from aquamend.decision.endings import endings_of
from aquamend.decision.probe_value import probe_values
from aquamend.decision.support import spoken
from aquamend.planning.exact import solve

ROOT = Path(__file__).parent.parent


def seconds(call: Callable[[], object], *, repeat: int) -> float:
    """Return the median wall time of a call, after one that does not count."""
    call()
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return median(times)


class Report:
    """Rows of what was timed, against what, and the target."""

    def __init__(self) -> None:
        self.table = Table(title="AquaMend benchmark", title_justify="left")
        for column in ("what", "time", "target", "beside it", "ratio"):
            self.table.add_column(column, justify="left" if column in ("what", "beside it") else "right")
        self.missed: list[str] = []

    def add(
        self, what: str, ours: float, *, target: float, beside: str = "", reference: float | None = None, note: str = ""
    ) -> None:
        """Note one row; ``target`` is in seconds."""
        ratio = "" if reference is None else f"{reference / ours:,.1f}×"
        other = "" if reference is None else f"{beside}: {_shown(reference)}"
        if ours > target:
            self.missed.append(what)
        self.table.add_row(what + note, _shown(ours), f"< {_shown(target)}", other, ratio)


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


def robot_decision(report: Report) -> None:
    """One complete next_step on the pouring robot's problem: values, support, nine continuous probes."""
    problem = instances.pouring_robot()
    start = InformationState.alarmed(problem)
    exactly, roughly = probe_values(start), naive.expected_losses(start)
    for name, loss in zip(exactly.branches.probes, exactly.expected_loss, strict=True):
        assert abs(roughly[name] - loss) < 0.05 * loss, name
    times: dict[str, list[float]] = {"all": [], "screened": [], "naive": []}
    for _ in range(7):
        times["all"].append(seconds(lambda: AquaMend(screen=None).next_step(replace(start)), repeat=20))
        times["screened"].append(seconds(lambda: AquaMend().next_step(replace(start)), repeat=20))
        times["naive"].append(seconds(lambda: naive.expected_losses(replace(start)), repeat=1))
    ours, screened, loop = (median(times[key]) for key in ("all", "screened", "naive"))
    what = "next_step, robot: 72 configurations, 8 declarations, 11 probes"
    report.add(what, ours, target=5e-3, beside="per-branch loop", reference=loop)
    report.add("  the same, screened", screened, target=ours, beside="all candidates", reference=ours)


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
    """V_stop over 10,000 beliefs."""
    for n_edges, target, values in ((30_000, 50e-3, False), (30_000, 50e-3, True), (200_000, 0.5, False)):
        problem = instances.many_beliefs(10_000, n_edges, values=values)
        state = InformationState.alarmed(problem)
        endings = endings_of(problem)
        sums = (state.posterior @ endings.features)[None, :]
        ours = seconds(lambda e=endings, sums=sums, x=state: e.values(sums, spoken(e.support, x)), repeat=5)
        program = None
        if n_edges <= 30_000:
            cut = max(endings.groups.cuts, key=lambda c: len(c.members))
            gain = endings.locally(sums, spoken(endings.support, state)).gain[cut.members, 0]
            start = time.perf_counter()
            loss = naive.closure_by_linear_program(cut, gain)
            program = time.perf_counter() - start
            assert abs(loss - cut.best(gain, gain > 1e300)[0]) < 1e-6 * loss
        report.add(
            f"V_stop, 10,000 beliefs, {n_edges:,} edges{', values' if values else ''}",
            ours,
            target=target,
            beside="linear program",
            reference=program,
        )


def hypotheses(report: Report) -> None:
    """One step at 100,000 hypotheses."""
    state = InformationState.alarmed(instances.many_hypotheses(100_000))
    start = time.perf_counter()
    AquaMend().next_step(state)
    first = time.perf_counter() - start
    fresh = (replace(state) for _ in range(6))  # a new state each time, so that nothing is remembered
    again = seconds(lambda: AquaMend().next_step(next(fresh)), repeat=5)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    note = f"\n  first call, tables built; later calls {_shown(again)}; peak memory so far {memory:.1f} GB (< 2)"
    report.add("next_step, 100,000 hypotheses", first, target=1.0, note=note)


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
        return lambda: subprocess.run(command, check=True, capture_output=True, cwd=ROOT)

    bare = seconds(run(sys.executable, "-c", "pass"), repeat=5)
    numpy = seconds(run(sys.executable, "-c", "import numpy"), repeat=5) - bare
    ours = seconds(run(sys.executable, "-c", "import aquamend"), repeat=5) - bare
    report.add("import aquamend", ours, target=0.3, beside="import numpy", reference=numpy)
    command = str(Path(sys.executable).parent / "aquamend")
    decide = seconds(run(command, "decide", "examples/pouring.yaml", "--json"), repeat=5)
    report.add("aquamend decide, small file", decide, target=0.6)


def main() -> None:
    """Run everything and print one table."""
    report, console = Report(), Console()
    console.print("timing; about six minutes on two slow cores …")
    # Memory is read at the peak so far, so what needs least of it goes first.
    for part in (starting, decision, robot_decision, hypotheses, minimum_cut, exact, suites, journal):
        part(report)
    console.width = max(console.width, 112)
    console.print(report.table)
    console.print(certificates())
    console.print(planning())
    console.print(pouring_table())
    console.print("all targets met" if not report.missed else f"over target here: {', '.join(report.missed)}")


if __name__ == "__main__":
    main()
