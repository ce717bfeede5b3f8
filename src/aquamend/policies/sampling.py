"""What following a policy to the end costs where probes read numbers: by sampled recoveries, with an interval.

A hypothesis is drawn from the posterior and answers under it; the policy is followed; and the ending counts at its
expected loss given what was observed, E[loss | evidence], rather than at the loss under the hypothesis drawn: the mean
is the same, and it varies less. All policies meet the same hypotheses and the same answers to the same uses of the same
probes, so that differences between them vary least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from aquamend import deadline
from aquamend.arrays import Floats, Indices
from aquamend.belief import InformationState, Observation
from aquamend.deadline import OutOfTime, check_deadline
from aquamend.decision.steps import Reprobe
from aquamend.errors import TooLarge
from aquamend.policies.evaluation import Evaluation, ended, named_totals, policy_and_state, spent_on
from aquamend.policies.policy import Policy

EPISODES = 2_000
MOST_PROBES = 1_000
WITHIN_95 = 1.959964


@dataclass(frozen=True, slots=True, eq=False)
class SampledEvaluation(Evaluation):
    """Means over sampled recoveries."""

    losses: Floats = field(default_factory=lambda: np.zeros(0))
    """Shape ``(n_episodes,)``; sensing and expected remaining loss of each."""
    wanted: int = 0
    """How many recoveries were to be sampled; there may not have been time for all."""

    @property
    def half_width(self) -> float:
        """Half of the 95 % interval of the expected loss."""
        return half_width(self.losses)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the expected loss; by the normal approximation."""
        return self.expected_loss - self.half_width, self.expected_loss + self.half_width


def half_width(values: Floats) -> float:
    """Return half of the 95 % interval of a mean."""
    if not np.isfinite(values).all():
        return math.inf
    return WITHIN_95 * float(values.std(ddof=1)) / math.sqrt(len(values))


def sampled_value(
    policy: Policy,
    state: InformationState,
    *,
    episodes: int = EPISODES,
    seed: int = 0,
    seconds: float = math.inf,
) -> SampledEvaluation:
    """Return the means over so many sampled recoveries, or over those done in time; ``TooLarge`` if there is but one.

    The interval says how much those are worth.
    """
    policy, state = policy_and_state(policy, state)
    truths = _hypotheses(state, episodes, seed)
    rows: list[Floats] = []
    known: dict[tuple[Observation, ...], InformationState] = {state.evidence: state}
    try:
        with deadline.ends_at(deadline.clock() + seconds):
            for episode, truth in enumerate(truths.tolist()):
                check_deadline()
                rows.append(_followed(policy, state, truth, (seed, episode), known))
    except OutOfTime:
        check_deadline()  # that of somebody who waits for these samples
    if len(rows) < 2:
        problem = f"{len(rows)} of {episodes:,} recoveries were sampled in {seconds:g} s, too few to tell a mean"
        raise TooLarge(f"{problem}; give it a longer --deadline, or evaluate another policy")
    table = np.array(rows)
    return SampledEvaluation(**named_totals(table.mean(axis=0), state.problem), losses=table[:, 0], wanted=episodes)


def _hypotheses(state: InformationState, episodes: int, seed: int) -> Indices:
    """Return true hypotheses in proportion to the posterior, in a random order: systematic sampling."""
    rng = np.random.default_rng((seed, len(state.posterior)))
    at = (np.arange(episodes) + rng.random()) / episodes
    truths = np.searchsorted(np.cumsum(state.posterior), at).clip(0, len(state.posterior) - 1)
    return np.asarray(rng.permutation(truths), dtype=np.intp)


def _followed(
    policy: Policy,
    start: InformationState,
    truth: int,
    seed: tuple[int, int],
    known: dict[tuple[Observation, ...], InformationState],
) -> Floats:
    """Return loss, probes, actions undone and success of one recovery."""
    state, spent = start, spent_on(start.problem)
    while isinstance(step := policy.next_step(state), Reprobe):
        view = state.probe(step.probe)
        use = state.uses.get(step.probe, 0)
        rng = np.random.default_rng((*seed, view.index, use))
        observation = Observation(step.probe, view.channel.sample(truth, rng))
        spent += spent_on(start.problem, view.cost, 1.0)
        if spent[1] > MOST_PROBES:
            raise TooLarge(f"the policy still goes on after {MOST_PROBES} probes; evaluate one that ends")
        evidence = (*state.evidence, observation)
        if isinstance(observation.outcome, str):  # what was computed at a state is kept for those who come again
            state = known[evidence] if evidence in known else known.setdefault(evidence, state.after(observation))
        else:
            state = state.after(observation)
    return np.asarray(spent + ended(state, step))


def paired_difference(one: Evaluation, other: Evaluation) -> tuple[float, float]:
    """Return the mean difference of two expected losses, one − other, and half of its 95 % interval."""
    difference = one.expected_loss - other.expected_loss
    if isinstance(one, SampledEvaluation) and isinstance(other, SampledEvaluation):
        n = min(len(one.losses), len(other.losses))
        paired = one.losses[:n] - other.losses[:n]
        return float(paired.mean()), half_width(paired)
    widths = [e.half_width for e in (one, other) if isinstance(e, SampledEvaluation)]
    return difference, max(widths, default=0.0)
