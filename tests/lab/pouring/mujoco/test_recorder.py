import math

import numpy as np
import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import beside, carrying, perform, settled

from aquamend_lab.pouring.mujoco.body import move
from aquamend_lab.pouring.mujoco.simulation import WALL_GROUP, Simulation
from aquamend_lab.pouring.recording import InvalidRecording, Recording, from_bytes, to_bytes
from aquamend_lab.pouring.watching import PARKED_M, Recorder

pytestmark = pytest.mark.slow


def watched(recorder: Recorder | None, ticks: int) -> Simulation:
    """Return a table after so many ticks under a recorder, the first of them just after a frame was due."""
    simulation = beside().simulation.branch()
    while simulation.ticks % 20:
        simulation.tick()
    simulation.watcher = recorder
    run(simulation, ticks)
    return simulation


def run(simulation: Simulation, ticks: int) -> None:
    for _ in range(ticks):
        simulation.hand[3] -= 0.004
        simulation.tick()


def body(recording: Recording, name: str) -> int:
    return [body.name for body in recording.bodies].index(name)


def recorded(ticks: int = 40) -> tuple[Recording, Simulation]:
    recorder = Recorder()
    simulation = watched(recorder, ticks)
    return recorder.recording(), simulation


def test_everything_to_see_is_recorded_and_named() -> None:
    names = [body.name for body in recorded()[0].bodies]
    places = [f"place_{place}" for place in range(4)]
    assert names == ["world", *places, "cup_A", "cup_B", "cup_C", "pitcher", "hand", "finger_left", "finger_right"]


def test_solids_are_those_of_the_model_without_the_hulls() -> None:
    recording, simulation = recorded()
    shapes = {body.name: [geom.shape for geom in body.geoms] for body in recording.bodies}
    assert shapes["world"] == ["plane"]
    assert sorted(set(shapes["cup_A"])) == ["box", "cylinder"]
    model, cup = simulation.compiled.model, simulation.compiled.vessels["A"]
    assert len(shapes["cup_A"]) == ((model.geom_bodyid == cup) & (model.geom_group == WALL_GROUP)).sum()
    assert shapes["hand"] == ["box", "capsule"]
    assert all(geom.rgba[3] == 1 for body in recording.bodies for geom in body.geoms)


def test_the_last_frame_is_where_everything_is() -> None:
    recording, simulation = recorded()
    data = simulation.data
    assert recording.times_s[-1] == simulation.time_s
    pitcher = body(recording, "pitcher")
    assert recording.positions[-1, pitcher] == pytest.approx(simulation.position("pitcher"), abs=1e-6)
    quaternion = data.xquat[simulation.compiled.vessels["pitcher"]]
    assert recording.quaternions[-1, pitcher] == pytest.approx(quaternion, abs=1e-6)
    in_play = simulation.compiled.first_reserve_bead
    assert recording.particles[-1, :in_play] == pytest.approx(simulation.beads()[:in_play], abs=1e-6)


@pytest.mark.parametrize(("frames_per_s", "every"), [(12.5, 4), (50.0, 1), (10.0, 5)])
def test_frames_are_taken_at_fixed_ticks(frames_per_s: float, every: int) -> None:
    recorder = Recorder(frames_per_s)
    start = watched(recorder, 43).ticks - 43
    wanted = [tick / 50 for tick in range(start + 1, start + 44) if tick % every == 0]
    assert recorder.recording().times_s.tolist() == wanted


def test_water_in_reserve_is_out_of_sight_until_it_is_added() -> None:
    recorder = Recorder()
    simulation = watched(recorder, 20)
    simulation.added = 1
    run(simulation, 20)
    recording, first = recorder.recording(), simulation.compiled.first_reserve_bead
    assert recording.particles.shape[1] == simulation.compiled.scene.particles
    assert (recording.particles[0, first:] == PARKED_M).all()
    assert recording.particles[-1, first] == pytest.approx(simulation.beads()[first], abs=1e-6)
    assert (recording.particles[-1, first + 1 :] == PARKED_M).all()


def test_a_branch_shares_the_past_and_goes_its_own_way() -> None:
    recorder = Recorder()
    simulation = watched(recorder, 40)
    branch = recorder.branch()
    other = simulation.branch(branch)
    for _ in range(20):
        other.hand[2] += 0.002
        other.tick()
    run(simulation, 8)
    ours, theirs = recorder.recording(), branch.recording()
    assert (len(ours.times_s), len(theirs.times_s)) == (12, 15)
    assert np.array_equal(ours.particles[:10], theirs.particles[:10])
    assert not np.array_equal(ours.positions[11], theirs.positions[11])


def test_recording_changes_nothing() -> None:
    assert watched(Recorder(), 40).data.qpos.tobytes() == watched(None, 40).data.qpos.tobytes()


def test_the_same_execution_gives_the_same_file() -> None:
    assert to_bytes(recorded()[0]) == to_bytes(recorded()[0])


def test_a_recorded_move_fits_into_a_file_and_comes_back() -> None:
    robot = carrying().branch(recorder := Recorder())
    perform(robot, move(robot, "A"))
    recording = recorder.recording()
    back = from_bytes(to_bytes(recording))
    assert np.abs(back.particles - recording.particles).max() < 1e-4
    assert math.isclose(recording.times_s[-1], robot.simulation.time_s, abs_tol=0.08)


def test_eighty_seconds_take_less_than_three_megabytes() -> None:
    recorder = Recorder()
    simulation = settled(45, 45, 45, 70).branch(recorder)
    for _ in range(80):
        simulation.tick()
    size = sum(frame.poses.nbytes + frame.water.nbytes for frame in recorder._frames)
    assert len(recorder._frames) == 20
    assert 50 * size < 3e6


def test_a_recorder_that_saw_nothing_says_so() -> None:
    with pytest.raises(InvalidRecording, match="nothing has been recorded"):
        Recorder().recording()


@pytest.mark.parametrize("frames_per_s", [0.0, -1.0, 51.0, math.nan])
def test_a_rate_that_cannot_be_met_is_refused(frames_per_s: float) -> None:
    with pytest.raises(ValueError, match="frames_per_s is"):
        Recorder(frames_per_s)
