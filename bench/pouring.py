"""Time the pouring table: how much faster than life it runs, and what branching and sensing cost."""

from __future__ import annotations

import math
import resource
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
from rich.table import Table

from aquamend.recovery import Charge
from aquamend_lab.pouring.mujoco.body import (
    Body,
    Skill,
    grasp,
    lift,
    localise,
    move,
    read_level,
    read_scale,
    tick_until_done,
)
from aquamend_lab.pouring.mujoco.sensors import level_g, positions_m
from aquamend_lab.pouring.mujoco.simulation import Placed, Simulation, TableScene
from aquamend_lab.pouring.mujoco.skills import pour, put_back
from aquamend_lab.pouring.mujoco.trouble import draw_scene
from aquamend_lab.pouring.watching import Recorder

SCENE = TableScene((Placed("A", 0, 20), Placed("B", 1, 25), Placed("C", 2, 30), Placed("pitcher", 3, 60)), reserve_g=5)
DOSE_G = 15.0
EXECUTIONS = 20
Work = Callable[[Body], object]


def resident_mb() -> float:
    """Return the memory in use; the peak where the system does not tell."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def rest(body: Body) -> None:
    for _ in range(500):
        body.simulation.tick()


def carry(body: Body) -> None:
    for skill in (grasp(body, "pitcher"), lift(body), move(body, "B")):
        assert tick_until_done(body, skill).succeeded


def execution(body: Body) -> None:
    """Look, fetch the pitcher, pour, put it back."""
    tick_until_done(body, localise(body))
    carry(body)
    tick_until_done(body, pour(body, "B", DOSE_G))
    assert tick_until_done(body, put_back(body, Charge.CONTINUATION)).succeeded


@cache
def at_rest() -> Body:
    body = Body(Simulation.of(SCENE))
    tick_until_done(body, localise(body))
    return body


@cache
def beside() -> Body:
    body = at_rest().branch()
    carry(body)
    return body


def speed(start: Body, work: Work, *, recorded: bool = False) -> tuple[float, float]:
    """Return simulated seconds, and how many of them pass in a second, better of two."""
    best = simulated = 0.0
    for _ in range(2):
        body = start.branch(Recorder() if recorded else None)
        began, wall = body.simulation.time_s, time.perf_counter()
        work(body)
        simulated = body.simulation.time_s - began
        best = max(best, simulated / (time.perf_counter() - wall))
    return simulated, best


def each_ms(call: Callable[[], object], repeat: int = 30) -> float:
    """Return the shortest time of a call, in milliseconds."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1000 * min(times)


def sensed_ms(begin: Callable[[Body], Skill]) -> float:
    """Return what a sensing primitive costs beyond the ticks it waits."""
    body = at_rest().branch()

    def sense() -> None:
        for _ in begin(body):
            pass  # the table stands still: only the reading at the end costs anything

    return each_ms(sense)


def growth_mb() -> float:
    """Return how much memory stays in use after many executions, each on a table of its own."""
    for _ in range(2):
        execution(Body(Simulation.of(SCENE)))
    before = resident_mb()
    for _ in range(EXECUTIONS):
        execution(Body(Simulation.of(SCENE)))
    return resident_mb() - before


def accuracy(tables: int = 40) -> dict[str, str]:
    """Return how far sensors are off on random tables, noise included: mean, standard deviation and worst."""
    levels, positions = [], []
    for number in range(tables):
        rng = np.random.default_rng((31, number))
        scene = draw_scene(rng)
        table = Simulation.of(scene)
        levels += [level_g(table, v.name, rng=rng) - v.grams for v in scene.vessels[:3] for _ in range(3)]
        seen = positions_m(table, rng=rng)
        positions += [1000 * math.dist(seen[v.name], table.position(v.name)[:2]) for v in scene.vessels]
    off = np.array(levels)
    return {
        "level of a cup": f"{off.mean():+.1f} ± {off.std():.1f} g, worst {np.abs(off).max():.1f}",
        "position of a vessel": f"{np.mean(positions):.1f} mm, worst {np.max(positions):.1f}",
    }


def pouring_table() -> Table:
    """Return everything timed, as a table."""
    table = Table(title=f"The pouring table, {SCENE.particles} beads, one core", title_justify="left")
    for column, justify in (("what", "left"), ("simulated", "right"), ("result", "right")):
        table.add_column(column, justify=justify)
    for what, start, work, recorded in (
        ("table at rest", at_rest(), rest, False),
        ("grasp, lift, move", at_rest(), carry, False),
        ("pour", beside(), lambda body: tick_until_done(body, pour(body, "B", DOSE_G)), False),
        ("whole execution", at_rest(), execution, False),
        ("whole execution, recorded", at_rest(), execution, True),
    ):
        simulated_s, times_life = speed(start, work, recorded=recorded)
        table.add_row(what, f"{simulated_s:.1f} s", f"{times_life:.0f} × life")
    table.add_row("build and settle", "3.0 s", f"{each_ms(lambda: Simulation.of(SCENE), 3):.0f} ms")
    table.add_row("branch", "", f"{each_ms(beside().branch):.2f} ms")
    for name, begin in (
        ("look", lambda body: read_level(body, "B")),
        ("localise", localise),
        ("weigh", lambda body: read_scale(body, 1)),
    ):
        table.add_row(f"{name}, without its ticks", "", f"{sensed_ms(begin):.2f} ms")
    table.add_row(f"memory after {EXECUTIONS} executions", "", f"{growth_mb():+.1f} MB")
    for name, found in accuracy().items():
        table.add_row(f"{name}, error on 40 tables", "", found)
    return table


if __name__ == "__main__":
    from rich.console import Console

    Console().print(pouring_table())
