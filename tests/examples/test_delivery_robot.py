"""The delivery robot of examples/delivery_robot.yaml, from the task to the alarm, the recovery, and the next alarm."""

from __future__ import annotations

from pathlib import Path

import pytest

from aquamend import InformationState, load_problem
from aquamend.recovery import Tracker, recover
from aquamend.recovery.acts import Act, Declare, Measure, Redo, Undo
from aquamend.recovery.receipts import Receipt

FILE = Path(__file__).parents[2] / "examples" / "delivery_robot.yaml"
TASK = ("ride_lift", "drive_to_ward", "open_drawer")
ANSWERS = {"read_floor_sign": "3", "match_scan": "differs", "read_badge": "nurse_12", "weigh_drawer": "full",
           "look_around": "corridor"}  # fmt: skip
"""What it reads where the lift stopped one floor too low."""


class Delivery:
    """A robot that tells its tracker what it does, and knows on which floor it really is."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker, self.did = tracker, list[Act]()

    def alarm(self) -> InformationState:
        return self.tracker.alarm()

    def measure(self, step: Measure) -> Receipt:
        executed = self.tracker.executed
        assert "open_drawer" in executed or step.probe != "weigh_drawer"
        assert "drive_to_ward" in executed or step.probe != "read_badge"
        assert "open_drawer" not in executed or step.probe != "look_around"
        return self._taken(step, step.done(ANSWERS[step.probe]))

    def perform(self, act: Act) -> Receipt:
        return self._taken(act, act.done())

    def _taken(self, act: Act, receipt: Receipt) -> Receipt:
        self.did.append(act)
        self.tracker.apply(act, receipt)
        return receipt


@pytest.fixture
def delivered() -> Tracker:
    """A tracker that has seen the task up to the open drawer."""
    tracker = Tracker(load_problem(FILE))
    tracker.declare("recipient", evidence=["read_badge"])
    for name in TASK:
        with tracker.action(name):
            pass
    return tracker


def test_the_ride_has_set_the_floor_and_the_rest_is_as_the_file_says(delivered):
    assert delivered["floor"] == 4
    assert delivered.executed == TASK
    from_file = InformationState.alarmed(load_problem(FILE))
    assert delivered.alarm().failure_probabilities == pytest.approx(from_file.failure_probabilities)
    assert delivered.alarm().legal_probes == from_file.legal_probes


@pytest.mark.parametrize("policy", ["aquamend", "exact"])
def test_on_the_wrong_floor_it_rides_again_and_the_next_alarm_knows_where_it_is(delivered, policy):
    before = dict(zip(delivered.problem().graph.belief_index, delivered.alarm().failure_probabilities, strict=True))
    robot = Delivery(delivered)
    recover(policy, robot)
    acts = [str(act) for act in robot.did]
    assert acts.index("undo: ride_lift") < acts.index("redo: ride_lift")
    assert [act.value for act in robot.did if isinstance(act, Declare) and act.belief == "floor"] == [3.0]
    assert {act.name for act in robot.did if isinstance(act, Undo | Redo)} == set(TASK)
    assert delivered["floor"] == 4
    state = delivered.alarm()
    after = dict(zip(state.problem.graph.belief_index, state.failure_probabilities, strict=True))
    assert after["floor"] == pytest.approx(before["floor"])


def test_when_the_hand_over_is_done_the_drawer_cannot_be_weighed_any_more(delivered):
    delivered.done("hand_over")
    state = delivered.alarm()
    assert state.why_illegal("weigh_drawer") == "possible once hand_over is undone, which it cannot be"
    assert "weigh_drawer" not in state.legal_probes
