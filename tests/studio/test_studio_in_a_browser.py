"""The studio as a user acts on it, in a real browser: open, turn, click an answer, approve a session."""

import logging
import re
import statistics
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import expect

from aquamend import AquaMend
from aquamend.studio.start import offline, studio_html
from tests.browser import browser, page_at, reach, requests, said_wrong, until
from tests.studio.running import studio_on

__all__ = ["browser"]
pytestmark = pytest.mark.outer
ROOT = Path(__file__).parents[2]
AXE = Path(__file__).with_name("axe.min.js")
"""The checker of accessibility, axe-core by Deque Systems (MPL 2.0), as it is published."""
WAREHOUSE = ROOT / "examples" / "worked" / "warehouse.yaml"


@pytest.fixture(scope="module")
def studio(tmp_path_factory):
    """Start a studio on a file or a journal, and return its address."""
    with ExitStack() as running:
        yield lambda what: running.enter_context(studio_on(what, tmp_path_factory.mktemp("studio")))


@pytest.fixture(scope="module")
def address(studio):
    return studio(WAREHOUSE)


@pytest.fixture
def page(browser, address):
    with page_at(browser, address, width=1280, height=800) as opened:
        yield opened
        assert said_wrong(opened) == []
        assert {url.split("/", 3)[2] for url in requests(opened) if not url.startswith("data:")} == {
            address.split("/", 3)[2]
        }


def step(page):
    return page.locator(".decision .step")


def test_step_reason_and_nearest_flip_are_in_sight_when_it_opens(page):
    for part in (".step", ".why", ".nearest"):
        box = page.locator(f".decision {part}").bounding_box()
        assert 0 <= box["y"] < box["y"] + box["height"] <= 800
    assert step(page).inner_text().startswith("run probe ")


def test_a_click_on_an_answer_asks_what_if_and_one_more_goes_back(page):
    first = step(page).inner_text()
    page.locator(".node.probe", has_text="ask_stock").click()
    page.get_by_role("button", name="move_booked").click()
    expect(step(page)).not_to_have_text(first)
    page.get_by_role("button", name="ask_stock = move_booked").click()
    expect(step(page)).to_have_text(first)


def test_a_reading_is_dragged_and_taken(page):
    page.locator(".node.probe", has_text="weigh_again").click()
    reading = page.get_by_label("Reading of weigh_again")
    before = page.locator(".densities .answer").inner_text()
    reading.focus()
    page.keyboard.press("End")
    assert page.locator(".densities .answer").inner_text() != before
    page.locator(".densities .answer").click()
    expect(page.locator(".chip")).to_contain_text("weigh_again = ")


def test_a_belief_shows_what_rests_on_it_and_what_undoing_costs(page):
    page.locator(".node.belief", has_text="count").click()
    assert "Correcting it undoes" in page.locator(".panel").inner_text()
    assert page.locator(".node.dim", has_text="drive").count() == 1
    assert page.locator(".node.dim", has_text="release").count() == 0


def test_a_knob_says_where_the_decision_flips_and_turning_it_past_that_flips_it(page):
    first = step(page).inner_text()
    knob = page.locator(".knob", has=page.get_by_role("slider", name="ask_stock"))
    expect(page.locator(".knob .flipped")).to_have_count(page.locator(".knob").count())
    expect(knob.locator(".flipped")).to_contain_text("→")
    assert knob.locator(".tick").count() >= 1
    knob.locator("input").focus()
    page.keyboard.press("End")
    expect(step(page)).not_to_have_text(first)
    knob.get_by_role("button", name="back").click()
    expect(step(page)).to_have_text(first)


def test_the_plan_unfolds_answer_by_answer_and_two_part_where_they_differ(page):
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_label("plan of").select_option("aquamend")
    page.get_by_label("beside").select_option("no-reprobe")
    expect(page.locator("figure")).to_have_count(2)
    assert page.locator(".plan-node.parts").count() == 2, "at the very first step, on both sides"
    nodes = page.locator("figure").first.locator(".plan-node")
    before = nodes.count()
    nodes.first.click()
    expect(nodes).to_have_count(1)
    nodes.first.click()
    expect(nodes).to_have_count(before)


