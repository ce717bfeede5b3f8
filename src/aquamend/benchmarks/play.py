"""One policy on one scenario: what it lost on the truth, and what it loses in expectation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from aquamend.benchmarks.contestants import TOLD_THE_TRUTH, Oracle, Remembering
from aquamend.benchmarks.scenario import Scenario, Truth
from aquamend.decision.steps import Continue, Decision, Escalate, Restart, RollBack, step_kind
from aquamend.errors import NotDiscrete, TooLarge
from aquamend.execution import Charge, Episode, charged, recover
from aquamend.inference import InformationState
from aquamend.policies import CertifyingPolicy, Exact, Policy, evaluate, policy_named
from aquamend.worlds import ModelWorld

Record = dict[str, Any]

EXPECTED = ("expected_risk", "expected_success", "expected_probes", "expected_undone")


def play(scenario: Scenario, name: str, state: InformationState) -> Record:
    """Return the record of one policy on one scenario; a policy that refuses leaves a record of its refusal.

    ``state`` is the scenario's public evidence, shared by all policies so that it is compiled once.
    """
    label = scenario.label | {"policy": name}
    if name in TOLD_THE_TRUTH:
        return label | _played_told(scenario, state)
    policy = policy_named(name)  # a name that is nobody's is no result of a policy
    try:
        _refuse_to_hurry(policy, state)
        return label | _played(scenario, state, Remembering(policy)) | _certificate(policy, state)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what goes wrong in a policy is a result, and kept as one
        unavailable = dict.fromkeys(("loss", *EXPECTED, *map(str, Charge), "probes", "undone", "ending"))
        return label | unavailable | {"success": 0.0, "steps": [], "error": f"{type(error).__name__}: {error}"}


def _refuse_to_hurry(policy: Policy, state: InformationState) -> None:
    """Refuse a plan that a deadline cuts off: its steps would depend on the machine."""
    if isinstance(policy, Exact) and not policy.completes(state):
        raise TooLarge("the complete adaptive tree is too large to tabulate; `certified` plans without a deadline")


def _played(scenario: Scenario, state: InformationState, policy: Policy) -> Record:
    episodes = [recover(policy, _world(scenario, state, truth.hypothesis)) for truth in scenario.truths]
    return _scores(scenario, episodes) | _expected(policy, state)


def _expected(policy: Policy, state: InformationState) -> Record:
    """Return the exact expectations, unavailable where outcomes cannot be enumerated."""
    try:
        found = evaluate(policy, state)
    except (NotDiscrete, TooLarge):
        return dict.fromkeys(EXPECTED)
    values = (found.expected_loss, found.success, found.expected_probes, found.expected_undone)
    return dict(zip(EXPECTED, values, strict=True))


def _played_told(scenario: Scenario, state: InformationState) -> Record:
    """Play the oracle, told the truth of each world; its risk is the mean over all worlds the posterior allows."""
    possible = np.flatnonzero(state.posterior > 0).tolist()
    failed = [tuple(hypothesis.failed) for hypothesis in state.problem.model.hypotheses]
    everywhere = {h: recover(Oracle(failed[h]), _world(scenario, state, h)) for h in possible}
    weight = state.posterior

    def mean(value: Any) -> float:
        return math.fsum(float(weight[h]) * float(value(episode)) for h, episode in everywhere.items())

    return _scores(scenario, [everywhere[truth.hypothesis] for truth in scenario.truths]) | {
        "expected_risk": mean(lambda e: e.loss),
        "expected_success": mean(lambda e: e.outcome.success),
        "expected_probes": 0.0,
        "expected_undone": mean(lambda e: len(e.outcome.undone)),
    }


def _world(scenario: Scenario, state: InformationState, hypothesis: int) -> ModelWorld:
    return ModelWorld(state, hypothesis, scenario.stream)


def _scores(scenario: Scenario, episodes: list[Episode]) -> Record:
    """Return the realised scores: of the one truth, or weighted over all of them."""
    weight = [truth.weight for truth in scenario.truths]

    def mean(values: list[float]) -> float:
        return math.fsum(w * v for w, v in zip(weight, values, strict=True) if w > 0)

    scores: Record = {
        "loss": mean([e.loss for e in episodes]),
        "success": mean([float(e.outcome.success) for e in episodes]),
    }
    scores |= {str(c): mean([charged(e.outcome.receipts, c) for e in episodes]) for c in Charge}
    scores |= {
        "probes": mean([float(len(e.evidence)) for e in episodes]),
        "undone": mean([float(len(e.outcome.undone)) for e in episodes]),
    }
    if len(episodes) == 1:
        only = episodes[0]
        failed = scenario.problem.failed[scenario.truths[0].hypothesis].any()
        return scores | {"ending": step_kind(only.decision), "steps": _steps(only), "false_alarm": not failed}
    played = _realisations(scenario, episodes)
    return scores | {"ending": None, "steps": [], "false_alarm": None, "realisations": played}


def _realisations(scenario: Scenario, episodes: list[Episode]) -> list[Record]:
    def told(truth: Truth, episode: Episode) -> Record:
        return {
            "truth": scenario.problem.model.hypotheses[truth.hypothesis].name,
            "weight": truth.weight,
            "loss": episode.loss,
            "success": int(episode.outcome.success),
            "probes": len(episode.evidence),
        }

    return [told(truth, episode) for truth, episode in zip(scenario.truths, episodes, strict=True)]


def _steps(episode: Episode) -> list[str]:
    """Return what was done, one short text a step."""
    return [*(f"{o.probe}: {o.told}" for o in episode.evidence), _told(episode.decision)]


def _told(decision: Decision) -> str:
    match decision:
        case RollBack():
            return f"roll back {', '.join(decision.correct)} (undo {', '.join(decision.undo) or 'nothing'})"
        case Continue():
            return "continue"
        case Restart():
            return "restart"
        case Escalate():
            return "escalate"


def _certificate(policy: Policy, state: InformationState) -> Record:
    """Return the bounds a policy certifies at the alarm, where it does."""
    if not isinstance(policy, CertifyingPolicy):
        return {}
    bounds = policy.bounds(state)
    return {"lower": bounds.lower, "upper": bounds.upper}
