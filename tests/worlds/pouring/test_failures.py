"""Beliefs fail beyond what the task tolerates, and not at it."""

import pytest
from tests.worlds.pouring.episodes import DECLARED, LEVELS, POURED

from aquamend.worlds.pouring.failures import QUANTITY_TOLERANCE_G, failed_beliefs

IN_PLACE = {"A": False, "B": False, "C": False}


def failures(declared=DECLARED, *, now=None, before=None, displaced=IN_PLACE, at_target="B", sound=True):
    now = now or declared.quantity_g
    return failed_beliefs(
        declared,
        now_g=now,
        before_pouring_g=before or now,
        displaced=displaced,
        at_target_place=at_target,
        camera_sound=sound,
    )


def test_nothing_fails_where_all_is_as_declared():
    assert failures() == ()


@pytest.mark.parametrize("sign", [1, -1])
def test_a_quantity_may_be_off_by_the_tolerance_and_no_more(sign):
    at = {**LEVELS, "C": 35.0 + sign * QUANTITY_TOLERANCE_G}
    beyond = {**LEVELS, "C": 35.0 + sign * (QUANTITY_TOLERANCE_G + 0.1)}
    assert failures(now=at) == ()
    assert failures(now=beyond) == ("quantity_C",)


def test_a_rank_fails_only_where_the_cup_really_held_less_than_the_target():
    assert failures(now={**LEVELS, "A": 18.0}) == ("quantity_A",)
    assert failures(now={**LEVELS, "A": 17.0}) == ("quantity_A", "rank_A", "target")


def test_a_target_that_was_filled_above_its_rival_is_wrong():
    assert failures(now={**LEVELS, "B": 29.0}) == ("quantity_B", "rank_A", "target")


def test_a_target_that_stays_least_full_is_right():
    assert failures(now={**LEVELS, "B": 27.0}) == ("quantity_B",)


def test_what_the_robot_poured_itself_makes_no_target_wrong():
    assert failures(POURED, before=LEVELS) == ()


def test_a_displaced_cup_fails_its_own_binding():
    assert failures(displaced={**IN_PLACE, "C": True}) == ("binding_C",)


def test_another_cup_at_the_targets_place_makes_the_target_wrong():
    swapped = {"A": True, "B": True, "C": False}
    assert failures(displaced=swapped, at_target="A") == ("binding_A", "binding_B", "target")


def test_a_swap_of_two_others_leaves_the_target_right():
    swapped = {"A": True, "B": False, "C": True}
    assert failures(displaced=swapped) == ("binding_A", "binding_C")


def test_a_camera_that_is_not_sound_fails_whatever_it_shows():
    assert failures(sound=False) == ("camera",)
