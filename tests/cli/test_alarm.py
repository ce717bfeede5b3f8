"""``aquamend alarm``: from a file of scores to a problem with an alarm, and a page that shows what it is worth."""

import csv
import json
import re

import numpy as np
import pytest
from tests.browser import browser, page_at, said_wrong

from aquamend.files import load_problem

__all__ = ["browser"]


@pytest.fixture
def scores(tmp_path):
    rng, path = np.random.default_rng(0), tmp_path / "scores.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["found", "alarm", "torque"])
        for i in range(240):
            off = i % 3 == 0
            out.writerow(["off" if off else "on", "false", f"{rng.normal(2.5 * off):.4f}"])
    return str(path)


def test_a_problem_gets_its_alarm_and_decides(run, problem, write, scores, tmp_path):
    out, page = tmp_path / "new" / "lid.yaml", tmp_path / "new" / "lid.html"
    result = run(
        "alarm", scores, "--problem", write(problem), "--score", "torque", "--out", str(out), "--html", str(page)
    )
    assert result.exit_code == 0, result.stderr
    condition = re.search(r"Ring where (torque >= [\d.]+): ", result.stdout)[1]
    assert f"# It rings where {condition}." in out.read_text()
    assert load_problem(out).model.alarm_likelihood[1] > 0.7
    assert run("decide", str(out)).exit_code == 0
    text = page.read_text()
    assert f"Ring where {condition.replace('>', '&gt;')}." in text
    (shown,) = re.findall(r'<script type="application/json" id="story">(.*?)</script>', text)
    assert json.loads(shown)["thresholds"]
    assert not re.findall(r"(?:src|href)=\"(?!data:)", text), "it loads nothing from elsewhere"


@pytest.mark.outer
def test_the_page_draws_what_each_threshold_is_worth(run, problem, write, scores, tmp_path, browser):
    page = tmp_path / "lid.html"
    run("alarm", scores, "--problem", write(problem), "--score", "torque", "--html", str(page))
    with page_at(browser, page.as_uri()) as opened:
        assert said_wrong(opened) == []
        assert opened.locator("svg.curves").count() == 2
        assert opened.locator("svg.curves polyline").count() == 3
        assert opened.locator("svg.curves .mark circle").count() == 2


def test_programs_get_every_threshold(run, problem, write, scores):
    found = json.loads(run("alarm", scores, "--problem", write(problem), "--score", "torque", "--json").stdout)
    assert found["chosen"]["loss"] == min(one["loss"] for one in found["thresholds"])
    assert (found["thresholds"][0]["chance"], found["thresholds"][-1]["chance"]) == (1.0, 0.0)
    assert (found["thresholds"][0]["at"], found["thresholds"][-1]["at"]) == ("-inf", "inf")
    ring = found["chosen"]["rings"]["on"]
    assert ring["low"] <= ring["value"] <= ring["high"]
    assert found["held_back"]["records"] == 60


def test_the_text_marks_the_threshold_in_its_place(run, problem, write, scores):
    said = run("alarm", scores, "--problem", write(problem), "--score", "torque", "--false-alarms", "0.05").stdout
    (chosen,) = re.findall(r"^▶ +([\d.]+) +([\d.]+)% ", said, re.MULTILINE)
    assert float(chosen[1]) <= 5.0
    assert re.search(r"always +100% +0% ", said)
    assert re.search(r"never +0% +100% ", said)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--method", "isotonik"], "did you mean isotonic? use one of isotonic, logistic, conformal"),
        (["--threshold", "nan"], "give a finite number"),
        (["--threshold", "1", "--false-alarms", "0.1"], "give one of the two"),
        (["--false-alarms", "-1"], "give a number from 0 to 1"),
        (["--name", "new", "--out", "/proc/no/such"], "cannot be written"),
    ],
)
def test_what_cannot_be_asked_is_refused(run, problem, write, scores, options, said):
    result = run("alarm", scores, "--problem", write(problem), "--score", "torque", *options)
    assert result.exit_code == 2
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_every_fault_in_the_scores_is_said_at_once(run, problem, write, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("found,torque,when\nonn,1,1\noff,high,2\non,2,soon\n")
    result = run("alarm", str(path), "--problem", write(problem), "--score", "torque")
    assert result.exit_code == 2
    assert [re.search(r"row (\d), column '(\w+)'", line).groups() for line in result.stderr.splitlines()] == [
        ("4", "when"), ("2", "found"), ("3", "torque"),
    ]  # fmt: skip
