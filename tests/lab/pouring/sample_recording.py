"""A made-up execution on a table of cups, with the story that belongs to it: no physics, but it looks the part."""

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from aquamend.story.story import Choice, Kind, Moment, Option, Story, Update
from aquamend_lab.pouring.recording import Geom, RecordedBody, Recording

Array = NDArray[np.float64]
UPRIGHT = (1.0, 0.0, 0.0, 0.0)
RADIUS_M = 0.0065
COLOURS = {"cup_A": (0.86, 0.31, 0.24, 1.0), "cup_B": (0.30, 0.64, 0.36, 1.0), "cup_C": (0.27, 0.45, 0.84, 1.0)}
PITCHER_RGBA = (0.78, 0.76, 0.70, 1.0)
PLACES_X = {"cup_A": -0.22, "cup_B": 0.0, "cup_C": 0.22, "pitcher": 0.46}
SCALE_TOP_M = 0.012
POURS = ((18.0, 23.0, "cup_A", 0, 26), (69.0, 73.0, "cup_A", 26, 40))
"""Start, end, target, first and last bead."""


def sample_recording(*, seed: int = 0, seconds: float = 80.0) -> Recording:
    """Return 80 s at 12.5 frames a second: pour, a swap of two cups, two looks, the swap undone, another pour."""
    times_s = np.arange(0, seconds + 1e-9, 0.08)
    paths = {name: np.array([_vessel_at(name, t) for t in times_s]) for name in PLACES_X}
    rolls = {name: np.array([_roll_at(t) if name == "pitcher" else 0.0 for t in times_s]) for name in PLACES_X}
    hand = np.array([_hand_at(t) for t in times_s])
    still = np.zeros_like(hand)
    scales = [np.tile((x, 0.0, 0.006), (len(times_s), 1)) for x in PLACES_X.values()]
    positions = np.stack([still, *scales, *paths.values(), hand], axis=1)
    no_roll = np.zeros(len(times_s))
    turned = [no_roll] * 5 + [*rolls.values(), rolls["pitcher"]]
    return Recording(
        bodies=(*_furniture(), *(_vessel(name) for name in PLACES_X), _hand()),
        particle_radius_m=RADIUS_M,
        particle_rgba=(0.25, 0.62, 0.92, 1.0),
        times_s=times_s,
        positions=positions,
        quaternions=np.stack([_about_y(roll) for roll in turned], axis=1),
        particles=_water(times_s, paths, rolls, np.random.default_rng(seed)),
    )


def sample_story() -> Story:
    """Return what happens in the sample recording, told in moments."""
    options = [
        Option(name, "", loss, 0.0, 9.0 + rollback, loss - 9.0 - rollback, False)
        for name, loss, rollback in (
            ("weigh A", 25.4, 12.1), ("look at C", 26.9, 12.1), ("carry on", 48.7, 0.0), ("start over", 61.0, 44.0),
            ("empty A", 83.0, 70.0), ("call a person", 90.0, 75.0),
        )
    ]  # fmt: skip
    look = Option("look at B", "", 20.2, 3.1, None, None, True)
    switch = Option("switch A and B back", "", 24.3, 0.0, 21.1, 3.2, True)
    last = Choice("myopic", switch.name, "", "Nothing else is as cheap.", (switch, *options))
    return Story(
        title="Someone swapped two cups",
        lead="The robot looked at three cups and poured into A. Then somebody swapped A and B. "
        "A scale noticed; the robot looked twice, understood, and put the cups back before it poured on.",
        facts={"scene": "7", "policy": "myopic"},
        updates=tuple(Update(t, when, dict(zip(EXPLANATIONS, mass, strict=True)), {}) for t, when, mass in MASSES),
        moments=(
            Moment(3.0, Kind.BELIEVED, "Cup A stands at place 1, B at 2, C at 3", "One look each."),
            Moment(14.0, Kind.ACTED, "grasp pitcher"),
            Moment(18.0, Kind.ACTED, "pour 26 g into A"),
            Moment(26.0, Kind.ACTED, "put pitcher down"),
            Moment(34.0, Kind.ALARM, "Scale B shows 26 g too much", "B should hold 14 g. One of the beliefs is wrong."),
            Moment(
                34.0,
                Kind.DECIDED,
                "Look at B first",
                "The look costs 3.1 s and may save 11.2 s.",
                choice=Choice("myopic", look.name, "", "A swap is likely.", (look, *options[2:])),
            ),
            Moment(40.0, Kind.MEASURED, "Look B: the red cup stands there", "That is cup A."),
            Moment(46.0, Kind.MEASURED, "Look A: the green cup stands there", "That is cup B."),
            Moment(47.0, Kind.DECIDED, "Switch A and B back", "Nothing cheaper is left to learn.", choice=last),
            Moment(50.0, Kind.ACTED, "move A aside"),
            Moment(55.0, Kind.ACTED, "move B to the middle"),
            Moment(69.0, Kind.ACTED, "pour 14 g into A"),
            Moment(78.0, Kind.ENDED, "Every cup is as it should be", "40 g in A, in 44 s after the alarm."),
            Moment(78.0, Kind.UNSEEN, "Somebody swapped A and B at 0:28"),
        ),
        unit="s",
        success=True,
        verdict="The recovery succeeded: 24.1 s of work, nothing left wrong.",
    )


