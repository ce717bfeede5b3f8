"""A robot's program is killed in the middle of a recovery; a second run finds out what was done, and finishes."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from aquamend import InformationState, load_problem
from aquamend.recovery import Act, Journal, Measure, Receipt, recover, resume

PROBLEM = load_problem(Path(__file__).with_name("least_full_cup.yaml"))
READINGS = {"look_A": 44.6, "weigh_A": 45.2, "test_camera": "sharp"}  # somebody has added water


class Arm:
    """What the arm has really done outlives its program: here in a file, in life on the table."""

    def __init__(self, folder: Path, dies_at: str = "") -> None:
        self.table, self.dies_at = folder / "table.txt", dies_at

    def alarm(self) -> InformationState:
        return InformationState.alarmed(PROBLEM)

    def measure(self, step: Measure) -> Receipt:
        print(f"  {step}: {READINGS[step.probe]}", flush=True)
        return step.done(READINGS[step.probe])

    def perform(self, act: Act) -> Receipt:
        print(f"  {act}", flush=True)
        with self.table.open("a") as table:
            table.write(f"{act}\n")
        if str(act) == self.dies_at:
            os.kill(os.getpid(), signal.SIGKILL)  # it is done, and its receipt will never come
        return act.done()

    def verify(self, act: Act) -> Receipt | None:
        done = self.table.read_text().splitlines()[-1:] == [str(act)]
        print(f"  {act}: in doubt; the arm says that it {'was' if done else 'was not'} done", flush=True)
        return act.done() if done else act.failed("it was not done")


def run(folder: Path) -> None:
    with Journal(folder / "arm.journal") as journal:
        if not journal.sessions():
            recover("best", Arm(folder, dies_at="undo: move_to_A"), journal=journal, session="cup-1")
        recovery = resume(journal, "cup-1", Arm(folder))
        undone = (folder / "table.txt").read_text().splitlines().count("undo: move_to_A")
        print(f"{recovery.ending} for {recovery.cost:.1f} s; times that move_to_A was undone: {undone}")


if len(sys.argv) > 1:
    run(Path(sys.argv[1]))
else:
    with tempfile.TemporaryDirectory() as folder:
        for which in ("first", "second"):
            print(f"{which} run:", flush=True)
            ended = subprocess.run([sys.executable, __file__, folder], timeout=60, check=False).returncode
            print(f"  ended by signal {-ended}" if ended < 0 else "  ended", flush=True)
