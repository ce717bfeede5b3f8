"""A table of three cups, what may happen there, and worlds in which it has."""

from dataclasses import replace

from aquamend.belief import InformationState
from aquamend_lab.pouring.discrete import Assumptions, Scene, Shares, TableWorld, fresh_task, problem_of
from aquamend_lab.pouring.discrete.perturbations import common_cause_events, standard_events, with_sizes_as_steps

TABLE = (100.0, 130.0, 170.0)
AS_DECLARED = Scene.as_declared(TABLE)
STANDARD = standard_events(TABLE)
COMMON = common_cause_events(TABLE)
EVENTS = (*STANDARD, *COMMON)
STEPS = tuple(step for event in EVENTS for step in with_sizes_as_steps(event))
"""Everything that may happen, size by size: one for each hypothesis, in their order."""
ASSUMED = Assumptions(STANDARD)
EVERYTHING = Assumptions(EVENTS, Shares(common_cause=0.1, common_cause_with_camera=0.1))


def middle(event):
    """Return an event of medium size."""
    sizes = with_sizes_as_steps(event)
    return sizes[len(sizes) // 2]


def table(**options):
    return replace(fresh_task(TABLE), **options)


def state_of(task, *, flagged=0, assumed=EVERYTHING, **rest):
    return InformationState.alarmed(problem_of(task, assumed, flagged, **rest))


def entered(event, *, flagged=0, assumed=EVERYTHING, seed=(7,), budget=float("inf"), restarts=False, **options):
    """Return a world in which an event has happened."""
    task, scene = table(**options), event.applied(AS_DECLARED)
    start = state_of(task, flagged=flagged, assumed=assumed, restarts=restarts)
    return TableWorld(start, task, scene, sensing_budget=budget, seed=seed)
