"""What is fitted is what was there: spreads, shifts, shares and durations that were put in by hand."""

from dataclasses import replace

import pytest
from tests.worlds.pouring.fit.records import LOOK_NEW_G, LOOK_SAME_G, SECONDS, WEIGH_G, record, records

from aquamend.worlds.pouring.alarms import SMOOTHING
from aquamend.worlds.pouring.configurations import Physical
from aquamend.worlds.pouring.drawing import KINDS
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fit.calibration_run import RUNS
from aquamend.worlds.pouring.fit.fitting import fit, held_back
from aquamend.worlds.pouring.fitted import InvalidModel
from aquamend.worlds.pouring.monitor import ROUTINE, Report


@pytest.fixture(scope="module")
def made():
    return list(records(RUNS))


@pytest.fixture(scope="module")
def fitted(made):
    return fit(made)


def test_one_record_in_four_of_every_kind_is_held_back(made):
    kept_out = [r for r in made if held_back(r)]
    assert {kind: sum(r.kind == kind for r in kept_out) for kind in KINDS} == dict.fromkeys(KINDS, 4)


def test_spreads_of_readings_are_recovered(fitted):
    assert fitted.readings.look_same_sd_g == pytest.approx(LOOK_SAME_G, rel=0.1)
    assert fitted.readings.look_new_sd_g == pytest.approx(LOOK_NEW_G, rel=0.2)
    assert fitted.readings.weigh_sd_g == pytest.approx(WEIGH_G, rel=0.1)


def test_shifts_are_recovered_with_their_spread(fitted):
    shifts = fitted.shifts
    for found, (mean, sd) in (
        (shifts.little, (5.0, 0.5)),
        (shifts.beyond_rival, (4.0, 1.0)),
        (shifts.elsewhere, (8.0, 2.0)),
        (shifts.bias, (9.0, 1.5)),
    ):
        assert found.g == pytest.approx(mean, abs=0.8)
        assert found.sd_g == pytest.approx(sd, rel=0.5)


def test_a_constant_error_counts_as_spread(made):
    off = [replace(r, readings={p: g + (5.0 if "weigh" in p else 0.0) for p, g in r.readings.items()}) for r in made]
    assert fit(off).readings.weigh_sd_g == pytest.approx((5.0**2 + WEIGH_G**2) ** 0.5, rel=0.05)


def test_shares_are_counts_smoothed_so_that_nothing_is_impossible(made, fitted):
    used = [r for r in made if not held_back(r) and r.kind == Physical.MUCH]
    routine = sum(r.report.signal == ROUTINE for r in used)
    table = fitted.alarms[Physical.MUCH]
    assert table[ROUTINE] == pytest.approx((routine + SMOOTHING) / (len(used) + 11 * SMOOTHING), abs=1e-4)
    assert min(table.values()) > 0
    assert all(sum(shares.values()) == pytest.approx(1.0, abs=1e-4) for shares in fitted.alarms.values())


def test_a_sensor_that_was_never_wrong_is_not_taken_for_infallible(fitted):
    assert fitted.readings.localise_right == pytest.approx((fitted.records + 1) / (fitted.records + 2), abs=1e-4)
    assert fitted.readings.stamp_right < 1.0


def test_misread_stamps_and_places_lower_their_shares(made, fitted):
    wrong = [replace(r, stamp="stale", localised="A and C exchanged") if r.run % 10 == 0 else r for r in made]
    found = fit(wrong).readings
    assert found.stamp_right == pytest.approx(0.9, abs=0.05)
    assert found.localise_right == pytest.approx(0.9, abs=0.05)


def test_durations_are_averaged(fitted):
    for what, seconds in SECONDS.items():
        assert fitted.seconds(what) == pytest.approx(seconds, abs=0.05)
        assert fitted.durations[what].records == fitted.records


def test_prototypes_are_averages_at_the_stage_where_screening_is_wanted(made, fitted):
    moved = [replace(r, offsets_mm=(9.0, 9.0, 9.0)) if r.stage == Stage.POURED.value else r for r in made]
    for found in (fitted, fit(moved)):
        assert found.groups[0].offsets_mm == (4.0, 5.0, 6.0)
    assert fitted.groups[0].gaps_g == (10.0, 17.0)


def test_records_held_back_do_not_influence_the_fit(made, fitted):
    def spoilt(r):
        return replace(r, readings=dict.fromkeys(r.readings, 999.0), report=Report(ROUTINE), durations=(), shift_g=99.0)

    again = fit([spoilt(r) if held_back(r) else r for r in made])
    assert again.hash == fitted.hash
    assert again.calibration != fitted.calibration


def test_a_good_model_is_found_calibrated_on_what_was_held_back(fitted):
    held = fitted.calibration
    assert held["records"] == 48
    assert held["contradicted"] == 0
    assert held["readings within"]["1 sd"] == pytest.approx(0.68, abs=0.1)
    assert held["declarations"]["after every probe"]["target"]["brier"] < 0.05


def test_the_order_of_the_records_does_not_matter(made, fitted):
    assert fit(made[::-1]).hash == fitted.hash


def test_a_kind_without_records_is_named(made):
    with pytest.raises(InvalidModel, match=r"no calibration record of 'camera frozen'; run at least 12"):
        fit([r for r in made if r.kind != "camera frozen"])


def test_a_skill_that_nobody_timed_is_named(made):
    def forgetful(r):
        return replace(r, durations=tuple(d for d in r.durations if d[0] != "pour back"))

    with pytest.raises(InvalidModel, match="how long it takes to pour back"):
        fit(list(map(forgetful, made)))


def test_records_are_made_alike_each_time():
    assert record(7) == record(7)
