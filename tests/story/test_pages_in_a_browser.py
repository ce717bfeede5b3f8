"""Pages of stories, looked at in a real browser."""

import pytest

from aquamend.story.page import story_html
from tests.browser import browser, page_at, requests, said_wrong
from tests.story.sample_story import EXPLANATIONS, sample_story
from tests.story.test_story import hostile_story

__all__ = ["browser"]
pytestmark = pytest.mark.outer


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "story.html"
    path.write_text(story_html(sample_story()), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def page(browser, address):
    with page_at(browser, address) as opened:
        yield opened


def test_it_opens_without_an_error_and_asks_the_network_for_nothing(page, address):
    assert said_wrong(page) == []
    assert [url for url in requests(page) if not url.startswith("data:")] == [address]


def test_every_part_of_the_story_is_drawn(page):
    story = sample_story()
    assert page.locator(".moment").count() == len(story.moments)
    assert page.locator(".moment img").count() == sum(m.picture is not None for m in story.moments)
    assert page.locator(".graph .node").count() == len(story.nodes)
    assert page.locator(".ledger tbody tr").count() == len(story.receipts)
    assert page.locator(".statements tbody tr").count() == len(story.statements)
    labels = page.locator(".posterior .labels li").all_inner_texts()
    assert len(labels) == len(EXPLANATIONS)
    assert labels[0].strip() == "92% A and B swapped"


def test_the_total_is_what_the_receipts_add_up_to(page):
    total = float(page.locator(".total data").get_attribute("value"))
    assert total == pytest.approx(sum(receipt.cost for receipt in sample_story().receipts))


def test_alternatives_show_what_they_cost_more_than_the_least(page):
    rows = page.locator(".moment.decided").first.locator("tbody tr")
    assert rows.first.locator(".amount").inner_text() == "least"
    assert rows.nth(1).locator(".amount").inner_text() == "+1.4 s"
    assert "21.4 s in common" in page.locator(".common-key").first.inner_text()


def test_a_click_on_a_belief_lights_what_rests_on_it(page):
    page.locator(".node.belief", has_text="place A").click()
    dim = page.locator(".graph .node.dim .name").all_inner_texts()
    assert "look B" in dim
    assert not {"place A", "target", "decide", "move above left", "pour"} & set(dim)
    page.locator(".node.belief", has_text="place A").click()
    assert page.locator(".graph .node.dim").count() == 0


@pytest.mark.parametrize("width", [360, 1300])
def test_nothing_sticks_out_sideways(page, width):
    page.set_viewport_size({"width": width, "height": 800})
    page.locator("summary").evaluate_all("each => each.forEach(one => one.parentElement.open = true)")
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)  # once it is laid out
    page.set_viewport_size({"width": 1000, "height": 640})


def test_hostile_text_stays_text(browser, tmp_path):
    path = tmp_path / "hostile.html"
    path.write_text(story_html(hostile_story()), encoding="utf-8")
    alert = "window.alerted = 0; window.alert = () => window.alerted++"
    with page_at(browser, path.as_uri(), before=alert, width=500) as page:
        assert page.evaluate("window.alerted") == 0
        assert said_wrong(page) == []
        assert "<script>alert(1)</script>" in page.locator("h1").inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= 500
