"""Recoveries over HTTP: a robot, people and watchers, each over the network alone."""

import itertools
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from tests.adapters.problems import CUP
from tests.serve.running import recover, started
from tests.waiting import PATIENCE_S

from aquamend.recovery import Journal, approve

NAMES = itertools.count()
ANSWERS = {"weigh": "45", "look": "there"}


@pytest.fixture
def begin(service):
    """Begin a session of the cup under a name of its own."""

    def begin(**said):
        return service.post("/api/sessions", {"kept": "cup", "session": f"cup-{next(NAMES)}", **said})

    return begin


def test_a_robot_recovers_over_http(service, begin):
    begun = begin()
    assert (begun["status"], begun["request"]["kind"]) == ("in doubt", "measure")
    ended, asked = recover(service, begun, ANSWERS)
    assert (ended["status"], ended["ending"], ended["in_doubt"]) == ("finished", "finished", None)
    assert "wait" in asked  # pouring on cannot be undone, so a person has allowed it
    assert ended["cost"] > 0
    listed = {line["session"]: line for line in service.get("/api/sessions")["sessions"]}
    assert listed[begun["session"]]["status"] == "finished"
    assert not listed[begun["session"]]["conducted"]


def test_the_log_is_what_the_robot_did(service, begin):
    ended, _ = recover(service, begin(), ANSWERS)
    events = service.get(f"/api/sessions/{ended['session']}/events")["events"]
    assert [event["number"] for event in events] == list(range(1, ended["events"] + 1))
    assert events[0]["kind"] == "alarmed"
    assert events[-1]["kind"] == "ended"
    assert events[-1]["moment"]["text"]
    later = service.get(f"/api/sessions/{ended['session']}/events?after=3")["events"]
    assert later == events[3:]


def test_a_reply_that_nobody_waits_for_is_refused(service, begin):
    begun = begin()
    path, first = f"/api/sessions/{begun['session']}/reply", begun["request"]["number"]
    finding = ANSWERS[begun["request"]["act"]["probe"]]
    service.post(path, {"to": first, "done": True, "finding": finding})
    assert service.refused("POST", path, {"to": first, "done": True, "finding": finding}) == (409, "stale-reply")
    assert service.refused("POST", path, {"to": 10_000, "done": True}) == (409, "stale-reply")


def test_a_name_is_used_once(service, begin):
    begun = begin()
    said = {"kept": "cup", "session": begun["session"]}
    assert service.refused("POST", "/api/sessions", said) == (409, "used-name")
    assert service.refused("POST", f"/api/sessions/{begun['session']}/resume", {}) == (409, "used-name")
    ended, _ = recover(service, begun, ANSWERS)
    assert service.refused("POST", "/api/sessions", said) == (409, "used-name")
    assert service.refused("POST", f"/api/sessions/{ended['session']}/resume", {}) == (409, "ended")
    for path in ("reply", "alarm", "cancel"):
        said = {"to": 3} if path == "reply" else {}
        assert service.refused("POST", f"/api/sessions/{ended['session']}/{path}", said) == (409, "not-conducted")


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ({"policy": "os:getcwd"}, "unknown-name"),
        ({"policy": "tests.serve.evil:Policy"}, "unknown-name"),
        ({"session": "a\nb"}, "malformed"),
        ({"session": "x" * 500}, "not-possible"),
        ({"rules": {"attempts": -1}}, "malformed"),
        ({"rules": {"atempts": 1}}, "malformed"),
        ({"observed": [{"probe": "look", "outcome": "?"}]}, "makes-no-sense"),
    ],
)
def test_nothing_is_begun_that_makes_no_sense(service, said, refusal):
    before = len(service.get("/api/sessions")["sessions"])
    assert service.refused("POST", "/api/sessions", {"kept": "cup", **said}) == (
        400 if refusal == "malformed" else 422,
        refusal,
    )
    assert len(service.get("/api/sessions")["sessions"]) == before


def test_an_approval_is_bound_to_its_question(service, begin):
    now = begin()
    name = now["session"]
    while now["asked"] is None:
        request = now["request"]
        found = ANSWERS.get(request["act"].get("probe", ""))
        now = service.post(f"/api/sessions/{name}/reply", {"to": request["number"], "done": True, "finding": found})
    wrong = {"token": "0" * 12, "granted": True, "by": "Ada"}
    assert service.refused("POST", f"/api/sessions/{name}/answer", wrong) == (422, "not-possible")
    assert service.get(f"/api/sessions/{name}")["asked"] == now["asked"]
    right = {"token": now["asked"]["token"], "granted": False, "by": "Ada", "note": "not today"}
    refused = service.post(f"/api/sessions/{name}/answer", right)
    assert refused["asked"] != now["asked"]
    story = [event["moment"] for event in service.get(f"/api/sessions/{name}/events")["events"] if event["moment"]]
    assert any(line["title"] == "refused" and "not today" in line["text"].lower() for line in story)


