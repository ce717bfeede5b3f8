"""A record of what moved when says what overlapped and what came after the end."""

import threading
from itertools import product

import pytest
from tests.waiting import PATIENCE_S

from aquamend.recovery import Declare, Finish, HandOver, Redo, Undo
from aquamend.testing import Motion, Motions

GRASP, POUR = Undo("grasp", ("grasp",)), Redo("pour")


def moved(*acts):
    motions = Motions()
    for act in acts:
        motions.end(motions.begin(act))
    return motions


def test_one_after_another_is_not_at_once():
    motions = moved(GRASP, POUR, GRASP)
    assert motions.at_once == ()
    assert [motion.act for motion in motions.all] == [GRASP, POUR, GRASP]
    assert motions.under_way == ()


def test_what_begins_before_another_has_ended_is_at_once():
    motions = Motions()
    first = motions.begin(GRASP)
    motions.end(motions.begin(POUR))
    assert motions.under_way == (GRASP,)
    assert motions.at_once == ((GRASP, POUR),)
    motions.end(first)
    assert motions.at_once == ((GRASP, POUR),)


def test_two_motions_overlap_where_some_moment_is_in_both():
    spans = [(1, 2), (1, 4), (2, 3), (3, None), (5, 6), (1, None)]
    for one, other in product(spans, spans):
        if one == other:
            continue
        moments = [range(2 * began + 1, 2 * (99 if ended is None else ended)) for began, ended in (one, other)]
        assert Motion(GRASP, *one).overlaps(Motion(POUR, *other)) == bool({*moments[0]} & {*moments[1]})


def test_declaring_and_handing_over_move_nothing():
    motions = Motions()
    motions.begin(GRASP)
    motions.end(motions.begin(Declare("level")))
    motions.end(motions.begin(HandOver()))
    assert motions.at_once == ()
    assert motions.under_way == (GRASP,)


def test_an_end_counts_once():
    motions = Motions()
    number = motions.begin(GRASP)
    motions.end(number)
    first = motions.all
    motions.begin(POUR)
    motions.end(number)
    assert motions.all[0] == first[0]


def test_what_begins_after_the_end_is_said_and_what_still_moves_is_not():
    motions = Motions()
    assert motions.after_the_end == ()
    motions.begin(GRASP)
    motions.close()
    assert motions.after_the_end == ()
    motions.begin(POUR)
    assert motions.after_the_end == (POUR,)


def test_whoever_waits_for_a_motion_or_its_end_is_woken():
    motions = Motions()
    thread = threading.Thread(target=lambda: motions.end(motions.begin(GRASP)))
    motions.begin(POUR)
    motions.wait_for("redo: pour", timeout_s=PATIENCE_S)
    thread.start()
    thread.join(timeout=PATIENCE_S)
    with pytest.raises(TimeoutError, match=r"redo: pour: still under way after 0\.01 s"):
        motions.wait_until_still(timeout_s=0.01)
    motions.end(0)
    motions.wait_until_still(timeout_s=PATIENCE_S)
    with pytest.raises(TimeoutError, match=r"'finish the task' has not begun within 0\.01 s"):
        motions.wait_for(str(Finish()), timeout_s=0.01)
