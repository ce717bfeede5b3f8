"""When a belief requires correction: one rule for what the model supposes and for what is really so."""

from __future__ import annotations

from collections.abc import Mapping

from aquamend.worlds.pouring import dimensions as dim
from aquamend.worlds.pouring.configurations import TARGET, Configuration, Sensing, Supposed
from aquamend.worlds.pouring.declared import Declared

QUANTITY_TOLERANCE_G = 3.0
BINDING_TOLERANCE_MM = 30.0


def failed_beliefs(
    declared: Declared,
    *,
    now_g: Mapping[str, float],
    before_pouring_g: Mapping[str, float],
    displaced: Mapping[str, bool],
    at_target_place: str,
    camera_sound: bool,
) -> tuple[str, ...]:
    """Return the beliefs that are wrong by more than the task tolerates, in the order of the graph.

    ``displaced`` says which cups stand more than 30 mm from where they are declared to stand. The target is wrong where
    the cup at its place, into which the robot pours, is not the least full: another choice, or another cup there.
    """
    target, others = declared.target, declared.order[1:]
    wrong = {f"quantity_{x}": abs(now_g[x] - declared.quantity_g[x]) > QUANTITY_TOLERANCE_G for x in dim.CUPS}
    wrong |= {f"rank_{x}": before_pouring_g[x] < before_pouring_g[target] for x in others}
    wrong |= {f"binding_{x}": displaced[x] for x in dim.CUPS}
    wrong["target"] = before_pouring_g[at_target_place] > min(before_pouring_g.values())
    wrong["camera"] = not camera_sound
    return tuple(name for name, is_wrong in wrong.items() if is_wrong)


def failures_of(supposed: Supposed, configuration: Configuration, declared: Declared) -> tuple[str, ...]:
    """Return the beliefs that a configuration breaks."""
    by_cup = {cup: role for role, cup in enumerate(declared.order)}
    return failed_beliefs(
        declared,
        now_g={cup: supposed.now[role].g for cup, role in by_cup.items()},
        before_pouring_g={cup: supposed.before_pouring[role].g for cup, role in by_cup.items()},
        displaced={cup: supposed.stands_at[role] != role for cup, role in by_cup.items()},
        at_target_place=declared.order[supposed.stands_at.index(TARGET)],
        camera_sound=configuration.sensing is Sensing.SOUND,
    )
