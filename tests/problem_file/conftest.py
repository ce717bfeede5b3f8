"""A sound problem that uses every key of the format, for the tests here to spoil."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aquamend.errors import InvalidProblem
from aquamend.problem import Problem
from aquamend.problem_file import load_problem, parse_problem

SOUND = {
    "format": "aquamend-problem/1",
    "name": "move the lightest box",
    "unit": "s",
    "beliefs": [{"name": "weight", "residual": 10}, {"name": "choice", "residual": "inf", "may_keep": False}],
    "actions": [
        {"name": "grasp", "undo": 4.0, "status": "executed"},
        {"name": "carry", "operations": ["back", "open"], "status": "executed", "reversible": True},
        {"name": "stack", "undo": 2.5, "status": "planned"},
    ],
    "operations": [{"name": "back", "cost": 2.0}, {"name": "open", "cost": 0.5}],
    "probes": [
        {"name": "look", "cost": 0.25, "modality": "vision", "max_uses": 2},
        {"name": "weigh", "cost": 0.6, "modality": "scale", "max_uses": "inf"},
    ],
    "edges": [
        ["look", "weight", "detection"],
        ["weigh", "weight", "aggregation"],
        ["weight", "choice", "inference"],
        ["choice", "grasp", "belief_to_action"],
        ["grasp", "carry", "action_causal"],
        ["carry", "stack", "temporal"],
    ],
    "hypotheses": [
        {"name": "nothing", "prior": 0.6, "failed": [], "cause": "false_alarm"},
        {"name": "refilled", "prior": 0.3, "failed": ["weight", "choice"], "cause": "external"},
        {"name": "tilted", "prior": 0.1, "failed": ["weight"]},
    ],
    "kernels": {
        "look": {
            "outcomes": ["low", "high"],
            "likelihood": {"nothing": [0.95, 0.05], "refilled": [0.1, 0.9], "tilted": [0.5, 0.5]},
        },
        "weigh": {"gaussian": {"nothing": [120, 1.5], "refilled": [180, 1.5], "tilted": [120, 3]}},
    },
    "alarm": {
        "suspects": ["weight"],
        "likelihood": {"nothing": 0.2, "refilled": 0.9, "tilted": 0.7},
    },
    "declarations": [
        {"name": "A is lightest", "version": 2, "belief": "choice", "invalid_in": ["refilled"], "support": ["look"]}
    ],
    "sensing_budget": 3.0,
    "restart": 20.0,
    "escalate": 60.0,
}


@pytest.fixture(scope="session")
def sound_text() -> str:
    return json.dumps(SOUND)


@pytest.fixture
def sound(sound_text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(sound_text)
    return data


@pytest.fixture(scope="session")
def faults_of() -> Callable[[Any], list[str]]:
    """Return a function from data to the faults it is refused with; [] if it is sound."""

    def listed(data: Any) -> list[str]:
        try:
            assert isinstance(parse_problem(data), Problem)
        except InvalidProblem as error:
            return [str(fault) for fault in error.faults]
        return []

    return listed


@pytest.fixture
def faults_in(tmp_path: Path) -> Callable[..., list[str]]:
    """Return a function from a file's content to the faults it is refused with; [] if it is sound."""

    def listed(content: str | bytes, suffix: str = ".yaml") -> list[str]:
        path = tmp_path / f"problem{suffix}"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        try:
            load_problem(path)
        except InvalidProblem as error:
            return [str(fault) for fault in error.faults]
        return []

    return listed
