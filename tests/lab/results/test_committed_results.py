"""The committed results: complete, what the README shows, and what the code gives today."""

import json
import math
import random
from pathlib import Path

import pytest

from aquamend_lab.analysis.charts import described_by, styles_in
from aquamend_lab.analysis.report.rendering import with_tables
from aquamend_lab.analysis.table import narrowed
from aquamend_lab.benchmarks.catalogue import ELSEWHERE, EXECUTED, OUTSIDE, PUBLISHED, SUITES
from aquamend_lab.benchmarks.manifest import code_fingerprint
from aquamend_lab.records import as_line, load_run

ROOT = Path(__file__).parents[3]
SAMPLE = {"m1-depth-v1": 15, "m1-depth-scaled-v1": 8, "networks-v1": 2, "textbook-v1": 10, "t4-closure-v3": 2}
"""Scenarios played again, where thirty would take long."""
FROM_OUTSIDE = (*(suite.name for suite in OUTSIDE), *ELSEWHERE)
LATER = ("rollbacks",)
"""What records have been given since some of these runs were made."""


@pytest.fixture(scope="module", params=PUBLISHED)
def run(request):
    return load_run(ROOT / "results" / request.param)


def test_every_scenario_seed_and_policy_that_a_run_asked_for_is_there(run):
    """A run that left out some of its suite says so wherever it is shown."""
    suite, asked = SUITES[run.suite], run.manifest
    keys = {(r["seed"], r["scenario"], r["policy"]) for r in run.records}
    assert len(keys) == len(run.records) == asked["seeds"] * asked["scenarios"] * len(asked["policies"])
    whole = (asked["seeds"], asked["scenarios"], {*asked["policies"]})
    assert (whole == (suite.seeds, suite.scenarios, {*suite.policies})) == (not narrowed(run))
    assert run.manifest["finished"]
    assert "+changes" not in run.manifest["commit"]


def same(ours, theirs):
    """Equal, with numbers compared to nine significant digits: machines differ in the last ones."""
    if isinstance(ours, float) and isinstance(theirs, float):
        return math.isclose(ours, theirs, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


def test_a_sample_played_again_gives_the_same_numbers(run):
    """The sample changes with the code, so that over time all of them are played again."""
    suite = SUITES[run.suite]
    asked = run.manifest
    scenarios = [(seed, number) for seed in range(asked["seeds"]) for number in range(asked["scenarios"])]
    if run.suite == "m1-depth-scaled-v1":
        scenarios = [(seed, number) for seed, number in scenarios if number < 8]  # beyond n = 14 it takes seconds
    several = SAMPLE.get(run.suite, 4 if run.suite.startswith("t4-") else 30)
    chosen = random.Random(code_fingerprint()).sample(scenarios, several)
    committed = {(r["seed"], r["scenario"], r["policy"]): r for r in run.records}
    annotated = {(a["seed"], a["scenario"]): a for a in run.annotations}
    for seed, number in chosen:
        played = suite.play(seed, number, tuple(asked["policies"]))
        for record in played.records:
            before = committed[seed, number, record["policy"]]
            again = {k: v for k, v in json.loads(as_line(record)).items() if k in before or k not in LATER}
            assert same(again, before), (seed, number, record["policy"])
        if played.annotation is not None:
            assert same(json.loads(as_line(played.annotation)), annotated[seed, number]), (seed, number)


@pytest.mark.parametrize(
    ("page", "suites"),
    [
        ("README.md", EXECUTED[:1]),
        ("docs/results.md", tuple(name for name in (*EXECUTED, *PUBLISHED) if name not in FROM_OUTSIDE)),
        ("docs/outside.md", FROM_OUTSIDE),
    ],
)
def test_the_pages_show_these_results(page, suites):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- results:begin -->" in text
    runs = [load_run(ROOT / "results" / name) for name in suites]
    with described_by(styles_in(run.manifest for run in runs)):
        assert with_tables(text, runs) == text


def test_no_policy_has_less_expected_risk_than_exact_on_any_committed_scenario(run):
    """A theorem, on every scenario of every suite that has both numbers."""
    risk = {(r["seed"], r["scenario"], r["policy"]): r.get("expected_risk") for r in run.records}
    others = [key for key in risk if key[2] not in ("exact", "oracle") and (*key[:2], "exact") in risk]
    assert all(risk[key] >= risk[*key[:2], "exact"] - 1e-9 for key in others)
    assert bool(others) == ("exact" in run.manifest["policies"])


def test_the_oracle_loses_no_more_than_any_policy_on_m1():
    records = load_run(ROOT / "results" / "m1-v2").records
    message = {(r["seed"], r["scenario"]): r["loss"] for r in records if r["policy"] == "oracle"}
    assert all(r["loss"] >= message[r["seed"], r["scenario"]] - 1e-9 for r in records)


def test_m1_depth_means_are_what_many_seeds_should_give():
    records = load_run(ROOT / "results" / "m1-depth-v1").records
    for n, policy, risk, success in (
        (3, "aquamend", 3.48, 0.72), (4, "lookahead-2", 3.65, 0.60), (5, "lookahead-3", 3.84, 0.34),
        (3, "exact", 3.29, 1.0), (4, "exact", 3.46, 1.0), (5, "exact", 3.60, 1.0), (6, "exact", 3.73, 1.0),
    ):  # fmt: skip
        rows = [r for r in records if r["group"] == {"n": n} and r["policy"] == policy]
        assert len(rows) == 500
        assert sum(r["expected_risk"] for r in rows) / 500 == pytest.approx(risk, abs=0.03)
        assert sum(r["success"] for r in rows) / 500 == pytest.approx(success, abs=0.05)


def test_results_stay_small():
    assert sum(path.stat().st_size for path in (ROOT / "results").rglob("*") if path.is_file()) < 15_000_000


def test_every_folder_of_results_is_that_of_a_suite_there_is():
    folders = {path.name for path in (ROOT / "results").iterdir() if path.is_dir()}
    assert folders == {*EXECUTED, *PUBLISHED, *ELSEWHERE}
