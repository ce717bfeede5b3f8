"""What each event changes, and which declared values it makes wrong, now and after starting over."""

import pytest

from aquamend.model import Cause
from aquamend.worlds.pouring.discrete import Add, CameraFault, Nothing, Swap, Together
from aquamend.worlds.pouring.discrete.events import cause_of, involves_camera

from .tables import AS_DECLARED, COMMON, EVENTS, STANDARD, table

TASK = table()


@pytest.mark.parametrize(
    ("event", "failed", "after_restart"),
    [
        (Nothing(), (), ()),
        (Swap(0, 1), ("binding_A", "binding_B"), ()),
        (Add(0, 15.0), ("quantity_A",), ()),
        (Add(0, 45.0), ("quantity_A", "target"), ()),
        (Add(0, 3.0), (), ()),
        (CameraFault("bias", 0, 45.0), ("camera",), ("quantity_A", "target", "camera")),
        (CameraFault("bias", 0, 15.0), ("camera",), ("quantity_A", "camera")),
        (CameraFault("stale"), ("camera",), ("camera",)),
        (CameraFault("misbinding", 0, other=2), ("camera",), ("quantity_A", "quantity_C", "target", "camera")),
        (
            Together((Add(0, 45.0), CameraFault("stale")), "both"),
            ("quantity_A", "target", "camera"),
            ("quantity_A", "target", "camera"),
        ),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_by_hand(event, failed, after_restart):
    scene = event.applied(AS_DECLARED)
    assert scene.failed(TASK) == failed
    assert scene.failed_after_restart(TASK) == after_restart


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_a_camera_fault_alone_leaves_all_that_was_declared_right(event):
    failed = event.applied(AS_DECLARED).failed(TASK)
    assert ("camera" in failed) == involves_camera(event)
    if isinstance(event, CameraFault):
        assert failed == ("camera",)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_a_restart_cures_everything_but_the_camera(event):
    assert bool(event.applied(AS_DECLARED).failed_after_restart(TASK)) == involves_camera(event)


def test_every_event_has_a_name_of_its_own_and_common_causes_break_several_beliefs():
    names = [event.name for event in EVENTS]
    assert len(set(names)) == len(names)
    assert all(len(event.parts) > 1 for event in COMMON)
    assert sum(map(involves_camera, COMMON)) == len(COMMON) / 2


def test_attribution():
    causes = {cause_of(event) for event in STANDARD}
    assert causes == {Cause.EXTERNAL, Cause.SELF_ERROR, Cause.FALSE_ALARM}
    assert cause_of(Together((CameraFault("stale"), CameraFault("bias", 0, 9.0)), "lamp")) is Cause.SELF_ERROR
    assert cause_of(Together((CameraFault("stale"), Add(0, 9.0)), "both")) is Cause.EXTERNAL