def test_a_fault_stands_at_its_line_and_the_tree_edits_the_file(page):
    page.get_by_role("button", name="File", exact=True).click()
    page.get_by_role("spinbutton", name="restart").fill("1")
    page.get_by_role("spinbutton", name="restart").press("Enter")
    page.get_by_role("button", name="Situation", exact=True).click()
    expect(step(page)).to_have_text("restart from the beginning")
    page.get_by_role("button", name="File", exact=True).click()
    page.locator(".cm-content").click()
    page.keyboard.press("Control+Home")
    page.keyboard.type("nonsense: 1\n")
    expect(page.locator(".faults")).to_contain_text("line 1: nonsense")
    expect(page.locator(".cm-lint-marker-error")).to_have_count(1)
    assert all("422" in line for line in said_wrong(page)), (
        "a problem with faults is refused, and nothing else is wrong"
    )
    said_wrong(page).clear()


def test_another_file_is_opened(page, tmp_path):
    page.locator("input[type=file]").set_input_files(ROOT / "examples" / "pouring.yaml")
    expect(page.locator("h1")).to_have_text("pour into the least full of three cups")
    expect(step(page)).to_have_text("run probe look")


def test_nothing_is_asked_about_the_knobs_of_the_file_before(page):
    held = []
    page.route("**/view", lambda route: held.append(route))
    page.locator("input[type=file]").set_input_files(ROOT / "examples" / "pouring.yaml")
    until(page, "document.querySelector('header small').textContent === 'pouring.yaml'")
    page.wait_for_timeout(1_500)  # three times as long as knobs that stay in sight wait for their flips
    page.unroute("**/view")  # which lets what was held go on
    expect(page.locator("h1")).to_have_text("pour into the least full of three cups")
    expect(page.locator(".knob .flipped").first).to_be_visible()  # and those of this file are told theirs


def held(page, path):
    """Keep what is asked of a path waiting; ``page.unroute`` lets it go on."""
    waiting = []
    page.route(path, lambda route: waiting.append(route))
    return waiting


def test_what_is_on_screen_of_the_file_before_takes_no_clicks(page):
    held(page, "**/view")
    page.locator("input[type=file]").set_input_files(ROOT / "examples" / "pouring.yaml")
    expect(page.locator("header small")).to_have_text("pouring.yaml")
    page.locator(".node.probe", has_text="ask_stock").click(force=True)
    page.locator(".knob input").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(400)
    page.unroute("**/view")
    expect(page.locator("h1")).to_have_text("pour into the least full of three cups")
    expect(page.locator("[role=alert], .panel, .knob.turned")).to_have_count(0)
    page.locator(".node.probe", has_text="look").click()  # and what is on screen now takes them
    expect(page.locator(".panel")).to_be_visible()


def test_a_file_that_cannot_be_read_leaves_nothing_of_the_one_before_to_act_on(page, tmp_path):
    torn = tmp_path / "torn.yaml"
    torn.write_text("format: aquamend-problem/1\nbeliefs: [")
    page.get_by_role("button", name="Plan", exact=True).click()
    page.locator(".plan-node").first.wait_for()
    page.locator("input[type=file]").set_input_files(torn)
    expect(page.locator("[role=alert]")).to_have_count(1)
    expect(page.locator(".plan-node")).to_have_count(0)
    page.get_by_role("button", name="Situation", exact=True).click()
    expect(page.get_by_text("What stands below is of the text before.")).to_be_visible()
    expect(page.locator("h1")).to_have_text("AquaMend studio")
    assert page.locator(".situation").get_attribute("inert") is not None
    page.get_by_role("button", name="File", exact=True).click()
    expect(page.locator(".faults li")).to_have_text(re.compile("^line 3, column 1 this is not YAML"))
    said_wrong(page).clear()


