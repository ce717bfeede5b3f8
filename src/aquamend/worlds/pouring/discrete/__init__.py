"""The pouring task without physics: cups on scales, a camera, a pitcher, and beliefs that go stale (the paper's T4)."""

from aquamend.worlds.pouring.discrete.events import Add, CameraFault, Event, Nothing, Swap, Together
from aquamend.worlds.pouring.discrete.model import Assumptions, Shares, problem_of
from aquamend.worlds.pouring.discrete.scene import Scene, fresh_task
from aquamend.worlds.pouring.discrete.sensing import Noise
from aquamend.worlds.pouring.discrete.world import TableWorld

__all__ = [
    "Add",
    "Assumptions",
    "CameraFault",
    "Event",
    "Noise",
    "Nothing",
    "Scene",
    "Shares",
    "Swap",
    "TableWorld",
    "Together",
    "fresh_task",
    "problem_of",
]
