"""AquaMend's own policy, one probe ahead (Algorithm 1), and those that belong to it.

They are Proposition 1, the linear chain, and AquaMend made safe against a model that is somewhat wrong: the worst case
over a total-variation ball. There the posterior is taken to be any p' on the same possible hypotheses with
TV(p', p) ≤ ρ. An ending u with loss ℓ(u, ·) then costs at most

    W(u) = max_{p'} Σ_s p'(s) ℓ(u, s),

attained by moving mass ρ from where u loses least to where it loses most. A probe with a fixed choice of ending after
every answer is such a loss too, c_m + Σ_y P(y | s) ℓ(u_y, s); the choices considered are the best for the posterior
after each answer, and the best in the worst case there. The step of least worst case is taken; a tie commits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar

import numpy as np

from aquamend.arrays import Bools, Floats
from aquamend.belief import InformationState, expected, joint
from aquamend.belief.state import REJECT_AT
from aquamend.belief.support import spoken
from aquamend.caching import computed_once
from aquamend.decision.branches import branches_of
from aquamend.decision.detection import LosslessScreen, PowerScreen, Screen
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.other_endings import LinearEnding
from aquamend.decision.probe_value import best_probe, probe_values
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.structured import local_costs, violations
from aquamend.decision.terminal import best_terminal, correction, listed_endings
from aquamend.errors import NotStructured, TooLarge
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.policies.policy import Considered, Description
from aquamend.problem import Problem

MOST_ENDINGS = 2_000
_SCREEN = PowerScreen()
_AQUAMEND = Description(
    "AquaMend",
    "Run the probe with the largest positive net benefit one step ahead, else take the best ending; where calibration "
    "records cover the situation, only probes that pass the power screen are evaluated.",
    "#d55e00",
    "o",
    "Algorithm 1 of the paper",
    one_step=True,
)
_ALL_CANDIDATES = Description(
    "AquaMend, all candidates",
    "The same as aquamend, with every legal probe evaluated everywhere.",
    "#e69f00",
    "D",
    "the paper's ablation no-C_s / netVoI-all",
    one_step=True,
)
_LOSSLESS = Description(
    "AquaMend, lossless screen",
    "The same as aquamend, with every probe evaluated that costs less than knowing everything would save.",
    "#b07f00",
    "d",
    one_step=True,
)


@dataclass(frozen=True, slots=True)
class AquaMend:
    """Run the probe with the largest positive net benefit; if there is none, commit to the best terminal decision.

    No global optimality is claimed: it looks one probe ahead. ``bounds`` says how far from optimal it can be.
    """

    screen: Screen | None = _SCREEN
    """Narrows the probes evaluated, where it covers the state; None evaluates all of them everywhere."""
    use_structured_branch: bool = False
    """Decide by the closed form of Proposition 1 wherever its assumptions hold (the optional branch of Algorithm 1)."""

    @property
    def description(self) -> Description:
        """What to call it: without a screen it is the paper's all-candidate ablation."""
        if self.screen is None:
            return _ALL_CANDIDATES
        return _LOSSLESS if isinstance(self.screen, LosslessScreen) else _AQUAMEND

    def next_step(self, state: InformationState) -> Step:
        """Return the probe with the largest positive net benefit, else the best stop; a tie commits."""
        if self.use_structured_branch and state.contradiction is None:
            try:
                return Structured().next_step(state)
            except NotStructured:
                pass
        values = probe_values(state, self.candidates(state))
        best = best_probe(values.expected_loss, values.stop_loss)
        return best_terminal(state).decision if best is None else Reprobe(values.branches.probes[best])

    def candidates(self, state: InformationState) -> tuple[str, ...]:
        """Return the legal probes this policy evaluates at the state."""
        if self.screen is not None and self.screen.covers(state):
            return self.screen.keep(state)
        return state.legal_probes

    def considered(self, state: InformationState) -> Considered:
        """Return how many probes are legal, evaluated and screened out, and how many answers are weighed."""
        candidates = self.candidates(state)
        return Considered.of(state, candidates, probe_values(state, candidates).branches)

    def bounds(self, state: InformationState) -> Bounds:
        """Return bounds on the optimal expected remaining loss at this state."""
        return quick_bounds(state)


