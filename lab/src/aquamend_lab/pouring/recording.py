"""What one simulated execution looked like, frame by frame, the small file that keeps it, and the page that plays it.

A file is one line of JSON that says what follows, then a zlib stream of whole numbers: per array, every number of every
frame as its difference from the frame before, first all low bytes, then the next ones. What does not move becomes
zeros, and zeros become nothing.

The replay in three dimensions is one HTML file that needs nothing else, not even a network. It shows one execution, or
two side by side on one clock. The list of moments is plain HTML and can be read without a script; ``assets/replay.js``
(built from ``viewer/``) adds the picture, the clock, the costs and the posterior.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Floats
from aquamend.errors import AquaMendError
from aquamend.files.atomic import write_atomically
from aquamend.recovery.acts import Receipt
from aquamend.story.page import page as filled_in
from aquamend.story.story import Choice, Kind, Moment, Story, Update
from aquamend.text import percent

FORMAT = "aquamend-replay/1"
TIME_QUANTUM_S = 0.001
LENGTH_QUANTUM_M = 0.0001
QUATERNION_QUANTUM = 1 / 32767
MOST_BYTES = 1 << 30
"""A file that unpacks to more than this is refused rather than read."""

Shape = Literal["box", "cylinder", "sphere", "capsule", "plane"]
_SIZES: Mapping[str, int] = {"box": 3, "cylinder": 2, "sphere": 1, "capsule": 2, "plane": 2}
"""How many numbers the size of a shape has."""


class InvalidRecording(AquaMendError, ValueError):
    """A recording that cannot be meant, or a file that holds none: what is wrong, what to do."""

    def __init__(self, problem: str, remedy: str) -> None:
        self.problem, self.remedy = problem, remedy
        super().__init__(f"{problem}; {remedy}")


@dataclass(frozen=True, slots=True)
class Geom:
    """One solid of a body, placed in the frame of that body."""

    shape: Shape
    size: tuple[float, ...]
    """Half sizes [m] as in MuJoCo: box x, y, z; cylinder and capsule radius, half length; sphere radius; plane x, y
    (zero: without end)."""
    pos: tuple[float, float, float]
    """Metres."""
    quat: tuple[float, float, float, float]
    """w, x, y, z."""
    rgba: tuple[float, float, float, float]
    """Each from 0 to 1."""

    def __post_init__(self) -> None:
        if self.shape not in get_args(Shape):
            raise InvalidRecording(f"a solid has the shape {self.shape!r}", f"use one of {', '.join(get_args(Shape))}")
        wanted = {"size": _SIZES[self.shape], "pos": 3, "quat": 4, "rgba": 4}
        for name, count in wanted.items():
            values = tuple(float(value) for value in getattr(self, name))
            if len(values) != count or not all(map(math.isfinite, values)):
                raise InvalidRecording(
                    f"the {name} of a {self.shape} is {values}", f"give {count} finite number{'s' * (count > 1)}"
                )
            object.__setattr__(self, name, values)


@dataclass(frozen=True, slots=True)
class RecordedBody:
    """Something that moves as one piece; cups are called ``cup_A``, ``cup_B`` …"""

    name: str
    geoms: tuple[Geom, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """Where every body and every drop of water was, frame by frame; z is up."""

    bodies: tuple[RecordedBody, ...]
    particle_radius_m: float
    particle_rgba: tuple[float, float, float, float]
    times_s: Floats
    """Shape ``(n,)``, rising."""
    positions: Floats
    """Shape ``(n, n_bodies, 3)``, metres."""
    quaternions: Floats
    """Shape ``(n, n_bodies, 4)``: w, x, y, z of unit length."""
    particles: Floats
    """Shape ``(n, n_particles, 3)``, metres."""

    def __post_init__(self) -> None:
        frames, bodies = len(self.times_s), len(self.bodies)
        particles = self.particles.shape[1] if self.particles.ndim == 3 else 0
        _expect("times_s", self.times_s, (frames,))
        _expect("positions", self.positions, (frames, bodies, 3))
        _expect("quaternions", self.quaternions, (frames, bodies, 4))
        _expect("particles", self.particles, (frames, particles, 3))
        if frames == 0 or not (np.diff(self.times_s) > 0).all():
            raise InvalidRecording(f"the times of {frames} frames do not rise", "record each frame once, in order")


def to_bytes(recording: Recording) -> bytes:
    """Return the recording as a file, lossy within half a quantum: 1 ms, 0.1 mm, 1/32767 of a unit quaternion."""
    packed = {
        "times_s": _quantised("times_s", recording.times_s, TIME_QUANTUM_S, "<i4"),
        "positions": _quantised("positions", recording.positions, LENGTH_QUANTUM_M, "<i2"),
        "quaternions": _quantised("quaternions", recording.quaternions, QUATERNION_QUANTUM, "<i2"),
        "particles": _quantised("particles", recording.particles, LENGTH_QUANTUM_M, "<i2"),
    }
    if not (np.diff(packed["times_s"]) > 0).all():
        raise InvalidRecording(f"two frames are closer than {TIME_QUANTUM_S} s", "record fewer frames a second")
    quanta = (TIME_QUANTUM_S, LENGTH_QUANTUM_M, QUATERNION_QUANTUM, LENGTH_QUANTUM_M)
    header = {
        "format": FORMAT,
        "bodies": [
            {"name": body.name, "geoms": [{key: getattr(geom, key) for key in _GEOM_KEYS} for geom in body.geoms]}
            for body in recording.bodies
        ],
        "particle_radius_m": float(recording.particle_radius_m),
        "particle_rgba": [float(value) for value in recording.particle_rgba],
        "arrays": [
            {"name": name, "shape": list(values.shape), "bytes": values.itemsize, "quantum": quantum}
            for (name, values), quantum in zip(packed.items(), quanta, strict=True)
        ],
    }
    line = json.dumps(header, allow_nan=False, separators=(",", ":")).encode()
    return line + b"\n" + zlib.compress(b"".join(map(_planes, packed.values())), 9)


def from_bytes(data: bytes) -> Recording:
    """Return the recording in a file; whatever is wrong with the file is an ``InvalidRecording``."""
    line, _, stream = data.partition(b"\n")
    header = _header(line)
    try:
        arrays = dict(_unpacked(header["arrays"], stream))
        return Recording(
            bodies=tuple(RecordedBody(str(b["name"]), tuple(_geom(g) for g in b["geoms"])) for b in header["bodies"]),
            particle_radius_m=float(header["particle_radius_m"]),
            particle_rgba=_four(header["particle_rgba"]),
            times_s=arrays["times_s"],
            positions=arrays["positions"],
            quaternions=arrays["quaternions"],
            particles=arrays["particles"],
        )
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, InvalidRecording):
            raise
        raise InvalidRecording(f"the header of the recording does not make sense ({error!r})", _AGAIN) from None


def save_recording(path: str | Path, recording: Recording) -> None:
    """Write a recording to a file (``.aqr``), whole or not at all."""
    write_atomically(Path(path), to_bytes(recording))


def load_recording(path: str | Path) -> Recording:
    """Return the recording in a file."""
    try:
        return from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise InvalidRecording(f"{path} cannot be read ({error.strerror})", "check the path") from None
    except InvalidRecording as error:
        raise InvalidRecording(f"{path}: {error.problem}", error.remedy) from None


_AGAIN = "record the execution again"
_GEOM_KEYS = ("shape", "size", "pos", "quat", "rgba")


def _expect(name: str, values: Floats, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise InvalidRecording(f"{name} has the shape {values.shape}", f"this recording needs {shape}")
    if not np.isfinite(values).all():
        raise InvalidRecording(f"{name} holds numbers that are not finite", "stop the recording where they begin")


def _quantised(name: str, values: Floats, quantum: float, kind: str) -> NDArray[Any]:
    whole = np.rint(values / quantum)
    most = np.iinfo(kind).max
    if np.abs(whole).max(initial=0) > most:
        worst = float(np.abs(values).max())
        raise InvalidRecording(f"{name} reaches {worst:.4g}", f"this format holds at most ±{most * quantum:.4g}")
    return whole.astype(kind)


def _planes(values: NDArray[Any]) -> bytes:
    """Return the differences from frame to frame, track after track, split into planes of low and high bytes."""
    tracks = values.reshape(len(values), -1).T
    steps = np.diff(tracks, axis=1, prepend=tracks.dtype.type(0))  # wraps around, and back when summed
    return np.ascontiguousarray(steps).view(np.uint8).reshape(-1, values.itemsize).T.tobytes()


def _header(line: bytes) -> dict[str, Any]:
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    found = header.get("format") if isinstance(header, dict) else None
    if not isinstance(header, dict) or not isinstance(found, str):
        raise InvalidRecording("this is no recording of an execution", f"give a file of the format {FORMAT!r}")
    if found != FORMAT:
        raise InvalidRecording(f"the recording has the format {found!r}", f"this version reads {FORMAT!r}")
    return header


def _unpacked(layout: list[dict[str, Any]], stream: bytes) -> Iterator[tuple[str, Floats]]:
    """Yield the name and the values of each array that the layout says is in the stream."""
    shapes = [tuple(int(length) for length in entry["shape"]) for entry in layout]
    widths = [int(entry["bytes"]) for entry in layout]
    if not {2, 4}.issuperset(widths) or any(not shape or min(shape) < 0 for shape in shapes):
        raise InvalidRecording("the header of the recording names impossible arrays", _AGAIN)
    sizes = [math.prod(shape) * width for shape, width in zip(shapes, widths, strict=True)]
    raw = _inflated(stream, sum(sizes))
    start = 0
    for entry, shape, width, size in zip(layout, shapes, widths, sizes, strict=True):
        quantum = float(entry["quantum"])
        if not 0.0 < quantum < 1.0:
            raise InvalidRecording(f"the header of the recording has steps of {quantum!r}", _AGAIN)
        plane = np.frombuffer(raw, np.uint8, size, start).reshape(width, -1)
        steps = np.ascontiguousarray(plane.T).view(f"<i{width}").reshape(-1, shape[0])
        whole = np.cumsum(steps, axis=1, dtype=steps.dtype).T.reshape(shape)
        yield str(entry["name"]), whole * quantum
        start += size


def _inflated(stream: bytes, size: int) -> bytes:
    if size > MOST_BYTES:
        raise InvalidRecording(f"the recording says it unpacks to {size} bytes", f"at most {MOST_BYTES} are read")
    unzip = zlib.decompressobj()
    try:
        raw = unzip.decompress(stream, size + 1)
    except zlib.error as error:
        raise InvalidRecording(f"the recording is damaged ({error})", _AGAIN) from None
    if len(raw) != size or not unzip.eof:
        raise InvalidRecording(f"the recording is cut short or too long: {size} bytes were announced", _AGAIN)
    return raw


def _geom(entry: dict[str, Any]) -> Geom:
    return Geom(**{key: entry[key] for key in _GEOM_KEYS})


def _four(values: list[float]) -> tuple[float, float, float, float]:
    first, second, third, fourth = map(float, values)
    return first, second, third, fourth


OPTIONS_SHOWN = 4
"""Of the alternatives of a decision; the others are folded away."""
EXPLANATIONS_SHOWN = 7
"""Of what may be the matter; the others are one row."""

Execution = tuple[Recording, Story]

_TWO = (
    "The same table and the same alarm, bit for bit; from there on each policy recovers on a branch of its own. One "
    "clock drives both sides."
)


def replay_html(executions: Sequence[Execution], *, page: str | None = None) -> str:
    """Return a page that plays one recording beside its story, or two of them side by side.

    It is self-contained and asks the network for no file. ``page`` is a relative link back to the story with pictures.
    """
    stories = [story for _, story in executions]
    several = len(executions) > 1
    known = any(story.moments for story in stories)
    return filled_in(
        "replay.html",
        package="aquamend_lab.pouring",
        script=_asset("replay.js"),
        style=_asset("replay.css"),
        data=_page_data(executions),
        title=f"{stories[0].title}, {' versus '.join(s.policy for s in stories)}" if several else stories[0].title,
        lead=_TWO if several else stories[0].lead,
        back=page,
        layout=" ".join(["versus" if several else "single", *([] if known else ["untold"])]),
        several=several,
        sides=[_side(recording, story) for recording, story in executions],
    )


def without_story(title: str) -> Story:
    """Return a story of which nothing but its title is known, for a recording that comes alone."""
    return Story(title, "A recording of poses alone; what was decided was not saved with it.", unit="s", success=True)


def _side(recording: Recording, story: Story) -> dict[str, object]:
    return {
        "story": story,
        "moments": [(moment, _clock(moment.time), _options(moment.choice)) for moment in _in_order(story)],
        "recording": base64.b64encode(to_bytes(recording)).decode("ascii"),
    }


def _clock(time: float) -> str:
    seconds = math.floor(time + 1e-6)
    return f"{seconds // 60}:{seconds % 60:02d}"


def _options(choice: Choice | None) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the alternatives by what they cost more than the best; the second list can be folded away."""
    options = () if choice is None else choice.options
    finite = sorted(option.loss for option in options if math.isfinite(option.loss))
    least, most = min(finite, default=0.0), max(finite[:OPTIONS_SHOWN], default=1.0)
    rows = []
    for option in options:
        more = option.loss - least
        share = 1.0 if math.isinf(more) else min(1.0, more / (most - least)) if most > least else 0.0
        text = "least" if more < 1e-9 else "∞" if math.isinf(more) else f"+{more:.1f}"
        rows.append({"name": option.name, "chosen": option.chosen, "share": 100.0 * share, "text": text})
    shown = [row for i, row in enumerate(rows) if i < OPTIONS_SHOWN or row["chosen"]]
    return shown, [row for row in rows if row not in shown]