EXPLANATIONS = ("nothing happened", "A and B were swapped", "B and C were swapped", "somebody added water to B",
                "the scale of B is off", "the camera confuses A and B", "A leaked", "C leaked", "B leaked")  # fmt: skip
MASSES = (
    (0.0, "before the alarm", (0.90, 0.02, 0.02, 0.02, 0.01, 0.01, 0.008, 0.007, 0.005)),
    (34.0, "after the alarm", (0.05, 0.38, 0.08, 0.30, 0.12, 0.05, 0.008, 0.007, 0.005)),
    (40.0, "after look B: red", (0.01, 0.83, 0.01, 0.03, 0.01, 0.10, 0.004, 0.003, 0.003)),
    (46.0, "after look A: green", (0.001, 0.973, 0.001, 0.004, 0.001, 0.018, 0.001, 0.0005, 0.0005)),
)


def _furniture() -> tuple[RecordedBody, ...]:
    table = Geom("plane", (1.2, 1.2), (0, 0, 0), UPRIGHT, (0.80, 0.74, 0.66, 1))
    pan = Geom("box", (0.052, 0.052, 0.006), (0, 0, 0), UPRIGHT, (0.30, 0.31, 0.34, 1))
    return RecordedBody("world", (table,)), *(RecordedBody(f"scale_{i}", (pan,)) for i in range(4))


def _vessel(name: str) -> RecordedBody:
    """Return eight walls and a floor."""
    rgba, walls = COLOURS.get(name, PITCHER_RGBA), []
    for i in range(8):
        angle = math.pi * i / 4
        middle = (0.034 * math.cos(angle), 0.034 * math.sin(angle), 0.054)
        quat = (math.cos(angle / 2), 0, 0, math.sin(angle / 2))
        walls.append(Geom("box", (0.002, 0.0149, 0.05), middle, quat, rgba))
    return RecordedBody(name, (*walls, Geom("cylinder", (0.036, 0.002), (0, 0, 0.002), UPRIGHT, rgba)))


def _hand() -> RecordedBody:
    steel, dark = (0.55, 0.57, 0.60, 1), (0.22, 0.23, 0.26, 1)
    lying = (math.sqrt(0.5), math.sqrt(0.5), 0, 0)
    pads = [Geom("box", (0.004, 0.014, 0.020), (sign * 0.042, 0, 0), UPRIGHT, dark) for sign in (-1, 1)]
    fingers = [Geom("box", (0.004, 0.035, 0.008), (sign * 0.042, -0.05, 0), UPRIGHT, steel) for sign in (-1, 1)]
    palm = Geom("box", (0.062, 0.012, 0.016), (0, -0.085, 0), UPRIGHT, steel)
    arm = Geom("capsule", (0.016, 0.08), (0, -0.165, 0), lying, dark)
    lens = Geom("sphere", (0.012,), (0, -0.085, 0.02), UPRIGHT, (0.1, 0.1, 0.12, 1))
    return RecordedBody("hand", (*pads, *fingers, palm, arm, lens))


def _path(t: float, keys: tuple[tuple[float, float, float, float], ...]) -> Array:
    """Return the place at a time on a path of (time, x, y, z), eased between them."""
    for (t0, *start), (t1, *end) in itertools.pairwise(keys):
        if t0 <= t <= t1:
            s = (t - t0) / (t1 - t0)
            s = s * s * (3 - 2 * s)
            return (1 - s) * np.array(start) + s * np.array(end)
    return np.array(keys[0][1:] if t < keys[0][0] else keys[-1][1:])


def _vessel_at(name: str, t: float) -> Array:
    x, z = PLACES_X[name], SCALE_TOP_M
    match name:
        case "cup_A":
            out = (28, x, 0, z), (29, -0.11, 0.10, z), (30, 0.0, 0, z)
            back = (50, 0.0, 0, z), (51, 0, 0, 0.14), (53, 0.11, 0.12, 0.14), (54, 0.11, 0.12, 0), (59, 0.11, 0.12, 0)
            return _path(t, (*out, *back, (60, 0.11, 0.12, 0.14), (62, x, 0, 0.14), (63, x, 0, z)))
        case "cup_B":
            out = (28, x, 0, z), (29, -0.11, -0.10, z), (30, -0.22, 0, z)
            return _path(t, (*out, (55, -0.22, 0, z), (56, -0.22, 0, 0.14), (57.5, x, 0, 0.14), (58.5, x, 0, z)))
        case "pitcher":
            over = PLACES_X["cup_A"] + 0.085
            first = (14, x, 0, z), (15, x, 0, 0.17), (17, over, 0, 0.17), (24, over, 0, 0.17), (26, x, 0, 0.17)
            again = (65, x, 0, z), (66, x, 0, 0.17), (68, over, 0, 0.17), (74, over, 0, 0.17), (76, x, 0, 0.17)
            return _path(t, (*first, (27, x, 0, z), *again, (77, x, 0, z)))
        case _:
            return np.array((x, 0, z))


