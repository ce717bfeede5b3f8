"""A decision as the plain data of the decision format: the same state gives the same bytes."""

from __future__ import annotations

from typing import Any

from aquamend.decision.steps import Continue, Decision, Reprobe, RollBack, step_kind
from aquamend.decision.terminal import Stop
from aquamend.explanation.report import CONTRADICTED, DecisionReport, DeclarationLine, ProbeLine
from aquamend.inference import Observation
from aquamend.records import json_number

FORMAT = "aquamend-decision/1"


def decision_json(report: DecisionReport, *, file: str) -> dict[str, Any]:
    """Return one decision in the decision format, with the file it belongs to and a few further keys."""
    state = report.state
    data = {
        "format": FORMAT,
        "file": file,
        "name": state.problem.name,
        "unit": state.problem.unit,
        "policy": report.policy,
        "evidence": [_observation(observation) for observation in state.evidence],
        "contradiction": None if state.contradiction is None else str(state.contradiction),
        "step": _step(report),
        "stop": _stop(report.stop),
        "probes": [_probe(line, report.declarations) for line in report.probes],
        "marginals": {belief.name: json_number(belief.failure_probability) for belief in report.beliefs},
        "attribution": {cause.value: json_number(p) for cause, p in state.attribution.items()},
        "bounds": {"lower": json_number(report.bounds.lower), "upper": json_number(report.bounds.upper)},
        "declarations": [_declaration(line) for line in report.declarations],
    }
    return {**data, "robustness": _robustness(report)}


def _observation(observation: Observation) -> dict[str, Any]:
    return {"probe": observation.probe, "outcome": observation.outcome}


def _step(report: DecisionReport) -> dict[str, Any]:
    if isinstance(report.step, Reprobe):
        return {"kind": "reprobe", "probe": report.step.probe}
    return _stop(report.stop if report.chosen is None else report.chosen)


def _stop(stop: Stop) -> dict[str, Any]:
    return {"kind": step_kind(stop.decision), **_scope(stop.decision), "loss": json_number(stop.loss)}


def _scope(decision: Decision) -> dict[str, Any]:
    match decision:
        case Continue():
            return {"correct": [], "undo": []}
        case RollBack(correct, undo, plan):
            return {"correct": list(correct), "undo": list(undo), **({} if plan is None else {"plan": plan})}
        case _:
            return {}


def _probe(line: ProbeLine, declarations: tuple[DeclarationLine, ...]) -> dict[str, Any]:
    tests = list(zip((declaration.label for declaration in declarations), line.tests, strict=True))
    return {
        "probe": line.probe.name,
        "legal": line.why_illegal in ("", CONTRADICTED),
        "screened_out": False,  # a problem file has no fitted coverage to screen by
        "net_benefit": json_number(line.net_benefit),
        "expected_loss": json_number(line.expected_loss),
        "power": {label: json_number(test.power) for label, test in tests},
        "false_positive_rate": {label: json_number(test.false_positive_rate) for label, test in tests},
    }


def _declaration(line: DeclarationLine) -> dict[str, Any]:
    return {
        "name": line.declaration.name,
        "version": line.declaration.version,
        "belief": line.declaration.belief,
        "invalidity": json_number(line.invalidity),
        "support": list(line.declaration.support),
        "supported": line.support.available,
    }


def _robustness(report: DecisionReport) -> dict[str, Any] | None:
    found = report.robustness
    if found is None:
        return None
    return {
        "distance": json_number(found.distance),
        "distance_at_least": json_number(found.distance_at_least),
        "exact": found.exact,
        "challenger": found.challenger,
        "thresholds": [
            {
                "belief": threshold.belief,
                "now": json_number(threshold.now),
                "below": json_number(threshold.below),
                "below_step": threshold.below_step,
                "above": json_number(threshold.above),
                "above_step": threshold.above_step,
            }
            for threshold in found.thresholds
        ],
    }