def _asset(name: str) -> str:
    return (files("aquamend_lab.pouring") / "assets" / name).read_text(encoding="utf-8")


def _in_order(story: Story) -> list[Moment]:
    return sorted(story.moments, key=lambda moment: moment.time)


def _page_data(executions: Sequence[Execution]) -> dict[str, object]:
    """Return what the script needs of the stories; what the moments say is in the page already."""
    times_s = [float(time) for recording, _ in executions for time in (recording.times_s[0], recording.times_s[-1])]
    times_s += [moment.time for _, story in executions for moment in story.moments]
    return {
        "start_s": min(times_s),
        "end_s": max(times_s),
        "moments": _on_one_clock([_in_order(story) for _, story in executions]),
        "sides": [_side_data(story) for _, story in executions],
    }


def _on_one_clock(sides: Sequence[Sequence[Moment]]) -> list[dict[str, object]]:
    """Return all moments in the order of time, each with its row in the list of every side, or none there.

    What the sides have in common, up to their alarm, is there once.
    """
    common = 0
    while len(sides) > 1 and common < min(map(len, sides)) and len({id(side[common]) for side in sides}) == 1:
        common += 1
    everywhere = [(moment, [row] * len(sides)) for row, moment in enumerate(sides[0][:common])]
    later = [
        (moment, [row if i == side else None for i in range(len(sides))])
        for side, moments in enumerate(sides)
        for row, moment in enumerate(moments)
        if row >= common
    ]
    later.sort(key=lambda entry: entry[0].time)
    return [
        {"time_s": moment.time, "kind": moment.kind.value, "title": moment.title, "rows": rows}
        for moment, rows in [*everywhere, *later]
    ]


