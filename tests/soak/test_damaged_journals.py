"""Two thousand damaged journals: what is read is what was acknowledged, or there is an error; never less, never other.

`SOAK=1` does all of them, `make test-all` a tenth, `make test` a few.
"""

import os
import random
import shutil
import signal
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.soak.damage import damage
from tests.soak.findings import keep
from tests.tiers import cases

from aquamend import InformationState, load_problem
from aquamend.errors import BadJournal
from aquamend.recovery import UNATTENDED, Instant, Journal, Rules, recover
from aquamend.recovery.events import Alarmed, Resumed
from aquamend.recovery.plain import event_to_data

EXAMPLES = Path(__file__).parents[2] / "examples"
COUNT = 2_000 if os.environ.get("SOAK") else cases(20, 200)
PARTS = 4


class Robot:
    def __init__(self, state, seed):
        self.state, self.rng = state, np.random.default_rng(seed)
        self.truth = int(self.rng.choice(len(state.posterior), p=state.posterior))

    def alarm(self):
        return self.state

    def measure(self, step):
        return step.done(self.state.problem.model.channels[step.probe].sample(self.truth, self.rng))

    def perform(self, act):
        return act.done()


def states():
    return [InformationState.alarmed(load_problem(EXAMPLES / f"{name}.yaml")) for name in ("stale_map", "pouring")]


def some(path, *, deleted, further):
    """Write sessions that have ended, one that has not, and room that is free again."""
    journal, (small, large) = Journal(path), states()
    for seed in range(4):
        recover("aquamend", Robot(small, seed), journal=journal, session=f"s{seed}", rules=UNATTENDED)
    recover("aquamend", Robot(large, 1), journal=journal, session="pour", rules=UNATTENDED)
    if deleted:
        journal.delete(["s0", "s2"])
    journal.append("open", 0, [Alarmed(small, "aquamend", Rules(), Instant(1e9, 5.0, "boot"))])
    for turn in range(1, further):
        journal.append("open", turn, [Resumed(f"turn {turn}")])
    return journal


def closed(path):
    some(path, deleted=False, further=3).close()


def closed_with_room(path):
    some(path, deleted=True, further=3).close()


def killed(path):
    in_child(lambda: some(path, deleted=False, further=30))


def killed_again(path):
    closed_with_room(path)

    def more():
        journal = Journal.open(path)
        for turn in range(3, 60):
            journal.append("open", turn, [Resumed(f"turn {turn}")])

    in_child(more)


def killed_late(path):
    """SQLite has moved the log into the database meanwhile, and begun it again over what was there."""
    in_child(lambda: some(path, deleted=True, further=500))


MAKERS = (closed, closed_with_room, killed, killed, killed_again, killed_late)


def in_child(call):
    """Run a function in a process that is then killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking where there are threads
        child = os.fork()
    if child == 0:
        try:
            kept = call()
            os.kill(os.getpid(), signal.SIGKILL)
            del kept
        finally:
            os._exit(70)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL


def all_of(journal):
    return {
        line: [(e.number, e.time, event_to_data(e.event)) for e in journal.read(line.name)]
        for line in journal.sessions()
    }


@pytest.fixture(scope="module")
def journals():
    """Return folders with sound journals, and what is in each."""
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        found = []
        for i, make in enumerate(MAKERS):
            folder = Path(name) / str(i)
            folder.mkdir()
            make(folder / "j.db")
            (folder / "j.db-shm").unlink(missing_ok=True)  # nobody's any more, and made again
            whole = Path(shutil.copytree(folder, f"{folder}-whole"))
            with Journal.open(whole / "j.db", read_only=True) as journal:
                found.append((folder, all_of(journal)))
        yield found


def what_is_read(folder, truth):
    """Return "harmless" or "noticed"; fail if something else is read than was written, or if the files are changed."""
    path, before = folder / "j.db", contents(folder)
    for read_only in (True, False):
        try:
            with Journal.open(path, read_only=read_only) as journal:
                assert all_of(journal) == truth
        except BadJournal:
            assert not read_only or contents(folder) == before
            return "noticed"
    return what_is_read_after_more(path, truth)


def what_is_read_after_more(path, truth):
    """Add an event where all seemed well, and read everything again: less must not be there without an error."""
    try:
        with Journal.open(path) as journal:
            line = next(line for line in truth if line.name == "open")
            journal.append("open", line.events, [Resumed("after the damage")])
        with Journal.open(path, read_only=True) as journal:
            after = {line.name: events for line, events in all_of(journal).items()}
    except BadJournal:
        return "noticed when written to"
    assert after["open"][-1][2]["by"] == "after the damage"
    del after["open"][-1]
    assert after == {line.name: events for line, events in truth.items()}
    return "harmless"


def contents(folder):
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir()) if not file.name.endswith("-shm")}


@pytest.mark.parametrize("part", range(PARTS))
def test_a_damaged_journal_is_read_as_it_was_acknowledged_or_not_at_all(journals, part):
    counts = Counter()
    for seed in range(part, COUNT, PARTS):
        rng = random.Random(seed)
        source, truth = rng.choice(journals)
        with tempfile.TemporaryDirectory(dir=source.parent) as name:
            folder = Path(name) / "copy"
            shutil.copytree(source, folder)
            files = sorted(folder.iterdir())
            victim = rng.choices(files, [1 if file.name.endswith("-seals") else 3 for file in files])[0]
            damaged = damage(victim, seed)
            try:
                counts[victim.name, what_is_read(folder, truth)] += 1
            except Exception as error:
                raise AssertionError(f"seed {seed}, {damaged}") from error
    sys.stdout.write(f"{dict(sorted(counts.items()))}\n")
    assert sum(counts.values()) == len(range(part, COUNT, PARTS))
    assert any("noticed" in how for _, how in counts)
    found = Counter[str]()
    for (file, how), count in counts.items():
        found[f"{file}: {how}"] += count
    keep("damage", str(part), f"{part}, {part + PARTS}, … below {COUNT}", found)


@pytest.mark.parametrize("lost", ["j.db-wal", "j.db-seals", "j.db"])
def test_a_file_that_is_missing_is_noticed(journals, tmp_path, lost):
    source = next(folder for folder, _ in journals if (folder / "j.db-wal").exists())
    folder = Path(shutil.copytree(source, tmp_path / "copy"))
    (folder / lost).unlink()
    for read_only in (True, False):
        with pytest.raises(BadJournal) as caught:
            Journal(folder / "j.db", read_only=read_only)
        assert caught.value.remedy
    assert not (folder / lost).exists()