def test_an_alarm_in_the_middle_of_an_act_stops_it(service):
    again = CUP | {"alarm": CUP["alarm"] | {"again": {"nothing": 0.2, "more": 0.9, "moved": 0.5}}}
    begun = service.post("/api/sessions", {"problem": again})
    name, number = begun["session"], begun["request"]["number"]
    with ThreadPoolExecutor(1) as robot:
        waiting = robot.submit(service.get, f"/api/sessions/{name}/request?after={number}&wait=60")
        service.post(f"/api/sessions/{name}/alarm", {})
        stop = waiting.result(PATIENCE_S)["request"]
    assert (stop["kind"], stop["reason"]) == ("stop", "an alarm rang")
    reply = {"to": stop["number"], "done": False, "finding": "stopped at once", "cost": 0.1}
    now = service.post(f"/api/sessions/{name}/reply", reply)
    assert now["request"]["kind"] == "measure"
    assert now["cost"] == 0.1
    service.post(f"/api/sessions/{name}/cancel", {"why": "that was a test"})


def test_what_nobody_can_tell_is_asked_of_a_person(service, begin):
    begun = begin(rules={"probes_move": True})
    name = begun["session"]
    lost = service.post(f"/api/sessions/{name}/reply", {"to": begun["request"]["number"], "done": None})
    assert lost["request"]["kind"] == "measure" or lost["request"]["kind"] == "verify"
    service.post(f"/api/sessions/{name}/cancel", {})


def test_a_timeout_asks_for_a_stop_though_nobody_calls(service, begin):
    begun = begin(rules={"timeout_s": 0.3, "stop_s": 60})
    name, number = begun["session"], begun["request"]["number"]
    asked = service.get(f"/api/sessions/{name}/request?after={number}&wait=60")["request"]
    assert asked["kind"] == "stop"
    assert "0.3 s" in asked["reason"]
    service.post(f"/api/sessions/{name}/cancel", {})


def test_what_is_seen_unasked_counts(service, begin):
    begun = begin()
    path = f"/api/sessions/{begun['session']}"
    service.post(f"{path}/observe", {"probe": "look", "value": "gone"})
    assert service.refused("POST", f"{path}/observe", {"probe": "lok", "value": "gone"}) == (422, "unknown-name")
    service.post(f"{path}/cancel", {})
    assert "observed" in [event["kind"] for event in service.get(f"{path}/events")["events"]]


def test_a_stream_tells_every_event_once_and_ends_with_the_session(service, begin):
    begun = begin()
    path = f"/api/sessions/{begun['session']}/live"
    heard, ready = [], threading.Event()

    def listen():
        with service.stream(path) as live:
            for message in live:
                heard.append(message)
                ready.set()

    watcher = threading.Thread(target=listen)
    watcher.start()
    ready.wait(PATIENCE_S)
    ended, _ = recover(service, begun, ANSWERS)
    watcher.join(PATIENCE_S)
    assert [data["number"] for kind, data in heard if kind == "event"] == list(range(1, ended["events"] + 1))
    assert [data for kind, data in heard if kind == "session"][-1]["ending"] == "finished"
    with service.stream(path, Last_Event_ID="4") as live:
        assert [data["number"] for kind, data in live if kind == "event"] == list(range(5, ended["events"] + 1))
    assert service.raw("GET", path, headers={"Last-Event-ID": str(ended["events"])})[0] == 204


def test_the_stream_of_all_sessions_tells_of_new_ones(service, begin):
    with service.stream("/api/live") as live:
        begun = begin()
        names = (data["session"] for kind, data in live if kind == "session")
        assert begun["session"] in itertools.islice(names, 200)
    service.post(f"/api/sessions/{begun['session']}/cancel", {})


def test_another_policy_is_asked_what_it_would_have_done(service, begin):
    ended, _ = recover(service, begin(), ANSWERS)
    path = f"/api/sessions/{ended['session']}/instead"
    assert service.post(path, {"policy": "restart"})["steps"] == [{"kind": "restart"}]
    assert service.refused("POST", path, {"policy": "os:getcwd"}) == (422, "unknown-name")


def test_many_robots_recover_at_once(service, begin):
    with ThreadPoolExecutor(8) as robots:
        ended = list(robots.map(lambda _: recover(service, begin(), ANSWERS)[0], range(12)))
    assert {now["ending"] for now in ended} == {"finished"}
    assert len({now["session"] for now in ended}) == 12


def test_a_session_that_is_unknown_is_not_found(service):
    for method, path in (("GET", ""), ("GET", "/events"), ("GET", "/live"), ("GET", "/request"), ("POST", "/alarm")):
        data = {} if method == "POST" else None
        assert service.refused(method, f"/api/sessions/nobody{path}", data) == (404, "unknown-name")


