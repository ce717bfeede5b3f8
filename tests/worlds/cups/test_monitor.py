"""The monitor: hits, misses and false alarms, and where it points."""

import pytest

from aquamend.worlds.cups import Add, CameraFault, Nothing, Swap
from aquamend.worlds.cups.events import Together
from aquamend.worlds.cups.monitor import Monitor

EVENTS = [
    Nothing(),
    Add(1, 40.0),
    Swap(0, 2),
    CameraFault("bias", 0, 9.0),
    Together((Add(0, 9.0), Add(1, 9.0), Add(2, 9.0)), "jug"),
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
@pytest.mark.parametrize("n_cups", [3, 5])
def test_an_alarm_points_at_exactly_one_cup(event, n_cups):
    assert sum(Monitor().points_at(cup, event, n_cups) for cup in range(n_cups)) == pytest.approx(1.0)


def test_it_misses_some_events_and_raises_false_alarms():
    monitor = Monitor(hit_physical=0.9, hit_sensing=0.6, false_alarm=0.15)
    assert [monitor.raises(event) for event in EVENTS] == [0.15, 0.9, 0.9, 0.6, 0.9]


def test_it_mostly_points_at_a_cup_concerned():
    monitor = Monitor(points_right=0.8)
    add = [monitor.points_at(cup, Add(1, 40.0), 3) for cup in range(3)]
    assert add == pytest.approx([0.2 / 3, 0.8 + 0.2 / 3, 0.2 / 3])
    swap = [monitor.points_at(cup, Swap(0, 2), 3) for cup in range(3)]
    assert swap == pytest.approx([0.4 + 0.2 / 3, 0.2 / 3, 0.4 + 0.2 / 3])
    assert [monitor.points_at(cup, Nothing(), 3) for cup in range(3)] == pytest.approx([1 / 3] * 3)
