"""The committed page about reliability is of a whole soak, as docs/make_reliability.py writes it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"


def counts(title):
    """Return how often each thing happened, of the section with this title."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    return {what: int(count.replace(",", "")) for what, count in re.findall(r"^\| (.+) \| ([\d,]+) \|$", section, re.M)}


def test_ten_thousand_schedules_had_every_kind_of_trouble():
    found = counts("Random schedules beside a model")
    assert found["schedules"] == 10_000
    troubles = ("a late receipt", "an alarm", "a cancellation", "a crash", "a rival", "stop in vain", "verify in vain")
    assert all(found[trouble] >= 500 for trouble in troubles)
    assert sum(count for what, count in found.items() if what.startswith("ended ")) == 10_000
    assert {what for what in found if what.startswith("ended ")} == {
        f"ended {ending}" for ending in ("finished", "handed over", "stopped", "cancelled")
    }


def test_two_thousand_kills_were_among_alarms_stops_and_people_who_answered():
    found = counts("Kills in company")
    assert found["kills"] >= 2_000
    assert all(found[kind] >= 100 for kind in ("AlarmedAgain", "Stopping", "Approved", "Settled", "Lost", "Resumed"))


@pytest.mark.parametrize("how", ["noticed", "harmless"])
def test_two_thousand_journals_were_damaged(how):
    found = counts("Damaged journals")
    assert sum(found.values()) == 2_000
    assert sum(count for what, count in found.items() if how in what) > 100


def test_a_thousand_sessions_of_a_fleet_outlived_a_hundred_kills_of_their_server():
    found = counts("A fleet whose server is killed")
    assert (found["sessions"], found["programs"]) == (1_000, 8)
    assert found["server killed"] + found["server stopped at once"] == 100
    assert found["programs killed"] > 10
    assert all(found[f"{trouble} in a program"] > 10 for trouble in ("Unreachable", "LostLease", "HeldSession"))
    assert 0 < found["99 % written within, µs (the connection held)"] <= found["99 % written within, µs (any)"]
