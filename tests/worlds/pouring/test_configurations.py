"""Seventy-two explanations, and what each would show: worked out by hand for a table with 18, 28 and 35 g."""

import math

import pytest
from tests.worlds.pouring.episodes import SHIFTS, configuration, supposed

from aquamend.worlds.pouring.configurations import CONFIGURATIONS, RIVAL, TARGET, THIRD, Amount, Physical, Sensing
from aquamend.worlds.pouring.model import TWO_AT_ONCE, prior

ANYTHING = range(len(CONFIGURATIONS))


def grams(amounts):
    return tuple(amount.g for amount in amounts)


def test_there_are_72_different_configurations():
    assert len(set(CONFIGURATIONS)) == len(CONFIGURATIONS) == 72


def test_priors_sum_to_one():
    assert math.fsum(prior(c) for c in CONFIGURATIONS) == pytest.approx(1.0, abs=1e-12)


def test_the_four_families_are_equally_likely_and_two_troubles_at_once_are_rare():
    single = [c for c in CONFIGURATIONS if Physical.NOTHING is c.physical or Sensing.SOUND is c.sensing]
    camera = [c for c in single if c.sensing is not Sensing.SOUND]
    swapped = [c for c in single if "swapped" in c.physical]
    added = [c for c in single if "added" in c.physical]
    for family in (camera, swapped, added, [configuration()]):
        assert math.fsum(map(prior, family)) == pytest.approx((1 - TWO_AT_ONCE) / 4)
    assert math.fsum(prior(c) for c in CONFIGURATIONS if c not in single) == pytest.approx(TWO_AT_ONCE)


def test_where_nothing_happened_everything_is_as_it_was_measured():
    found = supposed()
    assert grams(found.now) == grams(found.looked) == grams(found.weighed) == (18.0, 28.0, 35.0)
    assert found.stands_at == found.seen_at == (TARGET, RIVAL, THIRD)
    assert found.disturbed == (False, False, False)


def test_water_added_shows_in_look_and_scale_of_its_cup_alone():
    found = supposed(Physical.ADD_RIVAL)
    assert grams(found.looked) == grams(found.weighed) == grams(found.now) == (18.0, 36.0, 35.0)
    assert found.looked[RIVAL].sd_g == SHIFTS.elsewhere.sd_g
    assert found.disturbed == (False, True, False)


def test_much_added_to_the_target_lifts_it_above_the_rival_whatever_the_gap():
    found = supposed(Physical.MUCH)
    assert grams(found.now) == (28.0 + 5.0, 28.0, 35.0)


def test_little_added_to_the_target_leaves_it_least_full():
    assert grams(supposed(Physical.LITTLE).now) == (23.0, 28.0, 35.0)


def test_after_a_swap_looks_follow_the_cups_and_scales_stay_with_the_places():
    found = supposed(Physical.SWAP_THIRD)
    assert grams(found.looked) == (18.0, 28.0, 35.0)
    assert grams(found.weighed) == (35.0, 28.0, 18.0)
    assert found.stands_at == found.seen_at == (THIRD, RIVAL, TARGET)


def test_a_camera_that_reads_high_shows_the_same_again_and_the_scale_tells_less():
    found = supposed(sensing=Sensing.RIVAL_HIGH)
    assert grams(found.looked) == (18.0, 28.0, 35.0)
    assert grams(found.weighed) == grams(found.now) == (18.0, 20.0, 35.0)
    assert found.weighed[RIVAL].sd_g == SHIFTS.bias.sd_g
    assert found.looked[RIVAL].sd_g == 0.0, "the error is the same in both looks"


def test_a_camera_that_reads_low_makes_the_scale_tell_more():
    assert grams(supposed(sensing=Sensing.TARGET_LOW).weighed) == (26.0, 28.0, 35.0)


def test_a_frozen_camera_misses_all_that_happened_since():
    found = supposed(Physical.SWAP_RIVAL, Sensing.FROZEN, poured_g=20.0)
    assert grams(found.looked) == (18.0, 28.0, 35.0)
    assert found.seen_at == (TARGET, RIVAL, THIRD)
    assert found.disturbed == (False, False, False)
    assert grams(found.weighed) == (48.0, 18.0, 35.0)


def test_a_mixed_up_camera_shows_the_target_for_the_rival_and_scales_tell_them_apart():
    found = supposed(sensing=Sensing.MIXED_UP)
    assert grams(found.looked) == (18.0, 28.0, 35.0)
    assert grams(found.weighed) == grams(found.now) == (28.0, 18.0, 35.0)


def test_a_mixed_up_camera_shows_the_pour_in_the_rival():
    found = supposed(sensing=Sensing.MIXED_UP, poured_g=20.0)
    assert grams(found.now) == (48.0, 18.0, 35.0)
    assert grams(found.looked) == (18.0, 48.0, 35.0)
    assert found.disturbed == (False, True, False)


def test_a_late_pour_goes_into_the_cup_that_was_swapped_to_the_targets_place():
    found = supposed(Physical.SWAP_RIVAL, poured_g=20.0)
    assert grams(found.before_pouring) == (18.0, 28.0, 35.0)
    assert grams(found.now) == grams(found.looked) == (18.0, 48.0, 35.0)
    assert grams(found.weighed) == (48.0, 18.0, 35.0)
    assert found.disturbed == (False, True, False)


@pytest.mark.parametrize("number", ANYTHING)
def test_swaps_and_pours_lose_no_water(number):
    c = CONFIGURATIONS[number]
    found = supposed(c.physical, c.sensing, poured_g=20.0)
    assert math.fsum(grams(found.weighed)) == pytest.approx(math.fsum(grams(found.now)))
    assert math.fsum(grams(found.now)) == pytest.approx(20.0 + math.fsum(grams(found.before_pouring)))


@pytest.mark.parametrize(
    ("physical", "sensing", "affected"),
    [
        (Physical.NOTHING, Sensing.SOUND, ()),
        (Physical.NOTHING, Sensing.FROZEN, ()),
        (Physical.MUCH, Sensing.SOUND, (TARGET,)),
        (Physical.SWAP_OTHERS, Sensing.SOUND, (RIVAL, THIRD)),
        (Physical.NOTHING, Sensing.THIRD_LOW, (THIRD,)),
        (Physical.NOTHING, Sensing.MIXED_UP, (TARGET, RIVAL)),
        (Physical.ADD_THIRD, Sensing.RIVAL_HIGH, (RIVAL, THIRD)),
        (Physical.SWAP_THIRD, Sensing.MIXED_UP, (TARGET, RIVAL, THIRD)),
    ],
)
def test_affected_are_the_cups_that_something_is_the_matter_with(physical, sensing, affected):
    assert configuration(physical, sensing).affected == affected


def test_spreads_add_like_independent_errors():
    assert Amount(3.0, 3.0) + Amount(1.0, 4.0) == Amount(4.0, 5.0)
    assert -Amount(3.0, 3.0) == Amount(-3.0, 3.0)
