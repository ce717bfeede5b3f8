"""One demonstration that many tests look at: two policies that end soon, from the same early alarm."""

import base64
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from aquamend.decision import Escalate, Reprobe
from aquamend_lab.pouring import telling, watching
from aquamend_lab.pouring.phrases import demo_episode
from aquamend_lab.pouring.watching import png

PICTURE = f"data:image/png;base64,{base64.b64encode(png(np.zeros((1, 1, 3), dtype=np.uint8))).decode()}"


@dataclass(frozen=True)
class LooksOnce:
    """Look at one cup, then stop safely."""

    def next_step(self, state):
        views = [probe for probe in state.legal_probes if probe.startswith("look")]  # the alarm has had one of them
        return Escalate() if len(state.evidence) > 2 else Reprobe(views[0])


@dataclass(frozen=True)
class StopsAtOnce:
    def next_step(self, state):
        return Escalate()


def without_pictures(patch: pytest.MonkeyPatch) -> None:
    """Let every picture be one pixel."""
    for module in (telling, watching):
        patch.setattr(module, "still_address", lambda simulation: PICTURE)


@cache
def scene_played():
    """Return what two policies leave behind, the moments in the order they were told, and the alarm they share."""
    heard = []
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        beginning = telling.begin(demo_episode("swap", "t0", 0), heard.append)
        prologue = len(heard)
        shown = [
            telling.go_on(beginning, policy, name, heard.append, facts={"scene": "swap"}, title="A swap")
            for name, policy in (("looks", LooksOnce()), ("stops", StopsAtOnce()))
        ]
    return shown, heard, prologue, beginning
