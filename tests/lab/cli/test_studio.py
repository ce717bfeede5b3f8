"""A run in the studio: its report under the page's own policy, and a scenario's story and replay."""

import re

import pytest

pytest.importorskip("mujoco")
pytest.importorskip("starlette")

from starlette.applications import Starlette
from starlette.testclient import TestClient

from aquamend_lab.cli.studio import run_pages

REFUSED = {
    "suite=none&seed=0&scenario=0&policy=aquamend": "suite of the pouring robot",
    "suite=pouring-v3&seed=0&scenario=x&policy=aquamend": "invalid literal",
    "suite=pouring-v3&seed=0&scenario=0&policy=os:system": "policy",
    "suite=pouring-v3&seed=0&scenario=999&policy=aquamend": "no scene 999",
}


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    from typer.testing import CliRunner

    from aquamend.cli.main import app

    folder = tmp_path_factory.mktemp("run") / "m1"
    asked = ["bench", "m1-v2", "--scenarios", "2", "--seeds", "1", "--policies", "aquamend,restart", "--jobs", "1"]
    assert CliRunner().invoke(app, [*asked, "--out", str(folder)]).exit_code == 0
    with TestClient(Starlette(routes=list(run_pages(folder)(None)))) as opened:
        yield opened


def test_the_report_comes_with_the_policy_that_stands_in_it(client):
    page = client.get("/")
    assert page.status_code == 200
    said = re.search(r'Content-Security-Policy" content="([^"]*)"', page.text)[1]
    assert page.headers["content-security-policy"].startswith(said)
    assert 'data-watch="/watch"' in page.text


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_watched_is_refused(client, query):
    answer = client.get(f"/watch?{query}")
    assert answer.status_code == 422
    assert REFUSED[query] in answer.text


@pytest.mark.slow
def test_a_scenario_leads_to_its_story_and_its_replay(client):
    query = "suite=pouring-v3&seed=0&scenario=0&policy=no-reprobe"
    story, replay = client.get(f"/watch?{query}"), client.get(f"/watch?{query}&replay=1")
    assert "no-reprobe decides" in story.text
    assert 'href="watch?suite=pouring-v3' in story.text
    assert 'class="recording"' in replay.text
