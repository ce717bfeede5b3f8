"""Count how often the pouring robot's hand does what it should: fetch, pour, put back; and pour back again."""

from __future__ import annotations

import sys

import numpy as np
from rich.table import Table

from aquamend.recovery import Charge
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body, localise, move, tick_until_done
from aquamend_lab.pouring.mujoco.episode import DOSE_G
from aquamend_lab.pouring.mujoco.simulation import Simulation
from aquamend_lab.pouring.mujoco.skills import fetch, pour, pour_back, put_back
from aquamend_lab.pouring.mujoco.trouble import draw_scene
from aquamend_lab.pouring.task import QUANTITY_TOLERANCE_G

SEED = 4_100_001
RUNS = 40


def run(number: int) -> tuple[bool, float, float, float]:
    """Return whether all went well, how far dose and pour-back are off, and how far the dose was misread."""
    rng = np.random.default_rng((SEED, number))
    scene = draw_scene(rng)
    body = Body(Simulation.of(scene), seed=(SEED, number))
    tick_until_done(body, localise(body))
    cup = min(scene.vessels[:3], key=lambda vessel: vessel.grams)
    fetched = tick_until_done(body, fetch(body, dim.PITCHER, Charge.CONTINUATION)).succeeded
    tick_until_done(body, body.perform("move", Charge.CONTINUATION, move(body, cup.name)))
    poured = tick_until_done(body, body.perform("pour", Charge.CONTINUATION, pour(body, cup.name, DOSE_G)))
    placed = tick_until_done(body, put_back(body, Charge.CONTINUATION)).succeeded
    came = body.simulation.grams(cup.name) - cup.grams
    good = fetched and placed and body.simulation.spilled_g() == 0 and abs(came - DOSE_G) <= QUANTITY_TOLERANCE_G
    tick_until_done(body, pour_back(body, cup.name, float(poured.value or 0.0), Charge.ROLLBACK))
    back = body.simulation.grams(cup.name) - cup.grams
    return good, came - DOSE_G, back, float(poured.value or 0.0) - came


def skills_table(runs: int = RUNS) -> Table:
    """Return the counts as a table."""
    found = [run(number) for number in range(runs)]
    _, dose, back, misread = (np.array(column) for column in zip(*found, strict=True))
    table = Table(title=f"The pouring robot's hand, {runs} random tables", title_justify="left")
    for column in ("what", "result"):
        table.add_column(column)
    table.add_row("grasp, pour and place, dose within 3 g, nothing spilled", f"{sum(g for g, *_ in found)} of {runs}")
    table.add_row("dose", f"{dose.mean():+.1f} ± {dose.std():.1f} g, worst {np.abs(dose).max():.0f}")
    table.add_row("dose as read less dose", f"{misread.mean():+.2f} ± {misread.std():.2f} g")
    near = int((np.abs(back) <= QUANTITY_TOLERANCE_G).sum())
    table.add_row("poured back: cup within 3 g of where it was", f"{near} of {runs}, worst {np.abs(back).max():.0f} g")
    return table


if __name__ == "__main__":
    from rich.console import Console

    Console().print(skills_table(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
