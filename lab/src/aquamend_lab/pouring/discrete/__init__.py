"""The pouring task without physics: cups on scales, a camera, a pitcher, and beliefs that go stale (the paper's T4)."""

from aquamend_lab.pouring.discrete.events import Add, CameraFault, Event, Nothing, Swap, Together
from aquamend_lab.pouring.discrete.model import Assumptions, Shares, problem_of
from aquamend_lab.pouring.discrete.scene import Scene, fresh_task
from aquamend_lab.pouring.discrete.sensing import Noise
from aquamend_lab.pouring.discrete.world import TableWorld

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
