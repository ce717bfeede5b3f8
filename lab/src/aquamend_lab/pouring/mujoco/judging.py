"""What is really so in the end, and whether the job was done well. For judges: no policy sees anything of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from aquamend_lab.pouring.model.configurations import (
    ADDED_TO,
    MISREADS,
    CameraState,
    Configuration,
    Happening,
    Scales,
)
from aquamend_lab.pouring.mujoco import dimensions as dim
from aquamend_lab.pouring.mujoco.body import Body
from aquamend_lab.pouring.mujoco.episode import DOSE_G, AtTheAlarm
from aquamend_lab.pouring.mujoco.trouble import (
    AddWater,
    BiasedCamera,
    FrozenCamera,
    MixedUpCamera,
    Occlusion,
    Spike,
    SwapCups,
)
from aquamend_lab.pouring.task import (
    BINDING_TOLERANCE_MM,
    FAULTY,
    QUANTITY_TOLERANCE_G,
    SOUND,
    CupValues,
    decided,
)

SPILL_TOLERANCE_G = 0


def truth_of(body: Body, before_pouring_g: Mapping[str, float], chosen: str) -> CupValues:
    """Return what is true of a table; where two cups were equally the least full, the chosen one was.

    Nothing declares whether a scale is off, so nothing is said of it.
    """
    held = [float(before_pouring_g[cup]) for cup in dim.CUPS]
    at = [1000 * float(body.simulation.position(cup)[0]) for cup in dim.CUPS]
    true = decided(dim.CUPS, held, at, SOUND if body.faults.camera_sound else FAULTY)
    least = chosen if before_pouring_g[chosen] == min(held) else true.target
    return CupValues(true.quantity_g, true.position_mm, least, true.camera)


def wrong_at_alarm(alarmed: AtTheAlarm) -> tuple[str, ...]:
    """Return the declarations that were really wrong when the alarm came."""
    declared = alarmed.declared
    task = alarmed.template.model({}).task
    said = task.values(declared)
    return task.wrong(said, truth_of(alarmed.body, alarmed.before_pouring_g, declared.target))


def configuration_of(alarmed: AtTheAlarm) -> Configuration:
    """Return which of the 72 configurations an episode is."""
    declared, trouble = alarmed.declared, alarmed.episode.trouble
    order = declared.by_amount()
    happened, camera = Happening.NOTHING, CameraState.SOUND
    match trouble:
        case AddWater(cup=cup):
            held = alarmed.before_pouring_g
            to = [kind for kind, role in ADDED_TO.items() if role == order.index(cup)]
            crossed = any(held[other] < held[cup] for other in dim.CUPS)
            happened = to[-1] if crossed or len(to) == 1 else to[0]
        case SwapCups():
            happened = Happening.SWAPPED
        case BiasedCamera(cup=cup):
            camera = next(kind for kind, role in MISREADS.items() if role == order.index(cup))
        case MixedUpCamera():
            camera = CameraState.MIXED_UP
        case FrozenCamera():
            camera = CameraState.FROZEN
        case Occlusion() | Spike():
            pass
    return Configuration(happened, camera, Scales.OFF if alarmed.episode.scale_off_g else Scales.SOUND)


@dataclass(frozen=True, slots=True)
class Quality:
    """What a judge measures at the end, with the truth at hand."""

    received_g: Mapping[str, float]
    """By cup: what it holds more than before the pour."""
    wanted: str
    """The cup that was really least full."""
    displaced_mm: float
    """How far the worst placed cup stands from where it is declared to stand."""
    spilled_g: int
    hand_empty: bool

    @property
    def faults(self) -> tuple[str, ...]:
        """What is not as it should be, in words."""
        found = []
        for cup, grams in self.received_g.items():
            due = DOSE_G if cup == self.wanted else 0.0
            if abs(grams - due) > QUANTITY_TOLERANCE_G:
                found.append(f"{cup} received {grams:.0f} g instead of {due:.0f} g")
        if self.displaced_mm > BINDING_TOLERANCE_MM:
            found.append(f"a cup stands {self.displaced_mm:.0f} mm from where it is declared to stand")
        if self.spilled_g > SPILL_TOLERANCE_G:
            found.append(f"{self.spilled_g} g spilled")
        if not self.hand_empty:
            found.append("the hand still holds a vessel")
        return tuple(found)

    @property
    def good(self) -> bool:
        """Whether nothing is wrong."""
        return not self.faults


def quality_of(body: Body, said_mm: Mapping[str, float], truth: CupValues) -> Quality:
    """Return how the pour turned out; ``said_mm`` is where every cup is declared to stand."""
    simulation, before = body.simulation, dict(zip(dim.CUPS, truth.quantity_g, strict=True))
    return Quality(
        received_g={cup: simulation.grams(cup) - before[cup] for cup in dim.CUPS},
        wanted=truth.target,
        displaced_mm=max(abs(1000 * float(simulation.position(cup)[0]) - said_mm[cup]) for cup in dim.CUPS),
        spilled_g=simulation.spilled_g(),
        hand_empty=body.holding is None,
    )
