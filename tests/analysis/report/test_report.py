"""The report as files: whole, alone, escaped, the same bytes for the same run."""

import json
import re

import pytest
from tests.analysis.report.conftest import losses

from aquamend.analysis.report.as_html import as_html
from aquamend.analysis.report.as_markdown import as_markdown
from aquamend.analysis.report.build import report_of, write_report

HOSTILE = "</script><b>&|*_`[x](y)"


def sections(document):
    found = list(document.sections)
    for section in found:
        found.extend(section.parts)
    return found


def scenario_data(page):
    text = re.search(r'<script type="application/json" id="scenarios">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(text)["suites"]


def test_the_same_run_gives_the_same_bytes(m1, tmp_path):
    for name in ("first", "second"):
        write_report([m1], tmp_path / name)
    first = {path.relative_to(tmp_path / "first"): path.read_bytes() for path in (tmp_path / "first").rglob("*.*")}
    second = {path.relative_to(tmp_path / "second"): path.read_bytes() for path in (tmp_path / "second").rglob("*.*")}
    assert len(first) > 5
    assert first == second


def test_figures_are_files_in_both_formats_and_part_of_the_page(m1, tmp_path):
    written = write_report([m1], tmp_path)
    names = sorted(path.name for path in written if path.parent.name == "figures")
    assert "m1-v1-loss.svg" in names
    assert "m1-v1-gap.png" in names
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(names) / 2
    markdown = (tmp_path / "report.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\((figures/[^)]+)\)", markdown):
        assert (tmp_path / link).is_file()


def test_the_page_asks_for_nothing_outside_itself(m1, depth, proxies):
    page = as_html(report_of([m1, depth, proxies]))
    assert "http" not in page
    assert "//" not in "".join(re.findall(r'(?:src|href)="([^"]*)"', page))
    assert all(target.startswith("#") for target in re.findall(r'href="([^"]*)"', page))
    assert not re.search(r"@import|url\((?!#)|<link|<img|<iframe", page)


def test_every_link_inside_the_page_leads_somewhere(m1, depth):
    page = as_html(report_of([m1, depth]))
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(identifiers)


def test_text_from_files_is_escaped(make):
    refused = losses(HOSTILE, [None])
    refused[0] |= {"error": HOSTILE, "steps": [HOSTILE], "group": {"kind": HOSTILE}}
    ours, others = (losses(name, [1.0], group={"kind": HOSTILE}) for name in ("aquamend", "restart"))
    run = make(ours, others, refused, description=HOSTILE, machine=HOSTILE)
    document = report_of([run])
    page = as_html(document)
    assert HOSTILE not in page
    assert page.count("</script>") == 2
    assert "&lt;/script&gt;&lt;b&gt;&amp;" in page
    assert HOSTILE not in as_markdown(document)


def test_markdown_tables_keep_their_columns_whatever_the_text(make):
    run = make(losses("a|b", [1.0]), losses("aquamend", [2.0]), machine="x | y\nz")
    for block in re.findall(r"(?:^\|.*\n)+", as_markdown(report_of([run])), re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


def test_an_incomplete_run_says_so_at_the_top_and_in_its_section(m1):
    m1.manifest["seeds"] = 2
    document = report_of([m1])
    expected = "m1-v1 is incomplete: 20 of 40 records are here."
    assert expected in document.lead[0].text
    assert as_html(document).count("is incomplete: 20 of 40 records") == 2
    assert "**m1-v1 is incomplete" in as_markdown(document)


def test_a_complete_run_does_not(m1):
    assert "incomplete" not in as_html(report_of([m1]))


def test_refusals_are_counted_and_the_first_is_quoted(make):
    refused = losses("exact", [None, 1.0])
    refused[0] |= {"error": "beyond two million states", "success": 0.0}
    page = as_html(report_of([make(refused, losses("aquamend", [1.0, 1.0]))]))
    assert "1 of 4 records are refusals or failures (Exact adaptive 1)" in page
    assert "beyond two million states" in page


def test_a_run_without_records_is_a_report_all_the_same(make, tmp_path):
    empty = make(losses("aquamend", [1.0]))
    empty.records.clear()
    assert "There are no records yet." in as_html(report_of([empty]))


def test_both_formats_say_the_same_headings(m1, depth, proxies):
    document = report_of([m1, depth, proxies])
    page, markdown = as_html(document), as_markdown(document)
    titles = [section.title for section in sections(document)]
    assert {"m1-v1", "Results", "What must hold", "Provenance"} <= set(titles)
    for title in titles:
        assert f">{title}</h" in page
        assert f"# {title}" in markdown


def test_estimators_are_not_compared_with_aquamend(proxies):
    titles = [section.title for section in sections(report_of([proxies]))]
    assert "AquaMend against each other policy" not in titles
    assert "Where we differ from the paper, and why" in titles


def test_a_suite_that_comes_twice_is_told_apart_by_its_folder(make):
    runs = [make(losses("aquamend", [loss]), losses("exact", [1.0])) for loss in (1.0, 2.0)]
    object.__setattr__(runs[1], "folder", runs[1].folder.with_name("later"))
    document = report_of(runs)
    assert [section.title for section in document.sections[:2]] == ["m1-v1 (m1-v1)", "m1-v1 (later)"]
    names = [figure.name for figure in document.figures]
    assert len(names) == len(set(names))


def test_every_scenario_is_in_the_page_with_what_was_true(m1):
    (suite,) = scenario_data(as_html(report_of([m1])))
    assert [row["scenario"] for row in suite["rows"]] == [0, 1, 2, 3]
    assert suite["policies"][suite["pair"][0]] == "AquaMend"
    assert suite["policies"][suite["pair"][1]] == "Exact adaptive"
    assert suite["rows"][3]["truth"] == [
        "b1 failed (external), minimal rollback a1 (2.00), as a chain a1, a2 (5.50), minimal re-probe p1"
    ]
    assert suite["rows"][3]["values"][0] == [4, 5, 7, 7, 10]


def test_steps_are_kept_for_the_scenarios_that_differ_most(make, monkeypatch):
    monkeypatch.setattr("aquamend.analysis.report.scenarios.MOST_WITH_STEPS", 1)
    run = make(losses("aquamend", [1.0, 1.0, 1.0]), losses("restart", [1.0, 5.0, 2.0]))
    (suite,) = scenario_data(as_html(report_of([run])))
    assert ["steps" in row for row in suite["rows"]] == [False, True, False]


def test_infinite_and_missing_losses_reach_the_page(make):
    run = make(losses("aquamend", ["inf", None]), losses("restart", [1.0, 2.0]))
    (suite,) = scenario_data(as_html(report_of([run])))
    assert [row["values"][0] for row in suite["rows"]] == [["inf", 1], [None, 2]]


@pytest.mark.parametrize("text", ["prefers-color-scheme: dark", "@media print", 'lang="en"', 'name="viewport"'])
def test_the_page_serves_dark_rooms_paper_and_phones(m1, text):
    assert text in as_html(report_of([m1]))
