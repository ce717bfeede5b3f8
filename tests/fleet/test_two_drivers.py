"""Two programs and one session, a server that goes away, and people who answer from somewhere else."""

import math
import threading
import time
from contextlib import suppress

import psycopg
import pytest
from tests.fleet.conftest import ALONE
from tests.fleet.server import Line
from tests.recovery.test_journal import HandsOver
from tests.waiting import PATIENCE_S

from aquamend.adapters.agents import Recoveries
from aquamend.errors import ForeignSession, HeldSession, LostLease, Unreachable
from aquamend.recovery import (
    Ending,
    Recovery,
    Session,
    approve,
    drive,
    drivers,
    followed,
    recover,
    resume,
)
from aquamend.recovery.events import Done, Intended, Resumed, Stopping
from aquamend.testing import FakeRobot, TimesOut
from aquamend.testing import StopBehaviour as Stops

FOREVER = TimesOut("undo: grasp", seconds=math.inf)
SOON_S, LONGER_S = 0.4, 2.0
"""A lease so short that a test may wait until it has run out, and one that a busy machine renews in time."""


@pytest.fixture
def line(server):
    line = Line(server)
    yield line
    line.close()


def events(log, session="s"):
    return [entry.event for entry in log.read(session)]


def begun(log, state, session="s"):
    """Begin a session, up to its first act."""
    return Session.begin(state, "best", log=log, name=session, rules=ALONE)


def until(holds):
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.002)


def undoes(robot):
    return robot.moving and str(robot.asked[-1]) == "undo: grasp"


# Leases


def test_nobody_else_conducts_a_session_while_its_driver_lives(fleet, state):
    here, there = fleet(lease_s=LONGER_S), fleet(lease_s=LONGER_S)
    session = begun(here, state)
    with pytest.raises(HeldSession, match=r"'s' is conducted by program \w+ \(process \d+ on "):
        Session.resume(there, "s")  # it waits for longer than a lease, and it is renewed all the time
    assert session.reply(session.request.act.done("45")).kind == "perform"


def test_whoever_takes_a_session_up_waits_until_the_lease_of_a_program_that_is_gone_has_run_out(fleet, state, line):
    here, there = fleet(lease_s=SOON_S, address=line.address), fleet(lease_s=SOON_S)
    session = begun(here, state)
    line.cut()  # for all that anybody can tell, it is gone
    second = Session.resume(there, "s")
    assert isinstance(events(there)[-1], Resumed)
    line.mend()
    with pytest.raises(ForeignSession):
        session.reply(session.request.act.done("45"))
    with pytest.raises(ForeignSession):
        session.tick()
    assert second.reply(second.request.act.failed("nobody knows")).kind == "measure"


def test_a_session_that_has_ended_waits_or_was_let_go_may_be_taken_up_at_once(fleet, state):
    here, there = fleet(lease_s=PATIENCE_S), fleet(lease_s=PATIENCE_S)
    robot = FakeRobot(state, truth="more")
    recover(HandsOver(), robot, journal=here, session="waits", wait_s=0)
    resume(there, "waits", robot, policy=HandsOver(), wait_s=0)
    begun(here, state)
    here.release("s")
    Session.resume(there, "s")
    begun(here, state, "t")
    here.close()
    Session.resume(there, "t")


def test_after_the_server_was_away_a_lease_has_its_whole_time_again(fleet, state, server):
    """Else whoever comes first when it is back would take what somebody conducts who comes a moment later."""
    here, there = fleet(lease_s=5.0), fleet(lease_s=0.01)
    session = begun(here, state)
    server.ask("UPDATE aquamend.leases SET until = now() - interval '1 hour'")
    server.kill()
    server.start()
    with pytest.raises(HeldSession):
        Session.resume(there, "s")
    assert session.reply(session.request.act.done("45")).kind == "perform"


def test_an_act_under_way_is_stopped_before_anybody_else_may_conduct(fleet, state, line):
    here, there = fleet(lease_s=LONGER_S, address=line.address), fleet(lease_s=LONGER_S)
    robot = FakeRobot(state, truth="more", failures=[FOREVER], stops=Stops.AT_ONCE)
    caught = []

    def run():
        with pytest.raises((LostLease, Unreachable)) as error:
            recover("best", robot, journal=here, session="s", rules=ALONE)
        caught.append(error.value)

    driver = threading.Thread(target=run)
    driver.start()
    until(lambda: undoes(robot))
    line.cut()
    second = Session.resume(there, "s")
    assert not robot.moving
    assert second.request.kind == "verify"
    driver.join(PATIENCE_S)
    assert isinstance(caught[0], LostLease)
    assert "somebody else may conduct it by now" in str(caught[0])


