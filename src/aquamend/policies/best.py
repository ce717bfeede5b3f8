"""The default policy: the best plan that bounded work finds, where it is certain to cost no more than one step ahead.

A policy is asked at one state after the other and has no memory, and a plan pays only if it is kept. So the plan is
found again from the state at hand: it was made at the state of the alarm, and the answers since then lead through it.
Where they leave it, a new plan is made there, to be kept from then on. Where no plan is certain to be better, the step
is that of ``AquaMend``. See docs/maths.md for the theorem.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass
from typing import ClassVar

from aquamend import deadline
from aquamend.belief import InformationState, Observation
from aquamend.caching import computed_once
from aquamend.deadline import OutOfTime, check_deadline
from aquamend.decision.endings import TIE
from aquamend.decision.probe_value import best_probe, probe_values
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import best_terminal
from aquamend.planning.bounds import Bounds, one_by_one_bound, quick_bounds
from aquamend.planning.finite_probes import reads_numbers
from aquamend.planning.kept_plan import WORK, KeptPlan, PlanPlace, WholePlan, orders_meet, planned
from aquamend.planning.limits import Limits, current_listener
from aquamend.planning.search import OneStep, answers_weighed, search
from aquamend.policies.myopic import AquaMend
from aquamend.policies.policy import Description
from aquamend.text import shown

KEPT_PLANS = 12
"""Plans kept with the state of the alarm, the last ones used; those of one recovery are hardly ever more."""
_ONE_STEP = AquaMend()


@dataclass(frozen=True, slots=True)
class Best:
    """Take the best step that a search of bounded work finds; never at a larger expected loss than ``AquaMend``."""

    work: float = WORK
    """What each plan may cost, counted (see `planning.limits`): it ends at the same place on every machine."""
    deadline_s: float = math.inf
    """Search for a plan no longer than so many seconds; then the step may depend on the machine."""

    description: ClassVar[Description] = Description(
        "Best plan found",
        "The best plan that a search of bounded work finds, kept to its end; one step ahead where no plan is certain "
        "to be better. Optimal where the problem is small.",
        "#111111",
        "*",
        plans_ahead=True,
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the kept plan's step; AquaMend's where there is no plan."""
        here = _here(state, self)
        if here.place is None:
            return here.made.instead or _ONE_STEP.next_step(state)
        return best_terminal(state).decision if here.place.probe is None else Reprobe(here.place.probe)

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss; following this policy costs at most the upper one."""
        here, quick = _here(state, self), quick_bounds(state)
        found = quick if here.place is None else here.place.bounds
        if found.gap <= TIE:
            return found
        lower = max(found.lower, quick.lower, 0.0 if state.contradiction else one_by_one_bound(state))
        return Bounds(min(lower, found.upper), found.upper)

    def note(self, state: InformationState) -> str:
        """Return in a sentence where it departs from the step that looks one probe ahead, and why; else nothing."""
        here = _here(state, self)
        cut = "" if here.made.whole else " The search for a plan was cut short."
        step = self.next_step(state)
        usual = here.made.instead or _ONE_STEP.next_step(state)
        departure = "" if here.place is None or step == usual else _departure(here, step, usual)
        return f"{departure}{cut}".strip()


@dataclass(frozen=True, slots=True)
class _Made:
    """What was planned at a state."""

    plan: KeptPlan | None
    whole: bool = True
    """Whether no deadline or interrupt cut it short."""
    instead: Step | None = None
    """The step of one step ahead, as far as there was time for that."""


@dataclass(frozen=True, slots=True)
class _Here:
    """Where a state is in the plans made since the alarm."""

    place: PlanPlace | None
    """None where the step is that of one step ahead."""
    made: _Made
    begun: bool
    """Whether that was planned at this very state."""


def _departure(here: _Here, step: Step, usual: Step) -> str:
    if not isinstance(step, Reprobe):
        return "The plan that it has kept ends here."
    if isinstance(usual, Reprobe):
        return (
            f"Looking one probe ahead, {shown(usual.probe)} seems best; with what is asked after it, "
            f"{shown(step.probe)} is better."
        )
    if not here.begun or here.made.plan is None:
        return "This look alone does not pay; it belongs to a plan of several looks that together do."
    together = here.made.plan.probes_that_pay()
    number = {2: "Two", 3: "Three", 4: "Four"}.get(together, str(together))
    return f"{number} looks together pay; {'one alone does' if together == 2 else 'fewer do'} not."


def _here(state: InformationState, settings: Best) -> _Here:
    """Follow the answers since the alarm through the plans, and return where they have led."""
    if state.contradiction is not None or not state.legal:
        return _Here(None, _Made(None), False)
    if state.imagined:  # a branch that is only thought of: nothing leads there
        return _planned_at(state, state, (), settings)
    start, evidence = state.origin or state, state.evidence
    first = len(start.evidence)
    unasked = [k + 1 for k in range(first, len(evidence)) if evidence[k].unasked]
    made_at = max([first, state.decided_from, *unasked])  # no plan knows of answers that no policy has asked for
    here = _planned_at(start, state, evidence[first:made_at], settings)
    if isinstance(here.made.plan, WholePlan) or orders_meet(start):
        return here
    return _along(start, state, made_at, settings)


def _planned_at(
    start: InformationState, state: InformationState, before: tuple[Observation, ...], settings: Best
) -> _Here:
    """Return where a state is in the plan that was made after these answers."""
    made, since = _plan(start, before, state, settings), len(start.evidence) + len(before)
    place = None if made.plan is None else made.plan.place(state, since)
    return _Here(place, made, since == len(state.evidence))


def _along(start: InformationState, state: InformationState, made_at: int, settings: Best) -> _Here:
    """Follow the answers one by one; where they leave a plan, the next one was made there."""
    first, evidence = len(start.evidence), state.evidence
    for k in range(made_at, len(evidence)):
        before = evidence[first:made_at]
        plan = _plan(start, before, state, settings).plan
        at = _after(start, evidence[first:k], state)
        place = None if plan is None else plan.place(at, made_at)
        if place is None and k > made_at:  # it was left here: a new plan was made, whose first answer this is
            made_at = k
            plan = _plan(start, evidence[first:k], state, settings).plan
            place = None if plan is None else plan.place(at, k)
        if isinstance(plan, WholePlan):
            break
        if place is None or place.probe != evidence[k].probe:
            made_at = k + 1
    here = _planned_at(start, state, evidence[first:made_at], settings)
    if here.place is None and made_at < len(evidence) and not isinstance(here.made.plan, WholePlan):
        return _planned_at(start, state, evidence[first:], settings)
    return here


def _plan(start: InformationState, answers: tuple[Observation, ...], state: InformationState, settings: Best) -> _Made:
    """Return the plan made after these answers; the last ones used are kept, and where there was none to make."""
    found, key = _plans(start), (settings, answers)
    if key in found.none:
        return found.none[key]
    if key not in found.kept:
        later = state.evidence[len(start.evidence) + len(answers) :]
        made = _made(_after(start, answers, state), settings, later[0].probe if later else None)
        if made.plan is None:
            return found.none.setdefault(key, made)
        found.kept[key] = made
        if len(found.kept) > KEPT_PLANS:
            found.kept.popitem(last=False)
    found.kept.move_to_end(key)
    return found.kept[key]


def _made(state: InformationState, settings: Best, asked: str | None) -> _Made:
    """Plan at a state; ``asked`` is the probe that was run there, if one was."""
    limits, instead = Limits(deadline_s=settings.deadline_s), None
    try:
        with deadline.ends_at(limits.until):
            if asked is not None and reads_numbers(state) and _pays(state, asked):
                return _Made(None)  # one step ahead does not stop here, so that there is no plan, whatever it does
        if settings.deadline_s < math.inf and answers_weighed(state) > OneStep.at_once:
            first = search(state, limits, methods=(OneStep(),))
            instead = best_terminal(state).decision if first.probe is None else Reprobe(first.probe)
        with deadline.ends_at(limits.until):
            check_deadline()
            stops = not isinstance(instead or _ONE_STEP.next_step(state), Reprobe)
            plan = planned(state, limits, stops=stops, work=settings.work)
    except OutOfTime:
        check_deadline()  # that of somebody who waits for this plan
        return _Made(None, False, instead)
    except KeyboardInterrupt:
        listener = current_listener()
        if listener is None:
            raise
        listener.interrupted = True
        return _Made(None, False, instead)
    return _Made(plan, limits.left_s > 0.0, instead)


def _pays(state: InformationState, probe: str) -> bool:
    """Whether one step ahead surely looks at this state, since this probe alone is better than stopping."""
    if probe not in _ONE_STEP.candidates(state):
        return False
    values = probe_values(state, (probe,))
    return best_probe(values.expected_loss, values.stop_loss) is not None


def _after(start: InformationState, answers: tuple[Observation, ...], state: InformationState) -> InformationState:
    """Return the state after these answers: the one at hand, where they are all there are."""
    if len(start.evidence) + len(answers) == len(state.evidence):
        return state
    for answer in answers:
        start = start.after_earlier(answer)
    return start


@dataclass(frozen=True, slots=True, eq=False)
class _Plans:
    """What was planned since an alarm, by the answers until then; changed in place."""

    kept: OrderedDict[tuple[object, ...], _Made]
    """The one used last stands last: plans may be large."""
    none: dict[tuple[object, ...], _Made]
    """Where one step ahead decides; these are small."""


@computed_once
def _plans(start: InformationState) -> _Plans:
    """Return the plans made since this state."""
    return _Plans(OrderedDict(), {})


__all__ = ["Best"]


POLICIES = {"best": Best}
