"""What ways out cost that the graph does not price: finishing the task, a restart, a safe stop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.configurations import CONFIGURATIONS, Configuration, Sensing, Supposed, cups_read_for
from aquamend.worlds.pouring.declared import Declared
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.failures import QUANTITY_TOLERANCE_G, failures_of
from aquamend.worlds.pouring.fitted import Fitted
from aquamend.worlds.pouring.looking import CAREFUL_S
from aquamend.worlds.pouring.recovery_graph import residual_loss

SAFE_STOP_LOSS = 150.0
"""Loss of stopping safely and calling a person, in simulated seconds' worth: more than any restart takes, and what the
paper's worst safe stops were charged."""


def finishing_s(stage: Stage, fitted: Fitted) -> float:
    """Return what is left of the task at a stage."""
    left = {
        Stage.DECIDED: ("fetch", "move", "pour", "put back"),
        Stage.MOVED: ("pour", "put back"),
        Stage.POURED: ("put back",),
    }
    return math.fsum(fitted.seconds(what) for what in left[stage])


def restart_losses(supposed: Sequence[Supposed], declared: Declared, stage: Stage, fitted: Fitted) -> np.ndarray:
    """Return what starting over loses under every configuration: all undone, all measured anew by the same camera."""
    again = {
        Stage.DECIDED: (),
        Stage.MOVED: ("put back", "fetch", "move"),
        Stage.POURED: ("pour back", "fetch", "move", "pour"),
    }
    seconds = (1 + len(dim.CUPS)) * CAREFUL_S + math.fsum(fitted.seconds(what) for what in again[stage])
    seconds += CAREFUL_S if stage is Stage.POURED else 0.0  # the cup is weighed after pouring back
    return np.array(
        [
            seconds + math.fsum(residual_loss(name) for name in _failed_after_restart(s, c, declared))
            for s, c in zip(supposed, CONFIGURATIONS, strict=True)
        ]
    )


def _failed_after_restart(supposed: Supposed, configuration: Configuration, declared: Declared) -> list[str]:
    if configuration.sensing is Sensing.SOUND:
        return []
    if configuration.sensing is Sensing.FROZEN:
        return list(failures_of(supposed, configuration, declared))
    # The looks of the new round show what they show now, without what was poured.
    poured = [supposed.now[role].g - supposed.before_pouring[role].g for role in range(3)]
    read_for = cups_read_for(configuration.sensing)
    seen = [supposed.looked[role].g - poured[read_for[role]] for role in range(3)]
    true = [amount.g for amount in supposed.before_pouring]
    failed = [
        f"quantity_{declared.order[role]}" for role in range(3) if abs(seen[role] - true[role]) > QUANTITY_TOLERANCE_G
    ]
    chosen = min(range(3), key=seen.__getitem__)
    return [*failed, *(["target"] if true[chosen] > min(true) else []), "camera"]