@dataclass(frozen=True, slots=True)
class Structured:
    """Decide belief by belief: keep, roll back or re-probe, whichever is least (Eq. 4).

    Optimal under Assumptions 1–3 and finite rollback costs; refuses, naming what breaks them, anywhere else.
    """

    description: ClassVar[Description] = Description(
        "Structured rule",
        "Keep, roll back or re-probe, belief by belief; refuses where the closed form does not apply.",
        "#3f9a4d",
        "p",
        "Proposition 1 of the paper",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return the first re-probe that a belief's three-way comparison prefers, else all local decisions at once."""
        if state.contradiction is not None:
            return best_terminal(state).decision
        broken = violations(state)
        if broken:
            raise NotStructured(broken)
        correct = []
        for local in local_costs(state):
            if local.probe is not None and min(local.keep, local.rollback) - local.reprobe > TIE:
                return Reprobe(local.probe)
            if local.keep - local.rollback > TIE:
                correct.append(local.belief)
        return correction(state, correct).decision


@dataclass(frozen=True, slots=True)
class LinearChain:
    """Decide as AquaMend does, on the linear-chain view of the graph (Table 4 of the paper).

    Model, probes and residuals are the same; a rollback undoes the executed suffix from its earliest action on, and is
    priced and carried out so.
    """

    description: ClassVar[Description] = Description(
        "AquaMend, linear chain",
        "AquaMend without the causal graph: a rollback undoes, and pays for, all executed after its first action.",
        "#a5692b",
        "h",
        "the paper's linear-chain control",
    )

    def next_step(self, state: InformationState) -> Step:
        """Return AquaMend's step on the chain; its rollbacks undo whole suffixes."""
        return AquaMend().next_step(on_chain(state))

    def considered(self, state: InformationState) -> Considered:
        """Return what AquaMend looks at on the chain."""
        return AquaMend().considered(on_chain(state))


def on_chain(state: InformationState) -> InformationState:
    """Return the same state of the linear-chain view of its problem."""
    return replace(state, problem=chain_view(state.problem), origin=None)


@computed_once
def chain_view(problem: Problem) -> Problem:
    """Return the same problem with every executed action followed by all that was executed after it."""
    return replace(problem, graph=problem.graph.linear_chain())


@dataclass(frozen=True)
class Robust:
    """Take the step of least expected loss in the worst case over a total-variation ball around the posterior."""

    radius: float = 0.1
    """ρ, from 0 (the posterior as it is) to 1 (whatever is possible)."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.radius <= 1.0:
            raise ValueError(f"a radius of {self.radius!r} is none; give a number from 0 to 1")

    @cached_property
    def description(self) -> Description:
        """What to call it, how to draw it, what it does."""
        return Description(
            f"AquaMend, robust to {self.radius:g}",
            "One probe ahead, by the worst case over posteriors within a total variation of the one computed.",
            "#5b4b8a",
            "s",
            "our own; for learned models",
        )

    def next_step(self, state: InformationState) -> Step:
        """Return the step of least worst case."""
        return self.weighed(state).step

    def weighed(self, state: InformationState) -> WeighedChoice:
        """Return the step with its worst case, and what being safe costs by the posterior as it is."""
        if state.contradiction is not None:
            stop = best_terminal(state)
            return WeighedChoice(stop.decision, stop.loss, 0.0)
        speaks = spoken(endings_of(state.problem).support, state)
        endings: list[tuple[Step, Floats]] = [(e.decision, e.loss) for e in _admissible(state, state.posterior, speaks)]
        options = [*endings, *self._probes(state)]
        worst = np.array([worst_case(state.posterior, loss, self.radius) for _, loss in options])
        least = float(worst.min(initial=math.inf))
        if math.isinf(least):
            stop = best_terminal(state)
            return WeighedChoice(stop.decision, math.inf, 0.0)
        # Endings stand before probes, smaller ones first: a tie commits.
        step, loss = options[int((worst <= least + TIE).argmax())]
        values = probe_values(state)
        nominal = min([values.stop_loss, *values.expected_loss.tolist()])
        own = expected(state.posterior, loss)
        return WeighedChoice(step, least, max(0.0, own - nominal) if math.isfinite(nominal) else 0.0)

    def _probes(self, state: InformationState) -> list[tuple[Step, Floats]]:
        """Return every legal probe with the losses that the better of two ways of ending after it leaves."""
        branches = branches_of(state, state.legal_probes)
        found: list[tuple[Step, Floats]] = []
        ends = [*branches.first.tolist(), len(branches.likelihood)]
        for k, probe in enumerate(branches.probes):
            own = slice(ends[k], ends[k + 1])
            losses = [np.full(len(state.posterior), float(branches.cost[k])) for _ in range(2)]
            for row, speaks in zip(branches.likelihood[own], branches.speaks[own], strict=True):
                mass = joint(state.posterior, row)
                if mass.sum() <= 0.0:
                    continue
                posterior = mass / mass.sum()
                endings = _admissible(state, posterior, speaks)
                for loss, radius in zip(losses, (0.0, self.radius), strict=True):
                    best = min(
                        (e.loss for e in endings), key=lambda own: worst_case(posterior, own, radius), default=None
                    )
                    with np.errstate(invalid="ignore"):
                        loss += np.where(row > 0.0, row * (math.inf if best is None else best), 0.0)
            found.append((Reprobe(probe), min(losses, key=lambda own: worst_case(state.posterior, own, self.radius))))
        return found


@dataclass(frozen=True, slots=True)
class WeighedChoice:
    """A robust step."""

    step: Step
    worst: float
    """Its expected loss in the worst case."""
    price: float
    """What it costs more than the best one-step alternative, if the posterior is right: the price of safety."""


def worst_case(posterior: Floats, loss: Floats, radius: float) -> float:
    """Return max Σ p' ℓ over posteriors p' on the same possible hypotheses with TV(p', p) ≤ radius."""
    possible = posterior > 0.0
    p, own = posterior[possible], loss[possible]
    if radius == 0.0 or len(p) == 1:
        return float(np.dot(p, own)) if np.isfinite(own).all() else math.inf
    if not np.isfinite(own).all():
        return math.inf
    order = np.argsort(own, kind="stable")
    taken = np.diff(np.minimum(np.concatenate([[0.0], np.cumsum(p[order])]), radius))
    return float(np.dot(p, own) + np.dot(taken, own[order[-1]] - own[order]))


def _admissible(state: InformationState, posterior: Floats, speaks: Bools) -> list[LinearEnding]:
    """Return the endings that may be taken at a posterior, smaller ones first; last resorts where nothing else may."""
    endings = endings_of(state.problem)
    listed = listed_endings(endings, speaks, most=MOST_ENDINGS)
    if listed is None:
        raise TooLarge(f"there are more than {MOST_ENDINGS:,} ways to end, too many to find the safest; use `aquamend`")
    last = {id(ending) for ending in endings.others.last_resorts}
    allowed = [e for e in listed if all((clause @ posterior < REJECT_AT).any() for clause in e.support)]
    usual = [e for e in allowed if id(e) not in last and math.isfinite(expected(posterior, e.loss))]
    return usual or [e for e in allowed if id(e) in last]


POLICIES = {
    "aquamend": AquaMend,
    "all-candidates": partial(AquaMend, screen=None),
    "lossless": partial(AquaMend, screen=LosslessScreen()),
    "structured": Structured,
    "linear-chain": LinearChain,
}
