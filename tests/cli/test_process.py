"""The program as a shell meets it: help, extreme numbers, pipes, interrupts, imports."""

import os
import signal
import subprocess
import sys
import time

import pytest
from tests.waiting import PATIENCE_S

from aquamend.cli.main import WHERE, own_commands

MAIN = "from aquamend.cli.main import main; main()"


def test_the_version_is_printed(process):
    result = process("--version")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("aquamend ")


def test_help_names_every_command(run):
    result = run("--help")
    assert result.exit_code == 0
    for command in ("decide", "evaluate", "bench", "report", "compare", "validate", "graph", "export"):
        assert command in result.stdout


def modules_of(*args: str) -> set[str]:
    """Return all modules that a command has loaded when it ends."""
    code = "import sys, atexit\natexit.register(lambda: print(*sys.modules, file=sys.stderr))\n" + MAIN
    command = [sys.executable, "-c", code, *args]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    return {*result.stderr.split()}


def test_a_decision_as_json_loads_nothing_that_it_does_not_use(lid):
    loaded = modules_of("decide", lid, "--json", "--observe", "look=yes")
    outside = {"rich", "scipy", "pydantic", "highspy", "matplotlib", "yaml", "joblib", "mujoco", "numpy.ma", "sqlite3"}
    assert not loaded & outside
    parts = {"decision.sensitivity", "lint", "recovery", "story", "learning", "testing"}
    assert not loaded & {f"aquamend.{part}" for part in parts}
    assert "aquamend.cli.decide" in loaded
    assert not loaded & {"aquamend.cli.session", "aquamend.cli.learn", "aquamend_lab"}
    assert len(loaded) < 500  # 565 before this was looked at, 400 after


def test_checking_a_file_loads_nothing_to_decide_drawn_or_computed_with(lid):
    assert not modules_of("validate", lid) & {"rich", "scipy", "highspy", "yaml", "aquamend.decision.sensitivity"}


def test_help_names_every_policy(run):
    from aquamend.policies import POLICIES

    text = "".join(run("decide", "--help").stdout.split())  # a line may end within a name
    assert [name for name in (*POLICIES, "lookahead-K", "module:Class") if name not in text] == []


def test_extreme_numbers_bring_neither_a_traceback_nor_a_warning(run, problem, write):
    problem["probes"][0] |= {"cost": 5e-324, "max_uses": 10**9}
    problem["sensing_budget"] = 4.0
    file = write(problem)
    for command in (["decide"], ["decide", "--policy", "greedy"], ["evaluate", "--policy", "exact,no-reprobe"]):
        result = run(*command, file)
        assert result.exit_code in (0, 2), "a warning is an error in the tests, and an error is status 1"
        assert "Traceback" not in result.stderr


def test_numpy_runs_on_one_thread_unless_told_otherwise(lid):
    code = "import os, atexit\natexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']))\n" + MAIN
    env = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    command = [sys.executable, "-c", code, "validate", lid]
    for given, expected in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        result = subprocess.run(
            command, capture_output=True, text=True, env={**env, **given}, check=True, timeout=PATIENCE_S
        )
        assert result.stdout.splitlines()[-1] == expected


@pytest.mark.skipif(not hasattr(signal, "SIGPIPE"), reason="no such signal here")
def test_a_closed_pipe_ends_the_program_quietly(lid):
    program = subprocess.Popen(
        [sys.executable, "-c", MAIN, "decide", *[lid] * 40, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    program.stdout.close()
    try:
        assert program.communicate(timeout=PATIENCE_S)[1] == b""
    finally:
        program.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal here")
def test_an_interrupt_ends_the_program_quietly_with_130(tmp_path):
    fifo = tmp_path / "never.yaml"
    os.mkfifo(fifo)
    # Where the tests run in the background, interrupts are ignored, and a child would inherit that.
    heed = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    program = subprocess.Popen([sys.executable, "-c", heed + MAIN, "validate", str(fifo)], stderr=subprocess.PIPE)
    writer, deadline = None, time.monotonic() + PATIENCE_S
    try:
        while writer is None and time.monotonic() < deadline:  # it is reading once the other end can be opened
            try:
                writer = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                time.sleep(0.02)
        program.send_signal(signal.SIGINT)
        assert program.communicate(timeout=PATIENCE_S)[1] == b""
    finally:
        program.kill()
        program.communicate(timeout=PATIENCE_S)
        if writer is not None:
            os.close(writer)
    assert program.returncode == 130


def test_text_in_a_pipe_has_no_control_characters_and_fits(process, lid):
    for env in ({"COLUMNS": "80"}, {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "xterm-256color"}):
        result = process("decide", lid, **env)
        assert result.returncode == 0
        assert "\x1b" not in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 80
        assert all(line == line.rstrip() for line in result.stdout.splitlines())


def test_an_encoding_without_arrows_is_no_failure(process, lid):
    result = process("decide", lid, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (result.returncode, result.stderr) == (0, "")


def test_one_command_is_found_without_importing_the_others():
    for name, command in own_commands().items():
        module = command.function.split(":")[0]
        assert module == f"aquamend.cli.{WHERE.get(name, name)}", name
        assert {one.function.split(":")[0] for one in own_commands([name]).values()} == {module}
