"""Write docs/reliability.md from what a soak has kept: `make soak`, which runs this at its end.

Where only some of the soaks were run, the sections of the others stay as they are: each says with what it was run.
"""

from __future__ import annotations

import json
import platform
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
KEPT = ROOT / "build" / "reliability"
PAGE = ROOT / "docs" / "reliability.md"

HEAD = """\
# How reliable a session is

A recovery has to survive what happens to robots: programs that die, disks that lie, replies that never come, people who
answer too late. The quick tests check each of these once. `make soak` repeats them by thousands, at random, and writes
this page; nobody edits it by hand. Every run below ended without a fault: a fault stops the soak, and then there is no
new page. The same seeds give the same damage and the same schedules; kills depend on the machine's timing as well.
"""


@dataclass(frozen=True)
class Soak:
    """One kind of attack: what was kept under its name, and what it means."""

    name: str
    title: str
    text: str


SOAKS = (
    Soak(
        "schedules",
        "Random schedules beside a model",
        """\
A session hears things in any order: receipts that are right, late, wrong or missing, alarms, answers that nobody
asked for, cancellations, people who allow, refuse, settle or answer too late, time that passes, crashes, a second
program that takes the session up. After every call it is compared with a small model written apart from it
(`tests/reference/session.py`), with its own log read back from JSON, and with what its robot has begun: never two acts
at once, nothing begun twice for one decision or after the end, nothing irreversible without a valid word that was asked
for it, every receipt in the log, and an end within a bounded number of calls once everybody answers.""",
    ),
    Soak(
        "kills",
        "Kills in company",
        """\
A process drives a session on disk while alarms preempt its acts and receipts come late; another process answers for a
person. The first is killed with -9 at a point where something is written or begun, or at any time, and the next one
resumes. The robot writes a file of its own about what it begins and has done. No acknowledged event is lost, no act is
begun twice, no two at once, and what the session says was done is what the robot has done.""",
    ),
    Soak(
        "damage",
        "Damaged journals",
        """\
Bits are flipped, ranges zeroed, tails cut and pages swapped, in the database, its write-ahead log and its seals. What
is read afterwards is what was acknowledged (*harmless*), or there is a clear error (*noticed*), never anything
else.""",
    ),
    Soak(
        "shared",
        "Journals that many use at once",
        """\
Three processes open, write, delete and close one journal while two others read it: nobody finds damage where there is
none.""",
    ),
    Soak(
        "fleet",
        "A fleet whose server is killed",
        """\
Eight programs drive a thousand sessions in one [PostgreSQL database](fleets.md), with a lease of one second. A hundred
times the server is killed with -9 or stopped at once, and started again at once or after more than a lease; programs
are killed as well, connections are cut, programs reach for sessions that others conduct, and a person answers from a
process of their own. No acknowledged event is lost and none is there twice, no act is begun twice, no two programs move
one robot, and what the sessions say was done is what the robots have done. Times are those of writing, from the call to
the server's answer, on a busy machine: of all batches, with those that waited for the server among them, and of
those whose connection held.""",
    ),
)


def kept(name: str) -> list[dict[str, Any]]:
    """Return what the parts of one soak have kept; nothing if it was not run."""
    return [json.loads(file.read_text(encoding="utf-8")) for file in sorted(KEPT.glob(f"{name}-*.json"))]


def before(soak: Soak, page: str) -> list[str]:
    """Return the lines of a soak as the page has them."""
    _, found, rest = page.partition(f"\n## {soak.title}\n")
    if not found:
        raise SystemExit(f"there is nothing of {soak.name!r} in {KEPT.relative_to(ROOT)}: run `make soak`")
    return ["", f"## {soak.title}", *rest.partition("\n## ")[0].rstrip("\n").split("\n")]


def section(soak: Soak, parts: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of one soak."""
    counts = sum((Counter(part["counts"]) for part in parts), Counter[str]())
    yield from ("", f"## {soak.title}", "", soak.text, "", "| what | how often |", "|---|---:|")
    yield from (f"| {what} | {count:,} |" for what, count in sorted(counts.items()))
    yield from ("", f"Seeds: {'; '.join(part['seeds'] for part in parts)}. {versions(soak)}")


def versions(soak: Soak) -> str:
    """Return with what a soak was run."""
    store = f"SQLite {sqlite3.sqlite_version}"
    if soak.name == "fleet":
        said = subprocess.run(["psql", "--version"], capture_output=True, text=True, check=True).stdout.split()
        store = f"PostgreSQL {said[2]}"
    python = ".".join(map(str, sys.version_info[:3]))
    return (
        f"Run with AquaMend {version('aquamend')}, Python {python}, NumPy {version('numpy')}, "
        f"{store} on {platform.system()} ({platform.machine()})."
    )


def main() -> None:
    """Write the page."""
    page = PAGE.read_text(encoding="utf-8")
    lines = [HEAD.rstrip("\n")]
    for soak in SOAKS:
        parts = kept(soak.name)
        lines += section(soak, parts) if parts else before(soak, page)
    PAGE.write_text("\n".join(lines) + "\n", encoding="utf-8")
    sys.stdout.write(f"wrote {PAGE.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
