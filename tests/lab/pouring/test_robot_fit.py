"""What is fitted is what was there: spreads, shifts, shares and durations that were put in by hand."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.pouring.calibration_records import (
    BIAS_G,
    LOOK_NEW_G,
    LOOK_SAME_G,
    SCALE_OFF_EVERY,
    SCALE_OFF_G,
    SECONDS,
    WEIGH_G,
    record,
    records,
)

from aquamend_lab.pouring import robot_fit
from aquamend_lab.pouring.calibration_run import KINDS, CalibrationRecord
from aquamend_lab.pouring.model.configurations import CameraState, Happening
from aquamend_lab.pouring.model.fitted import SMOOTHING, InvalidModel, cells, load_fitted, uncalibrated
from aquamend_lab.pouring.mujoco.trouble import Mishap
from aquamend_lab.pouring.robot_fit import (
    error_g,
    fit,
    held_back,
    history_of,
    supposed_exactly,
    telling_probes,
)
from aquamend_lab.pouring.task import FAULTY, ROUTINE, Report, Sense, Signal, Stage
from aquamend_lab.records import read_lines

RUNS = 8 * len(KINDS)
"""Enough for every kind at every stage."""


@pytest.fixture(scope="module")
def made():
    return list(records(RUNS))


@pytest.fixture(scope="module")
def fitted(made):
    return fit(made)


@pytest.fixture
def refitted(monkeypatch):
    """Return how to fit other records quickly: without asking which probes told something, and without the check."""
    monkeypatch.setattr(robot_fit, "telling_probes", lambda record, fitted: ["localise"])
    monkeypatch.setattr(robot_fit, "scores_of", lambda records, fitted: {"records": len(records)})
    return fit


def used(made):
    return [r for r in made if not held_back(r)]


def test_one_record_in_four_of_every_kind_is_held_back(made):
    kept_out = [r for r in made if held_back(r)]
    assert {kind.value: sum(r.kind == kind for r in kept_out) for kind in KINDS} == dict.fromkeys(KINDS, 2)


def test_spreads_of_readings_are_recovered(fitted):
    assert fitted.readings.look_same_sd_g == pytest.approx(LOOK_SAME_G, rel=0.15)
    assert fitted.readings.look_new_sd_g == pytest.approx(LOOK_NEW_G, rel=0.2)
    assert fitted.readings.weigh_sd_g == pytest.approx(WEIGH_G, rel=0.1)


def test_shifts_are_recovered_with_their_spread(fitted):
    shifts = fitted.shifts
    for found, (mean, sd) in (
        (shifts.little, (5.0, 0.5)),
        (shifts.beyond_rival, (4.0, 1.0)),
        (shifts.elsewhere, (8.0, 2.0)),
        (shifts.bias, BIAS_G),
        (shifts.scale, SCALE_OFF_G),
    ):
        assert found.g == pytest.approx(mean, abs=1.2)
        assert found.sd_g == pytest.approx(sd, rel=0.7), "six records of a kind"


def test_how_often_a_scale_is_off_is_counted(made, fitted):
    off = sum(r.run % SCALE_OFF_EVERY == 0 for r in used(made))
    assert fitted.readings.scale_off == pytest.approx((off + SMOOTHING) / (fitted.records + 2 * SMOOTHING), abs=1e-4)


def test_a_constant_error_counts_as_spread(made, refitted):
    """Too small to be taken for a scale that is off the other way."""
    off = [replace(r, readings={p: g + 2.0 if "weigh" in p else g for p, g in r.readings.items()}) for r in made]
    assert refitted(off).readings.weigh_sd_g == pytest.approx((2.0**2 + WEIGH_G**2) ** 0.5, rel=0.05)


def test_an_error_that_may_go_either_way_is_measured_from_the_nearer():
    biased = record(KINDS.index(Mishap.BIAS))
    supposed = supposed_exactly(biased, biased.model(uncalibrated()))
    for sign in (1, -1):
        assert error_g(supposed, Sense.LOOK, 2, 35.0 + sign * biased.bias_g + 0.5) == pytest.approx(0.5)


def test_shares_are_counts_smoothed_so_that_nothing_is_impossible(made, fitted):
    much = [r for r in used(made) if r.kind == Mishap.MUCH]
    routine = sum(r.heard.report == ROUTINE for r in much)
    table, size = fitted.alarms[Happening.MUCH], len(cells(some_affected=True))
    assert table[Signal.ROUTINE] == pytest.approx((routine + SMOOTHING) / (len(much) + size * SMOOTHING), abs=1e-4)
    level = len(much) - routine
    assert table["level+ affected"] == pytest.approx((level + SMOOTHING) / (len(much) + size * SMOOTHING), abs=1e-4)
    assert min(table.values()) > 0
    assert all(sum(shares.values()) == pytest.approx(1.0, abs=1e-4) for shares in fitted.alarms.values())


def test_of_nothing_and_of_a_frozen_camera_no_cup_is_affected(fitted):
    for kind, shares in fitted.alarms.items():
        assert any("affected" in cell for cell in shares) == (kind not in (Happening.NOTHING, CameraState.FROZEN))


def test_a_sensor_that_was_never_wrong_is_not_taken_for_infallible(fitted):
    twice = 2 * fitted.records  # at the alarm, and as a probe
    assert fitted.readings.localise_right == pytest.approx((twice + SMOOTHING) / (twice + 2 * SMOOTHING), abs=1e-4)
    assert 0 < fitted.readings.finds_faulty["misreads"] < fitted.readings.finds_faulty["frozen"] < 1


def test_misread_self_tests_and_places_change_their_shares(made, fitted, refitted):
    def misread(r):
        return replace(r, readings={**r.readings, "check_camera": FAULTY, "localise": "A and C exchanged"})

    wrong = [misread(r) if r.run % 10 == 0 else r for r in made]
    found, honest = refitted(wrong).readings, fitted.readings
    assert found.finds_faulty["sound"] == pytest.approx(0.1, abs=0.05)
    assert honest.finds_faulty["sound"] < 0.03
    assert found.localise_right < honest.localise_right - 0.02


def test_durations_are_averaged_over_what_succeeded(made, fitted, refitted):
    for what, seconds in SECONDS.items():
        assert fitted.seconds(what) == pytest.approx(seconds, abs=0.05)
        assert fitted.durations[what].records == fitted.records
    slow = [replace(r, durations=(*r.durations, ("pour", 99.0, False))) for r in made]
    assert refitted(slow).seconds("pour") == fitted.seconds("pour")


def test_groups_are_public_histories(made, fitted):
    assert {g.name for g in fitted.groups} == {history_of(r) for r in used(made)}
    assert sum(g.records for g in fitted.groups) == fitted.records
    assert {g.name for g in fitted.groups} == {
        "level+ of the target",
        "level+ of the target, cups exchanged",
        "routine check",
        "routine check, cups exchanged",
    }


def test_a_public_history_says_nothing_of_what_really_happened():
    swapped = record(KINDS.index(Mishap.SWAP_RIVAL))
    other = replace(swapped, kind=Mishap.BIAS.value, configuration=record(9).configuration, failed=("camera",))
    assert history_of(other) == history_of(swapped)
    third = replace(swapped, heard=replace(swapped.heard, report=Report(Signal.LOAD, "C", -9.0)))
    assert history_of(third) == "load- of another cup, cups exchanged"


def test_prototypes_are_averages_at_the_stage_where_screening_is_wanted(made, fitted, refitted):
    def elsewhere(r):
        return replace(r, heard=replace(r.heard, offset_mm=dict.fromkeys("ABC", 9.0)))

    moved = [elsewhere(r) if r.heard.stage is Stage.POURED else r for r in made]
    for found in (fitted, refitted(moved)):
        assert {g.offsets_mm for g in found.groups} == {(4.0, 5.0, 6.0)}
    assert {g.gaps_g for g in fitted.groups} == {(10.0, 17.0)}


def test_probes_that_tell_something_are_named_by_role(made, fitted):
    much = next(r for r in used(made) if r.kind == Mishap.MUCH and r.heard.stage is Stage.LIFTED)
    informative = telling_probes(much, fitted)
    assert {"look_target", "weigh_target"} <= set(informative)
    assert "weigh_third" not in informative, "C stands on no scale"
    level = next(g for g in fitted.groups if g.name == "level+ of the target")
    assert set(informative) <= set(level.probes) or much.heard.report == ROUTINE


def test_records_held_back_do_not_influence_the_fit(made, refitted):
    def spoilt(r, seconds=()):
        heard = replace(r.heard, report=ROUTINE)
        readings = {p: 999.0 if isinstance(g, float) else g for p, g in r.readings.items()}
        durations = tuple((what, 1.0, True) for what in seconds)
        return replace(r, readings=readings, heard=heard, durations=durations, added_g=99.0)

    assert refitted([spoilt(r) if held_back(r) else r for r in made]).hash == refitted(made).hash
    assert refitted([r if held_back(r) else spoilt(r, SECONDS) for r in made]).hash != refitted(made).hash


def test_a_good_model_is_found_calibrated_on_what_was_held_back(fitted):
    held = fitted.calibration
    assert held["records"] == RUNS // 4
    assert held["contradicted"] == 0
    assert held["readings within"]["50 %"] == pytest.approx(0.5, abs=0.12)
    assert held["readings within"]["95 %"] == pytest.approx(0.95, abs=0.05)
    assert held["declarations"]["after every probe"]["target"]["brier"] < 0.05
    informative = held["probability of what was so"]
    assert informative["after every probe"] > informative["after the alarm"]


@pytest.mark.slow
@pytest.mark.outer
def test_the_shipped_model_is_what_its_records_give():
    lines = read_lines(Path(__file__).parents[3] / "results" / "pouring-calibration.jsonl")
    again, shipped = fit([CalibrationRecord.from_data(line) for line in lines]), load_fitted()
    assert again.hash == shipped.hash, "every number that decisions depend on, to the last digit"
    assert json.loads(json.dumps(again.calibration)) == shipped.calibration


def test_the_order_of_the_records_does_not_matter(made, refitted):
    assert refitted(made[::-1]).hash == refitted(made).hash


def test_a_kind_without_records_is_named(made):
    with pytest.raises(InvalidModel, match=r"no calibration record of 'the camera is frozen'; run at least 12"):
        fit([r for r in made if r.kind != Mishap.FROZEN])


def test_a_skill_that_nobody_timed_is_named(made):
    def forgetful(r):
        return replace(r, durations=tuple(d for d in r.durations if d[0] != "pour back"))

    with pytest.raises(InvalidModel, match="how long it takes to pour back"):
        fit(list(map(forgetful, made)))


def test_too_few_records_to_tell_how_far_a_scale_is_off_are_refused(made):
    def sound(r):
        return replace(r, scale_off_g=0.0)

    with pytest.raises(InvalidModel, match="too few calibration records"):
        fit(list(map(sound, made)))


def test_records_are_made_alike_each_time():
    assert record(7) == record(7)


def test_the_page_says_what_the_shipped_model_was_fitted_to():
    root = Path(__file__).parents[3]
    fitted = json.loads((root / "lab/src/aquamend_lab/pouring/model/fitted.json").read_text("utf-8"))
    page = " ".join((root / "docs" / "pouring-robot.md").read_text("utf-8").split())
    reads, check = fitted["readings"], fitted["calibration"]
    for name, key in (
        ("scatter of a look, water as it lay", "look_same_sd_g"),
        ("scatter of a look, water poured since", "look_new_sd_g"),
        ("scatter of a weighing about what was looked at", "weigh_sd_g"),
    ):
        assert re.search(rf"\| {name} \| [^|]+ \| {reads[key] - 1e-9:.2f} g \|", page), name
    assert f"| localising right | share, half a count added either way | {reads['localise_right']:.3f} |" in page
    faulty = ", ".join(f"{reads['finds_faulty'][k]:.2f}" for k in ("sound", "misreads", "frozen", "mixed_up"))
    assert f"frozen, mixed up | the same | {faulty} |" in page
    shifts = "; ".join(f"{m:.1f} ± {sd:.1f}" for m, sd in fitted["shifts"].values())
    assert f"| mean ± sd | {shifts} g |" in page
    for skill, words in (("draw back", "draw back"), ("pour", "pour 20 g")):
        assert re.search(rf"\| {words} \| {fitted['durations'][skill]['mean_s']:.1f} \|", page), skill
    alarm, probed = (check["declarations"][when] for when in ("after the alarm", "after every probe"))
    for name, first in alarm.items():
        scores = [when[name][score] for when in (alarm, probed) for score in ("brier", "ece")]
        numbers = [first["invalid"], first["predicted"], *scores]
        row = " | ".join(f"{number:.3f}" for number in numbers)
        assert f"| {name} | {first['queries']} | {row} |" in page
    inside, so = check["readings within"], check["probability of what was so"]
    assert f"{inside['50 %']:.0%} of their readings".replace("%", " %") in page
    assert f"{inside['95 %']:.0%} inside their central".replace("%", " %") in page
    assert f"probability {so['after the alarm']:.2f} on average after the alarm" in page
    assert f"{so['after every probe']:.2f} once every probe was run" in page
