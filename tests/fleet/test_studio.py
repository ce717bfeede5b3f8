"""The studio on the database of a fleet."""

import pytest
from playwright.sync_api import expect
from tests.browser import browser, page_at
from tests.fleet.conftest import ALONE
from tests.studio.running import studio_on

from aquamend import Continue
from aquamend.recovery import Session

__all__ = ["browser"]
pytestmark = pytest.mark.outer


class GoesOn:
    """Continues."""

    def next_step(self, state):
        return Continue()


def test_it_opens_on_the_sessions_of_a_database(browser, fleet, address, state, tmp_path):
    log = fleet()
    Session.begin(state, GoesOn(), log=log, name="arm-3", rules=ALONE)
    with studio_on(address, tmp_path) as studio, page_at(browser, studio, width=1280, height=800) as page:
        page.locator(".session", has_text="arm-3").click()
        expect(page.locator(".story-of")).to_contain_text("alarm")
        assert "s3cret" not in page.content()
        Session.begin(state, GoesOn(), log=log, name="arm-4", rules=ALONE)
        expect(page.locator(".session")).to_have_count(2)


def test_a_database_that_is_not_there_is_refused(run):
    said = run("studio", "postgresql://nobody:s3cret@127.0.0.1:1/none", "--no-open")
    assert said.exit_code == 2
    assert "s3cret" not in said.output
