"""Nothing takes longer, holds more or stays longer than it may."""

import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
from tests.adapters.problems import CUP
from tests.serve.running import started
from tests.waiting import PATIENCE_S


def causes(n):
    """Return a problem in which any of so many things may be wrong, and readings tell of each."""
    return {
        "format": "aquamend-problem/1",
        "name": "much may be wrong",
        "beliefs": [{"name": f"b{i}", "residual": 10} for i in range(n)],
        "actions": [{"name": f"a{i}", "undo": 1 + i, "status": "executed"} for i in range(n)],
        "probes": [{"name": f"p{i}", "cost": 0.1, "max_uses": 3} for i in range(n)],
        "edges": [[f"p{i}", f"b{i}", "detection"] for i in range(n)]
        + [[f"b{i}", f"a{i}", "belief_to_action"] for i in range(n)],
        "causes": [{"name": f"c{i}", "prior": 0.1, "failed": [f"b{i}"]} for i in range(n)],
        "kernels": {f"p{i}": {"gaussian": {"default": [0, 1], f"c{i}": [2, 1]}} for i in range(n)},
    }


CAUSES = causes(14)
"""16,384 combinations: whoever looks two probes ahead has much to do."""


@pytest.fixture(scope="module")
def hurried(tmp_path_factory):
    """Return a client of a service that gives every question half a second."""
    with started("--seconds", "0.5", "--sessions", "2", folder=tmp_path_factory.mktemp("hurried")) as client:
        yield client


def children(pid):
    """Return the processes that a process has started, in whichever of its threads."""
    listed = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return {int(child) for one in listed for child in one}


def gone(pid):
    """Wait until a process has ended."""
    until = time.monotonic() + PATIENCE_S
    while Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]:
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_question_that_takes_too_long_has_no_answer(hurried):
    assert hurried.refused("POST", "/api/decide", {"problem": CAUSES, "policy": "lookahead-2"}) == (504, "out-of-time")
    assert hurried.post("/api/decide", {"problem": CUP})["step"]


def test_a_process_that_does_not_end_by_itself_is_ended(hurried):
    hurried.post("/api/decide", {"problem": CUP})
    stuck = children(hurried.process.pid)
    for pid in stuck:
        os.kill(pid, signal.SIGSTOP)
    assert hurried.refused("POST", "/api/decide", {"problem": CUP}) == (504, "out-of-time")
    assert stuck - children(hurried.process.pid)
    for pid in stuck & children(hurried.process.pid):  # another that was idle
        os.kill(pid, signal.SIGCONT)
    assert hurried.post("/api/decide", {"problem": CUP})["step"]


def test_no_request_may_take_longer_than_the_service_allows(hurried):
    said = {"problem": CAUSES, "policy": "lookahead-2", "seconds": 1e6}
    assert hurried.refused("POST", "/api/decide", said) == (504, "out-of-time")


def test_a_question_of_somebody_who_has_left_is_given_up(service):
    service.post("/api/decide", {"kept": "cup"})
    body = json.dumps({"problem": CAUSES, "policy": "lookahead-2"})
    with socket.create_connection((service.host, int(service.port))) as raw:
        head = "POST /api/decide HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        raw.sendall(f"{head}content-length: {len(body)}\r\n\r\n{body}".encode())
        busy = working(service.process.pid)
    gone(busy)
    assert service.post("/api/decide", {"kept": "cup"})["step"]


def working(pid):
    """Wait until a child of a process computes for longer than one that only starts, and return it."""
    until = time.monotonic() + PATIENCE_S
    ticks = {}
    while True:
        assert time.monotonic() < until
        for child in children(pid):
            used = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11])
            if used - ticks.setdefault(child, used) > 100:  # hundredths of a second
                return child
        time.sleep(0.02)


def test_a_decision_of_a_session_that_takes_too_long_calls_a_person(hurried):
    begun = hurried.post("/api/sessions?wait=60", {"problem": {**causes(5), "escalate": 50}, "policy": "lookahead-5"})
    assert begun["request"]["kind"] == "wait"
    assert begun["asked"]["act"].startswith("hand over")
    hurried.post(f"/api/sessions/{begun['session']}/cancel", {})


def test_only_so_many_sessions_are_under_way(hurried):
    begun = [hurried.post("/api/sessions", {"problem": CUP})["session"] for _ in range(2)]
    status, found = hurried.ask("POST", "/api/sessions", {"problem": CUP})
    assert (status, found["type"], found["retry_after_s"]) == (503, "urn:aquamend:too-many-sessions", 5)
    for name in begun:
        hurried.post(f"/api/sessions/{name}/cancel", {})
    stopped = [hurried.get(f"/api/sessions/{name}") for name in begun]
    for now in stopped:
        hurried.post(f"/api/sessions/{now['session']}/reply", {"to": now["request"]["number"], "done": False})
    until = time.monotonic() + PATIENCE_S
    while hurried.get("/api")["sessions"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    begun = hurried.post("/api/sessions", {"problem": CUP})["session"]
    hurried.post(f"/api/sessions/{begun}/cancel", {})


def test_only_so_many_may_follow(service):
    connections = []
    try:
        for _ in range(64):
            raw = socket.create_connection((service.host, int(service.port)))
            connections.append(raw)
            raw.sendall(b"GET /api/live HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert raw.recv(12) == b"HTTP/1.1 200"
        assert service.refused("GET", "/api/live") == (503, "too-many-streams")
    finally:
        for raw in connections:
            raw.close()
    until = time.monotonic() + PATIENCE_S
    while service.raw("GET", "/api/sessions/nobody/live")[0] == 503:
        assert time.monotonic() < until


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_lets_everybody_go_and_leaves_nothing_behind(tmp_path, how):
    with started("--seconds", "600", folder=tmp_path) as client:
        begun = client.post("/api/sessions", {"problem": CUP})
        ends = []

        def follow():
            with client.stream("/api/live") as message:
                ends.append(list(message))

        def wait():
            number = begun["request"]["number"]
            ends.append(client.refused("GET", f"/api/sessions/{begun['session']}/request?after={number}&wait=60"))

        def ask():
            ends.append(client.refused("POST", "/api/decide", {"problem": CAUSES, "policy": "lookahead-2"}))

        waiting = [threading.Thread(target=target) for target in (follow, wait, ask)]
        for one in waiting:
            one.start()
        working(client.process.pid)
        workers = children(client.process.pid)
        client.process.send_signal(how)
        for one in waiting:
            one.join(PATIENCE_S)
        assert client.process.wait(PATIENCE_S) == 0
        for pid in workers:
            gone(pid)
        assert len(ends) == 3
        assert (503, "stopping") in ends
        assert not [line for line in client.errors if "Traceback" in line]


@pytest.mark.slow
def test_workers_end_with_a_service_that_is_killed(tmp_path):
    with started(folder=tmp_path) as client:
        client.post("/api/decide", {"problem": CUP})
        workers = children(client.process.pid)
        assert workers
        os.kill(client.process.pid, signal.SIGKILL)
        client.process.wait(PATIENCE_S)
        for pid in workers:
            gone(pid)
