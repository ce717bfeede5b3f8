"""Time the journal: what a step costs, a thousand sessions at once, a million events, and memory in the long run.

make bench                                             with everything else
.venv/bin/python bench/journal.py [--steps 100000]     alone, with as many steps for the memory
"""

from __future__ import annotations

import argparse
import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import IO, Protocol

import instances
import numpy as np

from aquamend import AquaMend, InformationState, Reprobe, Step, load_problem
from aquamend.files.decision_format import decision_record
from aquamend.policies.decision_report import decision_report
from aquamend.policies.policy import Policy
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel
from aquamend.recovery import UNATTENDED, Act, Journal, Measure, Receipt, Recovery, recover, recover_async
from aquamend.recovery.events import Decided, Done, Event, Intended

IN_MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""A folder that needs no disk, for what is not about the disk."""
FORMER_S = 0.6e-3
"""What a step took beyond its two writes before there were seals, in seconds; it may take twice as long as then."""


class Rows(Protocol):
    """Whatever takes the rows of the benchmark."""

    missed: list[str]

    def add(
        self, what: str, ours: float, *, target: float, beside: str = "", reference: float | None = None, note: str = ""
    ) -> None: ...


@dataclass
class Drawn:
    """A robot that answers by the model and does at once what it is asked."""

    state: InformationState
    seed: int = 0

    def alarm(self) -> InformationState:
        self.rng = np.random.default_rng(self.seed)
        self.truth = int(self.rng.choice(len(self.state.posterior), p=self.state.posterior))
        return self.state

    def measure(self, step: Measure) -> Receipt:
        return step.done(self.state.problem.model.channels[step.probe].sample(self.truth, self.rng))

    def perform(self, act: Act) -> Receipt:
        return act.done()


class Waiting(Drawn):
    """The same for an event loop, in which others get their turn meanwhile."""

    async def measure(self, step: Measure) -> Receipt:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().measure(step)

    async def perform(self, act: Act) -> Receipt:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().perform(act)


class Timed(Journal):
    """A journal that notes how long each step has kept the robot waiting: receipt, next decision and intent at once."""

    def __init__(self, path: Path) -> None:
        self.steps: list[float] = []
        super().__init__(path)

    def append(self, session: str, after: int, events: Sequence[Event], *, at: float | None = None) -> None:
        start = time.perf_counter()
        super().append(session, after, events, at=at)
        if {Done, Decided, Intended} <= {type(event) for event in events}:
            self.steps.append(time.perf_counter() - start)


@contextmanager
def new_journal(kind: type[Journal] = Journal, place: str | None = None) -> Iterator[Journal]:
    with tempfile.TemporaryDirectory(dir=place) as folder, kind(Path(folder) / "journal.db") as journal:
        yield journal


def synchronised_write(file: IO[bytes]) -> float:
    """Return how long a bare synchronised write of one page takes now; a step needs two of them."""
    start = time.perf_counter()
    os.write(file.fileno(), bytes(4096))
    os.fdatasync(file.fileno())
    return time.perf_counter() - start


def step(report: Rows) -> None:
    """What the journal adds to a step: the receipt of one act, the next decision and its intent, on disk."""
    state = InformationState.alarmed(load_problem(instances.EXAMPLES / "pouring.yaml"))
    with new_journal(Timed) as journal, tempfile.TemporaryFile() as file:
        assert isinstance(journal, Timed)
        bare = []
        for seed in range(60):  # turn and turn about, so that both meet the same disk
            recover("aquamend", Drawn(state, seed), journal=journal, rules=UNATTENDED)
            bare += [synchronised_write(file) for _ in range(3)]
    writes = 2 * median(bare)
    report.add(
        "journal, one step",
        median(journal.steps),
        target=2 * (FORMER_S + writes),
        beside="two bare writes, synchronised",
        reference=writes,
    )
    for name, problem in (
        ("pouring.yaml", state.problem),
        ("an alarm of the robot", instances.robot_alarms()[0].problem),
    ):
        extra, plain = _explaining(InformationState.alarmed(problem))
        report.add(f"  explaining it, {name}", extra, target=5e-3, beside="deciding", reference=plain)


def _explaining(state: InformationState) -> tuple[float, float]:
    """Return how much longer a decision takes that is explained, and one that is not."""
    times: dict[bool, list[float]] = {True: [], False: []}
    policy = AquaMend()
    for turn in range(60):
        for explained in (True, False):
            here, start = replace(state), time.perf_counter()
            if explained:
                decision_record(decision_report(here, policy, name="aquamend", bounded=False))
            else:
                policy.next_step(here)
            if turn:
                times[explained].append(time.perf_counter() - start)
    plain = median(times[False])
    return max(1e-6, median(times[True]) - plain), plain


def thousand_sessions(report: Rows, sessions: int = 1_000) -> None:
    """A thousand sessions in one process, all going on at once."""
    state = InformationState.alarmed(load_problem(instances.EXAMPLES / "stale_map.yaml"))

    async def every(journal: Journal) -> list[Recovery]:
        names = [f"s{i}" for i in range(sessions)]
        robots = [Waiting(state, i) for i in range(sessions)]
        return await asyncio.gather(
            *(
                recover_async("aquamend", robot, journal=journal, session=name, rules=UNATTENDED)
                for name, robot in zip(names, robots, strict=True)
            )
        )

    with new_journal(place=IN_MEMORY) as journal:
        start = time.perf_counter()
        ended = asyncio.run(every(journal))
        took = time.perf_counter() - start
        events = sum(line.events for line in journal.sessions())
    assert all(recovery.ending is not None for recovery in ended)
    note = f"\n  {events:,} events; each {took / events * 1e3:.2f} ms"
    report.add(f"journal, {sessions:,} sessions in one process", took, target=events * 5e-3, note=note)


def million_events(report: Rows, events: int = 1_000_000) -> None:
    """Listing all sessions and showing one, of a million events."""
    state = InformationState.alarmed(load_problem(instances.EXAMPLES / "stale_map.yaml"))
    with new_journal() as journal:
        recover("aquamend", Drawn(state, 1), journal=journal, session="first", rules=UNATTENDED)
        one = [entry.event for entry in journal.read("first")]
        texts, problem = journal._problems.texts("first", 0, one)
        count = events // len(one)
        with journal._transaction() as connection:
            mark, change = journal._found("first")[0], 0
            for i in range(count):
                row = journal._begin(connection, f"s{i}", one[0], problem, time.time())
                journal._add(connection, row, one, texts, time.time())
                change ^= row.hash
            mark = journal._marked(connection, mark, change, sessions=count, events=count * len(one))
        journal._acknowledge(mark)
        size = journal.path.stat().st_size
        start = time.perf_counter()
        with Journal.open(journal.path, read_only=True) as reader:
            assert len(reader.sessions()) == count + 1
        listed = time.perf_counter() - start
        start = time.perf_counter()
        with Journal.open(journal.path, read_only=True) as reader:
            shown = Recovery.of([entry.event for entry in reader.read(f"s{count // 2}")])
        shown_s = time.perf_counter() - start
        assert shown.ending is not None
    note = f"\n  {count * len(one):,} events, {count:,} sessions, {size / 1e6:,.0f} MB"
    report.add("journal of a million events, listing", listed, target=2.0, note=note)
    report.add("  showing one session", shown_s, target=2.0)


def _lid() -> InformationState:
    """One belief and a probe that may be used for ever."""
    graph = RecoveryGraph(
        [Belief("lid", 10.0)],
        [Action("lift", undo=3.0, executed=True)],
        [Probe("look", 0.1, max_uses=float("inf"))],
        [("lid", "lift", "belief_to_action"), ("look", "lid", "detection")],
    )
    rows = {"on": [0.51, 0.49], "off": [0.49, 0.51]}
    model = JointModel(
        [Hypothesis("on", 0.6), Hypothesis("off", 0.4, ("lid",))], {"look": Discrete(["yes", "no"], rows)}
    )
    return InformationState.alarmed(Problem(graph, model))


class Curious:
    """A policy that looks twenty times before it decides."""

    def __init__(self, then: Policy) -> None:
        self.then = then

    def next_step(self, state: InformationState) -> Step:
        return Reprobe("look") if len(state.evidence) < 20 else self.then.next_step(state)


def memory(report: Rows, steps: int = 10_000) -> None:
    """Memory over many steps of many sessions in one process."""
    state, policy = _lid(), Curious(AquaMend())
    with new_journal(place=IN_MEMORY) as journal:
        taken, session, sizes = 0, 0, []
        start = time.perf_counter()
        while taken < steps:
            taken += len(recover(policy, Drawn(state, session), journal=journal, rules=UNATTENDED).receipts)
            session += 1
            sizes.append((taken, _resident()))
        took = time.perf_counter() - start
    settled = next(size for done, size in sizes if done >= steps / 10)
    growth = sizes[-1][1] - settled
    note = f"\n  memory {settled / 1e6:.1f} MB after a tenth of them, {sizes[-1][1] / 1e6:.1f} MB after all"
    report.add(f"journal, {taken:,} steps, each", took / taken, target=5e-3, note=note)
    if growth > 10e6:
        report.missed.append("journal, memory")


def _resident() -> int:
    """Return how much memory this process has now."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def journal(report: Rows) -> None:
    """Time all of it."""
    for part in (step, thousand_sessions, million_events, memory):
        part(report)


def main() -> None:
    """Time the journal alone."""
    from rich.console import Console
    from run import Report

    parser = argparse.ArgumentParser(description="Time the journal.")
    parser.add_argument("--steps", type=int, default=100_000, help="for the memory in the long run")
    steps = parser.parse_args().steps
    report = Report("Journals")
    for part in (step, thousand_sessions, million_events):
        part(report)
    memory(report, steps)
    console = Console()
    console.width = max(console.width, 112)
    console.print(report.table)


if __name__ == "__main__":
    main()
