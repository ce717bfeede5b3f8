"""A run in the studio: its report under the page's own policy, and a scenario's story and replay."""

import re
import socket
import threading
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest

pytest.importorskip("mujoco")
pytest.importorskip("starlette")

import uvicorn
from playwright.sync_api import expect
from starlette.applications import Starlette
from starlette.testclient import TestClient
from tests.browser import browser, page_at
from tests.lab.pouring.scene_played import without_pictures
from tests.waiting import PATIENCE_S

from aquamend_lab.cli.studio import run_pages

__all__ = ["browser"]
RESULTS = Path(__file__).parents[3] / "results"

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
    assert page.headers["content-security-policy"].startswith(unescape(said))
    assert 'data-watch="/watch"' in page.text


@pytest.mark.parametrize("query", REFUSED)
def test_what_cannot_be_watched_is_refused(client, query):
    answer = client.get(f"/watch?{query}")
    assert answer.status_code == 422
    assert REFUSED[query] in answer.text


@pytest.mark.outer
def test_a_scenario_leads_to_its_story_and_its_replay(browser):
    with pytest.MonkeyPatch.context() as patch, served(run_pages(RESULTS / "pouring-v3")(None)) as address:
        without_pictures(patch)
        with page_at(browser, address, width=1280, height=800) as report:
            explorer = report.locator("#explorer")
            explorer.get_by_label("First").select_option("in order")
            explorer.locator("tbody tr.row button").first.click()
            link = explorer.locator("tr.detail a[href$='policy=no-reprobe']")
            with report.context.expect_page() as opened:
                link.click()
            story = opened.value
            expect(story.locator(".moment", has_text="no-reprobe decides")).not_to_have_count(0)
            story.get_by_role("link", name="3-D").click()
            story.locator("body[data-ready=yes] canvas").first.wait_for()
            expect(story.locator("h1")).to_contain_text("pouring-v3, scenario 0")


@contextmanager
def served(routes):
    """Serve pages from a thread, and yield their address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = uvicorn.Server(uvicorn.Config(Starlette(routes=list(routes)), log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
        finally:
            server.should_exit = True
            thread.join(PATIENCE_S)
