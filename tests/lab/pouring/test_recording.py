import dataclasses
import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from tests.lab.pouring.sample_recording import sample_recording

from aquamend.errors import AquaMendError
from aquamend_lab.pouring.recording import (
    FORMAT,
    LENGTH_QUANTUM_M,
    QUATERNION_QUANTUM,
    Geom,
    InvalidRecording,
    RecordedBody,
    Recording,
    from_bytes,
    load_recording,
    save_recording,
    to_bytes,
)

UPRIGHT = (1.0, 0.0, 0.0, 0.0)
GREY = (0.5, 0.5, 0.5, 1.0)


def small(*, frames: int = 3, bodies: int = 1, particles: int = 2) -> Recording:
    ball = RecordedBody("ball", (Geom("sphere", (0.1,), (0, 0, 0), UPRIGHT, GREY),))
    return Recording(
        bodies=(ball,) * bodies,
        particle_radius_m=0.005,
        particle_rgba=GREY,
        times_s=np.arange(frames) / 10,
        positions=np.zeros((frames, bodies, 3)),
        quaternions=np.tile(UPRIGHT, (frames, bodies, 1)),
        particles=np.zeros((frames, particles, 3)),
    )


def reheaded(data: bytes, **changes: object) -> bytes:
    """Return the file with other values in its header."""
    line, _, stream = data.partition(b"\n")
    return json.dumps(json.loads(line) | changes).encode() + b"\n" + stream


def test_a_recording_comes_back_within_half_a_quantum() -> None:
    recording = sample_recording()
    back = from_bytes(to_bytes(recording))
    slack = 1 + 1e-9
    assert np.abs(back.positions - recording.positions).max() <= LENGTH_QUANTUM_M / 2 * slack
    assert np.abs(back.particles - recording.particles).max() <= LENGTH_QUANTUM_M / 2 * slack
    assert np.abs(back.quaternions - recording.quaternions).max() <= QUATERNION_QUANTUM / 2 * slack
    np.testing.assert_allclose(back.times_s, recording.times_s, rtol=0, atol=0.0005)
    assert back.bodies == recording.bodies
    assert (back.particle_radius_m, back.particle_rgba) == (recording.particle_radius_m, recording.particle_rgba)


def test_what_was_read_is_written_as_the_same_bytes() -> None:
    data = to_bytes(sample_recording(seconds=8))
    assert to_bytes(from_bytes(data)) == data


def test_eighty_seconds_of_water_that_trembles_fit_in_400_kilobytes() -> None:
    recording = sample_recording()
    trembling = np.random.default_rng(1).normal(0, 0.5 * LENGTH_QUANTUM_M, recording.particles.shape)
    assert len(to_bytes(recording)) < 100_000
    assert len(to_bytes(dataclasses.replace(recording, particles=recording.particles + trembling))) < 400_000


def test_bodies_that_never_move_take_almost_no_room() -> None:
    one, many = small(frames=1000), small(frames=1000, bodies=50)
    lines = [len(to_bytes(recording).partition(b"\n")[2]) for recording in (one, many)]
    assert lines[1] - lines[0] < 3000


def test_jumps_of_any_length_inside_the_range_survive() -> None:
    recording = small(frames=4)
    recording.positions[:, 0, 0] = -3.2, 3.2, -3.2, 0.0
    np.testing.assert_allclose(from_bytes(to_bytes(recording)).positions, recording.positions, atol=1e-9)


@pytest.mark.parametrize(("bodies", "particles"), [(0, 0), (0, 5), (2, 0)])
def test_there_may_be_no_bodies_and_no_water(bodies: int, particles: int) -> None:
    back = from_bytes(to_bytes(small(bodies=bodies, particles=particles)))
    assert back.positions.shape == (3, bodies, 3)
    assert back.particles.shape == (3, particles, 3)


def test_the_first_line_of_a_file_says_what_it_is() -> None:
    header = json.loads(to_bytes(small()).split(b"\n")[0])
    assert header["format"] == FORMAT == "aquamend-replay/1"
    assert [entry["name"] for entry in header["arrays"]] == ["times_s", "positions", "quaternions", "particles"]


