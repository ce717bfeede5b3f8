"""Several processes that open, write, delete, close and read one journal: nobody finds damage where there is none.

`SOAK=1` lets them go on for a minute, `make test-all` for a few seconds.
"""

import os
import random
import time
import traceback
import warnings
from pathlib import Path

import pytest
from tests.soak.findings import keep
from tests.tiers import cases

from aquamend import InformationState, load_problem
from aquamend.errors import UnknownName
from aquamend.recovery import Instant, Journal, Rules
from aquamend.recovery.events import Alarmed, Resumed

EXAMPLES = Path(__file__).parents[2] / "examples"
SECONDS = 60.0 if os.environ.get("SOAK") else cases(1, 5)


def write(path, who, alarmed, end):
    """Open, write and close again and again, so that the write-ahead log comes and goes."""
    rng, number = random.Random(who), 0
    while time.monotonic() < end:
        with Journal(path) as journal:
            name, number = f"{who}-{number}", number + 1
            journal.append(name, 0, [alarmed])
            for i in range(1, rng.randint(2, 15)):
                journal.append(name, i, [Resumed("x" * rng.randint(1, 3_000))])
            if rng.random() < 0.3:
                journal.delete([name], force=True)


def read(path, end):
    while time.monotonic() < end:
        with Journal.open(path, read_only=True) as journal:
            for line in journal.sessions():
                try:
                    assert len(list(journal.read(line.name))) >= line.events
                except UnknownName:
                    continue  # deleted meanwhile


def started(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
        child = os.fork()
    if child == 0:
        try:
            call()
        except BaseException:  # noqa: BLE001 - told, and then it ends
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_nobody_finds_damage_where_there_is_none(tmp_path, place):
    if place == "memory" and not os.access("/dev/shm", os.W_OK):
        pytest.skip("there is no folder in memory")
    path = tmp_path / "j.db" if place == "disk" else Path(f"/dev/shm/{tmp_path.parent.name}-{tmp_path.name}.db")
    alarmed = Alarmed(
        InformationState.alarmed(load_problem(EXAMPLES / "stale_map.yaml")),
        "aquamend",
        Rules(),
        Instant(1e9, 5.0, "boot"),
    )
    end = time.monotonic() + SECONDS
    try:
        Journal(path).close()
        children = [started(lambda who=who: write(path, who, alarmed, end)) for who in range(3)]
        children += [started(lambda: read(path, end)) for _ in range(2)]
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 5
        with Journal.open(path, read_only=True) as journal:
            for line in journal.sessions():
                assert len(list(journal.read(line.name))) == line.events
            left = len(journal.sessions())
        keep("shared", place, "0, 1, 2", {"seconds": int(SECONDS), "processes": 5, "sessions left at the end": left})
    finally:
        if place == "memory":
            for file in path.parent.glob(f"{path.name}*"):
                file.unlink()