def test_what_cannot_be_stopped_keeps_others_away(fleet, state):
    here, there = fleet(lease_s=PATIENCE_S), fleet(lease_s=SOON_S)
    robot = FakeRobot(state, truth="more", failures=[TimesOut("weigh", seconds=math.inf)])
    session = begun(here, state)
    dead = threading.Thread(target=lambda: _leaves(session, robot), daemon=True)
    dead.start()
    until(lambda: robot.moving)
    session.alarm()  # it cannot be stopped, and its receipt is waited for
    with pytest.raises(HeldSession):
        Session.resume(there, "s")
    robot.let_go()
    dead.join(PATIENCE_S)


def _leaves(session, robot):
    with suppress(ForeignSession):
        drive(session, robot)


def test_agents_on_two_machines_never_conduct_one_recovery(fleet, state, line):
    problems = {"cup": state.problem}
    here = Recoveries(problems, fleet(lease_s=LONGER_S, address=line.address))
    there = Recoveries(problems, fleet(lease_s=LONGER_S))
    now = here.describe("cup", "s")
    with pytest.raises(HeldSession):
        there.decide("s")
    assert there.situation("s")["to_do"]["kind"] == "decide"  # looking is always possible
    line.cut()
    assert there.decide("s")["to_do"]["kind"] == "verify"
    line.mend()
    with pytest.raises(ForeignSession):
        here.report("s", now["to_do"]["number"], "done", finding="45")


# A server that goes away


def test_a_commit_whose_answer_was_lost_is_not_written_twice(fleet, state, line):
    log = fleet(address=line.address)
    session = begun(log, state)
    while session.request.kind != "end":
        line.loses_the_next_answer = True
        act = session.request.act
        session.reply(act.done("45") if session.request.kind == "measure" else act.done())
    assert session.recovery.ending is Ending.FINISHED
    assert line.lost > 5
    log = fleet()
    numbers = [entry.number for entry in log.read("s")]
    assert numbers == list(range(1, len(numbers) + 1))
    found = events(log)
    assert [e.receipt for e in found if isinstance(e, Done)] == list(session.recovery.receipts)
    assert sum(isinstance(e, Intended) for e in found) == sum(isinstance(e, Done) for e in found)


def test_a_session_whose_beginning_was_lost_on_the_way_begins_once(fleet, state, line):
    log = fleet(address=line.address)
    line.loses_the_next_answer = True
    session = begun(log, state)
    assert line.lost == 1
    assert session.request.kind == "measure"
    assert len([entry for entry in fleet().read("s") if entry.event.kind == "alarmed"]) == 1


@pytest.mark.parametrize("how", ["killed", "stopped", "connections cut"])
def test_a_server_that_goes_away_in_the_middle_of_an_act_is_waited_for(fleet, state, server, how):
    log = fleet(lease_s=PATIENCE_S)

    class Robot(FakeRobot):
        def perform(self, act):
            if str(act) == "undo: grasp":
                if how == "connections cut":
                    assert server.cut_connections() > 0
                else:
                    server.kill() if how == "killed" else server.stop()
                    threading.Thread(target=server.start).start()
            return super().perform(act)

    robot = Robot(state, truth="more")
    now = recover("best", robot, journal=log, session="s", rules=ALONE)
    assert now.ending is Ending.FINISHED
    assert [str(act) for act in robot.did].count("undo: grasp") == 1
    assert Recovery.of(events(fleet()), "s").receipts == now.receipts


def test_a_server_that_is_away_for_too_long_is_an_error_and_the_session_can_be_resumed(fleet, state, line):
    log = fleet(lease_s=SOON_S, address=line.address)
    session = begun(log, state)
    before = session.request
    line.cut()
    with pytest.raises(Unreachable, match="does not answer"):
        session.reply(before.act.done("45"))
    assert session.request == before  # what could not be written has not happened
    line.mend()
    assert session.reply(before.act.done("45")).kind == "perform"
    kinds = [event.kind for event in events(fleet())]
    assert kinds == ["alarmed", "decided", "intended", "done", "decided", "intended"]


