"""AquaMend's own policy, one probe ahead (Algorithm 1), and two that belong to it: Proposition 1, the linear chain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from aquamend.belief import InformationState
from aquamend.caching import computed_once
from aquamend.decision.detection import LosslessScreen, PowerScreen, Screen
from aquamend.decision.endings import TIE
from aquamend.decision.probe_value import best_probe, probe_values
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.structured import local_costs, violations
from aquamend.decision.terminal import best_terminal, correction
from aquamend.errors import NotStructured
from aquamend.planning.bounds import Bounds, quick_bounds
from aquamend.policies.policy import Considered, Description
from aquamend.problem import Problem

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


POLICIES = {
    "aquamend": AquaMend,
    "all-candidates": partial(AquaMend, screen=None),
    "lossless": partial(AquaMend, screen=LosslessScreen()),
    "structured": Structured,
    "linear-chain": LinearChain,
}