def test_a_saved_recording_can_be_loaded(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "one.aqr"
    save_recording(path, small())
    assert load_recording(path).times_s.tolist() == [0.0, 0.1, 0.2]
    assert [file.name for file in path.parent.iterdir()] == ["one.aqr"]


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRecording, match=r"absent\.aqr cannot be read"):
        load_recording(tmp_path / "absent.aqr")


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "picture.aqr"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(InvalidRecording, match=r"picture\.aqr: this is no recording"):
        load_recording(path)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "no recording of an execution"),
        (b"[1, 2]\n", "no recording of an execution"),
        (b'{"format": 1}\n', "no recording of an execution"),
        (b"[" * 100_000, "no recording of an execution"),
        (reheaded(to_bytes(small()), format="aquamend-replay/9"), "aquamend-replay/9"),
        (to_bytes(small())[:-3], "cut short"),
        (to_bytes(small()).partition(b"\n")[0] + b"\n" + zlib.compress(b"x" * 10_000), "cut short or too long"),
        (to_bytes(small()).partition(b"\n")[0] + b"\nnot zlib", "damaged"),
        (reheaded(to_bytes(small()), arrays=[]), "too long: 0 bytes were announced"),
        (reheaded(to_bytes(small()), bodies=[{"name": "x"}]), "does not make sense"),
        (reheaded(to_bytes(small()), particle_rgba=[1]), "does not make sense"),
        (reheaded(to_bytes(small()), bodies=[]), "positions has the shape"),
        (reheaded(to_bytes(small()), arrays=[{"name": "times_s", "shape": [], "bytes": 2}]), "impossible arrays"),
        (reheaded(to_bytes(small()), arrays=[{"name": "x", "shape": [-1], "bytes": 2}]), "impossible arrays"),
        (reheaded(to_bytes(small()), arrays=[{"name": "x", "shape": [3], "bytes": 7}]), "impossible arrays"),
        (reheaded(to_bytes(small()), arrays=[{"name": "x", "shape": [10**12], "bytes": 2}]), "unpacks to"),
    ],
)
def test_a_file_that_is_not_one_says_why(data: bytes, complaint: str) -> None:
    with pytest.raises(InvalidRecording, match=complaint):
        from_bytes(data)


def test_a_flipped_bit_in_the_stream_is_noticed() -> None:
    data = bytearray(to_bytes(sample_recording(seconds=4)))
    data[-200] ^= 4
    with pytest.raises(InvalidRecording):
        from_bytes(bytes(data))


def test_a_place_outside_the_range_is_refused_with_its_value() -> None:
    recording = small()
    recording.particles[1, 1, 2] = -40.5
    with pytest.raises(InvalidRecording, match=r"particles reaches 40\.5; this format holds at most ±3\.277"):
        to_bytes(recording)


def test_numbers_that_are_not_finite_are_refused() -> None:
    with pytest.raises(InvalidRecording, match="positions holds numbers that are not finite"):
        dataclasses.replace(small(), positions=np.full((3, 1, 3), np.nan))


@pytest.mark.parametrize("times_s", [[0.0, 0.0, 0.1], [0.2, 0.1, 0.0]])
def test_times_that_do_not_rise_are_refused(times_s: list[float]) -> None:
    with pytest.raises(InvalidRecording, match="do not rise"):
        dataclasses.replace(small(), times_s=np.array(times_s))


def test_frames_that_a_file_cannot_tell_apart_are_refused() -> None:
    with pytest.raises(InvalidRecording, match="closer than"):
        to_bytes(dataclasses.replace(small(), times_s=np.array([0.0, 0.0001, 0.0002])))


def test_a_recording_of_no_frames_is_refused() -> None:
    with pytest.raises(InvalidRecording, match="0 frames"):
        small(frames=0)


def test_arrays_that_do_not_fit_together_are_refused() -> None:
    with pytest.raises(
        InvalidRecording, match=r"quaternions has the shape \(3, 1, 3\); this recording needs \(3, 1, 4\)"
    ):
        dataclasses.replace(small(), quaternions=np.zeros((3, 1, 3)))


def test_an_unknown_shape_lists_the_known_ones() -> None:
    with pytest.raises(InvalidRecording, match="'cone'; use one of box, cylinder, sphere, capsule, plane"):
        Geom("cone", (1.0,), (0, 0, 0), UPRIGHT, GREY)  # type: ignore[arg-type]


def test_a_size_with_the_wrong_number_of_numbers_is_refused() -> None:
    with pytest.raises(InvalidRecording, match=r"the size of a box is \(1\.0, 2\.0\); give 3 finite numbers"):
        Geom("box", (1.0, 2.0), (0, 0, 0), UPRIGHT, GREY)


def test_the_error_is_one_of_aquamends() -> None:
    assert issubclass(InvalidRecording, AquaMendError)
