"""The page of a report in a real browser: it fits, its tables can be read, and every scenario can be opened."""

from dataclasses import replace

import pytest
from tests.browser import browser, page_at, requests, said_wrong

from aquamend_lab.analysis.report.build import analysed_runs, report_of
from aquamend_lab.analysis.report.rendering import as_html

__all__ = ["browser"]
pytestmark = pytest.mark.outer

LINES = """
heading => {
  const range = document.createRange();
  range.selectNodeContents(heading);
  const tops = [...range.getClientRects()].filter(box => box.width > 1).map(box => box.top).sort((a, b) => a - b);
  return tops.filter((top, i) => i === 0 || top - tops[i - 1] > 9).length;
}
"""


@pytest.fixture(scope="module")
def address(m1, stress, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    told = replace(stress, stories={(0, 1): "../stories/0-1/index.html"})
    path.write_text(as_html(report_of(analysed_runs([m1, told]))), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [390, 800, 1280])
def test_headings_take_two_lines_and_the_page_keeps_its_width(browser, address, width):
    with page_at(browser, address, width=width) as page:
        page.locator("details").evaluate_all("folds => folds.forEach(fold => fold.open = true)")
        headings = page.locator("thead th").all()
        assert len(headings) > 30
        assert max(heading.evaluate(LINES) for heading in headings) <= 2
        page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
        assert (said_wrong(page), requests(page)) == ([], [address])


def test_a_scenario_opens_and_leads_to_its_story(browser, address):
    with page_at(browser, address) as page:
        explorer = page.locator("#explorer")
        first = explorer.locator("tbody tr.row").first
        assert first.locator("button").get_attribute("aria-expanded") == "false"
        first.click()
        assert first.locator("button").get_attribute("aria-expanded") == "true"
        assert explorer.locator("tr.detail").count() == 1
        explorer.get_by_label("Suite").select_option(index=1)
        explorer.get_by_role("button", name="seed 0, no. 1", exact=True).click()
        assert explorer.locator("tr.detail a").get_attribute("href") == "../stories/0-1/index.html"


def test_a_click_on_a_heading_sorts(browser, address):
    with page_at(browser, address) as page:
        table = page.locator("#m1-v2-results table").first
        heading = table.locator("thead th", has_text="success")
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == "ascending"
