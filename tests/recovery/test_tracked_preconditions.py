"""What a tracker has seen done and undone decides which probes are possible."""

from tests.belief.test_preconditions import CUP

from aquamend.files import parse_problem
from aquamend.recovery import Tracker
from aquamend.recovery.acts import Redo, Undo
from aquamend.recovery.situation import Came, Change, problem_after


def test_a_probe_becomes_possible_and_impossible_as_the_task_goes_on():
    tracker = Tracker(parse_problem(CUP))
    assert tracker.alarm().legal_probes == ("weigh",)  # nothing has been done, whatever the file says
    tracker.done("fill")
    assert tracker.alarm().legal_probes == ("weigh", "look")
    tracker.done("lift")
    assert tracker.alarm().legal_probes == ("look",)
    tracker.undone("lift")
    tracker.done("pour")
    assert tracker.alarm().legal_probes == ("weigh", "look", "taste")


def test_an_undo_in_a_recovery_makes_a_probe_possible_and_a_redo_impossible():
    tracker = Tracker.at(parse_problem(CUP))
    state, first = tracker.alarm(), tracker.problem()
    assert state.legal_probes == ("look",)
    undo, redo = Undo("lift", ("lift",), cost=5.0), Redo("lift")
    tracker.apply(undo)
    after = problem_after(state, [Change(undo, Came.DONE)], first)
    assert type(state)(after, state.posterior).legal_probes == ("weigh", "look") == tracker.alarm().legal_probes
    tracker.apply(redo)
    again = problem_after(type(state)(after, state.posterior), [Change(redo, Came.DONE)], first)
    assert type(state)(again, state.posterior).legal_probes == ("look",) == tracker.alarm().legal_probes