def _side_data(story: Story) -> dict[str, object]:
    ended = [moment.time for moment in story.moments if moment.kind is Kind.ENDED]
    return {
        "unit": story.unit,
        "success": story.success,
        "ended_s": ended[-1] if ended else None,
        "posteriors": _posteriors(story.updates),
        "costs": [_cost(receipt) for receipt in story.receipts if receipt.start_s is not None],
        "beliefs": [[b.time, dict(b.places_m), dict(b.levels_g), b.flowing] for b in story.beliefs],
    }


def _cost(receipt: Receipt) -> list[object]:
    start = receipt.start_s or 0.0
    return [str(receipt.charge), start, start if receipt.end_s is None else receipt.end_s, receipt.cost]


def _posteriors(posteriors: Sequence[Update]) -> list[dict[str, object]]:
    """Return every posterior as rows that keep their places, the ever likeliest first; the rest are one row."""
    names = list(dict.fromkeys(name for update in posteriors for name in update.explanations))
    most = {name: max(p.explanations.get(name, 0.0) for p in posteriors) for name in names}
    kept = sorted(names, key=lambda name: -most[name])[:EXPLANATIONS_SHOWN]
    found: list[dict[str, object]] = []
    for update in posteriors:
        rows = [[name, (share := update.explanations.get(name, 0.0)), percent(share)] for name in kept]
        rest = max(0.0, 1.0 - math.fsum(update.explanations.get(name, 0.0) for name in kept))
        found.append({"time_s": update.time, "when": update.when, "rows": rows, "others": [rest, percent(rest)]})
    return found
