"""How far a recovery may go by itself: budgets, patience, and when a person is asked. All defaults are safe."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Final

from aquamend.belief import SURPRISING, ProbableAnswer
from aquamend.codec import Amount, Whole
from aquamend.recovery.acts import Act


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one recovery. Each is changed by naming it, and naming one changes no other."""

    attempts: Whole = 3
    """How often the same act may fail before it counts as impossible."""
    decisions: Whole = 10_000
    """How many steps may be chosen before the recovery is handed over to a person."""
    seconds: Amount = math.inf
    """How long it may take from the alarm on, waiting for people and crashes included, before it is handed over.

    It is looked at before each decision: what was decided before is carried out."""
    timeout_s: Amount = math.inf
    """How long one probe or act may take before the robot is asked to stop it."""
    timeouts: Mapping[str, Amount] = field(default_factory=dict)
    """The same for those of these names: probes, operations, actions, plans, ``finish``."""
    stop_s: Amount = 10.0
    """How long stopping an act, or finding out what became of it, may take before nobody knows."""
    probes_move: bool = True
    """Whether something may move while a probe runs. Where nothing does, one of which nobody knows what became counts
    as failed; otherwise the robot has to verify it, or a person to say that nothing moves any more."""
    ask_before_handing_over: bool = True
    """Whether a person has to say that they take over, where somebody can be asked at all."""
    ask_before_irreversible: bool = True
    """Whether a person has to allow every act that cannot be undone. With nobody to ask, it is not begun."""
    surprising: Amount = SURPRISING
    """After an answer less probable than this by the whole model, a person has to allow what cannot be undone, also
    where ``ask_before_irreversible`` is off. With nobody to ask, it is not begun."""
    approval_s: Amount = 600.0
    """How long the word of a person holds; an act that has not begun by then is asked about again."""

    def timeout(self, act: Act) -> float:
        """Return how long an act may take."""
        return self.timeouts.get(act.name, self.timeout_s)

    def why_ask(self, act: Act, *, attended: bool, surprise: ProbableAnswer | None) -> str:
        """Return why a person has to allow an act, after this surprising answer; empty if nobody has to."""
        if act.kind == "hand over":
            return "somebody has to take over" if attended and self.ask_before_handing_over else ""
        if not act.irreversible:
            return ""
        if surprise is not None:
            return f"it cannot be undone, and {surprise.observation} was surprising (chance {surprise.chance:.2g})"
        return "it cannot be undone" if self.ask_before_irreversible else ""

    @property
    def in_words(self) -> str:
        """All rules that matter to somebody who reads what happened: who is asked, and what is limited."""
        return "; ".join((*self._asking(), *self._limits()))

    def _asking(self) -> Iterator[str]:
        asks = {
            "before handing over": self.ask_before_handing_over,
            "before what cannot be undone": self.ask_before_irreversible,
            f"before what cannot be undone after an answer of a chance below {self.surprising:g}": self.surprising > 0,
        }
        for when, asked in asks.items():
            yield f"{'asks a person' if asked else 'asks nobody'} {when}"
        yield f"an approval holds {self.approval_s:g} s"
        yield "probes may move something" if self.probes_move else "probes move nothing"

    def _limits(self) -> Iterator[str]:
        units = {
            "attempts": "attempts at an act",
            "decisions": "decisions",
            "seconds": "s in all",
            "timeout_s": "s an act",
        }
        for rule in fields(self):
            limit = getattr(self, rule.name)
            if rule.name in units and limit < math.inf:
                yield f"at most {limit:,g} {units[rule.name]}"
        for name, limit in self.timeouts.items():
            yield f"{name} at most {limit:g} s"


UNATTENDED: Final = Rules(ask_before_handing_over=False, ask_before_irreversible=False, surprising=0.0)
"""Rules for simulations, where nobody is there and nothing can break: they never ask, not even before what cannot be
undone. Not for robots."""
