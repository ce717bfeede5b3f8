"""What is true and what is not, worked out by hand on one table: 100, 130 and 170 ml."""

import pytest

from aquamend.worlds.cups import Add, CameraFault, Nothing, Scene, Swap
from aquamend.worlds.cups.events import Together

TABLE = Scene.as_declared((100.0, 130.0, 170.0))


def mixed_up(one, other):
    return CameraFault("misbinding", one, other=other)


@pytest.mark.parametrize(
    ("event", "failed"),
    [
        (Nothing(), ()),
        (Add(0, 3.0), ()),  # close enough
        (Add(0, 15.0), ("amount_A",)),
        (Add(0, 30.0), ("amount_A", "rank_B")),  # B is not fuller any more, but nothing is less full than A
        (Add(0, 45.0), ("amount_A", "rank_B", "target")),
        (Add(0, 80.0), ("amount_A", "rank_B", "rank_C", "target")),
        (Add(0, -20.0), ("amount_A",)),
        (Add(1, 40.0), ("amount_B",)),
        (Add(2, -75.0), ("amount_C", "rank_C", "target")),
        (Swap(0, 1), ("place_A", "place_B", "target")),
        (Swap(0, 2), ("place_A", "place_C", "target")),
        (Swap(1, 2), ("place_B", "place_C")),
        (CameraFault("bias", 0, 15.0), ("amount_A", "camera")),
        (CameraFault("bias", 0, 45.0), ("amount_A", "rank_B", "target", "camera")),
        (CameraFault("bias", 1, -15.0), ("amount_B", "camera")),
        (CameraFault("bias", 1, -45.0), ("amount_B", "rank_B", "target", "camera")),
        (CameraFault("stale", 0, 45.0), ("amount_A", "rank_B", "target", "camera")),
        (CameraFault("stale", 1, -45.0), ("amount_B", "rank_B", "target", "camera")),
        (mixed_up(0, 1), ("amount_A", "amount_B", "rank_B", "target", "camera")),
        (mixed_up(0, 2), ("amount_A", "amount_C", "rank_B", "rank_C", "target", "camera")),
        (mixed_up(1, 2), ("amount_B", "amount_C", "camera")),
        (Together((Swap(0, 1), Add(0, -20.0)), "bump"), ("amount_A", "place_A", "place_B", "target")),
        (Together((Swap(1, 2), Add(0, 45.0)), "two"), ("amount_A", "rank_B", "place_B", "place_C", "target")),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_what_an_event_makes_untrue(event, failed):
    assert event.applied(TABLE).failed() == failed


@pytest.mark.parametrize(
    ("event", "failed"),
    [
        (Nothing(), ()),
        (Add(0, 45.0), ()),
        (Swap(0, 1), ()),
        (Together((Swap(0, 1), Add(0, -20.0)), "bump"), ()),
        (CameraFault("bias", 0, 15.0), ("amount_A", "camera")),
        (CameraFault("bias", 0, 45.0), ("amount_A", "rank_B", "target", "camera")),
        (CameraFault("bias", 1, -45.0), ("amount_B", "rank_B", "target", "camera")),
        (CameraFault("stale", 0, 45.0), ("amount_A", "rank_B", "target", "camera")),
        (mixed_up(0, 1), ("amount_A", "amount_B", "rank_B", "target", "camera")),
        (mixed_up(1, 2), ("amount_B", "amount_C", "camera")),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_measuring_anew_sees_what_changed_and_believes_a_bad_camera_again(event, failed):
    assert event.applied(TABLE).failed_after_restart() == failed


def test_an_old_picture_hides_what_happens_later():
    frozen = CameraFault("stale", 0, 0.0).applied(TABLE)
    assert Add(0, 45.0).applied(frozen).camera_reading_ml(0) == 100.0
    assert Add(0, 45.0).applied(TABLE).camera_reading_ml(0) == 145.0


def test_the_camera_follows_a_cup_and_a_scale_its_place():
    swapped = Swap(0, 2).applied(TABLE)
    assert [swapped.camera_reading_ml(i) for i in range(3)] == [100.0, 130.0, 170.0]
    assert [swapped.scale_reading_ml(i) for i in range(3)] == [170.0, 130.0, 100.0]
    assert swapped.cup_at(0) == 2


def test_only_camera_faults_make_the_camera_unhealthy():
    assert Swap(0, 1).applied(Add(0, 45.0).applied(TABLE)).camera_healthy
    for fault in (CameraFault("bias", 1, 5.0), CameraFault("stale", 1, 0.0), mixed_up(0, 1)):
        assert not fault.applied(TABLE).camera_healthy


def test_a_scene_is_left_as_it_was():
    Together((Swap(0, 1), Add(0, 9.0), CameraFault("bias", 2, 5.0)), "all").applied(TABLE)
    assert Scene.as_declared((100.0, 130.0, 170.0)) == TABLE
    assert TABLE.failed() == ()


def test_there_may_be_more_cups():
    table = Scene.as_declared((100.0, 130.0, 170.0, 180.0, 200.0))
    assert Swap(0, 4).applied(table).failed() == ("place_A", "place_E", "target")
    assert Add(0, 75.0).applied(table).failed() == ("amount_A", "rank_B", "rank_C", "target")
