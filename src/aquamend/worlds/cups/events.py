"""What may happen behind the robot's back: the perturbation families of the paper, as changes of the scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar

from aquamend.model import Cause
from aquamend.worlds.cups.scene import CUPS, Scene


class Family(StrEnum):
    """Perturbation families, and the attribution each has by right."""

    SWAP = "swap"
    ADD = "add water"
    DRIFT = "sensor drift"
    FALSE_ALARM = "false alarm"
    COMMON_CAUSE = "common cause"

    @property
    def cause(self) -> Cause:
        """What the family is rightly attributed to."""
        match self:
            case Family.DRIFT:
                return Cause.SELF_ERROR
            case Family.FALSE_ALARM:
                return Cause.FALSE_ALARM
            case _:
                return Cause.EXTERNAL


@dataclass(frozen=True, slots=True)
class Nothing:
    """The monitor was wrong: an arm passed before the camera, or a spike of noise."""

    kind: str = "occlusion"
    family: ClassVar[Family] = Family.FALSE_ALARM

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
    family: ClassVar[Family] = Family.SWAP

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
    amount_ml: float
    family: ClassVar[Family] = Family.ADD

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.amount_ml:+g} ml in {CUPS[self.cup]}"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to."""
        return (self.cup,)

    def applied(self, scene: Scene) -> Scene:
        """Return the scene after it."""
        amounts = list(scene.amount_ml)
        amounts[self.cup] += self.amount_ml
        return replace(scene, amount_ml=tuple(amounts))


@dataclass(frozen=True, slots=True)
class CameraFault:
    """The camera was wrong when it measured, and still is: the world has not changed, the belief was never true.

    ``bias``: it reads a cup as ``off_ml`` too little. ``stale``: its time stamps lie, and it shows an old picture of
    the cup. ``misbinding``: it takes two cups for each other.
    """

    kind: str
    cup: int
    off_ml: float = 0.0
    other: int | None = None
    family: ClassVar[Family] = Family.DRIFT

    @property
    def name(self) -> str:
        """What to call it."""
        if self.other is not None:
            return f"camera mixes up {CUPS[self.cup]} and {CUPS[self.other]}"
        return f"camera {self.kind} on {CUPS[self.cup]} ({self.off_ml:+g} ml)"

    @property
    def cups(self) -> tuple[int, ...]:
        """The cups it happened to."""
        return (self.cup,) if self.other is None else (self.cup, self.other)

    def applied(self, scene: Scene) -> Scene:
        """Return the scene in which the declared amounts were read by this camera."""
        if self.other is not None:
            amounts, sees = list(scene.amount_ml), list(scene.camera_sees)
            amounts[self.cup], amounts[self.other] = amounts[self.other], amounts[self.cup]
            sees[self.cup], sees[self.other] = self.other, self.cup
            return replace(scene, amount_ml=tuple(amounts), camera_sees=tuple(sees))
        amounts = list(scene.amount_ml)
        amounts[self.cup] += self.off_ml
        if self.kind == "stale":
            frozen = tuple(f or i == self.cup for i, f in enumerate(scene.camera_frozen))
            return replace(scene, amount_ml=tuple(amounts), camera_frozen=frozen)
        bias = tuple(b - self.off_ml * (i == self.cup) for i, b in enumerate(scene.camera_bias_ml))
        return replace(scene, amount_ml=tuple(amounts), camera_bias_ml=bias)


@dataclass(frozen=True, slots=True)
class Together:
    """Several things from one cause: the table was bumped, or the lamp behind the camera failed."""

    parts: tuple[Swap | Add | CameraFault, ...]
    why: str
    family: ClassVar[Family] = Family.COMMON_CAUSE

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


def cause_of(event: Event) -> Cause:
    """Return what an event is rightly attributed to; of several things at once, to what all of them are."""
    if isinstance(event, Together) and all(isinstance(part, CameraFault) for part in event.parts):
        return Cause.SELF_ERROR
    return event.family.cause


def standard_events(declared_ml: Sequence[float], *, margin_ml: float | None = None) -> tuple[Event, ...]:
    """Return what may happen on a table: each family with its severities, across the decision boundary and short of it.

    Water is added to the target short of the next cup's amount and beyond it, and to every other cup. The camera reads
    too little of the target, or too much of its closest rival, short of the boundary and across it; shows an old
    picture of either; or takes two cups for each other. ``margin_ml`` is how far across; half the gap by default, and
    at least 10 ml.
    """
    n = len(declared_ml)
    gap = declared_ml[1] - declared_ml[0]
    short, across = 0.5 * gap, _across(declared_ml) if margin_ml is None else gap + margin_ml
    adds = [Add(0, short), Add(0, across), *(Add(i, 40.0) for i in range(1, n))]
    swaps = [Swap(i, j) for i in range(n) for j in range(i + 1, n)]
    faults = [
        CameraFault("bias", 0, short),
        CameraFault("bias", 0, across),
        CameraFault("bias", 1, -short),
        CameraFault("bias", 1, -across),
        CameraFault("stale", 0, across),
        CameraFault("stale", 1, -across),
        *(CameraFault("misbinding", 0, other=j) for j in range(1, n)),
    ]
    return (Nothing("occlusion"), Nothing("noise spike"), *swaps, *adds, *faults)


def _across(declared_ml: Sequence[float]) -> float:
    """Return how much takes the target well beyond the next cup: half the gap further, and at least 10 ml."""
    gap = declared_ml[1] - declared_ml[0]
    return gap + 0.5 * max(gap, 20.0)


def common_cause_events(declared_ml: Sequence[float]) -> tuple[Event, ...]:
    """Return events that break several beliefs at once, for one reason."""
    n, across = len(declared_ml), _across(declared_ml)
    short = 0.5 * (declared_ml[1] - declared_ml[0])
    return (
        Together((Swap(0, 1), Add(0, -20.0)), "the table was bumped"),
        Together((Swap(0, n - 1), Add(n - 1, -20.0)), "the table was bumped"),
        Together((Swap(1, n - 1), Add(0, across)), "two people were at it"),
        Together(tuple(Add(i, 40.0) for i in range(n)), "the jug went round"),
        Together((Add(0, across), Add(1, 40.0)), "the jug went round"),
        Together(
            (CameraFault("bias", 0, across), CameraFault("bias", 1, -short)),
            "the lamp failed",
        ),
        Together((CameraFault("stale", 0, across), CameraFault("stale", 1, -20.0)), "the buffer froze"),
    )
