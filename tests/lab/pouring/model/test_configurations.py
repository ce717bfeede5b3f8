"""Seventy-two explanations, and what each would show: worked out by hand for a table with 18, 28 and 35 g."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lab.pouring.model.by_hand import FITTED, SHIFTS, configuration, model, supposed

from aquamend_lab.pouring.model.configurations import (
    AS_BELIEVED,
    CAMERA_KINDS,
    CONFIGURATIONS,
    RIVAL,
    TARGET,
    THIRD,
    TWO_AT_ONCE,
    CameraState,
    CupsByRole,
    Happening,
    Scales,
    camera_kind,
)
from aquamend_lab.pouring.task import QUANTITY_TOLERANCE_G, Sense

LOOK, WEIGH = Sense.LOOK, Sense.WEIGH
SWAPPED_THIRD = (THIRD, RIVAL, TARGET)
"""Target and third in each other's place."""


def shown(found, sense):
    """Return the mean of every cup's reading, where there is but one way to come about."""
    readings = [found.reading(sense, role, 0.0) for role in AS_BELIEVED]
    assert all(len(parts) == 1 for parts in readings)
    return tuple(parts[0][1] for parts in readings)


def test_there_are_72_different_configurations():
    assert len(set(CONFIGURATIONS)) == len(CONFIGURATIONS) == 72
    assert CONFIGURATIONS[0] == configuration()


def prior(fitted=FITTED):
    """Return the prior probability of every configuration, all amounts taken together."""
    found, priors = model(fitted=fitted), dict.fromkeys(CONFIGURATIONS, 0.0)
    for each, p in zip(found.supposed, found.problem().model.prior.tolist(), strict=True):
        priors[each.configuration] += p
    return priors


@settings(max_examples=20, deadline=None)
@given(st.floats(0.001, 0.999))
def test_priors_sum_to_one_however_often_scales_are_off(share):
    priors = prior(replace(FITTED, readings=replace(FITTED.readings, scale_off=share)))
    assert math.fsum(priors.values()) == pytest.approx(1.0, abs=1e-12)
    off = math.fsum(p for c, p in priors.items() if c.scales is Scales.OFF)
    assert off == pytest.approx(share, abs=1e-12)


def test_the_four_families_are_equally_likely_and_two_troubles_at_once_are_rare():
    def share(wanted):
        return math.fsum(p for c, p in prior().items() if wanted(c))

    sound, added = CameraState.SOUND, (Happening.LITTLE, Happening.MUCH, Happening.RIVAL, Happening.THIRD)
    one = pytest.approx((1 - TWO_AT_ONCE) / 4)
    assert share(lambda c: c.happened is Happening.NOTHING and c.camera is sound) == one
    assert share(lambda c: c.happened in added and c.camera is sound) == one
    assert share(lambda c: c.happened is Happening.SWAPPED and c.camera is sound) == one
    assert share(lambda c: c.happened is Happening.NOTHING and c.camera is not sound) == one
    both = share(lambda c: c.happened is not Happening.NOTHING and c.camera is not sound)
    assert both == pytest.approx(TWO_AT_ONCE)


def test_every_kind_of_fault_of_the_camera_is_equally_likely():
    kinds = {kind: 0.0 for kind in CAMERA_KINDS if kind != "sound"}
    for c, p in prior().items():
        if c.happened is Happening.NOTHING and c.camera is not CameraState.SOUND:
            kinds[camera_kind(c.camera)] += p
    assert sorted(kinds) == ["frozen", "misreads", "mixed_up"]
    assert max(kinds.values()) == pytest.approx(min(kinds.values()))


def wrong_amounts(found):
    """Return the roles whose declared amount would be off by more than the task tolerates."""
    return tuple(r for r in AS_BELIEVED if found.holds(r).g - found.table.declared_g[r] > QUANTITY_TOLERANCE_G)


@pytest.mark.parametrize("sense", [LOOK, WEIGH])
def test_where_nothing_happened_everything_is_as_it_was_declared(sense):
    found = supposed()
    assert shown(found, sense) == (18.0, 28.0, 35.0)
    assert found.stands_at == found.seen_at == AS_BELIEVED
    assert (wrong_amounts(found), found.least) == ((), TARGET)
    assert not any(found.disturbed(sense, role) for role in AS_BELIEVED)


@pytest.mark.parametrize("sense", [LOOK, WEIGH])
def test_water_added_shows_to_every_sense_in_its_cup_alone(sense):
    found = supposed(Happening.RIVAL)
    assert shown(found, sense) == (18.0, 36.0, 35.0)
    assert found.reading(sense, RIVAL, 1.5)[0][2] == pytest.approx(math.hypot(SHIFTS.elsewhere.sd_g, 1.5))
    assert [found.disturbed(sense, role) for role in AS_BELIEVED] == [False, True, False]
    assert (wrong_amounts(found), found.least) == ((RIVAL,), TARGET)


