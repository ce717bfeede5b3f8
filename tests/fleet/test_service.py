"""Services that keep their sessions in one database: what one conducts, the other shows, and people answer anywhere."""

import json

import pytest
from tests.adapters.problems import CUP
from tests.serve.running import started

from aquamend.recovery import Recovery


@pytest.mark.slow
def test_a_session_of_one_service_is_seen_and_answered_at_another(fleet, address, tmp_path):
    (tmp_path / "cup.json").write_text(json.dumps(CUP), encoding="utf-8")
    options = ("cup.json", "--journal", address, "--seconds", "600")
    with started(*options, folder=tmp_path) as here, started(*options, folder=tmp_path) as there:
        now = here.post("/api/sessions", {"kept": "cup", "session": "s"})
        assert now["request"]["kind"] == "measure"
        assert [(line["session"], line["conducted"]) for line in there.get("/api/sessions")["sessions"]] == [
            ("s", False)
        ]
        now = here.post("/api/sessions/s/reply", {"to": now["request"]["number"], "done": True, "finding": "45"})
        while now["request"]["kind"] == "perform":
            now = here.post("/api/sessions/s/reply", {"to": now["request"]["number"], "done": True})
        assert now["request"]["kind"] == "wait"  # for a person, before what cannot be undone
        there.post("/api/sessions/s/answer", {"token": now["asked"]["token"], "granted": True, "by": "Ada"})
        now = here.get(f"/api/sessions/s/request?after={now['request']['number']}&wait=60")
        assert now["request"]["kind"] == "perform"
        here.post("/api/sessions/s/reply", {"to": now["request"]["number"], "done": True})
    recovery = Recovery.of([entry.event for entry in fleet().read("s")], "s")
    assert str(recovery.ending) == "finished"
