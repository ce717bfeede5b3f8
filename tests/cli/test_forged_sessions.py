"""``aquamend session`` on journals that somebody has made up, seals and all: an error at most, never a traceback."""

import copy
import json
import random
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from tests.tiers import cases

from aquamend.belief import InformationState
from aquamend.files import load_problem
from aquamend.recovery import Journal, Rules, recover
from aquamend.recovery.journal import _COLUMNS, _hash, _seal
from aquamend.recovery.seals import Mark, beside, first

ODD = [None, True, -1, 0, 1e308, "", "nan", "inf", "x" * 300, [], {}, [[]], {"kind": "measure"}, "look", 10**400]
COMMANDS = ("list", "show", "show --json", "instead", "approve", "export", "watch")


class Robot:
    def __init__(self, problem):
        self.problem = problem

    def alarm(self):
        return InformationState.alarmed(self.problem)

    def measure(self, step):
        return step.done("no")

    def perform(self, act):
        return act.done(cost=1.0)


@pytest.fixture
def written(tmp_path, lid):
    path = tmp_path / "robot.journal"
    with Journal(path) as journal:
        rules = Rules(ask_before_irreversible=True, ask_before_handing_over=True)
        recover("aquamend", Robot(load_problem(lid)), journal=journal, session="s", rules=rules, wait_s=0)
    return path


def forged(path, change):
    """Put other events into the session, at other times, and seal all of it as a journal does."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        rows = connection.execute("SELECT number, time, data FROM events ORDER BY number").fetchall()
        events = [(number, time, json.loads(data)) for number, time, data in rows]
        found = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM sessions").fetchone()
        line = dict(zip(_COLUMNS, found, strict=True))
        change(events, line)
        connection.execute("DELETE FROM events")
        line["seal"] = ""
        for number, time, data in events:
            text = json.dumps(data, separators=(",", ":"))
            line["seal"] = _seal(line["seal"], "s", number, time, text)
            connection.execute("INSERT INTO events VALUES (1, ?, ?, ?, ?)", (number, time, text, line["seal"]))
        for column, value in line.items():
            connection.execute(f"UPDATE sessions SET {column} = ?", (value,))
        stored = connection.execute(f"SELECT {', '.join(_COLUMNS)} FROM sessions").fetchone()
        mark = Mark.from_bytes(connection.execute("SELECT mark FROM mark").fetchone()[0])
        mark = replace(mark, digest=_hash(stored).to_bytes(32))
        connection.execute("UPDATE mark SET mark = ?", (mark.to_bytes(),))
    beside(path).write_bytes(first(mark))


def places(data, path=()):
    """Yield the way to every value of plain data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from places(value, (*path, key))


def mutated(data, rng):
    """Return events in which something is missing or is something else."""
    way = rng.choice(list(places(data)))
    *outer, key = way
    parent = data
    for step in outer:
        parent = parent[step]
    if rng.random() < 0.3:
        del parent[key]
    elif rng.random() < 0.3:
        parent[key] = copy.deepcopy(rng.choice([data[0], data[-1], parent]))
    else:
        parent[key] = rng.choice(ODD)


def check(run, path, limit=COMMANDS):
    for command in limit:
        words = command.split()
        copied = path.with_name("copy.journal")
        shutil.copyfile(path, copied)
        shutil.copyfile(beside(path), beside(copied))
        name = [] if words[0] in ("list", "export") else ["s"]
        result = run("session", *words, *name, "--journal", str(copied))
        assert result.exception is None or isinstance(result.exception, SystemExit), (command, result.exception)
        assert result.exit_code in (0, 2), command


@pytest.mark.parametrize("seed", range(cases(10, 100)))
def test_events_that_are_made_up_give_errors(run, written, seed):
    rng = random.Random(seed)

    def change(events, line):
        data = [data for _, _, data in events]
        for _ in range(rng.choice([1, 1, 2, 5])):
            mutated(data, rng)
        if rng.random() < 0.2:
            data.append(data.pop(rng.randrange(len(data))))
        if not any(isinstance(event, dict) and event.get("kind") == "ended" for event in data):
            data.append({"kind": "ended", "ending": "stopped", "reason": ""})  # so that nobody watches for ever
        events[:] = [(i, events[0][1] + i, event) for i, event in enumerate(data, start=1)]
        line["events"] = len(events)

    forged(written, change)
    check(run, written, ("show", rng.choice(COMMANDS)))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("started", 1e300), ("started", -1e300), ("updated", "never"), ("cost", "much"), ("events", 0.5),
        ("events", 99), ("status", "well"), ("policy", b"\xff"), ("name", b"s"), ("problem", "none"), ("id", 7),
    ],
)  # fmt: skip
def test_lines_that_are_made_up_give_errors(run, written, column, value):
    forged(written, lambda events, line: line.update({column: value}))
    check(run, written, [command for command in COMMANDS if command != "watch"])


@pytest.mark.parametrize("time", [1e300, -1e300, 0.0, "then"])
def test_times_that_are_made_up_give_errors(run, written, time):
    forged(written, lambda events, line: events.__setitem__(1, (events[1][0], time, events[1][2])))
    check(run, written, [command for command in COMMANDS if command != "watch"])
