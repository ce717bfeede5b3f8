"""The discrete pouring task as suites: standard, irreversible, stress, three diagnostics, ablations and sweeps.

An ablation is the paper's earlier AquaMend, which goes in two steps, with one part of it taken away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from aquamend.arrays import Floats
from aquamend.belief import InformationState
from aquamend.belief.state import normalised
from aquamend.decision.steps import Step
from aquamend.policies import Description, Policy, TwoStep
from aquamend.problem.model import Cause
from aquamend_lab.benchmarks import t4_episodes
from aquamend_lab.benchmarks.play import FacingAVersion
from aquamend_lab.benchmarks.scenario import Scenario
from aquamend_lab.benchmarks.suite import RecoverySuite
from aquamend_lab.pouring.discrete.cup_table import BeliefReplan, BlindRetry, TmsRevision
from aquamend_lab.records import KIND, SETTING

BEAM_WIDTH = 4
SAMPLES = 100

_TWO_STEP = TwoStep()
_ANOTHER = Description("Another posterior", "AquaMend in two steps by another posterior.", "#0077bb", "s")


@dataclass(frozen=True, slots=True)
class WithAnotherPosterior:
    """A policy that decides by a posterior that something was done to; the evidence stays what it is."""

    reshape: Callable[[InformationState], Floats]
    """Return weights of the hypotheses, shape ``(n_hypotheses,)``; if all are zero, the posterior is left alone."""
    description: Description = _ANOTHER
    policy: Policy = _TWO_STEP

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


JOINT = ("aquamend-two-step", "aquamend", "lookahead-2", "power-per-cost", "greedy-repair", "decoupled", "greedy")
TRADITIONAL = (
    "troubleshooting", "troubleshooting-1", "restart", "blind-retry", "veritrace", "belief-replan", "tms-revision",
)  # fmt: skip
POLICIES = ("oracle", *JOINT, *TRADITIONAL, "no-reprobe")

BUDGET_IGNORING = {
    f"{name}-no-budget": name for name in ("aquamend-two-step", "decoupled", "greedy", "troubleshooting")
}
"""Rows of policies that do not know the sensing budget and may go over it, beside those that are: as in the paper's
column of episodes over budget."""
FACES = {"restart": t4_episodes.STARTING_OVER} | dict.fromkeys(BUDGET_IGNORING, t4_episodes.BUDGET_IGNORED)
"""Starting over is an ending for nobody but who does nothing else: in the paper's tables nobody else ever restarts."""


OWN: dict[str, Callable[[], Policy]] = {
    "blind-retry": BlindRetry,
    "belief-replan": BeliefReplan,
    "tms-revision": TmsRevision,
    **{row: partial(FacingAVersion, name, "budget ignored", "#9a9da1") for row, name in BUDGET_IGNORING.items()},
}
"""Policies of the pouring task."""

SEEDS = 5


def _suite(
    name: str,
    description: str,
    make: Callable[[int, int], Scenario],
    *,
    scenarios: int,
    policies: tuple[str, ...] = POLICIES,
    own: Mapping[str, Callable[[], Policy]] = OWN,
    groups: Mapping[str, str] | None = None,
) -> RecoverySuite:
    """Return a suite of five seeds; exact expectations take long here, and are not asked for."""
    return RecoverySuite(
        name, description, scenarios, SEEDS, policies, make, expected_risk=False, own=own, faces=FACES,
        groups=groups or {}, reference="aquamend-two-step",
    )  # fmt: skip


T4_SUITES = (
    _suite(
        "t4-v3",
        "4,900 episodes of pouring into the least full of three cups, every action reversible: cups swapped, water "
        "added, a camera gone wrong, or a false alarm; causal and chain graphs.",
        t4_episodes.standard,
        scenarios=980,
    ),
    _suite(
        "t4-irreversible-v3",
        "1,200 episodes after a pour that cannot be undone: where a correction needs it undone, handing over is left, "
        "while looking again may still show that nothing is wrong.",
        t4_episodes.irreversible,
        scenarios=240,
    ),
    _suite(
        "t4-stress-v3",
        "4,600 episodes under stress, none a false alarm, two thirds with a sensing error: three, five and six cups, "
        "events that break several beliefs at once, undoing that shares work, a tight sensing budget, and all three.",
        t4_episodes.stress,
        scenarios=920,
        policies=(*POLICIES, *BUDGET_IGNORING),
        groups={"factor": KIND},
    ),
    *(
        _suite(name, f"400 episodes {description}; kept apart from the averages.", make, scenarios=80)
        for name, description, make in (
            ("t4-ties-v3", "with two cups 4 g apart, a hard rank tie", t4_episodes.rank_ties),
            (
                "t4-conflict-v3",
                "in which a scale hides added water or shows some that is not there, which no hypothesis knows",
                t4_episodes.evidence_conflict,
            ),
            ("t4-closure-v3", "in which undoing anything takes the same dear work", t4_episodes.shared_closure),
        )
    ),
    _suite(
        "t4-ablation-v3",
        "The paper's earlier AquaMend, which goes in two steps, with one part taken away or exchanged, on "
        "6,100 episodes like those of t4-v3 and t4-irreversible-v3 (4,900 to 1,200).",
        t4_episodes.ablation,
        scenarios=1220,
        policies=("aquamend-two-step", "aquamend", "no-reprobe", "veritrace", *ABLATIONS),
        own=OWN | ABLATIONS,
    ),
    _suite(
        "t4-settings-v3",
        "The same 610 episodes on fine and chain graphs, with noisy probes and with other stakes.",
        t4_episodes.settings,
        scenarios=122 * len(t4_episodes.SETTINGS),
        groups={"setting": SETTING},
        policies=("oracle", "aquamend-two-step", "aquamend"),
    ),
    _suite(
        "t4-sweep-v3",
        "100 episodes each with 3 to 8 cups, quieter and louder probes, better and worse alarms, and a prior that is "
        "wrong about the world; the same ones where noise or prior vary.",
        t4_episodes.sweep,
        scenarios=20 * len(t4_episodes.SWEEP),
        groups={"setting": SETTING},
        policies=(
            "oracle", "aquamend-two-step", "aquamend", "troubleshooting", "greedy-repair", "decoupled", "greedy",
            "no-reprobe",
        ),
    ),
)  # fmt: skip
