"""Suites of one's own: a class by ``module:Suite``, and a folder of problem files."""

import json
import sys
import textwrap

import pytest

from aquamend.belief import InformationState
from aquamend.errors import InvalidRun, TooManyScenarios, UnknownName
from aquamend.files import load_problem
from aquamend.policies import evaluate
from aquamend_lab.analysis.comparison import compare, side
from aquamend_lab.analysis.metrics import summarise
from aquamend_lab.analysis.report.build import analysed_runs, report_of
from aquamend_lab.analysis.report.rendering import as_markdown
from aquamend_lab.analysis.table import narrowed, table_of
from aquamend_lab.benchmarks.catalogue import suite_named
from aquamend_lab.benchmarks.runner import Wanted, run_suite

PROBLEM = {
    "format": "aquamend-problem/1",
    "name": "is the lid on",
    "beliefs": [{"name": "lid", "residual": 10}],
    "actions": [{"name": "lift", "undo": 3, "status": "executed"}],
    "probes": [{"name": "look", "cost": 0.5}],
    "edges": [["look", "lid", "detection"], ["lid", "lift", "belief_to_action"]],
    "hypotheses": [
        {"name": "on", "prior": 0.6, "failed": [], "cause": "false_alarm"},
        {"name": "off", "prior": 0.4, "failed": ["lid"], "cause": "external"},
    ],
    "kernels": {"look": {"outcomes": ["yes", "no"], "likelihood": {"on": [0.9, 0.1], "off": [0.2, 0.8]}}},
}

SOURCE = """
    class Doubts:
        name, description, scenarios, seeds, policies = "doubts-v1", "Made up.", 3, 2, ("coin", "aquamend")
        groups, reference = {"doubt": "kind"}, "coin"

        def check_policies(self, names):
            pass

        def play(self, seed, number, policies):
            from aquamend_lab.benchmarks.suite import Played

            label = {"suite": self.name, "scenario": number, "seed": seed, "group": {"doubt": number % 2}}
            return Played([label | {"policy": name, "loss": number + len(name), "success": 1.0} for name in policies])
"""


@pytest.fixture
def doubts(tmp_path, monkeypatch):
    (tmp_path / "own_doubts.py").write_text(textwrap.dedent(SOURCE))
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "own_doubts:Doubts"
    sys.modules.pop("own_doubts", None)


@pytest.fixture
def lids(tmp_path):
    folder = tmp_path / "lids"
    folder.mkdir()
    for name, prior in (("doubtful", 0.4), ("sure", 0.01)):
        hypotheses = [h | {"prior": p} for h, p in zip(PROBLEM["hypotheses"], (1 - prior, prior), strict=True)]
        (folder / f"{name}.json").write_text(json.dumps(PROBLEM | {"hypotheses": hypotheses}))
    (folder / "notes.txt").write_text("no problem")
    return folder


def test_a_suite_of_ones_own_is_run_under_its_name_with_what_it_declares(doubts, tmp_path):
    run = run_suite(doubts, tmp_path / "run", jobs=1)
    assert (run.suite, len(run.records)) == ("doubts-v1", 12)
    table = table_of(run)
    assert (table.reference, table.pooled, narrowed(run)) == ("coin", True, "")


def test_a_suite_of_ones_own_that_changed_is_not_continued(doubts, tmp_path):
    run_suite(doubts, tmp_path / "run", asked=Wanted(seeds=1), jobs=1)
    with (tmp_path / "own_doubts.py").open("a") as file:
        file.write("# another meaning\n")
    with pytest.raises(InvalidRun, match="what own_doubts:Doubts consists of has changed since"):
        run_suite(doubts, tmp_path / "run", asked=Wanted(seeds=2), jobs=1, resume=True)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own_doubts:Nobody", "AttributeError"), ("no_such_module:Suite", "ModuleNotFoundError"),
        ("json:JSONDecoder", "it has no name, description, scenarios, seeds, policies, check_policies, play"),
        ("aquamend_lab.benchmarks.catalogue:M1", "its name 'm1-v2' is that of one of ours"),
        ("m2-v1", "unknown suite 'm2-v1'; valid names: 'm1-v2'"),
    ],
)  # fmt: skip
def test_what_is_no_suite_is_reported(doubts, name, message):
    with pytest.raises(UnknownName) as error:
        suite_named(name)
    assert message in str(error.value)


def test_a_kind_of_group_that_there_is_not_is_reported_before_anything_is_written(doubts, tmp_path):
    source = (tmp_path / "own_doubts.py").read_text().replace('"kind"', '"sort"')
    (tmp_path / "own_doubts.py").write_text(source)
    with pytest.raises(UnknownName, match=r"unknown kind of group for 'doubt' 'sort'; valid names: 'kind'"):
        run_suite(doubts, tmp_path / "run", jobs=1)
    assert not (tmp_path / "run").exists()


def test_a_folder_of_problem_files_has_a_scenario_and_a_group_for_each(lids, tmp_path):
    run = run_suite(str(lids), tmp_path / "run", asked=Wanted(("aquamend", "rollback-only")), jobs=1)
    assert run.suite == "lids"
    found = summarise(table_of(run))
    assert [(s.group, s.policy, s["scenarios"]) for s in found] == [
        ({"problem": name}, policy, 20) for name in ("doubtful", "sure") for policy in ("aquamend", "rollback-only")
    ]
    assert not table_of(run).pooled
    assert narrowed(run) == "Narrowed: 2 of its 8 policies. The suite's description is of all of it."


