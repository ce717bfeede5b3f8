"""What was needless, and what the same recovery would have cost with the truth at hand."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator

from aquamend.decision.probe_value import clairvoyant_losses
from aquamend.decision.steps import Reprobe
from aquamend.recovery import Recovery
from aquamend.story.story import Hindsight
from aquamend_lab.pouring.demonstration.wording import PROBES, UNDOING
from aquamend_lab.pouring.model.fitted import Fitted
from aquamend_lab.pouring.model.problem import PROBE_S
from aquamend_lab.pouring.mujoco.episode import AtTheAlarm
from aquamend_lab.pouring.mujoco.judging import configuration_of
from aquamend_lab.pouring.task import LIFT, MOVE, POUR


def hindsight(alarmed: AtTheAlarm, recovery: Recovery, failed: Collection[str]) -> Hindsight:
    """Return it for one recovery; ``failed`` is what was really wrong at the alarm."""
    start, graph = recovery.start, recovery.start.problem.graph
    useful, rested = set(_useful(recovery, failed)), set(graph.closure(failed))
    used = dict.fromkeys(step.probe for step in recovery.steps if isinstance(step, Reprobe))
    true = alarmed.template.model({}).nearest(configuration_of(alarmed), alarmed.before_pouring_g)
    executed = tuple(action.name for action in graph.executed)
    return Hindsight(
        needless_probes=tuple(PROBES[probe] for probe in used if probe not in useful),
        needless_undone=tuple(w for a, w in UNDOING.items() if a in recovery.undone and a not in rested),
        sensing=PROBE_S * len(start.evidence),
        recovery=float(clairvoyant_losses(start)[true]),
        finishing=finishing_s(alarmed.template.fitted, executed),
    )


def _useful(recovery: Recovery, failed: Collection[str]) -> Iterator[str]:
    """Yield the probes that bear directly on something really wrong of which another value was declared.

    Of a source, all that was read from it bears on it.
    """
    graph = recovery.start.problem.graph
    for belief in recovery.declared:
        if belief in failed:
            yield from graph.direct_probes[belief]
            yield from (probe.name for probe in graph.probes if probe.source == belief)


def finishing_s(fitted: Fitted, executed: tuple[str, ...]) -> float:
    """Return what is left of the task after these actions, by fitted durations."""
    skills = {LIFT: "fetch", MOVE: "move", POUR: "pour"}
    return math.fsum(fitted.seconds(skill) for action, skill in skills.items() if action not in executed) + (
        fitted.seconds("put back")
    )
