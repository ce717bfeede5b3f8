"""What each event changes, and which declared values it makes wrong, now and after starting over."""

import numpy as np
import pytest

from aquamend.problem.model import Cause
from aquamend_lab.pouring.discrete import Add, CameraFault, Nothing, Swap, Together
from aquamend_lab.pouring.discrete.perturbations import (
    STEP_G,
    cause_of,
    involves_camera,
    of_size,
    single_events,
    with_sizes_as_steps,
)

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
    assert TASK.wrong(TASK.values(scene.after_restart(TASK)), scene.true(TASK)) == after_restart
    assert scene.left_by_restart(TASK) == tuple(name for name in failed if name in after_restart), "what is still wrong"


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_a_camera_fault_alone_leaves_all_that_was_declared_right(event):
    failed = event.applied(AS_DECLARED).failed(TASK)
    assert ("camera" in failed) == involves_camera(event)
    if isinstance(event, CameraFault):
        assert failed == ("camera",)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_a_restart_cures_everything_but_the_camera(event):
    assert ("camera" in event.applied(AS_DECLARED).left_by_restart(TASK)) == involves_camera(event)
    assert bool(event.applied(AS_DECLARED).left_by_restart(TASK)) == involves_camera(event)


def test_every_event_has_a_name_of_its_own_and_common_causes_break_several_beliefs():
    names = [event.name for event in EVENTS]
    assert len(set(names)) == len(names)
    assert all(len(event.parts) > 1 for event in COMMON)
    assert sum(map(involves_camera, COMMON)) == len(COMMON) / 2


def sizes(event):
    return [getattr(part, "amount_g", getattr(part, "off_g", 0.0)) for part in single_events(event)]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.name)
def test_the_steps_of_an_event_share_its_range_evenly_and_are_near_enough_to_be_right_for_each_other(event):
    steps = with_sizes_as_steps(event)
    assert len({step.name for step in steps}) == len(steps)
    assert np.mean([sizes(step) for step in steps], axis=0) == pytest.approx(sizes(event), abs=0.01)
    assert all(part.either_way_g <= STEP_G / 2 + 1e-9 for step in steps for part in single_events(step)
               if isinstance(part, Add | CameraFault))  # fmt: skip
    for share in (0.0, 0.3, 1.0):
        nearest = min(np.abs(np.subtract(sizes(of_size(event, share)), sizes(step))).max() for step in steps)
        assert nearest <= STEP_G / 2 + 0.01


def test_sizes_by_hand():
    added = Add(0, 45.0, 15.0)
    assert [of_size(added, share).amount_g for share in (0.0, 0.5, 1.0)] == [30.0, 45.0, 60.0]
    assert of_size(added, 0.5).either_way_g == 0.0
    assert [step.amount_g for step in with_sizes_as_steps(Add(1, -20.0, 3.0))] == [-18.0, -20.0, -22.0]
    assert with_sizes_as_steps(Swap(0, 1)) == (Swap(0, 1),)


def test_a_common_cause_sizes_all_that_it_does_alike():
    hidden = next(event for event in COMMON if "lamp" in event.why and isinstance(event.parts[0], Add))
    for share in (0.1, 0.5, 0.8):
        poured, bias = of_size(hidden, share).parts
        assert bias.off_g == -poured.amount_g, "the camera goes on showing what was declared"


@pytest.mark.parametrize("event", STANDARD, ids=lambda event: event.name)
def test_what_an_event_breaks_does_not_hang_on_its_size(event):
    assert len({step.applied(AS_DECLARED).failed(TASK) for step in with_sizes_as_steps(event)}) == 1


def test_attribution():
    causes = {cause_of(event) for event in STANDARD}
    assert causes == {Cause.EXTERNAL, Cause.SELF_ERROR, Cause.FALSE_ALARM}
    assert cause_of(Together((CameraFault("stale"), CameraFault("bias", 0, 9.0)), "lamp")) is Cause.SELF_ERROR
    assert cause_of(Together((CameraFault("stale"), Add(0, 9.0)), "both")) is Cause.EXTERNAL
