"""What can be asked without a session has the answer that the program gives."""

import json
from itertools import pairwise

import pytest
from tests.adapters.problems import CUP
from tests.serve.running import EXAMPLES

from aquamend.serve.routes import ROUTES


def test_a_decision_is_the_one_that_the_program_prints(service, run, tmp_path):
    (tmp_path / "cup.json").write_text(json.dumps(CUP))
    answers = {"observed": [{"probe": "look", "outcome": "there"}]}
    printed = json.loads(run("decide", str(tmp_path / "cup.json"), "--json", "--observe", "look=there").stdout)
    for given in ({"kept": "cup"}, {"problem": CUP}, {"problem": json.dumps(CUP)}):
        found = service.post("/api/decide", {**given, **answers})
        words, weighed = found.pop("words"), found.pop("weighed")
        assert found == {key: value for key, value in printed.items() if key != "file"}
        assert weighed[0]["loss"] == min(one["loss"] for one in weighed)
        assert words["step"]
        assert words["why"]


def test_alarm_silence_and_age_are_heard(service):
    calm = service.post("/api/decide", {"kept": "cup", "alarm": []})
    rung = service.post("/api/decide", {"kept": "cup"})
    assert calm["alarms"] == []
    assert rung["alarms"] == [{"alarm": "alarm", "rang": True}]
    assert calm["marginals"]["level"] < rung["marginals"]["level"]
    before = service.post("/api/decide", {"kept": "cup", "before": "pour"})
    assert before["before"] == "pour"
    said = {"kept": "cup", "before": "pour", "alarm": ["alarm"]}
    assert service.refused("POST", "/api/decide", said) == (422, "makes-no-sense")


def test_every_fault_of_a_problem_comes_with_its_line(service):
    found = service.post("/api/validate", {"problem": "format: aquamend-problem/1\nname: x\nbeliefs: [{nam: a}]\n"})
    assert not found["valid"]
    assert found["faults"][0] | {"remedy": ""} == {
        "where": "beliefs[0].nam", "problem": "'nam' is not a key", "remedy": "", "line": 3, "column": 17,
    }  # fmt: skip
    refused = service.ask("POST", "/api/decide", {"problem": {"format": "aquamend-problem/1"}})
    assert (refused[0], refused[1]["type"]) == (422, "urn:aquamend:invalid-problem")
    assert len(refused[1]["faults"]) > 1


def test_a_sound_problem_is_called_so_with_what_looks_odd(service):
    found = service.post("/api/validate", {"kept": "cup"})
    assert found["valid"]
    assert found["sizes"] == {"beliefs": 2, "actions": 2, "probes": 2, "hypotheses": 3}


def test_a_plan_and_two_of_them_are_as_the_program_prints_them(service, run, tmp_path):
    path = tmp_path / "cup.json"
    path.write_text(json.dumps(CUP))
    assert service.post("/api/plan", {"kept": "cup"}) == json.loads(run("plan", str(path), "--json").stdout)
    two = json.loads(run("plan", str(path), "--json", "--versus", "restart").stdout)
    assert service.post("/api/plan", {"kept": "cup", "versus": "restart"}) == two
    assert service.refused("POST", "/api/plan", {"kept": "cup", "nodes": 100_000}) == (400, "malformed")


def test_what_if_says_what_each_answer_leads_to(service):
    found = service.post("/api/what-if", {"kept": "cup", "probe": "weigh"})
    assert sum(one["probability"] for one in found["answers"]) == pytest.approx(1)
    for one in found["answers"]:
        answer = {"probe": "weigh", "outcome": one["answer"]}
        then = service.post("/api/decide", {"kept": "cup", "observed": [answer]})
        assert one["step"]["kind"] == then["step"]["kind"]
        assert one["marginals"] == pytest.approx(then["marginals"])
    assert service.refused("POST", "/api/what-if", {"kept": "cup", "probe": "wiegh"}) == (422, "unknown-name")


def test_readings_are_answered_in_intervals(service):
    text = (EXAMPLES / "pouring.yaml").read_text()
    found = service.post("/api/what-if", {"problem": text, "probe": "weigh_A"})
    ends = [(one["above"], one["below"]) for one in found["answers"]]
    assert ends[0][0] is None
    assert ends[-1][1] is None
    assert all(here[1] == after[0] for here, after in pairwise(ends))


@pytest.mark.parametrize(
    ("path", "data", "refusal"),
    [
        ("decide", {}, "makes-no-sense"),
        ("decide", {"kept": "cup", "problem": CUP}, "makes-no-sense"),
        ("decide", {"problem": 3}, "makes-no-sense"),
        ("decide", {"kept": "cup", "polcy": "best"}, "malformed"),
        ("decide", {"kept": "cup", "policy": "bset"}, "unknown-name"),
        ("decide", {"kept": "cup", "policy": "os:getcwd"}, "unknown-name"),
        ("decide", {"kept": "cup", "policy": "aquamend.policies:Best"}, "unknown-name"),
        ("plan", {"kept": "cup", "policy": "best", "versus": "sys:exit"}, "unknown-name"),
        ("decide", {"kept": "cup", "observed": [{"probe": "look", "outcome": "here"}]}, "makes-no-sense"),
        ("decide", {"kept": "cup", "observed": [{"probe": "lok", "outcome": "there"}]}, "unknown-name"),
        ("decide", {"kept": "cup", "alarm": ["fire"]}, "unknown-name"),
        ("decide", {"kept": "cup", "silent": ["alarm"]}, "not-possible"),
        ("decide", {"kept": "cup", "age": -1}, "malformed"),
        ("decide", {"kept": "cup", "seconds": "soon"}, "malformed"),
        ("decide", {"problem": "../etc/passwd"}, "invalid-problem"),
    ],
)
def test_what_makes_no_sense_is_refused_and_says_where(service, path, data, refusal):
    assert service.refused("POST", f"/api/{path}", data) == (400 if refusal == "malformed" else 422, refusal)


def test_problems_are_kept_shown_and_deleted(service):
    assert service.get("/api/problems") == {"problems": ["cup"]}
    status, _ = service.ask("PUT", "/api/problems/other", {"problem": {**CUP, "name": "the other"}})
    assert status == 200
    assert service.post("/api/decide", {"kept": "other"})["name"] == "the other"
    assert service.get("/api/problems/other")["problem"]["name"] == "the other"
    assert service.refused("PUT", "/api/problems/bad", {"problem": {}}) == (422, "invalid-problem")
    assert service.ask("DELETE", "/api/problems/other")[0] == 200
    assert service.refused("POST", "/api/decide", {"kept": "other"}) == (404, "unknown-name")
    assert service.refused("DELETE", "/api/problems/other") == (404, "unknown-name")


def test_policies_and_schemas_are_listed(service):
    assert "best" in [one["name"] for one in service.get("/api/policies")["policies"]]
    assert set(service.get("/api/schemas")) == {"problem", "session", "story"}


def test_the_page_and_the_description_name_every_route(service):
    page = (EXAMPLES.parent / "docs" / "service.md").read_text(encoding="utf-8")
    described = service.get("/api/openapi.json")["paths"]
    for route in ROUTES:
        assert described[route.path][route.method.lower()]["summary"] == route.summary
        assert any(
            route.method in line and f"{route.path.replace('/api/sessions/{session}/', '…/')}" in line
            for line in page.splitlines()
        ), route.path
    assert sum(map(len, described.values())) == len(ROUTES)
