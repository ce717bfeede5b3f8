"""One problem small enough to work out by hand, and ways to run the program on it."""

import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import PATIENCE_S
from typer.testing import CliRunner

from aquamend.cli.main import app

PROBLEM: dict[str, Any] = {
    "format": "aquamend-problem/1",
    "name": "is the lid on",
    "unit": "s",
    "beliefs": [{"name": "lid", "residual": 10}],
    "actions": [{"name": "lift", "undo": 3, "status": "executed"}, {"name": "carry"}],
    "probes": [{"name": "look", "cost": 0.5}],
    "edges": [
        ["look", "lid", "detection"],
        ["lid", "lift", "belief_to_action"],
        ["lift", "carry", "action_causal"],
    ],
    "hypotheses": [
        {"name": "on", "prior": 0.6, "failed": [], "cause": "false_alarm"},
        {"name": "off", "prior": 0.4, "failed": ["lid"], "cause": "external"},
    ],
    "kernels": {"look": {"outcomes": ["yes", "no"], "likelihood": {"on": [0.9, 0.1], "off": [0.2, 0.8]}}},
}
"""Roll back costs 3, continue 0.4 · 10 = 4. Looking: "yes" has probability 0.54 + 0.08 = 0.62 and "no" 0.38; after
"yes" continuing costs 0.08 · 10 = 0.8 of the joint, after "no" rolling back costs 0.38 · 3 = 1.14. So looking costs
0.5 + 0.8 + 1.14 = 2.44, which is 0.56 less than 3."""


CUPS: dict[str, Any] = {
    "format": "aquamend-problem/1",
    "name": "which cup is least full",
    "unit": "s",
    "beliefs": [
        {"name": "level", "residual": 10, "declared": 18.0, "tolerance": 3.0},
        {"name": "target", "residual": 80, "declared": "A", "needs_support": True},
        {"name": "camera", "residual": 5, "declared": "sound"},
    ],
    "actions": [
        {"name": "grasp", "undo": 4, "status": "executed"},
        {"name": "aim", "undo": 1, "status": "executed"},
    ],
    "probes": [
        {"name": "look", "cost": 0.2, "source": "camera"},
        {"name": "weigh", "cost": 0.6},
    ],
    "edges": [
        ["look", "level", "detection"],
        ["weigh", "level", "detection"],
        ["level", "target", "inference"],
        ["target", "grasp", "belief_to_action"],
        ["camera", "aim", "belief_to_action"],
    ],
    "hypotheses": [
        {"name": "fine", "prior": 0.5, "cause": "false_alarm"},
        {"name": "more", "prior": 0.3, "truth": {"level": 45.0, "target": "B"}, "cause": "external"},
        {"name": "off", "prior": 0.2, "truth": {"camera": "biased"}, "cause": "self_error"},
    ],
    "kernels": {
        "look": {"outcomes": ["low", "high"],
                 "likelihood": {"fine": [0.9, 0.1], "more": [0.1, 0.9], "off": [0.5, 0.5]}},
        "weigh": {"outcomes": ["18", "45"],
                  "likelihood": {"fine": [0.98, 0.02], "more": [0.02, 0.98], "off": [0.95, 0.05]}},
    },
    "declarations": [{"name": "A is least full", "belief": "target", "support": ["look"]}],
    "escalate": 60,
}  # fmt: skip
"""Corrections need values here, and the target needs support; ``look`` sees through a camera that may be biased."""


@pytest.fixture
def cups(write: Callable[..., str]) -> str:
    return write(copy.deepcopy(CUPS), "cups.json")


@pytest.fixture
def problem() -> dict[str, Any]:
    return copy.deepcopy(PROBLEM)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def write(data: dict[str, Any], name: str = "lid.json") -> str:
        path = tmp_path / name
        path.write_text(json.dumps(data), encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def lid(problem: dict[str, Any], write: Callable[..., str]) -> str:
    return write(problem)


@pytest.fixture
def run() -> Callable[..., Any]:
    """Run a command in this process; 80 columns and no colour."""

    def run(*args: str, columns: int = 80) -> Any:
        return CliRunner(env={"COLUMNS": str(columns), "TERM": "dumb"}).invoke(app, list(args))

    return run


@pytest.fixture
def run_on() -> Callable[..., Any]:
    """Run a command in this process, with a text on its standard input."""

    def run_on(text: str, *args: str) -> Any:
        return CliRunner(env={"COLUMNS": "80", "TERM": "dumb"}).invoke(app, list(args), input=text)

    return run_on


@pytest.fixture
def decided(run: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """Return the one decision that a command prints as JSON."""

    def decided(*args: str) -> dict[str, Any]:
        result = run("decide", *args, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return decided


@pytest.fixture
def process() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the program itself, as a shell would."""

    def process(*args: str, **env: str) -> subprocess.CompletedProcess[str]:
        code = "from aquamend.cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code, *args],
            capture_output=True,
            text=True,
            encoding="utf-8",
            env={**os.environ, **env},
            timeout=PATIENCE_S,
            check=False,
        )

    return process
