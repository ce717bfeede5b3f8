"""Two sound problems that together use every key of the format, for the tests here to spoil."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aquamend.errors import InvalidProblem
from aquamend.files import load_problem, parse_problem
from aquamend.problem import Problem

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

SOUND_2 = {
    "format": "aquamend-problem/1",
    "name": "pour into the least full cup",
    "beliefs": [
        {"name": "level", "residual": 10, "declared": 18.5, "tolerance": 3},
        {"name": "target", "residual": 80, "declared": "A", "needs_support": True},
        {"name": "camera", "residual": 40, "declared": "sound"},
        {"name": "lid", "residual": 5},
    ],
    "actions": [{"name": "pour", "undo": 9.5, "status": "executed"}, {"name": "place", "undo": 2}],
    "probes": [
        {"name": "look", "cost": 0.25, "source": "camera"},
        {"name": "weigh", "cost": 0.5},
        {"name": "touch", "cost": 1},
        {"name": "listen", "cost": 2},
    ],
    "edges": [
        ["look", "level", "detection"],
        ["weigh", "level", "detection"],
        ["level", "target", "inference"],
        ["target", "pour", "belief_to_action"],
    ],
    "hypotheses": [
        {"name": "nothing", "prior": 0.5},
        {"name": "refilled", "prior": 0.25, "truth": {"level": 45, "target": "B"}},
        {"name": "camera_off", "prior": 0.125, "cause": "self_error", "truth": {"camera": "biased"}},
        {"name": "scale_off", "prior": 0.125, "failed": ["lid"]},
    ],
    "kernels": {
        "look": {
            "outcomes": ["low", "high"],
            "likelihood": {
                "nothing": [0.75, 0.25], "refilled": [0.125, 0.875], "camera_off": [0.5, 0.5], "scale_off": [1, 0],
            },
        },
        "weigh": {
            "gaussian": {"nothing": [18, 1.5], "refilled": [45, 1.5], "camera_off": [18, 1.5], "scale_off": [0, 50]},
            "outliers": 0.01,
        },
        "touch": {
            "mixture": {
                "nothing": [[1, 5, 0.5]], "refilled": [[0.5, 5, 0.5], [0.5, 9, 2]], "camera_off": [[1, 5, 0.5]],
                "scale_off": [[1, 5, 0.5]],
            },
        },
        "listen": {
            "samples": {"nothing": [1, 2.5], "refilled": [7, 7.5, 8], "camera_off": [1, 2], "scale_off": [1, 2]},
            "bandwidth": 0.5,
            "outliers": 0.001,
        },
    },
    "declarations": [
        {"name": "A is least full", "belief": "target", "support": ["look"]},
        {"name": "the lid is on", "belief": "lid", "invalid_in": ["scale_off"], "value": "on"},
    ],
    "restart": {
        "loss": {"nothing": 20, "refilled": 30, "camera_off": 20, "scale_off": 20},
        "correct": ["level", "target"],
        "undo": ["pour"],
    },
    "escalate": 60,
    "plans": [
        {"name": "by hand", "loss": 25, "correct": ["lid"], "undo": ["pour"]},
        {
            "name": "stop",
            "loss": {"nothing": 70, "refilled": "inf", "camera_off": 70, "scale_off": 70.5},
            "last_resort": True,
        },
    ],
    "corrections": False,
    "coverage": {
        "stage": "T1",
        "covered_stages": ["T1", "T2"],
        "groups": [
            {"name": "near", "probes": ["look", "weigh"], "prototype_g": [18, 30.5], "prototype_mm": [2]},
            {"name": "far", "probes": ["look"], "prototype_g": [0, 90], "prototype_mm": [40]},
        ],
        "quantities_g": [18.5, 30],
        "offsets_mm": [0.5],
    },
}  # fmt: skip


CAUSES = {
    "format": "aquamend-problem/1",
    "name": "fetch a box",
    "beliefs": [
        {"name": "place", "residual": 60},
        {"name": "code", "residual": 90},
        {"name": "weight", "residual": 5, "declared": 10, "tolerance": 1},
    ],
    "actions": [{"name": "drive", "undo": 12, "status": "executed"}],
    "probes": [
        {"name": "scan", "cost": 1},
        {"name": "range", "cost": 0.5},
    ],
    "edges": [
        ["scan", "code", "detection"], ["range", "place", "detection"], ["place", "drive", "belief_to_action"],
    ],
    "causes": [
        {
            "name": "shelf", "kind": "external",
            "states": {
                "moved": {"prior": 0.05, "failed": ["place"]},
                "gone": {"prior": 0.01, "failed": ["place", "code"], "truth": {"weight": 0}},
            },
        },
        {"name": "misread", "prior": {"default": 0.02, "shelf=moved": 0.2}, "kind": "self_error", "failed": ["code"]},
        {"name": "heavy", "prior": 0.1, "truth": {"weight": 20}},
    ],
    "together": 2,
    "effects": [{"when": "heavy & shelf=gone", "failed": ["code"], "truth": {"weight": 0}}],
    "kernels": {
        "scan": {
            "outcomes": ["right", "other"],
            "likelihood": {"default": [0.96, 0.04], "misread": [0.1, 0.9], "shelf=gone & not misread": [0.5, 0.5]},
        },
        "range": {"gaussian": {"nothing": [1.2, 0.05], "default": [1.3, 0.1], "place | weight=20": [1.7, 0.4]}},
    },
    "alarm": {"suspects": ["place"], "likelihood": {"default": 0.9, "nothing": 0.1}, "again": {"default": 0.5}},
    "declarations": [{"name": "the code is right", "belief": "code", "invalid_in": ["misread", "shelf=gone"]}],
    "restart": {"loss": {"default": 20, "shelf": 40}, "correct": ["place"], "undo": ["drive"]},
    "escalate": 100,
    "plans": [{"name": "by hand", "loss": {"default": 30, "heavy & misread": "inf"}, "correct": ["code"]}],
}  # fmt: skip


@pytest.fixture(scope="session")
def causes_text() -> str:
    return json.dumps(CAUSES)


@pytest.fixture
def causes(causes_text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(causes_text)
    return data


@pytest.fixture(scope="session")
def sound_text() -> str:
    return json.dumps(SOUND)


@pytest.fixture
def sound(sound_text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(sound_text)
    return data


@pytest.fixture(scope="session")
def sound_2_text() -> str:
    return json.dumps(SOUND_2)


@pytest.fixture
def sound_2(sound_2_text: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(sound_2_text)
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
