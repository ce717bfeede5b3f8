"""Sessions in the studio, in a real browser: found, however they are called, followed, answered, asked about."""

from dataclasses import dataclass

import pytest
from playwright.sync_api import expect

from aquamend import InformationState, load_problem
from aquamend.decision import Escalate
from aquamend.recovery import Journal, Session
from aquamend.studio.start import replay_file
from tests.browser import browser, page_at, reach, said_wrong
from tests.studio.running import studio_on

__all__ = ["browser"]
pytestmark = pytest.mark.outer
HOSTILE = "<i>cell/7?#%2F"
REPLAY = """<!doctype html><title>r</title><p id="drawn">nothing yet</p><script>
const said = [];
try { said.push(parent.document.title) } catch { said.push("no parent") }
fetch("/api/sessions").then(() => said.push("asked"), () => said.push("no service")).then(() => {
  document.getElementById("drawn").textContent = said.join(", ");
});
</script>"""


@dataclass(frozen=True)
class HandsOver:
    """Calls a person, who has to agree first."""

    def next_step(self, state):
        return Escalate()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a journal of 131 sessions; the last two wait for a person, and one of them has a replay."""
    folder = tmp_path_factory.mktemp("robot")
    state = InformationState.alarmed(load_problem("examples/pouring.yaml"))
    with Journal(folder / "robot.journal") as journal:
        Session.begin(state, HandsOver(), log=journal, name="s000")
        first = next(journal.read("s000")).event
        for i in range(1, 129):
            journal.append(f"s{i:03}", 0, [first])
        for name in ("waits", HOSTILE):
            Session.begin(state, HandsOver(), log=journal, name=name).tick()
    (folder / replay_file(HOSTILE)).write_text(REPLAY, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def address(folder):
    with studio_on(folder, folder) as opened:
        yield opened


@pytest.fixture
def page(browser, address):
    with page_at(browser, address, width=1280, height=800) as opened:
        yield opened


def hostile(page):
    return page.locator(".session", has_text="<i>cell/7")


def test_a_session_is_approved_by_the_keyboard_alone(page, folder):
    hostile(page).wait_for()
    hostile(page).evaluate("line => line.dataset.wanted = 'yes'")
    reach(page, "[data-wanted]")
    page.keyboard.press("Enter")
    page.get_by_label("your name").wait_for()
    reach(page, ".question input")
    page.keyboard.type("Ada")
    reach(page, ".question button")
    page.keyboard.press("Enter")
    expect(page.locator(".question")).to_have_count(0)
    expect(page.locator(".moment.asked", has_text="Ada allows it")).to_have_count(1)
    assert said_wrong(page) == []
    with Journal.open(folder / "robot.journal", read_only=True) as journal:
        assert any(getattr(entry.event, "by", "") == "Ada" for entry in journal.read(HOSTILE))


def test_a_view_that_comes_late_does_not_hide_what_has_been_asked_since(page):
    late = []
    page.route("**/api/sessions/waits", lambda route: late.append(route))
    page.locator(".session", has_text="waits").click()
    page.locator(".question").wait_for()  # by what the service says as it goes on
    before = late[0].fetch().json() | {"asked": None}
    late[0].fulfill(json=before)
    page.wait_for_timeout(300)
    expect(page.locator(".question")).to_have_count(1)


def test_who_waits_for_a_person_stands_out_and_nothing_touches(page):
    waits = page.locator(".session", has_text="waits")
    expect(waits.locator(".status")).to_have_text("waiting for a person")
    assert int(waits.locator(".status").evaluate("line => getComputedStyle(line).fontWeight")) >= 600
    waits.click()
    one, other = (page.get_by_role("button", name=name).bounding_box() for name in ("approve", "refuse"))
    assert other["x"] - one["x"] - one["width"] >= 4
    above, heading = page.locator(".instead").bounding_box(), page.locator(".story-of section h2").first.bounding_box()
    assert heading["y"] - above["y"] - above["height"] >= 12


def test_an_answer_is_sent_once(page):
    page.locator(".session", has_text="waits").click()
    page.get_by_label("your name").fill("Ada")
    sent = []
    page.route("**/answer", lambda route: sent.append(route))
    page.get_by_role("button", name="approve").click()
    expect(page.get_by_role("button", name="refuse")).to_be_disabled()
    expect(page.locator(".question [role=status]")).to_have_text("being sent …")
    sent[0].abort()  # and once more where it did not arrive
    expect(page.get_by_role("button", name="refuse")).to_be_enabled()
    said_wrong(page).clear()


def test_what_another_policy_would_have_done_is_told(page):
    hostile(page).click()
    page.get_by_label("what would another policy have done?").select_option("restart")
    expect(page.locator(".instead")).to_contain_text("restart: restart from the beginning.")


def test_a_session_shows_its_replay_in_a_frame_that_reaches_nothing(page):
    hostile(page).click()
    page.get_by_text("The replay in 3-D").click()
    drawn = page.frame_locator("iframe").locator("#drawn")
    expect(drawn).to_have_text("no parent, no service")


def test_views_of_sessions_have_names_and_roles(page):
    page.locator(".session", has_text="waits").click()
    page.locator(".question").wait_for()
    expect(page.locator("main")).to_match_aria_snapshot("""
      - region "Sessions":
        - list:
          - listitem:
            - button /waits/ [pressed]
      - region "Session waits":
        - heading "A person is asked"
        - textbox "your name"
        - textbox "note"
        - button "approve" [disabled]
        - button "refuse" [disabled]
        - combobox "what would another policy have done?"
    """)


def test_the_latest_sessions_come_first_and_older_ones_when_asked_for(page):
    expect(page.locator(".session")).to_have_count(100)
    page.get_by_role("button", name="older ones").click()
    expect(page.locator(".session")).to_have_count(131)
    expect(page.locator(".session b").last).to_have_text("s000")
    expect(page.get_by_role("button", name="older ones")).to_have_count(0)
