"""What a body is for works on random tables of the task, and leaves no memory behind."""

import subprocess
import sys

import pytest
from tests.waiting import PATIENCE_S

pytest.importorskip("mujoco")

from bench.skills import run

from aquamend_lab.pouring.task import QUANTITY_TOLERANCE_G

pytestmark = pytest.mark.slow

TABLES = 12


@pytest.fixture(scope="module")
def results():
    return [run(number) for number in range(TABLES)]


def test_a_dose_is_fetched_poured_and_put_back_without_spilling_on_every_table(results):
    assert [number for number, (good, *_) in enumerate(results) if not good] == []


def test_what_was_poured_can_be_poured_back_on_every_table(results):
    assert [number for number, (_, _, back_g, _) in enumerate(results) if abs(back_g) > QUANTITY_TOLERANCE_G] == []


MEMORY = """
import resource
from pathlib import Path
import numpy as np
from aquamend.recovery import Charge
from aquamend_lab.pouring.mujoco.body import Body, tick_until_done
from aquamend_lab.pouring.mujoco.skills import fetch, put_back
from aquamend_lab.pouring.mujoco.trouble import draw_scene
from aquamend_lab.pouring.mujoco.body import localise
from aquamend_lab.pouring.mujoco.simulation import Simulation

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6

def execute(seed):
    body = Body(Simulation.of(draw_scene(np.random.default_rng(seed))), seed=(seed,))
    tick_until_done(body, localise(body))
    tick_until_done(body, fetch(body, "pitcher", Charge.CONTINUATION))
    later = body.branch()
    tick_until_done(later, put_back(later, Charge.CONTINUATION))

for seed in range(3):
    execute(seed)
before = resident_mb()
for seed in range(10):
    execute(seed)
print(resident_mb() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_grows_by_less_than_12_mb_over_10_executions():
    command = [sys.executable, "-c", MEMORY]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert float(done.stdout) < 12
