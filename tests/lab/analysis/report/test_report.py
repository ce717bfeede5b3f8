"""The report as files: whole, alone, escaped, the same bytes for the same run."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest
from tests.lab.analysis.report.conftest import losses

from aquamend.errors import InvalidRun
from aquamend_lab.analysis.report.build import analysed_runs, report_of, suite_section, write_report
from aquamend_lab.analysis.report.rendering import as_html, as_markdown, two_lines

HOSTILE = "</script><b>&|*_`[x](y)"


def reported(runs):
    return report_of(analysed_runs(runs))


def text_of(runs):
    return as_markdown(reported(runs))


def sections(document):
    found = list(document.sections)
    for section in found:
        found.extend(section.parts)
    return found


def scenario_data(page):
    text = re.search(r'<script type="application/json" id="story">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(text)["suites"]


@pytest.fixture(scope="module")
def folder(m1, tmp_path_factory):
    """Return where a report has been written."""
    folder = tmp_path_factory.mktemp("report")
    write_report(reported([m1]), folder)
    return folder


@pytest.fixture(scope="module")
def page(m1, depth, proxies):
    """Return the page of three runs, with its drawings."""
    return as_html(reported([m1, depth, proxies]))


def bytes_in(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.*")}


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes(m1, folder, tmp_path):
    written = write_report(reported([m1]), tmp_path)
    assert len(written) > 5
    assert {path.relative_to(tmp_path) for path in written} == set(bytes_in(tmp_path))
    assert bytes_in(folder) == bytes_in(tmp_path)


@pytest.mark.slow
def test_figures_are_files_in_both_formats_and_part_of_the_page(folder):
    names = {path.name for path in (folder / "figures").iterdir()}
    assert {"m1-v2-means.svg", "m1-v2-gap.png"} <= names
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("<svg") == len(names) / 2
    markdown = (folder / "report.md").read_text(encoding="utf-8")
    for link in re.findall(r"\]\((figures/[^)]+)\)", markdown):
        assert (folder / link).is_file()


@pytest.mark.slow
def test_the_page_asks_for_nothing_outside_itself(page):
    text = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search("https?:", text)
    assert not re.findall(r'src="', text)
    assert all(target.startswith("#") or target == "data:," for target in re.findall(r'href="([^"]*)"', text))
    assert not re.search(r"@import|url\((?!#)|<link(?! rel=\"icon\" href=\"data:,\")|<img|<iframe", text)
    assert "default-src 'none'" in unescape(text), "nor may its script"


@pytest.mark.slow
def test_every_link_inside_the_page_leads_somewhere(page):
    identifiers = re.findall(r'\bid="([^"]+)"', page)
    assert len(identifiers) == len(set(identifiers))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= set(identifiers)


def test_headings_of_tables_take_two_lines_at_most(make):
    assert two_lines("success") == 1
    assert two_lines("95 % interval") == 2
    assert two_lines("spending saved against restart") == 2
    page = as_html(reported([make(losses("aquamend", [1.0, 2.0]), losses("restart", [3.0, 3.0]))]))
    headings = re.findall(r'<th scope="col".*?</th>', page)
    assert any("mean <br>difference" in heading for heading in headings)
    assert all(heading.count("<br>") <= 1 for heading in headings)
    assert re.search(r"thead th {[^}]*white-space: nowrap", page)


def test_text_from_files_is_escaped(make):
    refused = losses(HOSTILE, [None])
    refused[0] |= {"error": HOSTILE, "steps": [HOSTILE], "group": {"kind": HOSTILE}}
    ours, others = (losses(name, [1.0], group={"kind": HOSTILE}) for name in ("aquamend", "restart"))
    run = make(ours, others, refused, description=HOSTILE, machine=HOSTILE)
    document = reported([run])
    page = as_html(document)
    assert HOSTILE not in page
    assert page.count("</script>") == 2
    assert "&lt;/script&gt;&lt;b&gt;&amp;" in page
    assert HOSTILE not in as_markdown(document)


@pytest.mark.usefixtures("undrawn")
def test_markdown_tables_keep_their_columns_whatever_the_text(make):
    run = make(losses("a|b", [1.0]), losses("aquamend", [2.0]), machine="x | y\nz")
    for block in re.findall(r"(?:^\|.*\n)+", as_markdown(reported([run])), re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


@pytest.mark.usefixtures("undrawn")
def test_an_incomplete_run_says_so_at_the_top_and_in_its_section(m1):
    document = reported([replace(m1, manifest=m1.manifest | {"seeds": 2})])
    expected = "m1-v2 is incomplete: 20 of 40 records are here."
    assert expected in document.lead[0].text
    assert as_html(document).count("is incomplete: 20 of 40 records") == 2
    assert "**m1-v2 is incomplete" in as_markdown(document)


@pytest.mark.usefixtures("undrawn")
def test_a_complete_run_does_not(m1):
    assert "incomplete" not in as_html(reported([m1]))


@pytest.mark.usefixtures("undrawn")
def test_refusals_are_counted_and_the_first_is_quoted(make):
    refused = losses("exact", [None, 1.0])
    refused[0] |= {"error": "beyond two million states", "success": 0.0}
    page = as_html(reported([make(refused, losses("aquamend", [1.0, 1.0]))]))
    assert "1 of 4 records are refusals or failures (Exact adaptive 1)" in page
    assert "beyond two million states" in page


@pytest.mark.usefixtures("undrawn")
def test_a_run_without_records_is_a_report_all_the_same(make, tmp_path):
    empty = make(losses("aquamend", [1.0]))
    empty.records.clear()
    assert "There are no records yet." in as_html(reported([empty]))


@pytest.mark.usefixtures("undrawn")
def test_both_formats_say_the_same_headings(m1, depth, proxies):
    document = reported([m1, depth, proxies])
    page, markdown = as_html(document), as_markdown(document)
    titles = [section.title for section in sections(document)]
    assert {"m1-v2", "Results", "Order of expected risks", "Provenance"} <= set(titles)
    for title in titles:
        assert f">{title}</h" in page
        assert f"# {title}" in markdown


@pytest.mark.usefixtures("undrawn")
def test_estimators_are_not_compared_with_aquamend(proxies):
    titles = [section.title for section in sections(reported([proxies]))]
    assert "AquaMend against each other policy" not in titles
    assert "Where we differ from the paper, and why" in titles


@pytest.mark.usefixtures("undrawn")
def test_a_suite_that_comes_twice_is_told_apart_by_its_folder(make):
    runs = [make(losses("aquamend", [loss]), losses("exact", [1.0])) for loss in (1.0, 2.0)]
    object.__setattr__(runs[1], "folder", runs[1].folder.with_name("later"))
    document = reported(runs)
    assert [section.title for section in document.sections[:2]] == ["m1-v2 (m1-v2)", "m1-v2 (later)"]
    names = [figure.name for figure in document.figures]
    assert len(names) == len(set(names))


@pytest.mark.usefixtures("undrawn")
def test_folders_of_one_name_are_told_apart_by_where_they_are(make):
    runs = [make(losses("aquamend", [loss]), losses("exact", [1.0])) for loss in (1.0, 2.0)]
    for run, place in zip(runs, ("/first/run", "/second/run"), strict=True):
        object.__setattr__(run, "folder", Path(place))
    assert [one.title for one in analysed_runs(runs)] == ["m1-v2 (/first/run)", "m1-v2 (/second/run)"]


@pytest.mark.usefixtures("undrawn")
def test_the_headline_is_by_expected_risk_so_that_luck_beats_nobody(make):
    lucky = [line | {"expected_risk": 5.0 + line["scenario"]} for line in losses("aquamend", [1.0] * 12)]
    (text,) = reported([make(lucky, losses("exact", [2.0] * 12))]).lead[0].items
    assert text.startswith("m1-v2: AquaMend’s mean expected risk is 10.500 [")
    assert text.endswith("AquaMend has higher expected risk than Exact adaptive.")


@pytest.mark.usefixtures("undrawn")
def test_where_nothing_can_be_compared_no_tie_is_claimed(make):
    refused = [line | {"error": "no", "loss": None, "expected_risk": None} for line in losses("aquamend", [1.0])]
    for run in (
        make(refused, losses("exact", [1.0])),
        make(losses("aquamend", [1.0]), losses("exact", [1.0], seed=1)),
        make(refused, [line | {"policy": "exact"} for line in refused]),
    ):
        assert "tie" not in text_of([run]).replace("properties", "")


@pytest.mark.usefixtures("undrawn")
def test_policies_are_said_to_meet_the_same_scenarios_only_where_they_do(m1, make):
    assert "met the same scenarios" in text_of([m1])
    assert "met the same scenarios" not in text_of([make(losses("aquamend", [1.0, 2.0]), losses("exact", [1.0]))])


@pytest.mark.usefixtures("undrawn")
def test_realised_and_expected_are_compared_and_not_presumed_to_agree(make):
    ours = [line | {"expected_risk": 1.5} for line in losses("aquamend", [1.0, 2.0, 1.2, 1.8])]
    theirs = [line | {"expected_risk": 1.0} for line in losses("exact", [3.0, 3.0, 3.0, 3.0])]
    assert (
        "Realised loss minus expected risk is 0.000 to +2.000 on average; its 95 % interval leaves zero out for 1 of "
        "all 2 policies: Exact adaptive +2.000"
    ) in text_of([make(ours, theirs)])
    assert "holds zero for the only policy." in text_of([make(ours)])


@pytest.mark.usefixtures("undrawn")
def test_only_records_with_every_truth_are_said_to_have_them(depth):
    assert "Every hidden truth" not in text_of([depth])
    text = text_of([replace(depth, records=[record | {"realisations": []} for record in depth.records])])
    assert "Every hidden truth of a scenario was played" in text
    assert "AquaMend minus the other policy in realised loss" not in text


@pytest.mark.usefixtures("undrawn")
def test_estimators_are_called_estimators(proxies):
    text = text_of([proxies])
    assert "AquaMend" not in text
    assert "disjoint in 50.0 % of the states of the paper’s kind" in text
    assert "what was true" not in text
    (suite,) = scenario_data(as_html(reported([proxies])))
    assert suite["subject"] == "estimator"
    assert not any("endings" in row for row in suite["rows"])


@pytest.mark.usefixtures("undrawn")
def test_scenarios_keep_the_digits_that_tell_them_apart(make):
    run = make(losses("aquamend", [1.0, 1.0, 1.23456789]), losses("exact", [1.0 + 1e-6, 1.0 + 1e-12, 2.0]))
    (suite,) = scenario_data(as_html(reported([run])))
    assert [row["values"][0] for row in suite["rows"]] == [[1, 1.000001], [1, 1], [1.2346, 2]]


@pytest.mark.usefixtures("undrawn")
def test_a_truth_that_cannot_be_read_is_reported_with_its_folder_and_scenario(m1):
    unreadable = replace(m1, annotations=[m1.annotations[0] | {"truths": "x"}])
    with pytest.raises(InvalidRun, match=r"^/runs/m1-v2: the annotation of scenario 3, seed 0 has the truths 'x'"):
        reported([unreadable])


@pytest.mark.usefixtures("undrawn")
def test_a_report_that_cannot_be_whole_is_not_begun(m1, tmp_path):
    (tmp_path / "report.md").mkdir()
    with pytest.raises(OSError, match=r"report\.md is a folder"):
        write_report(reported([m1]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.md"]


@pytest.mark.usefixtures("undrawn")
def test_every_scenario_is_in_the_page_with_what_was_true(m1):
    (suite,) = scenario_data(as_html(reported([m1])))
    assert [row["scenario"] for row in suite["rows"]] == [0, 1, 2, 3]
    assert suite["policies"][suite["pair"][0]] == "AquaMend"
    assert suite["policies"][suite["pair"][1]] == "Exact adaptive"
    assert suite["rows"][3]["truth"] == [
        "b1 failed (external), minimal rollback a1 (2.00), as a chain a1, a2 (5.50), minimal re-probe p1"
    ]
    assert suite["measures"] == ["expected risk", "realised loss"]
    assert suite["rows"][3]["values"] == [[None, 5, 7, 7, 10], [4, 5, 7, 7, 10]]


@pytest.mark.usefixtures("undrawn")
def test_steps_are_kept_for_the_scenarios_that_differ_most(make, monkeypatch):
    monkeypatch.setattr("aquamend_lab.analysis.report.scenarios.MOST_WITH_STEPS", 1)
    run = make(losses("aquamend", [1.0, 1.0, 1.0]), losses("restart", [1.0, 5.0, 2.0]))
    (suite,) = scenario_data(as_html(reported([run])))
    assert ["steps" in row for row in suite["rows"]] == [False, True, False]


@pytest.mark.usefixtures("undrawn")
def test_infinite_and_missing_losses_reach_the_page(make):
    run = make(losses("aquamend", ["inf", None]), losses("restart", [1.0, 2.0]))
    (suite,) = scenario_data(as_html(reported([run])))
    assert [row["values"][0] for row in suite["rows"]] == [["inf", 1], [None, 2]]


@pytest.mark.parametrize("text", ["prefers-color-scheme: dark", "@media print", 'lang="en"', 'name="viewport"'])
@pytest.mark.usefixtures("undrawn")
def test_the_page_serves_dark_rooms_paper_and_phones(m1, text):
    assert text in as_html(reported([m1]))


@pytest.mark.usefixtures("undrawn")
def test_all_kinds_of_scenarios_stand_together_before_each(stress, looked_at):
    (results,) = [part for part in suite_section(looked_at(stress)).parts if part.title == "Results"]
    first, folded = results.blocks[0], results.blocks[1]
    assert [column.title for column in first.columns][:2] == ["policy", "success"]
    assert folded.blocks[0].columns[0].title == "factor"


@pytest.mark.usefixtures("undrawn")
def test_without_expected_risks_nothing_is_said_about_their_order(stress, looked_at):
    titles = [part.title for part in suite_section(looked_at(stress)).parts]
    assert "Order of expected risks" not in titles
    assert "Where we differ from the paper, and why" in titles
