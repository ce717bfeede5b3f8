"""A recovery as far as it has come: what its events make of it, one after another.

The running loop and a resumed one follow the same events by the same rules, so they cannot differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any

from aquamend.decision.steps import Decision, Escalate, Reprobe, Step
from aquamend.errors import AquaMendError
from aquamend.inference import InformationState, Observation
from aquamend.recovery.acts import Act, Declare, Finish, Follow, HandOver, Measure, Redo, Undo, acts_of
from aquamend.recovery.events import (
    Alarmed,
    AlarmedAgain,
    Approved,
    Asked,
    Decided,
    Done,
    Ended,
    Ending,
    Event,
    Intended,
    Resumed,
    Rules,
)
from aquamend.recovery.receipts import Receipt, charged
from aquamend.recovery.situation import Came, Change, problem_after
from aquamend.text.html import table_html
from aquamend.text.words import quantity


@dataclass(frozen=True, eq=False)
class Recovery:
    """One recovery, from the alarm to where it stands now; immutable."""

    start: InformationState
    """Public evidence at the alarm."""
    policy: str
    rules: Rules
    decided_at: InformationState
    """What was known when the last step was chosen, and what has been measured since."""
    changes: tuple[Change, ...] = ()
    """What has been done since."""
    steps: tuple[Step, ...] = ()
    """Every step chosen so far."""
    acts: tuple[Act, ...] = ()
    """What is left to do of the last one."""
    act: Act | None = None
    """The act under way: intended, and without a receipt."""
    asked: Act | None = None
    """The act that waits for a person."""
    allowed: bool = False
    """Whether a person has allowed the next act."""
    receipts: tuple[Receipt, ...] = ()
    undone: tuple[str, ...] = ()
    """Executed actions that were undone, whether or not they have been done again since."""
    to_redo: tuple[str, ...] = ()
    """Actions that are undone now."""
    declared: Mapping[str, Declare] = field(default_factory=dict)
    """What was declared anew, by belief."""
    corrected: tuple[str, ...] = ()
    """Beliefs that were declared anew or corrected by a plan."""
    followed: str | None = None
    """The plan that was carried out."""
    failures: Mapping[str, int] = field(default_factory=dict)
    """How often each act has failed."""
    trouble: str = ""
    """Why no policy may decide any more, and a person has to."""
    carried_out: bool = False
    """Whether the last decision was carried out to its end."""
    ending: Ending | None = None
    reason: str = ""
    """Why it ended so, or why it is handed over."""
    session: str = ""
    """Its name in a journal."""

    @classmethod
    def begun(cls, alarmed: Alarmed, session: str = "") -> Recovery:
        """Return the recovery at its alarm; what was measured for the alarm itself is paid for."""
        state = alarmed.state
        paid = tuple(Measure(o.probe, cost=state.probe(o.probe).cost).done(o.outcome) for o in state.evidence)
        return cls(state, alarmed.policy, alarmed.rules, state, receipts=paid, session=session)

    @classmethod
    def of(cls, events: Iterable[Event], session: str = "") -> Recovery:
        """Return what these events have come to."""
        others = iter(events)
        first = next(others, None)
        if not isinstance(first, Alarmed):
            raise AquaMendError(f"a session begins with its alarm, not with {type(first).__name__!r}")
        return reduce(Recovery.after, others, cls.begun(first, session))

    def __repr__(self) -> str:
        last = str(self.ending or self.asked or self.act or "under way")
        spent = quantity(self.cost, self.start.problem.unit)
        return f"<Recovery {self.session!r} by {self.policy}: {len(self.steps)} steps, {spent}, {last}>"

    def _repr_html_(self) -> str:
        rows = [(r.what, "" if r.finding is None else str(r.finding), f"{r.cost:g}") for r in self.receipts]
        return table_html(repr(self)[1:-1], ("act", "found", "cost"), rows)

    @cached_property
    def state(self) -> InformationState:
        """All that is known now, for whoever decides next: acts have changed the problem."""
        if not self.changes:
            return self.decided_at
        problem = problem_after(self.decided_at, self.changes, self.start.problem)
        origin = self.decided_at.origin
        return replace(self.decided_at, problem=problem, origin=origin and replace(origin, problem=problem))

    @property
    def decision(self) -> Decision | None:
        """The last step that was to end the recovery."""
        return next((step for step in reversed(self.steps) if not isinstance(step, Reprobe)), None)

    @property
    def handed_over(self) -> bool:
        """Whether a person has it now."""
        return self.carried_out and isinstance(self.steps[-1], Escalate)

    @property
    def evidence(self) -> tuple[Observation, ...]:
        """What was measured since the alarm."""
        return self.decided_at.evidence[len(self.start.evidence) :]

    @property
    def cost(self) -> float:
        """What everything has cost so far; what was left wrong is not in it."""
        return charged(self.receipts)

    def after(self, event: Event) -> Recovery:
        """Return the recovery after one more event; an ``AquaMendError`` where it cannot have come next."""
        if self.ending is not None:
            raise AquaMendError(f"the session has ended ({self.ending}), and then comes {type(event).__name__!r}")
        match event:
            case Intended(act):
                return self._but(act=self._next(act))
            case Done(receipt, known):
                return self._done(receipt, known)
            case Decided(step, reason):
                self._nothing_left(event)
                acts = acts_of(self.state, step, undone=self.to_redo, reason=reason)
                steps = (*self.steps, step)
                return self._but(
                    decided_at=self.state, changes=(), steps=steps, acts=acts, reason=reason, carried_out=False
                )
            case Asked(act):
                return self._but(asked=self._next(act))
            case Approved(granted, by, note):
                return self._answered(granted, by, note)
            case AlarmedAgain(refused):
                if refused is not None:
                    return self
                if self.act is not None or self.asked is not None:
                    raise AquaMendError("an alarm counts once the act under way has its receipt")
                alarmed = self.state.after_alarm()
                return self._but(decided_at=alarmed, changes=(), acts=(), carried_out=False)
            case Resumed():
                return self
            case Ended(ending, reason):
                self._nothing_left(event)
                return self._but(ending=ending, reason=reason, acts=())
            case Alarmed():
                raise AquaMendError("a session begins with its alarm; a second one needs a session of its own")

    def _but(self, **fields: Any) -> Recovery:
        """Return the same with other values in these fields: as ``replace`` does, but many times a recovery."""
        other = object.__new__(Recovery)
        other.__dict__.update(self.__dict__, **fields)
        other.__dict__.pop("state", None)  # it is derived
        return other

    def _next(self, act: Act) -> Act:
        come = self.acts and (self.acts[0] is act or self.acts[0] == act)
        if self.act is not None or self.asked is not None or not come:
            raise AquaMendError(f"{str(act)!r} is not what comes next")
        return act

    def _nothing_left(self, event: Event) -> None:
        """Refuse what can only come once the last decision is carried out or given up."""
        left = self.act or self.asked or (self.acts[0] if self.acts else None)
        if left is not None:
            raise AquaMendError(f"{type(event).__name__!r} comes while there is still {str(left)!r} to do")

    def _answered(self, granted: bool, by: str, note: str) -> Recovery:
        if self.asked is None:
            raise AquaMendError("nobody was asked")
        if granted:
            return self._but(asked=None, allowed=True)
        refusal = f"{by} does not allow it: {self.asked}" + (f" ({note})" if note else "")
        # Whoever will not take over leaves nobody to turn to.
        return self._but(asked=None, acts=(), trouble=refusal)

    def _done(self, receipt: Receipt, known: bool) -> Recovery:
        act = self.act
        if act is None:
            raise AquaMendError("a receipt has come for an act that nobody intended")
        after: dict[str, Any] = {"act": None, "allowed": False, "receipts": (*self.receipts, receipt)}
        if not receipt.succeeded:
            return self._but(**after)._failed(act, known)
        after |= {"acts": self.acts[1:], "carried_out": len(self.acts) == 1 and not isinstance(act, Measure)}
        if isinstance(act, Undo | Declare | Redo):
            after["changes"] = (*self.changes, Change(act, Came.DONE))
        match act:
            case Measure(probe):
                if receipt.finding is None:
                    raise AquaMendError(f"probe {probe!r} has a receipt without an answer")
                after["decided_at"] = self._heard(Observation(probe, receipt.finding))
            case Undo(_, actions):
                # An action is undone once nothing is left to do of it.
                waiting = {name for later in self.acts[1:] if isinstance(later, Undo) for name in later.actions}
                gone = tuple(name for name in actions if name not in waiting)
                after |= {"undone": _joined(self.undone, gone), "to_redo": _joined(self.to_redo, gone)}
            case Declare(belief):
                after["declared"] = {**self.declared, belief: act}
                after["corrected"] = _joined(self.corrected, (belief,))
            case Redo(action):
                after["to_redo"] = tuple(name for name in self.to_redo if name != action)
            case Follow(plan, correct, undo):
                after["followed"] = plan
                after |= {"corrected": _joined(self.corrected, correct), "undone": _joined(self.undone, undo)}
            case Finish() | HandOver():
                pass
        return self._but(**after)

    def _heard(self, observation: Observation) -> InformationState:
        """Return what is known after an answer; one that is no answer of the probe speaks against the model."""
        if self.decided_at.problem.model.channels[observation.probe].parse(observation.outcome) is None:
            return self.decided_at.contradicted_by(observation)
        return self.decided_at.after(observation)

    def _failed(self, act: Act, known: bool) -> Recovery:
        """Let somebody decide again: the policy while there is another way, a person otherwise."""
        key = str(act)
        failures = {**self.failures, key: self.failures.get(key, 0) + 1}
        now = self._but(acts=(), failures=failures)
        spent = failures[key] >= self.rules.attempts
        match act:
            case Measure():
                came = Came.NEVER if spent else Came.NOT
                return now._but(changes=(*now.changes, Change(act, came)))
            case _ if not known:
                return now._but(trouble=f"nobody knows whether this was done: {act}")
            case Undo() | Follow() if failures[key] == self.rules.attempts:  # whoever insists on it does so in vain
                return now._but(changes=(*now.changes, Change(act, Came.NEVER)))
            case _ if spent:
                return now._but(trouble=f"{act}: failed {failures[key]} times")
            case _:
                return now


def _joined(names: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*names, *more)))