def test_much_added_to_the_target_lifts_it_above_the_rival_whatever_the_gap():
    found = supposed(Happening.MUCH)
    assert shown(found, WEIGH) == (28.0 + 5.0, 28.0, 35.0)
    assert (wrong_amounts(found), found.least) == ((TARGET,), RIVAL)


def test_little_added_to_the_target_leaves_it_least_full():
    found = supposed(Happening.LITTLE)
    assert shown(found, WEIGH) == (23.0, 28.0, 35.0)
    assert (wrong_amounts(found), found.least) == ((TARGET,), TARGET)


def test_which_two_were_swapped_is_what_was_located_and_target_and_rival_where_none_were():
    assert CupsByRole((18.0, 28.0, 35.0)).exchanged == (TARGET, RIVAL)
    assert CupsByRole((18.0, 28.0, 35.0), SWAPPED_THIRD).exchanged == (TARGET, THIRD)


def test_swapped_cups_are_looked_at_and_weighed_where_they_were_seen():
    found = supposed(Happening.SWAPPED, located=SWAPPED_THIRD)
    assert found.stands_at == found.seen_at == SWAPPED_THIRD
    assert shown(found, LOOK) == shown(found, WEIGH) == (18.0, 28.0, 35.0)


def test_a_swap_that_was_not_seen_makes_the_scale_tell_of_the_other_cup():
    found = supposed(Happening.SWAPPED)
    assert shown(found, LOOK) == (18.0, 28.0, 35.0), "the camera knows cups by their colour"
    assert shown(found, WEIGH) == (28.0, 18.0, 35.0)


def test_a_swap_that_was_seen_but_is_not_so_makes_the_scale_tell_of_the_other_cup():
    assert shown(supposed(located=SWAPPED_THIRD), WEIGH) == (35.0, 28.0, 18.0)


def test_a_camera_that_misreads_a_cup_is_off_either_way_and_the_others_tell_the_truth():
    found = supposed(CameraState.MISREADS_RIVAL)
    assert found.reading(LOOK, RIVAL, 0.0) == [(0.5, 36.0, 1.5), (0.5, 20.0, 1.5)]
    assert found.reading(LOOK, TARGET, 0.0) == [(1.0, 18.0, 0.0)]
    assert shown(found, WEIGH) == (18.0, 28.0, 35.0)
    assert wrong_amounts(found) == (), "what was declared was right"


def test_a_frozen_camera_misses_all_that_happened_since():
    found = supposed(Happening.SWAPPED, CameraState.FROZEN, poured_g=20.0)
    assert shown(found, LOOK) == (18.0 - 20.0, 28.0, 35.0), "less what the robot thinks it has poured into it"
    assert found.seen_at == AS_BELIEVED
    assert not any(found.disturbed(LOOK, role) for role in AS_BELIEVED)
    assert shown(supposed(Happening.THIRD, CameraState.FROZEN), LOOK) == (18.0, 28.0, 35.0)


def test_a_mixed_up_camera_shows_target_and_rival_for_each_other():
    found = supposed(CameraState.MIXED_UP)
    assert shown(found, LOOK) == (28.0, 18.0, 35.0)
    assert shown(found, WEIGH) == (18.0, 28.0, 35.0)


def test_a_mixed_up_camera_shows_the_pour_in_the_rival():
    found = supposed(CameraState.MIXED_UP, poured_g=20.0)
    assert shown(found, LOOK) == (28.0 - 20.0, 18.0 + 20.0, 35.0)
    assert [found.disturbed(LOOK, role) for role in AS_BELIEVED] == [False, True, False]


def test_a_late_pour_is_in_the_cup_that_stood_at_the_targets_place():
    found = supposed(Happening.SWAPPED, located=(RIVAL, TARGET, THIRD), poured_g=20.0)
    for sense in (LOOK, WEIGH):
        assert shown(found, sense) == (18.0 - 20.0, 28.0 + 20.0, 35.0)
    assert found.holds(RIVAL).g == 28.0, "what was declared is told without it"


def test_a_scale_that_is_off_may_be_any_of_those_there_are():
    found = supposed(Scales.OFF, scales=(True, False, True))
    assert found.reading(WEIGH, TARGET, 0.0) == [(0.5, 18.0, 0.0), (0.25, 26.5, 1.5), (0.25, 9.5, 1.5)]
    assert shown(found, LOOK) == (18.0, 28.0, 35.0), "the camera does not use it"
    alone = supposed(Scales.OFF, scales=(True, False, False))
    assert [weight for weight, _, _ in alone.reading(WEIGH, TARGET, 0.0)] == [0.5, 0.5]


