"""Calibration runs as labelled records: comparable by role, and enough to learn a well calibrated model."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.lab.pouring.calibration_records import record

from aquamend.codec.plain_text import data_at
from aquamend.files import parse_problem
from aquamend.learning import calibration_of, learned
from aquamend.learning.checking import state_after
from aquamend.problem.model.spreads import differs
from aquamend_lab.analysis.statistics import paired_bootstrap
from aquamend_lab.pouring.calibration_run import KINDS, CalibrationRecord
from aquamend_lab.pouring.model.fitted import load_fitted
from aquamend_lab.pouring.mujoco.trouble import Mishap
from aquamend_lab.pouring.robot_fit import found_by_role, nearest, posed, posed_by, record_by_role
from aquamend_lab.records import read_lines

ROOT = Path(__file__).parents[3]
LEARNING = ROOT / "examples" / "learning"


def test_amounts_are_reported_relative_to_what_was_declared_of_each_role():
    one = record(2)  # a little water in the target, B; declared of A, B and C: see by_hand
    by_role = record_by_role(one)
    amounts = dict(zip("ABC", one.declared.quantity_g, strict=True))
    assert by_role.found == "trouble=little"
    assert by_role.readings["look_target"] == (pytest.approx(one.readings["look_B"] - amounts["B"], abs=0.051),)
    assert by_role.readings["localise"] == ("all in place", "all in place")
    assert {name.split("_")[0] for name in by_role.readings} >= {"report", "localise", "check", "look", "weigh"}


def test_every_kind_of_trouble_is_known_to_the_file():
    template = data_at(str(LEARNING / "pouring_by_role.yaml"))
    rows = [record_by_role(record(run)) for run in range(2 * len(KINDS))]
    found = learned(template, rows)
    assert found.used == len(rows)
    assert {row.found for row in rows} >= {"nothing", "trouble=swap_target_rival", "trouble=frozen", "trouble=mixed_up"}


def test_the_fitted_model_is_asked_in_its_own_words():
    one = record(9)
    problem, asked = posed(one, load_fitted())
    assert asked.found in problem.model.names
    assert found_by_role(one) == "trouble=misreads_third"
    assert calibration_of([(problem, asked)]).records == 1
    assert calibration_of([(problem, replace(asked, found="nobody knows"))]).records == 0


@pytest.fixture(scope="module")
def by_role():
    return parse_problem(data_at(str(LEARNING / "pouring_by_role.yaml")))


def test_what_was_poured_and_added_is_in_the_record():
    one = record(2)
    poured = replace(one, heard=replace(one.heard, poured_g=19.5))
    assert record_by_role(one).readings["poured"] == ("no",)
    assert record_by_role(poured).found == "trouble=little + after_pour"
    assert record_by_role(poured).truth == {"quantity_target": one.added_g}


@pytest.mark.parametrize("run", [3, 6, 9, 11])  # much added, two cups swapped, one misread, two mixed up
def test_a_file_by_role_is_asked_in_the_robots_own_problem(by_role, run):
    one = record(run)
    own, asked = posed(one, load_fitted())
    problem = posed_by(by_role, one, load_fitted())
    assert [b.name for b in problem.graph.beliefs] == [b.name for b in own.graph.beliefs]
    assert problem.graph.probes == own.graph.probes, "the same prices"
    so = problem.model.hypotheses[nearest(problem, one, load_fitted())]
    wrong = {b.name for b in problem.graph.beliefs if differs(so.true_of(b), b.declared, b.tolerance)}
    assert wrong - {"scales"} == set(one.failed), "what was really so is one of its hypotheses"
    told = state_after(problem, replace(asked, found=so.name))
    assert told.contradiction is None
    for probe in ("localise", "check_camera"):
        assert problem.model.channels[probe].outcomes == own.model.channels[probe].outcomes


def test_only_the_swap_that_was_seen_is_left(by_role):
    one = record(KINDS.index(Mishap.SWAP_THIRD))
    names = posed_by(by_role, one, load_fitted()).model.names
    swaps = {name.split(" + ")[0] for name in names if "swap" in name}
    assert swaps == {found_by_role(one).split(" + ")[0]}


KEPT = json.loads((ROOT / "results" / "learned-pouring.json").read_text(encoding="utf-8"))
"""What examples/learning/learned_pouring.py found."""
EIGHTHS = KEPT["each eighth held back once"]


def test_the_page_on_learning_says_what_was_found():
    page = " ".join((ROOT / "docs" / "learning.md").read_text(encoding="utf-8").split())
    for part in KEPT.values():
        for name, (brier, ece, log_score, *inside) in part["scores"].items():
            lost = " | ".join(f"{loss:.2f}" for loss in np.mean(part["rows"][name], axis=0)[2:])
            shares = " | ".join(f"{share:.3f}" for share in inside)
            row = f"| {name} | {len(part['runs'])} | {brier:.4f} | {ece:.4f} | {log_score:.3f} | {shares} | {lost} |"
            assert row.replace("| -", "| −") in page
    rows = {name: np.array(own) for name, own in EIGHTHS["rows"].items()}
    for k, (what, digits) in enumerate(
        (
            ("Brier", 4),
            ("log score", 3),
            ("lost at once, s", 2),
            ("lost in the replay, s", 2),
            ("lost without rules, s", 2),
        )
    ):
        cells = []
        for other in ("fitted", "guessed"):
            apart = (rows["learned"] - rows[other])[:, k]
            low, high = paired_bootstrap(apart)
            equal = f", {(abs(apart) <= 1e-9).sum()} equal" if what.startswith("lost") else ""
            cells.append(f"{apart.mean():.{digits}f} ({low:.{digits}f} to {high:.{digits}f}){equal}".replace("-", "−"))
        assert f"| {what} | {cells[0]} | {cells[1]} |" in page


def test_what_is_learned_is_as_good_as_what_special_code_fits():
    rows = {name: np.array(own) for name, own in EIGHTHS["rows"].items()}
    apart = dict(zip(("brier", "log", "at once"), (rows["learned"] - rows["fitted"]).T, strict=False))
    assert paired_bootstrap(apart["brier"]).low <= 0.0, "no worse that could be told"
    assert paired_bootstrap(apart["log"]).high >= 0.0
    assert paired_bootstrap(apart["at once"]).low <= 0.0
    assert EIGHTHS["scores"]["learned"][-1] == pytest.approx(0.95, abs=0.04), "the share of readings in 95 %"


@pytest.mark.slow
@pytest.mark.outer
def test_an_eighth_scored_again_gives_the_same_numbers(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(LEARNING)])
    import learned_pouring

    lines = read_lines(ROOT / "results" / "pouring-calibration.jsonl")
    records = [CalibrationRecord.from_data(line) for line in lines]
    template = data_at(str(LEARNING / "pouring_by_role.yaml"))
    eighth = learned_pouring.EIGHTHS[3:4]
    found, each = learned_pouring.compared(records, template, eighth)
    for name, own in learned_pouring.kept(eighth, records, found, each)["rows"].items():
        before = dict(zip(EIGHTHS["runs"], EIGHTHS["rows"][name], strict=True))
        runs = [record.run for record in records if eighth[0](record)]
        assert np.array(own) == pytest.approx(np.array([before[run] for run in runs]), rel=1e-6, abs=1e-9)
