"""A package that is only installed adds policies, suites, worlds and commands by its entry points."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from tests.waiting import PATIENCE_S

MODULE = """
from dataclasses import dataclass
import typer
from aquamend import InformationState, best_terminal
from aquamend.cli import Command
from aquamend.testing import FakeRobot

@dataclass(frozen=True)
class StopsAtOnce:
    floor: float = 0.0
    def next_step(self, state):
        return best_terminal(state).decision

def make(rng):
    from aquamend import load_problem
    return FakeRobot(InformationState.alarmed(load_problem("examples/stale_map.yaml")), seed=int(rng.integers(99)))

def hello():
    "Say hello."
    typer.echo("hello from another package")

HELLO = Command("other_package:hello", "Say hello.", needs_arguments=False)

def __getattr__(name):
    if name == "SUITE":
        from aquamend_lab.benchmarks.m1 import M1
        from dataclasses import replace
        return replace(M1, name="other-v1", scenarios=2, seeds=1, policies=("stops-at-once", "restart"))
    raise AttributeError(name)
"""
ENTRY_POINTS = """
[aquamend.policies]
stops-at-once = other_package:StopsAtOnce
broken = other_package:Missing
best = other_package:StopsAtOnce
[aquamend.suites]
other-v1 = other_package:SUITE
[aquamend.worlds]
other-world = other_package:make
[aquamend.commands]
hello = other_package:HELLO
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Return a folder with an installed package, as pip leaves one."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "other_package.py").write_text(MODULE, encoding="utf-8")
    about = folder / "other_package-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: other-package\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text(ENTRY_POINTS, encoding="utf-8")
    return folder


def run(installed, *arguments):
    environment = os.environ | {"PYTHONPATH": str(installed)}
    return subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, env=environment, timeout=PATIENCE_S, check=False
    )


def test_a_policy_is_named_like_ours_and_ours_keep_their_names(installed):
    code = """
    from aquamend import policy_named
    from aquamend.errors import UnknownName
    from aquamend.policies import Best
    from other_package import StopsAtOnce
    assert policy_named("stops-at-once") == StopsAtOnce()
    assert policy_named("stops-at-once(floor=0.5)") == StopsAtOnce(floor=0.5)
    assert isinstance(policy_named("best"), Best)
    for name in ("broken", "nobody"):
        try:
            policy_named(name)
        except UnknownName as error:
            print(error)
    """
    done = run(installed, "-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    broken, nobody = done.stdout.splitlines()
    assert "Missing" in broken
    assert "stops-at-once" in nobody
    decided = run(
        installed, "-m", "aquamend", "decide", "examples/stale_map.yaml", "--json", "--policy", "stops-at-once"
    )
    assert json.loads(decided.stdout)["policy"] == "stops-at-once", decided.stderr


def test_a_command_is_run_and_listed(installed):
    assert run(installed, "-m", "aquamend", "hello").stdout == "hello from another package\n"
    assert "Say hello." in run(installed, "-m", "aquamend", "--help").stdout


def test_a_suite_is_run_and_its_module_is_kept_in_the_manifest(installed, tmp_path):
    done = run(installed, "-m", "aquamend", "bench", "other-v1", "--out", str(tmp_path / "run"), "--jobs", "1")
    assert done.returncode == 0, done.stderr
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["suite"] == "other-v1"
    assert manifest["own_suite"] == manifest["own_policies"]["stops-at-once"], "both are in one module"


def test_a_world_is_an_environment_by_its_name(installed):
    code = """
    from aquamend.adapters.gym import RecoveryEnv
    from aquamend.errors import UnknownName
    env = RecoveryEnv(world="other-world")
    env.reset(seed=0)
    try:
        RecoveryEnv(world="nobody")
    except UnknownName as error:
        print(error)
    """
    done = run(installed, "-c", textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    assert "other-world" in done.stdout
