"""The paper's earlier AquaMend, which goes in two steps, with one part taken away at a time (ablation table)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.belief.state import normalised
from aquamend.decision.steps import Step
from aquamend.policies import Description, Policy, TwoStep
from aquamend.problem.model import Cause

BEAM_WIDTH = 4
SAMPLES = 100

_POLICY = TwoStep()
_ANOTHER = Description("Another posterior", "AquaMend in two steps by another posterior.", "#0077bb", "s")


@dataclass(frozen=True, slots=True)
class WithAnotherPosterior:
    """A policy that decides by a posterior that something was done to; the evidence stays what it is."""

    reshape: Callable[[InformationState], Floats]
    """Return weights of the hypotheses, shape ``(n_hypotheses,)``; if all are zero, the posterior is left alone."""
    description: Description = _ANOTHER
    policy: Policy = _POLICY

    def next_step(self, state: InformationState) -> Step:
        """Return the policy's step by the other posterior."""
        mass = self.reshape(state)
        if not mass.sum() > 0 or state.contradiction is not None:
            return self.policy.next_step(state)
        return self.policy.next_step(replace(state, posterior=normalised(mass), origin=None))


def everything_external(state: InformationState) -> Floats:
    """No attribution: every alarm is taken to mean that the world has changed."""
    return state.posterior * _of_cause(state, Cause.EXTERNAL)


def no_sensing_errors(state: InformationState) -> Floats:
    """No source separation: what a sensor got wrong is taken for a change of the world, or for no change at all."""
    return state.posterior * (1.0 - _of_cause(state, Cause.SELF_ERROR))


def _of_cause(state: InformationState, cause: Cause) -> Floats:
    return np.array([float(Cause(h.cause) is cause) for h in state.problem.model.hypotheses])


def product_of_marginals(state: InformationState) -> Floats:
    """Independence proxy: every hypothesis weighs what its beliefs' own probabilities make of it."""
    failed, z = state.failure_probabilities, state.problem.failed
    held = state.posterior @ (1.0 - z)  # one less a probability near one would be no more than its rounding
    return np.asarray(np.where(state.posterior > 0, np.where(z > 0, failed, held).prod(axis=1), 0.0))


def likeliest_few(state: InformationState) -> Floats:
    """Beam proxy: the few likeliest hypotheses alone."""
    kept = np.argsort(-state.posterior, kind="stable")[:BEAM_WIDTH]
    mass = np.zeros_like(state.posterior)
    mass[kept] = state.posterior[kept]
    return mass


def sampled_posterior(state: InformationState) -> Floats:
    """Monte Carlo proxy: a hundred draws from the posterior; the same draws for the same evidence."""
    rng = np.random.default_rng([len(state.evidence), int(state.posterior[0] * 2**52)])
    return np.asarray(rng.multinomial(SAMPLES, state.posterior).astype(float))


def overconfident(state: InformationState) -> Floats:
    """Bad calibration: the alarm posterior squared, then conditioned on the evidence as it should be."""
    return state.posterior * (state.origin or state).posterior


def _with(reshape: Callable[[InformationState], Floats], title: str, colour: str, marker: str) -> Callable[[], Policy]:
    return lambda: WithAnotherPosterior(reshape, Description(title, reshape.__doc__ or title, colour, marker))


ABLATIONS: dict[str, Callable[[], Policy]] = {
    "no-attribution": _with(everything_external, "No attribution", "#0077bb", "s"),
    "no-source-separation": _with(no_sensing_errors, "No source separation", "#33a6dd", "^"),
    "independence-proxy": _with(product_of_marginals, "Independence proxy", "#e69f00", "D"),
    "beam-proxy": _with(likeliest_few, "Beam proxy", "#8f8f2f", "d"),
    "monte-carlo-proxy": _with(sampled_posterior, "Monte Carlo proxy", "#009e73", "v"),
    "overconfident": _with(overconfident, "Overconfident", "#9a5fc0", "X"),
}