def test_a_scale_that_is_off_makes_nothing_wrong_that_was_declared():
    found = supposed(Scales.OFF)
    assert (wrong_amounts(found), found.least, found.stands_at) == ((), TARGET, AS_BELIEVED)


@pytest.mark.parametrize("c", CONFIGURATIONS, ids=str)
def test_swaps_and_pours_lose_no_water_and_every_reading_is_a_distribution(c):
    for located in (AS_BELIEVED, SWAPPED_THIRD):
        found = supposed(*c, located=located, poured_g=20.0)
        held = math.fsum(found.holds(role).g for role in AS_BELIEVED)
        read = [found.reading(WEIGH, role, 1.0) for role in AS_BELIEVED]
        assert math.fsum(weight * mean for parts in read for weight, mean, _ in parts) == pytest.approx(held)
        for sense in (LOOK, WEIGH):
            for role in AS_BELIEVED:
                assert math.fsum(part.weight for part in found.parts(sense, role)) == pytest.approx(1.0)


def steps(*parts):
    """Return the amounts that a configuration supposes of the cup that water was added to, by their shares."""
    return {found.filled.g: share for share, found in supposed(*parts).in_steps()}


def test_an_amount_that_nobody_knows_is_supposed_in_steps_of_two_thirds_of_the_tolerance():
    assert list(steps(Happening.RIVAL)) == [32.0, 34.0, 36.0, 38.0, 40.0, 42.0], "30 g would not be wrong"
    assert list(steps(Happening.LITTLE)) == [23.0, 25.0], "21 g would not be wrong"
    assert list(steps(Happening.MUCH)) == [29.0, 31.0, 33.0, 35.0, 37.0]
    for happened in (Happening.RIVAL, Happening.LITTLE, Happening.MUCH):
        assert math.fsum(steps(happened).values()) == pytest.approx(1.0)
    shares = steps(Happening.RIVAL)
    assert shares[38.0] / shares[36.0] == pytest.approx(math.exp(-0.5)), "as likely as the normal spread says"


def test_much_is_never_less_than_the_rival_holds():
    wide = replace(SHIFTS, beyond_rival=SHIFTS.beyond_rival._replace(sd_g=4.0))
    found = replace(supposed(Happening.MUCH), shifts=wide).in_steps()
    assert min(each.filled.g for _, each in found) == 29.0
    assert {each.least for _, each in found} == {RIVAL}


@pytest.mark.parametrize(
    "c", [c for c in CONFIGURATIONS if c.happened in (Happening.NOTHING, Happening.SWAPPED)], ids=str
)
def test_where_nothing_was_added_there_is_but_one_step(c):
    found = supposed(*c)
    assert found.in_steps() == [(1.0, found)]


@pytest.mark.parametrize("sense", [LOOK, WEIGH])
def test_readings_of_all_steps_together_are_those_of_the_whole_spread(sense):
    whole = supposed(Happening.THIRD)
    ((_, mean, sd),) = whole.reading(sense, THIRD, 0.9)
    parts = [(share, *step.reading(sense, THIRD, 0.9)[0][1:]) for share, step in whole.in_steps()]
    together = math.fsum(share * m for share, m, _ in parts)
    spread = math.fsum(share * (s**2 + (m - together) ** 2) for share, m, s in parts)
    assert together == pytest.approx(mean, abs=0.2), "steps that would not be wrong are left out"
    assert math.sqrt(spread) == pytest.approx(sd, abs=0.15)


def test_a_look_misreads_as_often_as_its_error_is_beyond_what_the_task_tolerates():
    assert supposed().misread(TARGET, 3.0) == pytest.approx(1.0 - math.erf(1 / math.sqrt(2)))
    assert supposed().misread(TARGET, 0.01) == pytest.approx(0.0)
    for _, step in supposed(Happening.MUCH).in_steps():
        assert step.misread(TARGET, 0.01) == pytest.approx(0.0), "it reads what is there now"


@pytest.mark.parametrize(
    ("parts", "role"),
    [
        ((CameraState.MISREADS_TARGET,), TARGET),
        ((CameraState.FROZEN, Happening.MUCH), TARGET),
        ((CameraState.MIXED_UP,), RIVAL),
    ],
)
def test_a_look_at_something_else_is_hardly_ever_right(parts, role):
    for _, step in supposed(*parts).in_steps():
        assert step.misread(role, 0.5) > 0.99


def test_a_frozen_picture_is_right_of_what_has_not_changed():
    assert supposed(CameraState.FROZEN, Happening.MUCH).misread(THIRD, 0.5) < 0.01
