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
            timeout=60,
            check=False,
        )

    return process
