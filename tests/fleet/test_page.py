"""The page about fleets runs from top to bottom as it is printed, against a server of the tests' own."""

import pytest
from tests.adapters.alone import run_alone
from tests.fleet.server import PASSWORD, USER
from tests.pages import run_page


@pytest.fixture
def places(server):
    """Return the variables by which the page finds an empty database."""
    server.ask("DROP DATABASE IF EXISTS fleet")
    server.ask("CREATE DATABASE fleet")
    return {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": USER, "PGPASSWORD": PASSWORD}


def test_the_page_about_fleets_runs_from_top_to_bottom(places, tmp_path, monkeypatch):
    for name, value in places.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    run_page("fleets.md")


@pytest.mark.outer
def test_the_extra_alone_beside_the_product_is_all_that_the_page_about_fleets_needs(places, wheel, tmp_path):
    run_alone("postgres", ["-m", "tests.pages", "fleets.md"], wheel, tmp_path, **places)