def test_a_file_without_anything_in_it_shows_nothing_of_the_one_before(page, tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    page.locator("input[type=file]").set_input_files(empty)
    expect(page.get_by_text("Drop a problem file here")).to_be_visible()
    expect(page.locator(".decision, [role=alert]")).to_have_count(0)


def test_the_plan_of_the_file_before_goes_as_another_is_opened(page):
    page.get_by_role("button", name="Plan", exact=True).click()
    page.locator(".plan-node", has_text="ask_stock").wait_for()
    held(page, "**/plan")
    page.locator("input[type=file]").set_input_files(ROOT / "examples" / "pouring.yaml")
    expect(page.locator("h1")).to_have_text("pour into the least full of three cups")
    expect(page.locator(".plan-node")).to_have_count(0)
    page.unroute("**/plan")
    expect(page.locator(".plan-node", has_text="run probe look").first).to_be_visible()


def test_the_plan_is_of_the_policy_that_was_chosen_last(page):
    page.get_by_role("button", name="Plan", exact=True).click()
    page.locator(".head select").select_option("restart")
    expect(page.locator(".plan select").first).to_have_value("restart")
    expect(page.locator("figcaption")).to_contain_text("restart: ")


def test_what_looked_odd_in_the_file_before_is_gone_and_the_same_file_can_be_opened_again(page):
    page.get_by_role("button", name="File", exact=True).click()
    expect(page.locator(".findings code").first).to_have_text("together")
    held(page, "**/validate")
    page.locator("input[type=file]").set_input_files(WAREHOUSE)
    expect(page.locator(".findings")).to_have_count(0)
    expect(page.locator("input[type=file]")).to_have_value("")
    page.unroute("**/validate")
    expect(page.locator(".findings li").first).to_be_visible()


def test_a_file_is_dropped_on_the_page(page):
    text = (ROOT / "examples" / "pouring.yaml").read_text(encoding="utf-8")
    carry = "const data = new DataTransfer(); data.items.add(new File([text], 'dropped.yaml')); return data;"
    carried = page.evaluate_handle(f"text => {{ {carry} }}", text)
    page.dispatch_event(".studio", "dragover", {"dataTransfer": carried})
    page.dispatch_event(".studio", "drop", {"dataTransfer": carried})
    expect(page.locator("h1")).to_have_text("pour into the least full of three cups")
    expect(page.locator(".head small")).to_have_text("dropped.yaml")
    expect(step(page)).to_have_text("run probe look")


def test_a_policy_with_a_number_is_chosen_on_both_sides_of_the_plan(page):
    page.locator("input[type=file]").set_input_files(ROOT / "examples" / "pouring.yaml")
    expect(page.locator("h1")).to_have_text("pour into the least full of three cups")
    page.get_by_role("button", name="Plan", exact=True).click()
    for label in ("plan of", "beside"):
        page.get_by_role("combobox", name=label).select_option(label="lookahead-K")
    page.get_by_label("K of lookahead-K (plan of)").fill("1")
    expect(page.locator("figcaption b")).to_have_text(["lookahead-1", "lookahead-2"])
    page.get_by_label("K of lookahead-K (beside)").fill("0")
    expect(page.locator("figcaption b")).to_have_text(["lookahead-1", "lookahead-2"])


def test_a_situation_is_explored_by_the_keyboard_alone(page):
    first = step(page).inner_text()
    reach(page, ".node.probe.next")
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="What if ask_stock answers")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator(".node.probe.next")).to_be_focused()
    expect(page.locator(".panel")).to_have_count(0)
    page.keyboard.press("Enter")
    expect(page.get_by_role("group", name="What if ask_stock answers")).to_be_focused()
    reach(page, ".panel .answer:nth-of-type(2)", most=3)
    page.keyboard.press("Enter")
    expect(step(page)).not_to_have_text(first)
    page.evaluate("document.activeElement.blur()")
    reach(page, ".evidence .chip")
    page.keyboard.press("Enter")
    expect(step(page)).to_have_text(first)
    reach(page, ".knob input")
    turned = page.locator(".knob").first.locator("output")
    before = turned.inner_text()
    page.keyboard.press("ArrowRight")
    expect(turned).not_to_have_text(before)


def test_the_tree_of_a_plan_is_walked_by_arrows(page):
    page.get_by_role("button", name="Plan", exact=True).click()
    page.get_by_label("plan of").select_option("aquamend")
    expect(page.locator("figcaption b")).to_have_text("aquamend")
    reach(page, "[role=treeitem]")
    root = page.get_by_role("treeitem").first
    expect(root).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(page.locator("[role=treeitem]:focus")).to_have_attribute("aria-level", "2")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("treeitem")).to_have_count(1)
    page.keyboard.press("ArrowRight")
    expect(root).to_have_attribute("aria-expanded", "true")


