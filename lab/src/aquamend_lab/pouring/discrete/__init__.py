"""The pouring task without physics: cups on scales, a camera, a pitcher, and beliefs that go stale (the paper's T4)."""

from aquamend_lab.pouring.discrete.cup_table import Assumptions, Shares, TableWorld, problem_of
from aquamend_lab.pouring.discrete.perturbations import Add, CameraFault, Event, Nothing, Swap, Together
from aquamend_lab.pouring.discrete.physical_state import Noise, Scene, fresh_task

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
