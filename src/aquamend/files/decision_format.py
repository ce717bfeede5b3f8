"""A decision as the plain data of the decision format: the same state gives the same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from aquamend.belief import surprises
from aquamend.belief.state import UNRESOLVED
from aquamend.codec import json_number
from aquamend.decision.standings import Standing
from aquamend.decision.steps import Reprobe, step_to_data
from aquamend.decision.terminal import PricedEnding
from aquamend.policies.decision_report import CONTRADICTED, DecisionReport, ProbeLine, answers_to, labels, weighed
from aquamend.policies.policy import Considered
from aquamend.problem.model.kernels import Outcomes

FORMAT = "aquamend-decision/1"


def decision_json(report: DecisionReport, *, file: str, robustness: bool = False) -> dict[str, Any]:
    """Return one decision in the decision format, with the file it belongs to and a few further keys.

    ``robustness``, what would flip the decision, takes longer to find than the decision itself.
    """
    state = report.state
    names = labels(state.problem.declarations)
    ageing = state.problem.ageing
    asked = {} if report.advice is None else {"before": state.problem.before, "advice": report.advice.value}
    return {
        "format": FORMAT,
        "file": file,
        "name": state.problem.name,
        "unit": state.problem.unit,
        "policy": report.policy,
        **asked,
        **({} if ageing is None else {"ages": dict(ageing.overtaken)}),
        "alarms": [{"alarm": m.monitor, "rang": m.rang} for m in state.monitored],
        "evidence": [{"probe": o.probe, "outcome": o.outcome} for o in state.evidence],
        "surprises": surprises_json(report),
        "contradiction": None if state.contradiction is None else str(state.contradiction),
        "step": step_to_data(report.step) if isinstance(report.step, Reprobe) else _stop(report.chosen or report.stop),
        "stop": _stop(report.stop),
        **_answers(report),
        "probes": [_probe(line, names) for line in report.probes],
        "marginals": {belief.name: json_number(belief.failure_probability) for belief in report.beliefs},
        "attribution": {cause.value: json_number(p) for cause, p in state.attribution.items()},
        "attributed_to": UNRESOLVED if state.attributed_to is None else state.attributed_to.value,
        "bounds": {"lower": json_number(report.bounds.lower), "upper": json_number(report.bounds.upper)},
        "counts": _counts(report.considered),
        "declarations": list(_declarations(report)),
        **({"robustness": _robustness(report)} if robustness else {}),
        **({"note": report.note} if report.note else {}),
    }


def surprises_json(report: DecisionReport) -> list[dict[str, Any]]:
    """Return the answers that were surprising, each with how probable it was when it came."""
    found = surprises(report.state, below=report.surprising)
    return [{"probe": s.observation.probe, "outcome": s.observation.outcome, "chance": s.chance} for s in found]


def _counts(found: Considered) -> dict[str, int]:
    counts = asdict(found)
    return {"screened_out" if key == "screened" else key: count for key, count in counts.items()}


def _stop(stop: PricedEnding) -> dict[str, Any]:
    return {**step_to_data(stop.decision), "loss": json_number(stop.loss)}


def _answers(report: DecisionReport) -> dict[str, Any]:
    """Return what each answer of the probe that is to run would lead to, where it is to end then."""
    if not isinstance(report.step, Reprobe):
        return {}
    named = isinstance(report.state.probe(report.step.probe).channel, Outcomes)
    answers = [
        {
            **({"answer": answer.label} if named else {"above": answer.above, "below": answer.below}),
            "probability": answer.probability,
            "then": _stop(answer.stop),
        }
        for answer in answers_to(report.state, report.step.probe)
    ]
    return {"answers": answers}


def _probe(line: ProbeLine, names: tuple[str, ...]) -> dict[str, Any]:
    tests = list(zip(names, line.tests, strict=True))
    return {
        "probe": line.probe.name,
        "legal": line.why_illegal in ("", CONTRADICTED),
        "screened_out": line.screened_out,
        "net_benefit": json_number(line.net_benefit),
        "expected_loss": json_number(line.expected_loss),
        "power": {label: json_number(test.power) for label, test in tests},
        "false_positive_rate": {label: json_number(test.false_positive_rate) for label, test in tests},
        **({"why_illegal": line.why_illegal} if line.why_illegal else {}),
    }


def _declarations(report: DecisionReport) -> Iterator[dict[str, Any]]:
    """Yield the declarations in force, then those that the evidence now supports where they differ."""
    for standing in report.declarations:
        yield _declaration(standing.in_force, in_force=True)
    for standing in report.declarations:
        if standing.supported is not None and standing.supported != standing.in_force:
            yield _declaration(standing.supported, in_force=False)


def _declaration(standing: Standing, *, in_force: bool) -> dict[str, Any]:
    declaration = standing.declaration
    return {
        "name": declaration.name,
        "version": declaration.version,
        "belief": declaration.belief,
        "value": declaration.value,
        "support": list(declaration.support),
        "invalid": json_number(standing.invalid),
        "usable": standing.usable,
        "in_force": in_force,
        **({} if standing.mean is None else {"mean": json_number(standing.mean)}),
    }


def _robustness(report: DecisionReport) -> dict[str, Any] | None:
    found = report.robustness
    if found is None:
        return None
    numbers = ("now", "below", "above")
    return {
        "distance": json_number(found.distance),
        "distance_at_least": json_number(found.distance_at_least),
        "exact": found.exact,
        "challenger": found.challenger,
        "thresholds": [
            {key: json_number(value) if key in numbers else value for key, value in asdict(threshold).items()}
            for threshold in found.thresholds
        ],
    }


def decision_record(report: DecisionReport) -> dict[str, Any]:
    """Return why a step was chosen, short enough to keep for every one: what was believed, what was weighed."""
    state, steps = report.state, weighed(report)
    return {
        "policy": report.policy,
        "loss": json_number(next((loss for step, loss in steps if step == report.step), None)),
        "weighed": [{"step": step_to_data(step), "loss": json_number(loss)} for step, loss in steps],
        "beliefs": {belief.name: json_number(belief.failure_probability) for belief in report.beliefs},
        "attribution": {cause.value: json_number(p) for cause, p in state.attribution.items()},
        "attributed_to": UNRESOLVED if state.attributed_to is None else state.attributed_to.value,
        "declarations": list(_declarations(report)),
        "surprises": surprises_json(report),
        "counts": _counts(report.considered),
    }