def test_a_service_that_was_killed_goes_on_where_it_was(tmp_path):
    (tmp_path / "cup.json").write_text(json.dumps(CUP))
    with started("cup.json", folder=tmp_path) as client:
        begun = client.post("/api/sessions", {"kept": "cup", "session": "lid"})
        client.process.kill()
        client.process.wait(PATIENCE_S)
    with started(folder=tmp_path) as client:
        assert client.get("/api/sessions/lid")["status"] == "in doubt"
        taken = client.post("/api/sessions/lid/resume", {})
        assert taken["request"]["kind"] == "verify"
        assert taken["request"]["act"]["probe"] == begun["request"]["act"]["probe"]
        reply = {"to": taken["request"]["number"], "done": True, "finding": ANSWERS[taken["request"]["act"]["probe"]]}
        ended, _ = recover(client, client.post("/api/sessions/lid/reply", reply), ANSWERS)
        assert ended["ending"] == "finished"
        begins = [event for event in client.get("/api/sessions/lid/events")["events"] if event["kind"] == "intended"]
        assert len({json.dumps(event["act"]) for event in begins}) == len(begins)  # nothing was begun twice


@pytest.mark.slow
def test_a_person_in_another_process_answers_through_the_journal(tmp_path):
    (tmp_path / "cup.json").write_text(json.dumps(CUP))
    with started("cup.json", folder=tmp_path) as client:
        now = client.post("/api/sessions", {"kept": "cup", "session": "lid"})
        while now["asked"] is None:
            request = now["request"]
            found = ANSWERS.get(request["act"].get("probe", ""))
            now = client.post("/api/sessions/lid/reply", {"to": request["number"], "done": True, "finding": found})
        with Journal(tmp_path / "aquamend.journal") as journal:
            approve(journal, "lid", token=now["asked"]["token"], by="Ada")
        then = client.get(f"/api/sessions/lid/request?after={now['request']['number']}&wait=60")
        assert then["request"]["kind"] == "perform"


@pytest.mark.slow
def test_whoever_resumes_a_session_elsewhere_is_the_only_one_to_conduct_it(tmp_path):
    (tmp_path / "cup.json").write_text(json.dumps(CUP))
    with started("cup.json", folder=tmp_path) as first, started(folder=tmp_path) as second:
        begun = first.post("/api/sessions", {"kept": "cup", "session": "lid"})
        assert second.refused("POST", "/api/sessions/lid/reply", {"to": 3}) == (409, "not-conducted")
        taken = second.post("/api/sessions/lid/resume", {})
        said = {"to": begun["request"]["number"], "done": True, "finding": ANSWERS["weigh"]}
        assert first.refused("POST", "/api/sessions/lid/reply", said) == (409, "foreign-session")
        assert taken["request"]["kind"] == "verify"


@pytest.mark.slow
def test_a_log_that_takes_nothing_in_for_a_while_loses_nothing(tmp_path):
    (tmp_path / "cup.json").write_text(json.dumps(CUP))
    with started("cup.json", folder=tmp_path) as client:
        begun = client.post("/api/sessions", {"kept": "cup", "session": "lid"})
        said = {"to": begun["request"]["number"], "done": True, "finding": ANSWERS["weigh"]}
        away = tmp_path / "away"
        away.mkdir()
        for file in tmp_path.glob("aquamend.journal*"):
            file.rename(away / file.name)
        status, _ = client.ask("POST", "/api/sessions/lid/reply", said)
        assert status == 500
        for file in away.iterdir():
            file.rename(tmp_path / file.name)
        ended, _ = recover(client, client.post("/api/sessions/lid/reply", said), ANSWERS)
        assert ended["ending"] == "finished"


def test_a_session_is_reported_as_a_story(service, begin):
    ended, _ = recover(service, begin(), ANSWERS)
    story = service.get(f"/api/sessions/{ended['session']}/story")
    assert story["title"] == CUP["name"]
    assert len(story["receipts"]) > 3


def test_a_name_may_hold_what_separates_addresses(service):
    for name in ("line 3/cell 7", "a%2Fb", "x/story", "?#&="):
        begun = service.post("/api/sessions", {"kept": "cup", "session": name})
        path = f"/api/sessions/{quote(name, safe='')}"
        assert begun["session"] == service.get(path)["session"] == name
        assert service.get(f"{path}/events")["session"] == name
        assert service.get(f"{path}/story")["title"]
        assert service.post(f"{path}/cancel", {"why": "it was a try"})["session"] == name


def test_a_part_of_many_sessions_is_listed_the_latest_first(service, begin):
    names = [begin()["session"] for _ in range(3)][::-1]
    listed = service.get("/api/sessions?limit=2")
    assert [line["session"] for line in listed["sessions"]] == names[:2]
    assert service.get("/api/sessions?after=2&limit=1")["sessions"][0]["session"] == names[2]
    assert len(service.get("/api/sessions")["sessions"]) == listed["total"]
    assert service.get(f"/api/sessions?after={listed['total']}")["sessions"] == []
    with service.stream("/api/live?limit=1") as told:
        kind, line = next(told)
        assert (kind, line["session"]) == ("session", names[0])
        later = begin()["session"]
        assert later in itertools.islice((line["session"] for _, line in told), 200)
