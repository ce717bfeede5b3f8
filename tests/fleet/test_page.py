"""The page about fleets runs from top to bottom as it is printed, against a server of the tests' own."""

from tests.fleet.server import PASSWORD, USER
from tests.pages import run_page


def test_the_page_about_fleets_runs_from_top_to_bottom(server, tmp_path, monkeypatch):
    server.ask("DROP DATABASE IF EXISTS fleet")
    server.ask("CREATE DATABASE fleet")
    for name, value in {"HOST": "127.0.0.1", "PORT": server.port, "USER": USER, "PASSWORD": PASSWORD}.items():
        monkeypatch.setenv(f"PG{name}", str(value))
    monkeypatch.chdir(tmp_path)
    run_page("fleets.md")
