"""What may happen behind the robot's back: the perturbation families of the paper, as changes of the scene.

How large a change is, nobody knows before it is measured: an event has a range of sizes, and the model has one
hypothesis for each step of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, TypeVar

from aquamend.problem.model import Cause
from aquamend.problem.model.spreads import STEP_SHARE
from aquamend_lab.pouring.discrete.physical_state import Scene
from aquamend_lab.pouring.task import CUPS, QUANTITY_TOLERANCE_G

STEP_G = STEP_SHARE * QUANTITY_TOLERANCE_G
"""How far apart the sizes are that hypotheses tell apart."""


class EventFamily(StrEnum):
    """Perturbation families."""

    SWAP = "swap"
    ADD = "add water"
    DRIFT = "sensor drift"
    FALSE_ALARM = "false alarm"
    COMMON_CAUSE = "common cause"


@dataclass(frozen=True, slots=True)
class Nothing:
    """The monitor was wrong: an arm passed before the camera, or a spike of noise."""

    kind: str = "occlusion"
    family: ClassVar[EventFamily] = EventFamily.FALSE_ALARM

    @property
    def name(self) -> str:
        """What to call it."""
        return f"nothing ({self.kind})"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to."""
        return ()

    def applied(self, scene: Scene) -> Scene:
        """Return the scene after it."""
        return scene


@dataclass(frozen=True, slots=True)
class Swap:
    """Two cups change places, with what is in them."""

    first: int
    second: int
    family: ClassVar[EventFamily] = EventFamily.SWAP

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{CUPS[self.first]} and {CUPS[self.second]} swapped"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to."""
        return self.first, self.second

    def applied(self, scene: Scene) -> Scene:
        """Return the scene after it."""
        place = list(scene.place)
        place[self.first], place[self.second] = place[self.second], place[self.first]
        return replace(scene, place=tuple(place))


@dataclass(frozen=True, slots=True)
class Add:
    """Somebody pours into a cup (or out of it, where the amount is negative)."""

    cup: int
    amount_g: float
    either_way_g: float = 0.0
    """How much more or less it may be, all alike."""
    family: ClassVar[EventFamily] = EventFamily.ADD

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.amount_g:+g} g in {CUPS[self.cup]}"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to."""
        return (self.cup,)

    def applied(self, scene: Scene) -> Scene:
        """Return the scene after it."""
        amounts, widths = list(scene.amount_g), list(scene.width_g)
        amounts[self.cup] = round(amounts[self.cup] + self.amount_g, 2)
        widths[self.cup] += 2.0 * self.either_way_g
        return replace(scene, amount_g=tuple(amounts), width_g=tuple(widths))


@dataclass(frozen=True, slots=True)
class CameraFault:
    """From now on the camera is wrong: the world has not changed, and what was declared before is still right.

    ``bias``: it reads a cup as ``off_g`` too much. ``stale``: its time stamps lie, and it keeps showing old pictures.
    ``misbinding``: it takes two cups for each other.
    """

    kind: str
    cup: int | None = None
    off_g: float = 0.0
    either_way_g: float = 0.0
    """How much more or less a bias may be, all alike."""
    other: int | None = None
    family: ClassVar[EventFamily] = EventFamily.DRIFT

    @property
    def name(self) -> str:
        """What to call it."""
        if self.cup is None:
            return f"camera {self.kind}"
        if self.other is not None:
            return f"camera mixes up {CUPS[self.cup]} and {CUPS[self.other]}"
        return f"camera {self.kind} on {CUPS[self.cup]} ({self.off_g:+g} g)"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to; none where it is about all of them."""
        return tuple(cup for cup in (self.cup, self.other) if cup is not None)

    def applied(self, scene: Scene) -> Scene:
        """Return the scene with this camera."""
        if self.cup is None:
            return replace(scene, camera_stale=True)
        if self.other is not None:
            sees = list(scene.camera_sees)
            sees[self.cup], sees[self.other] = self.other, self.cup
            return replace(scene, camera_sees=tuple(sees))
        bias = tuple(b + self.off_g * (i == self.cup) for i, b in enumerate(scene.camera_bias_g))
        return replace(scene, camera_bias_g=bias)


@dataclass(frozen=True, slots=True)
class Together:
    """Several things from one cause: the table was bumped, or the lamp behind the camera failed.

    How strong the cause was decides the sizes of all of them.
    """

    parts: tuple[Swap | Add | CameraFault, ...]
    why: str
    family: ClassVar[EventFamily] = EventFamily.COMMON_CAUSE

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.why}: {', '.join(part.name for part in self.parts)}"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to."""
        return tuple(dict.fromkeys(cup for part in self.parts for cup in part.cups))

    def applied(self, scene: Scene) -> Scene:
        """Return the scene after all of it."""
        for part in self.parts:
            scene = part.applied(scene)
        return scene


Event = Nothing | Swap | Add | CameraFault | Together


def single_events(event: Event) -> tuple[Event, ...]:
    """Return all that happened."""
    return event.parts if isinstance(event, Together) else (event,)


