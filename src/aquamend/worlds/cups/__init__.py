"""The discrete pouring task: cups on scales, a camera, a pitcher, and beliefs that go stale (T4 of the paper)."""

from aquamend.worlds.cups.events import Add, CameraFault, Event, Nothing, Swap
from aquamend.worlds.cups.scene import Scene
from aquamend.worlds.cups.task import CupTask, Stage
from aquamend.worlds.cups.world import CupWorld

__all__ = ["Add", "CameraFault", "CupTask", "CupWorld", "Event", "Nothing", "Scene", "Stage", "Swap"]