def test_a_log_that_cannot_be_reached_does_not_keep_a_robot_from_stopping(fleet, state, line):
    log = fleet(lease_s=PATIENCE_S, address=line.address)
    robot = FakeRobot(state, truth="more", failures=[FOREVER], stops=Stops.AT_ONCE)
    session = begun(log, state)

    stopped = []
    thread = threading.Thread(target=lambda: stopped.append(_driven(session, robot)))
    thread.start()
    until(lambda: undoes(robot))
    line.cut()
    session.on_change, wake = None, session.on_change
    session.tick = _raises(KeyboardInterrupt)
    wake()
    until(lambda: not robot.moving)
    assert not stopped  # it still tries to write that down
    line.mend()
    thread.join(PATIENCE_S)
    assert stopped == [KeyboardInterrupt]
    last = events(fleet())[-2:]
    assert [type(event) for event in last] == [Stopping, Done]  # and nothing was begun after that
    Session.resume(fleet(), "s")  # at once, since nothing is under way


def _driven(session, robot):
    try:
        drive(session, robot)
    except BaseException as error:  # noqa: BLE001 - what it was is what is asked
        return type(error)


def _raises(error):
    def call(*_):
        raise error

    return call


def test_who_was_interrupted_in_the_middle_of_a_transaction_goes_on_with_another_connection(fleet, state):
    log = fleet()
    session = begun(log, state)
    log._link._connection.execute("BEGIN")
    assert session.reply(session.request.act.done("45")).kind == "perform"
    assert len(events(fleet())) == 6


# People


def test_a_driver_hears_the_word_of_a_person_from_the_server(fleet, state, monkeypatch):
    monkeypatch.setattr(drivers, "POLL_SHARED_S", PATIENCE_S)  # only the server can wake it
    here, there = fleet(), fleet()
    done = []
    robot = FakeRobot(state, truth="more")
    driver = threading.Thread(target=lambda: done.append(recover(HandsOver(), robot, journal=here, session="s").ending))
    driver.start()
    until(lambda: _asked(there) is not None)
    approve(there, "s", token=_asked(there).token, by="Ada")
    driver.join(PATIENCE_S)
    assert done == [Ending.HANDED_OVER]


def _asked(log):
    with suppress(Exception):
        return Recovery.of(events(log), "s").asked


def test_who_listens_hears_of_questions_and_answers_in_every_session_also_after_the_connection_was_lost(
    fleet, state, server
):
    log, heard = fleet(), []
    with log.listening(None, lambda: heard.append(1)):
        until(lambda: heard)  # once it listens
        heard.clear()
        session = Session.begin(state, HandsOver(), log=fleet(), name="s")
        until(lambda: heard)
        server.cut_connections()
        until(lambda: len(heard) > 1)  # it may have missed something
        heard.clear()
        approve(fleet(), "s", token=session.request.token, by="Ada")
        until(lambda: heard)
    heard.clear()
    Session.begin(state, HandsOver(), log=log, name="t")
    assert heard == []


def test_a_listener_that_fails_keeps_no_lease_from_being_renewed(fleet, state, server):
    log, heard = fleet(lease_s=LONGER_S), []

    def fails():
        heard.append(1)
        raise RuntimeError("the event loop is closed")

    with log.listening(None, fails):
        session = begun(log, state)
        until(lambda: heard)
        renewed = "SELECT max(until) FROM aquamend.leases"
        before = server.ask(renewed)
        until(lambda: server.ask(renewed) > before)
    assert session.reply(session.request.act.done("45")).kind == "perform"


def test_a_session_is_followed_to_its_end(fleet, state):
    log, seen_kinds = fleet(), []
    recover("best", FakeRobot(state, truth="more"), journal=log, session="s", rules=ALONE)
    seen_kinds += [entry.event.kind for entry in followed(fleet(), "s")]
    assert seen_kinds[0] == "alarmed"
    assert seen_kinds[-1] == "ended"


def test_closing_leaves_no_connection_behind(fleet, state, server):
    log = fleet(lease_s=SOON_S)
    begun(log, state)
    log.close()

    def left():
        return server.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'aquamend%'") == [(0,)]

    until(left)
    assert psycopg  # the last one to go is the one that listens