def test_the_truth_of_a_problem_file_is_drawn_from_its_own_model(lids):
    suite = suite_named(str(lids))
    failed = [bool(suite.make(seed, 0).truths[0].failed) for seed in range(200)]
    assert sum(failed) / 200 == pytest.approx(0.4, abs=0.1)
    assert failed == [bool(suite.make(seed, 0).truths[0].failed) for seed in range(200)]
    assert sum(bool(suite.make(seed, 1).truths[0].failed) for seed in range(200)) < 10


def test_a_folder_whose_files_changed_is_not_continued(lids, tmp_path):
    run_suite(str(lids), tmp_path / "run", asked=Wanted(("aquamend",), seeds=1), jobs=1)
    (lids / "another.json").write_text(json.dumps(PROBLEM))
    with pytest.raises(InvalidRun, match="has changed since"):
        run_suite(str(lids), tmp_path / "run", asked=Wanted(seeds=2), jobs=1, resume=True)


def test_a_folder_with_a_fault_or_without_problems_is_no_suite(lids, tmp_path):
    (lids / "broken.json").write_text("{}")
    with pytest.raises(InvalidRun, match=r"broken\.json: format: it is missing.*aquamend validate"):
        suite_named(str(lids))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidRun, match="there are no problem files in it"):
        suite_named(str(tmp_path / "empty"))


def test_a_folder_has_the_exact_expected_risk_of_every_policy_on_every_file(lids, tmp_path):
    run = run_suite(str(lids), tmp_path / "run", asked=Wanted(("oracle", "aquamend"), seeds=3), jobs=1)
    table = table_of(run)
    for name, prior in (("doubtful", 0.4), ("sure", 0.01)):
        state = InformationState.alarmed(load_problem(lids / f"{name}.json"))
        rows = table.members({"problem": name})
        expected = table.column("expected_risk")[rows]
        assert expected[:, 1] == pytest.approx(evaluate("aquamend", state).expected_loss)
        assert expected[:, 0] == pytest.approx(3 * prior)  # told what is so, it pays for the rollback where it is due


def test_where_a_file_has_readings_or_too_many_states_its_expected_risk_is_unavailable(lids, tmp_path, monkeypatch):
    monkeypatch.setattr("aquamend_lab.benchmarks.problem_files.MOST_STATES", 1)
    problem = PROBLEM | {"kernels": {"look": {"gaussian": {"on": [0, 1], "off": [3, 1]}}}}
    (lids / "reading.json").write_text(json.dumps(problem))
    table = table_of(run_suite(str(lids), tmp_path / "run", asked=Wanted(("aquamend", "restart"), seeds=1), jobs=1))
    risk = {(g["problem"], p): table.column("expected_risk")[i, k] for i, g in enumerate(table.groups)
            for k, p in enumerate(table.policies)}  # fmt: skip
    assert [key for key, value in risk.items() if value != value] == [("doubtful", "aquamend"), ("reading", "aquamend")]


def test_files_in_different_units_are_told_apart_everywhere(lids, tmp_path):
    (lids / "euros.json").write_text(json.dumps(PROBLEM | {"unit": "EUR"}))
    (lids / "minutes.json").write_text(json.dumps(PROBLEM | {"unit": "min"}))
    run = run_suite(str(lids), tmp_path / "run", asked=Wanted(("aquamend", "restart"), seeds=2), jobs=1)
    table = table_of(run)
    assert [table.unit_of(group) for group in table.distinct_groups] == ["", "EUR", "min", ""]
    found = compare(side(table, "aquamend"), side(table, "restart"))
    assert [(one.group["problem"], one.unit) for one in found] == [
        ("doubtful", ""), ("euros", "EUR"), ("minutes", "min"), ("sure", ""),
    ]  # fmt: skip
    page = as_markdown(report_of(analysed_runs([run])))
    assert "| problem | unit | policy | success | expected risk |" in page
    assert "| euros | EUR |" in page
    assert "differ most" not in page


def test_files_in_one_unit_say_it_once(lids, tmp_path):
    for name in ("doubtful", "sure"):
        path = lids / f"{name}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"unit": "min"}))
    run = run_suite(str(lids), tmp_path / "run", asked=Wanted(("aquamend", "restart"), seeds=2), jobs=1)
    page = as_markdown(report_of(analysed_runs([run])))
    assert "| problem | policy | success | expected risk (min) |" in page
    assert not table_of(run).pooled


def test_files_of_one_name_and_two_kinds_are_two_problems(lids):
    (lids / "sure.yaml").write_text((lids / "sure.json").read_text())
    suite = suite_named(str(lids))
    assert [suite.make(0, k).group["problem"] for k in range(3)] == ["doubtful", "sure.json", "sure.yaml"]


def test_more_scenarios_than_a_folder_has_files_are_refused_in_words(lids, tmp_path):
    for out, asked in (("new", Wanted(("aquamend",), scenarios=3)), ("all", Wanted(("aquamend",), seeds=1))):
        if out == "all":
            run_suite(str(lids), tmp_path / out, asked=asked, jobs=1)
            asked = Wanted(scenarios=3)
        with pytest.raises(
            TooManyScenarios, match="3 scenarios for each seed are asked for, and there are 2 scenarios"
        ):
            run_suite(str(lids), tmp_path / out, asked=asked, jobs=1, resume=out == "all")
    assert not (tmp_path / "new").exists()
