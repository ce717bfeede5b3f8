"""Whoever speaks HTTP can recover: a client in C++ is built and run, and a fuzzer reads the description."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.adapters.problems import CUP
from tests.serve.running import started
from tests.waiting import PATIENCE_S

from aquamend.serve.routes import ROUTES

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "examples" / "cpp" / "recover.cpp"
TOKEN = "correct-horse-battery-staple"
pytestmark = pytest.mark.outer


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the client in C++, built without a warning as its first lines say."""
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler; .ci/packages installs one")
    program = tmp_path_factory.mktemp("cpp") / "recover"
    command = ["g++", "-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-o", str(program), str(SOURCE), "-lcurl"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return program


@pytest.fixture
def robot(built):
    """Start the client in C++ against a service."""

    def robot(client, session, findings, problem="cup", token=TOKEN):
        return subprocess.Popen(
            [built, client.address, session, problem, json.dumps(findings)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            env={"AQUAMEND_TOKEN": token},
        )  # fmt: skip

    return robot


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Return a client of a service with a token, which keeps the cup."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "cup.json").write_text(json.dumps(CUP))
    with started("cup.json", folder=folder, env={"AQUAMEND_TOKEN": TOKEN}) as client:
        yield client


def until_asked(client, session):
    """Wait until a session asks a person, and return its view."""
    until = time.monotonic() + PATIENCE_S
    while True:
        status, now = client.ask("GET", f"/api/sessions/{session}", Authorization=f"Bearer {TOKEN}")
        if status == 200 and now["asked"] is not None:
            return now
        assert time.monotonic() < until
        time.sleep(0.05)


def answer(client, now, *, granted=True):
    said = {"token": now["asked"]["token"], "granted": granted, "by": "Ada"}
    client.post(f"/api/sessions/{now['session']}/answer", said, Authorization=f"Bearer {TOKEN}")


def test_a_robot_in_cpp_drives_a_whole_recovery(guarded, robot):
    with robot(guarded, "a b", {"weigh": "45", "look": "there"}) as process:
        now = until_asked(guarded, "a%20b")
        assert now["asked"]["act"].startswith("finish")
        guarded.post("/api/sessions/a%20b/answer", {"token": now["asked"]["token"], "granted": True, "by": "Ada"},
                     Authorization=f"Bearer {TOKEN}")  # fmt: skip
        said, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    kinds = [line.split(":")[0] for line in said.splitlines()]
    assert kinds[0] == "measure"
    assert kinds.count("waits") == 1
    assert said.splitlines()[-1].startswith("finished, at a cost of")


def test_a_robot_in_cpp_that_died_goes_on_and_repeats_nothing(guarded, robot):
    with robot(guarded, "died", {"weigh": "45", "look": "there"}) as process:
        asked = until_asked(guarded, "died")
        process.kill()
        process.communicate(timeout=PATIENCE_S)
    with robot(guarded, "died", {"weigh": "45", "look": "there"}) as process:
        answer(guarded, asked)
        said, errors = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, errors) == (0, "")
    assert "measure" not in said
    assert "undo" not in said


def test_a_robot_in_cpp_is_told_why_it_is_refused(guarded, robot):
    for problem, token, why in (("cpu", TOKEN, "unknown kept problem 'cpu'"), ("cup", "wrong", "Bearer TOKEN")):
        with robot(guarded, "refused", {}, problem, token) as process:
            _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 2
        assert why in errors


FUZZED = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 403, 404, 409, 422, 503, 504]
"""
"""What has the right form may still make no sense (422), or ask for what is not there or too much."""


def test_a_fuzzer_finds_no_fault_in_the_real_service(guarded, tmp_path):
    (tmp_path / "schemathesis.toml").write_text(FUZZED)
    command = [
        sys.executable, "-m", "schemathesis.cli", "run", f"{guarded.address}/api/openapi.json",
        "--checks", "all", "--exclude-path-regex", "live$", "--max-examples", "15", "--seed", "1", "--no-color",
        "--request-timeout", "600", "--max-response-time", "600",
        "--header", f"Authorization: Bearer {TOKEN}",
    ]  # fmt: skip
    hooks = {**os.environ, "SCHEMATHESIS_HOOKS": "tests.serve.fuzzing", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=hooks, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert f"{len(ROUTES)} total" in done.stdout
    assert not [line for line in guarded.errors if "Traceback" in line]