def _roll_at(t: float) -> float:
    """Return the roll of the pitcher [rad] about y: towards -x when it pours."""
    ups = [np.interp(t, (start - 1, start, end, end + 1), (0, 1, 1, 0)) for start, end, *_ in POURS]
    return -1.75 * float(max(ups))


def _hand_at(t: float) -> Array:
    grip = np.array((0, 0, 0.05))
    for start, end, name in (
        (14, 27, "pitcher"),
        (50, 54, "cup_A"),
        (55, 58.5, "cup_B"),
        (59, 63, "cup_A"),
        (65, 77, "pitcher"),
    ):
        if start <= t <= end:
            return _vessel_at(name, t) + (grip if name != "pitcher" else _rotated(grip, np.array(_roll_at(t))))
    pauses = (
        (0, 0.28, -0.16, 0.2),
        (2, -0.22, -0.1, 0.24),
        (4, 0, -0.1, 0.24),
        (6, 0.22, -0.1, 0.24),
        (12, 0.46, -0.16, 0.1),
    )
    later = (
        (13.9, 0.46, 0, 0.062),
        (27.1, 0.46, 0, 0.062),
        (29, 0.40, -0.2, 0.2),
        (35, 0.28, -0.16, 0.2),
        (38, 0, -0.1, 0.24),
    )
    last = (
        (41, 0, -0.1, 0.24),
        (44, -0.22, -0.1, 0.24),
        (47, -0.22, -0.1, 0.24),
        (49, 0, -0.16, 0.1),
        (49.9, 0, 0, 0.062),
    )
    home = (77.1, 0.46, 0, 0.062), (79, 0.40, -0.2, 0.2)
    return _path(t, (*pauses, *later, *last, (54.5, 0, 0.1, 0.2), (64, 0.3, -0.1, 0.15), *home))


def _about_y(roll: Array) -> Array:
    zeros = np.zeros_like(roll)
    return np.stack([np.cos(roll / 2), zeros, np.sin(roll / 2), zeros], axis=-1)


def _rotated(local: Array, roll: Array) -> Array:
    x, y, z = np.moveaxis(np.asarray(local), -1, 0)
    return np.stack([np.cos(roll) * x + np.sin(roll) * z, y + 0 * roll, -np.sin(roll) * x + np.cos(roll) * z], axis=-1)


def _water(times_s: Array, paths: dict[str, Array], rolls: dict[str, Array], rng: np.random.Generator) -> Array:
    """Return 140 beads: 50 in the pitcher, 30 in each cup; those that are poured fall from one into the other."""
    owners = [
        name for name, count in (("pitcher", 50), ("cup_A", 30), ("cup_B", 30), ("cup_C", 30)) for _ in range(count)
    ]
    seats = [seat for count in (50, 30, 30, 30) for seat in _seats(count)]
    tracks = [paths[owner] + _rotated(seat, rolls[owner]) for owner, seat in zip(owners, seats, strict=True)]
    rising = _seats(80)[30:]
    for start, end, target, first, last in POURS:
        for i in range(first, last):
            leave = start + (end - start) * (i - first) / (last - first)
            landed = paths[target] + rising[i]
            lip = paths["pitcher"] + _rotated(np.array((-0.03, 0, 0.105)), rolls["pitcher"])
            share = np.clip((times_s - leave) / 0.45, 0, 1)[:, None]
            fall = np.concatenate([np.repeat(share, 2, axis=1), share**2], axis=1)
            tracks[i] = np.where(share > 0, lip + (landed - lip) * fall, tracks[i])
    beads = np.stack(tracks, axis=1)
    # What rests trembles below the quantum, with a small step now and then.
    steps = rng.normal(0, 1e-4, beads.shape) * (rng.random(beads.shape) < 0.01)
    return beads + np.cumsum(steps, axis=0)


def _seats(count: int) -> Array:
    """Return places for beads above a vessel's floor, layer by layer, spiralling out."""
    rings = [(0.0, 0.0)] + [(0.0135 * math.cos(a), 0.0135 * math.sin(a)) for a in np.arange(6) * math.pi / 3]
    rings += [(0.0255 * math.cos(a), 0.0255 * math.sin(a)) for a in np.arange(11) * 2 * math.pi / 11]
    layers = [(*rings[i % 18], 0.0115 + i // 18 * 0.0118) for i in range(count)]
    turned = [(*_turn(x, y, 0.5 * (i // 18)), z) for i, (x, y, z) in enumerate(layers)]
    return np.array(turned)


def _turn(x: float, y: float, angle: float) -> tuple[float, float]:
    return x * math.cos(angle) - y * math.sin(angle), x * math.sin(angle) + y * math.cos(angle)
