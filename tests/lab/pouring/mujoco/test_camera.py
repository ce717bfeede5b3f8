import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from tests.waiting import PATIENCE_S

pytest.importorskip("mujoco")

from tests.lab.pouring.mujoco.tables import hand_at, settled

from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import TRAVEL_Z
from aquamend_lab.pouring.mujoco.sensors import Camera, capture, cast
from aquamend_lab.pouring.mujoco.simulation import HIDDEN_GROUP, WALL_GROUP, WATER_RGBA
from aquamend_lab.pouring.watching import STILL_CAMERA, png, still

TABLE = (12, 25, 40, 60)
BESIDE = Camera(position=(-0.7, -0.7, 0.8), look_at=(-0.6, -0.8, 0.0), vertical_fov_deg=20.0)
ABOVE = Camera(position=(0.0, 0.0, 1.0), look_at=(0.0, 0.0, 0.0), up=(0.0, 1.0, 0.0), vertical_fov_deg=20.0)


def pixels(data: bytes) -> np.ndarray:
    width, height = struct.unpack(">II", data[16:24])
    start = data.index(b"IDAT")
    (length,) = struct.unpack(">I", data[start - 4 : start])
    rows = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), dtype=np.uint8)
    return rows.reshape(height, 1 + 3 * width)[:, 1:].reshape(height, width, 3)


def geom_seen_at(point: tuple[float, float, float], camera: Camera) -> int:
    frame = capture(settled(*TABLE), camera, 160, 120)
    column, row = camera.pixel(point, 160, 120)
    return int(frame.segments[int(row), int(column)])


def test_the_axes_of_a_camera_are_right_handed_unit_vectors() -> None:
    right, up, forward = BESIDE.axes()
    assert np.allclose(np.cross(right, up), -forward)
    assert np.allclose(np.linalg.norm([right, up, forward], axis=1), 1)


def test_depth_of_the_bare_table_is_where_each_ray_meets_the_plane() -> None:
    frame = capture(settled(*TABLE), BESIDE, 40, 30)
    rays = BESIDE.rays(40, 30)
    expected = 0.8 / -rays[:, 2] * (rays @ BESIDE.axes()[2])
    assert np.allclose(frame.depth_m.ravel(), expected)


def test_nothing_is_infinitely_far_and_has_no_segment() -> None:
    frame = capture(settled(*TABLE), Camera((0.0, 0.0, 0.5), (0.0, 0.3, 1.0)), 8, 6)
    assert np.isinf(frame.depth_m).all()
    assert (frame.segments == -1).all()


def test_the_ray_through_a_pixel_points_at_what_appears_there() -> None:
    rays = STILL_CAMERA.rays(64, 42).reshape(42, 64, 3)
    point = np.array(STILL_CAMERA.position) + 0.9 * rays[10, 50]
    assert STILL_CAMERA.pixel(tuple(point), 64, 42) == pytest.approx((50.5, 10.5))


def test_segments_name_the_place_beside_a_cup_and_the_water_within() -> None:
    model = settled(*TABLE).compiled.model
    corner = (dim.SCALE_HALF_WIDTH - 0.003, -dim.SCALE_HALF_WIDTH + 0.003, dim.SCALE_TOP_Z)
    assert model.geom(geom_seen_at(corner, ABOVE)).name == "place_1"
    water = geom_seen_at((0.0, 0.007, 0.05), ABOVE)
    assert model.geom_rgba[water] == pytest.approx(WATER_RGBA)


def test_no_camera_sees_the_hulls() -> None:
    model = settled(*TABLE).compiled.model
    seen = np.unique(capture(settled(*TABLE), STILL_CAMERA, 160, 85).segments)
    assert not (model.geom_group[seen[seen >= 0]] == HIDDEN_GROUP).any()


def test_rays_without_glass_pass_the_walls_and_go_farther() -> None:
    simulation = settled(*TABLE)
    rays = STILL_CAMERA.rays(160, 85)
    at_glass = cast(simulation, STILL_CAMERA.position, rays)
    walls = (at_glass.geoms >= 0) & (simulation.compiled.model.geom_group[at_glass.geoms] == WALL_GROUP)
    through = cast(simulation, STILL_CAMERA.position, rays[walls], glass=False)
    assert walls.any()
    assert (through.distance_m > at_glass.distance_m[walls]).all()


def test_normals_of_the_table_point_up() -> None:
    hits = cast(settled(*TABLE), BESIDE.position, BESIDE.rays(8, 6))
    assert np.allclose(hits.normals, [0, 0, 1])


def test_a_lamp_leaves_a_shadow_beside_a_vessel() -> None:
    frame = capture(settled(*TABLE), STILL_CAMERA, 320, 210)
    table = frame.rgb[frame.segments == settled(*TABLE).compiled.model.geom("table").id].sum(axis=1)
    assert table.min() < 0.8 * np.median(table)


def test_casting_no_rays_hits_nothing() -> None:
    assert len(cast(settled(*TABLE), (0.0, 0.0, 1.0), np.zeros((0, 3))).geoms) == 0


def test_looking_changes_nothing() -> None:
    simulation = settled(*TABLE).branch()
    untouched = simulation.branch()
    capture(simulation, STILL_CAMERA, 32, 21)
    simulation.tick()
    untouched.tick()
    assert np.array_equal(simulation.data.qpos, untouched.data.qpos)


def test_a_png_holds_exactly_the_pixels_it_was_made_of() -> None:
    rgb = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    assert png(rgb).startswith(b"\x89PNG\r\n\x1a\n")
    assert np.array_equal(pixels(png(rgb)), rgb)


def test_a_still_has_the_size_asked_for_and_many_colours() -> None:
    picture = pixels(still(settled(*TABLE), 320, 210))
    assert picture.shape == (210, 320, 3)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 1000


def test_the_same_table_gives_the_same_still() -> None:
    assert still(settled(*TABLE), 80, 52) == still(settled(*TABLE).branch(), 80, 52)


@pytest.mark.parametrize("x", [-0.27, 0.51])
def test_the_still_shows_the_whole_row(x: float) -> None:
    for y in (-0.05, 0.05):
        column, row = STILL_CAMERA.pixel((x, y, 0.0), 640, 340)
        assert 0 <= column < 640
        assert 0 <= row < 340


def test_the_still_shows_the_raised_hand() -> None:
    raised = hand_at(settled(*TABLE), -0.22, 0.0, TRAVEL_Z)
    palm = raised.compiled.model.geom_bodyid == raised.compiled.model.body("hand").id
    segments = capture(raised, STILL_CAMERA, 160, 85).segments
    assert palm[segments[segments >= 0]].sum() > 40
    assert not palm[segments[0][segments[0] >= 0]].any(), "cut off by the upper edge"


def test_a_name_stays_inside_the_picture() -> None:
    lifted = settled(*TABLE).branch()
    lifted.data.xpos[lifted.compiled.vessels["A"], 2] = 0.5
    assert pixels(still(lifted, 320, 210)).shape == (210, 320, 3)


def test_pictures_need_no_gl() -> None:
    program = (
        "import sys\n"
        "from tests.lab.pouring.mujoco.tables import settled\n"
        "from aquamend_lab.pouring.watching import still\n"
        "still(settled(0, 0, 0, 0), 16, 12)\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('OpenGL', 'glfw') or m.startswith('mujoco.gl')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert done.stdout.strip() == "[]"