_Event = TypeVar("_Event", bound=Event)


def of_size(event: _Event, share: float, width: float = 0.0) -> _Event:
    """Return an event of one size: a share of its range, from 0 for the least to 1 for the most.

    It stands for a share ``width`` of the range about that.
    """

    def grown(size_g: float, either_way_g: float) -> float:
        return round(math.copysign(abs(size_g) + (2.0 * share - 1.0) * either_way_g, size_g), 2)

    match event:
        case Add():
            size = grown(event.amount_g, event.either_way_g)
            return replace(event, amount_g=size, either_way_g=width * event.either_way_g)
        case CameraFault():
            off = grown(event.off_g, event.either_way_g)
            return replace(event, off_g=off, either_way_g=width * event.either_way_g)
        case Together():
            return replace(event, parts=tuple(of_size(part, share, width) for part in event.parts))
        case _:
            return event


def with_sizes_as_steps(event: Event) -> tuple[Event, ...]:
    """Return an event as one for each step of its sizes, all equally likely."""
    widest = 2.0 * max(
        part.either_way_g if isinstance(part, Add | CameraFault) else 0.0 for part in single_events(event)
    )
    n = math.ceil(widest / STEP_G - 1e-9)
    return tuple(of_size(event, (k + 0.5) / n, 1.0 / n) for k in range(n)) if n > 1 else (event,)


def involves_camera(event: Event) -> bool:
    """Whether the camera is wrong after it."""
    return any(isinstance(part, CameraFault) for part in single_events(event))


def cause_of(event: Event) -> Cause:
    """Return what an event is rightly attributed to; several things count as sensing only if all of them are."""
    if isinstance(event, Nothing):
        return Cause.FALSE_ALARM
    sensing = all(isinstance(part, CameraFault) for part in single_events(event))
    return Cause.SELF_ERROR if sensing else Cause.EXTERNAL


ELSEWHERE = 40.0, 20.0
"""What is added to a cup that is not the target, and how much more or less it may be."""
SPILT = -20.0, 10.0


def standard_events(declared_g: Sequence[float], *, margin_g: float | None = None) -> tuple[Event, ...]:
    """Return what may happen on a table: each family with its severities, across the decision boundary and short of it.

    Water is added to the target short of the next cup's amount and beyond it, and to every other cup. The camera reads
    too much of the target or too little of its closest rival, as far as it takes to decide otherwise; shows old
    pictures; or takes the target and another cup for each other. ``margin_g`` is how far across on average, which may
    be anything up to twice as much; half the gap by default, and at least 10 g.
    """
    n = len(declared_g)
    gap = declared_g[1] - declared_g[0]
    short, across = (0.5 * gap, 0.35 * gap), _across(declared_g, margin_g)
    adds = [Add(0, *short), Add(0, *across), *(Add(i, *ELSEWHERE) for i in range(1, n))]
    swaps = [Swap(i, j) for i in range(n) for j in range(i + 1, n)]
    faults = [
        _bias(0, across),
        _bias(1, across, sign=-1),
        CameraFault("stale"),
        *(CameraFault("misbinding", 0, other=j) for j in range(1, n)),
    ]
    return (Nothing("occlusion"), Nothing("noise spike"), *swaps, *adds, *faults)


def _across(declared_g: Sequence[float], margin_g: float | None = None) -> tuple[float, float]:
    """Return how much takes the target beyond the next cup, and how much more or less it may be."""
    gap = declared_g[1] - declared_g[0]
    margin = 0.5 * max(gap, 20.0) if margin_g is None else margin_g
    return gap + margin, margin


def _bias(cup: int, size: tuple[float, float], *, sign: int = 1) -> CameraFault:
    return CameraFault("bias", cup, sign * size[0], size[1])


def common_cause_events(declared_g: Sequence[float]) -> tuple[Event, ...]:
    """Return events that break several beliefs at once, for one reason; half of them reach the camera too."""
    n, across = len(declared_g), _across(declared_g)
    return (
        Together((Swap(0, 1), Add(0, *SPILT)), "the table was bumped"),
        Together((Swap(0, n - 1), Add(n - 1, *SPILT)), "the table was bumped"),
        Together((Swap(1, n - 1), Add(0, *across)), "two people were at it"),
        Together(tuple(Add(i, *ELSEWHERE) for i in range(n)), "the jug went round"),
        Together((Add(0, *across), Add(1, *ELSEWHERE)), "the jug went round"),
        Together((Swap(0, 1), CameraFault("misbinding", 0, other=1)), "the table and the camera were bumped"),
        Together((Add(0, *across), _bias(0, across, sign=-1)), "somebody poured, and the lamp failed"),
        Together((Add(1, *ELSEWHERE), _bias(0, across)), "somebody poured, and the lamp failed"),
        Together((Add(0, *across), CameraFault("stale")), "somebody poured, and the buffer froze"),
        Together((_bias(0, across), _bias(1, across, sign=-1)), "the lamp failed"),
    )