VIEWS = {
    "Situation": """
      - region "The next step":
        - paragraph: next step
        - heading /run probe/ [level=2]
      - region "What was weighed":
        - heading "Alternatives"
        - table "What was weighed"
        - button /more/
        - heading "How good it can be"
        - img /Between .* and .* s/
        - heading "What would flip it"
        - table "Where doubt in one belief changes the step"
      - region "Recovery graph":
        - button /scan_again/
      - region "Knobs":
        - heading "Knobs"
        - group "Which knobs":
          - button "cost of a probe" [pressed]
        - slider "weigh_again"
    """,
    "Plan": """
      - paragraph:
        - combobox "plan of"
        - combobox "beside"
      - figure /expects to lose/:
        - tree /Plan of/:
          - treeitem /run probe/ [expanded] [level=1]
    """,
    "File": """
      - region "The problem as a tree":
        - list:
          - listitem:
            - button "beliefs" [expanded]
      - region "The problem as YAML":
        - textbox "Problem file"
    """,
    "Sessions": """
      - region "Sessions":
        - heading "Sessions"
        - paragraph: None has been kept yet.
    """,
}


@pytest.mark.parametrize("tab", VIEWS)
def test_every_view_says_what_it_shows(page, tab):
    page.get_by_role("button", name=tab, exact=True).click()
    expect(page.locator("main")).to_match_aria_snapshot(VIEWS[tab])
    expect(page.locator("header")).to_match_aria_snapshot("""
      - heading "the belt's scale disagrees with the order" [level=1]
      - navigation "Views"
      - combobox "policy"
    """)
    assert page.locator(".decision").count() == 0 or page.locator(".decision[aria-live=polite]").count() == 1


def test_the_first_decision_and_a_turned_knob_are_on_screen_soon(browser, studio):
    with page_at(browser, studio(ROOT / "examples" / "pouring.yaml"), width=1280, height=800) as page:
        until(page, "document.body.dataset.shown !== undefined")
        shown, redrawn = float(page.evaluate("document.body.dataset.shown")), []
        knob = page.get_by_role("slider", name="look").first
        knob.focus()
        for _ in range(15):
            page.evaluate("delete document.body.dataset.redrawn")
            page.keyboard.press("ArrowRight")
            until(page, "document.body.dataset.redrawn !== undefined")
            redrawn.append(float(page.evaluate("document.body.dataset.redrawn")))
        said = (
            f"first decision after {shown:.0f} ms; a knob redraws in {statistics.median(redrawn):.0f} ms at the median"
        )
        logging.getLogger("studio").info(said)
        assert shown < 3_000, f"{said}; on a machine with nothing else to do: 300"
        assert statistics.median(redrawn) < 2_000, f"{said}; on a machine with nothing else to do: 100"


def test_an_offline_page_answers_what_if_and_says_what_needs_the_service(browser, tmp_path):
    text = WAREHOUSE.read_text(encoding="utf-8")
    start = offline(text, file="warehouse.yaml", policy=AquaMend(), name="aquamend", most=60)
    path = tmp_path / "warehouse.html"
    path.write_text(studio_html(start), encoding="utf-8")
    with page_at(browser, path.as_uri(), width=1280, height=800) as page:
        first = step(page).inner_text()
        page.locator(".node.probe", has_text="weigh_again").click()
        page.locator(".densities .answer").click()
        expect(page.locator(".chip")).to_contain_text("weigh_again = ")
        page.get_by_role("button", name="back to the beginning").click()
        page.locator(".node.probe", has_text="ask_stock").click()
        page.get_by_role("button", name="move_booked").click()
        expect(step(page)).not_to_have_text(first)
        assert page.locator(".knob input").first.is_disabled()
        assert "need the service" in page.locator(".knobs").inner_text()
        assert [url for url in requests(page) if not url.startswith("data:")] == [path.as_uri()]
        assert said_wrong(page) == []


THERE = {
    "Situation": ".flips table", "Plan": "figure .plan-node >> nth=0", "File": ".cm-content", "Sessions": ".sessions",
}  # fmt: skip


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_it_is_accessible(browser, address, scheme, width):
    with page_at(browser, address, width=width, height=900, color_scheme=scheme) as page:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        for tab, there in THERE.items():
            page.get_by_role("button", name=tab, exact=True).click()
            page.locator(there).wait_for()
            if tab == "Situation":
                page.locator(".node.probe", has_text="weigh_again").click()
            found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
            wrong = [(v["id"], [n["html"][:120] for n in v["nodes"][:3]]) for v in found["violations"]]
            assert (tab, wrong) == (tab, [])


@pytest.mark.parametrize("width", [360, 1300])
def test_nothing_sticks_out_sideways(browser, address, width):
    with page_at(browser, address, width=width, height=800) as page:
        for tab in ("Situation", "Plan", "File", "Sessions"):
            page.get_by_role("button", name=tab, exact=True).click()
            page.wait_for_timeout(300)
            page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
