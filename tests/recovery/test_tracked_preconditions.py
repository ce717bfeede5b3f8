"""What a tracker has seen done and undone decides which probes are possible."""

import pytest
from tests.belief.test_preconditions import CUP

from aquamend import InformationState, policy_named
from aquamend.decision.steps import Reprobe, RollBack
from aquamend.files import parse_problem
from aquamend.recovery import MemoryLog, Session, Tracker
from aquamend.recovery.acts import Redo, Undo
from aquamend.recovery.events import AlarmedAgain, Decided
from aquamend.recovery.situation import Came, Change, problem_after
from aquamend.story.of_session import done_instead


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


@pytest.fixture
def begun():
    """Begin a session of a lifted cup that was looked at and is to be put down, where it can only be weighed."""

    def begin():
        look = {"name": "look", "cost": 1, "requires": ["lift"]}
        weigh = {"name": "weigh", "cost": 0.1, "forbids": ["lift"]}
        alarm = {"likelihood": {"fine": 0.2, "spilt": 0.9}, "again": {"fine": 0.5, "spilt": 0.6}}
        kernels = dict.fromkeys(("look", "weigh"), CUP["kernels"]["look"])
        problem = parse_problem({**CUP, "probes": [look, weigh], "kernels": kernels, "alarm": alarm})
        session = Session.begin(InformationState.alarmed(problem), log=MemoryLog(), name="s", decide_apart=True)
        session.reply(Decided(Reprobe("look")))
        session.reply(session.request.act.done("less"))
        session.reply(Decided(RollBack(("level",), ("lift",))))
        assert session.request.act == Undo("lift", ("lift",), cost=5.0)
        return session

    return begin


def test_an_alarm_counts_where_an_earlier_answer_could_not_be_had_any_more(begun):
    session = begun()
    session.reply(session.request.act.done(alarm=True))
    assert session.recovery.state.alarms == 2
    assert isinstance(list(session.log.read("s"))[-1].event, AlarmedAgain)
    assert session.request.kind == "decide"  # what comes next is decided again


def test_a_policy_decides_where_an_earlier_answer_could_not_be_had_any_more(begun):
    session = begun()
    session.observe("weigh", "less")
    session.reply(session.request.act.done())
    session.decide()
    assert "failed" not in session.recovery.reason


def test_a_session_is_replayed_where_an_answer_could_not_be_had_at_its_alarm(begun):
    session = begun()
    session.observe("look", "less")
    session.reply(session.request.act.done())
    session.reply(Decided(Reprobe("weigh")))
    session.reply(session.request.act.done("less"))
    assert done_instead(session.recovery, policy_named("no-reprobe")).expected is not None
