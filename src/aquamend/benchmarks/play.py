"""One policy on one scenario: what it lost on the truth, and what it loses in expectation."""

from __future__ import annotations

import math
from typing import Any

from aquamend.benchmarks.contestants import TOLD_THE_TRUTH, Oracle, Remembering
from aquamend.benchmarks.scenario import Scenario, Truth
from aquamend.decision.steps import Continue, Decision, Escalate, Restart, RollBack, step_kind
from aquamend.errors import NotDiscrete, TooLarge
from aquamend.execution import Charge, Episode, charged, recover
from aquamend.inference import InformationState
from aquamend.policies import CertifyingPolicy, Exact, Policy, evaluate, policy_named
from aquamend.records import UNRESOLVED

Record = dict[str, Any]

EXPECTED = ("expected_risk", "expected_success", "expected_probes", "expected_undone")


def play(scenario: Scenario, name: str, policy: Policy | None = None, *, expected: bool = True) -> Record:
    """Return the record of one policy on one scenario; a policy that refuses leaves a record of its refusal.

    The policy is found by its name unless it is given. With ``expected``, also what following it costs in expectation,
    exactly.
    """
    label = scenario.label | {"policy": name}
    if name in TOLD_THE_TRUTH:
        return label | _played_told(scenario, expected=expected)
    policy = policy or policy_named(name)  # a name that is nobody's is no result of a policy
    try:
        _refuse_to_hurry(policy, scenario.state)
        remembering = Remembering(policy)
        scores = _scores(scenario, [recover(remembering, truth.enter()) for truth in scenario.truths])
        risk = _expected(remembering, scenario.state) if expected else dict.fromkeys(EXPECTED)
        return label | scores | risk | _certificate(policy, scenario.state)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - what goes wrong in a policy is a result, and kept as one
        unavailable = dict.fromkeys(("loss", *EXPECTED, *map(str, _charges([])), "probes", "undone", "ending"))
        return label | unavailable | {"success": 0.0, "steps": [], "error": f"{type(error).__name__}: {error}"}


def _refuse_to_hurry(policy: Policy, state: InformationState) -> None:
    """Refuse a plan that a deadline cuts off: its steps would depend on the machine."""
    if isinstance(policy, Exact) and not policy.completes(state):
        raise TooLarge("the complete adaptive tree is too large to tabulate; `certified` plans without a deadline")


def _expected(policy: Policy, state: InformationState) -> Record:
    """Return the exact expectations, unavailable where outcomes cannot be enumerated."""
    try:
        found = evaluate(policy, state)
    except (NotDiscrete, TooLarge):
        return dict.fromkeys(EXPECTED)
    values = (found.expected_loss, found.success, found.expected_probes, found.expected_undone)
    return dict(zip(EXPECTED, values, strict=True))


def _played_told(scenario: Scenario, *, expected: bool) -> Record:
    """Play the oracle, told the truth of each world; its risk is the mean over all that the posterior allows."""
    episodes = [recover(Oracle(truth.failed), truth.enter()) for truth in scenario.truths]
    if not expected or not scenario.possible:
        return _scores(scenario, episodes) | dict.fromkeys(EXPECTED)
    everywhere = [(truth.weight, recover(Oracle(truth.failed), truth.enter())) for truth in scenario.possible]
    values = (
        math.fsum(w * e.loss for w, e in everywhere),
        math.fsum(w * e.outcome.success for w, e in everywhere),
        0.0,
        math.fsum(w * len(e.outcome.undone) for w, e in everywhere),
    )
    return _scores(scenario, episodes) | dict(zip(EXPECTED, values, strict=True))


def _scores(scenario: Scenario, episodes: list[Episode]) -> Record:
    """Return the realised scores: of the one truth, or weighted over all of them."""
    weight = [truth.weight for truth in scenario.truths]

    def mean(values: list[float]) -> float:
        return math.fsum(w * v for w, v in zip(weight, values, strict=True) if w > 0)

    scores: Record = {
        "loss": mean([e.loss for e in episodes]),
        "success": mean([float(e.outcome.success) for e in episodes]),
    }
    scores |= {str(c): mean([charged(e.outcome.receipts, c) for e in episodes]) for c in _charges(episodes)}
    scores |= {
        "probes": mean([float(sum(r.charge is Charge.SENSING for r in e.outcome.receipts)) for e in episodes]),
        "undone": mean([float(len(e.outcome.undone)) for e in episodes]),
    }
    if len(episodes) == 1:
        only = episodes[0]
        truth, budget = scenario.truths[0], scenario.state.problem.sensing_budget
        return scores | {
            "ending": step_kind(only.decision),
            "steps": _steps(only),
            "false_alarm": not truth.failed,
            "cause": str(truth.cause),
            "attributed": _attributed(only),
            "over_budget": only.state.spent > budget + 1e-9 if math.isfinite(budget) else None,
        }
    played = _realisations(scenario, episodes)
    return scores | {"ending": None, "steps": [], "false_alarm": None, "realisations": played}


def _charges(episodes: list[Episode]) -> list[Charge]:
    """Return what costs are split into; only worlds that carry the task out to its end charge for that."""
    finished = any(receipt.charge is Charge.CONTINUATION for e in episodes for receipt in e.outcome.receipts)
    return [charge for charge in Charge if finished or charge is not Charge.CONTINUATION]


def _attributed(episode: Episode) -> str:
    """Return the cause that was more likely than not when the policy decided, if one was."""
    cause = episode.state.attributed_to
    return UNRESOLVED if cause is None else str(cause)


def _realisations(scenario: Scenario, episodes: list[Episode]) -> list[Record]:
    def told(truth: Truth, episode: Episode) -> Record:
        return {
            "truth": truth.name,
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
            plan = f"{decision.plan}: " if decision.plan else ""
            correct = ", ".join(decision.correct) or "nothing"
            return f"{plan}roll back {correct} (undo {', '.join(decision.undo) or 'nothing'})"
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
