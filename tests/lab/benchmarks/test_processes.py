"""Runs as processes: killed, interrupted, and on a cluster of two worker processes."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

SIZE = ["m1-v2", "--policies", "aquamend,exact,greedy", "--scenarios", "40", "--seeds", "1"]


def aquamend(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "aquamend", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        **options,
    )


def started(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "aquamend", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # whoever runs the tests may ignore it
    )  # fmt: skip


def wait_for_parts(folder, process):
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        if len(list((folder / "parts").glob("*.jsonl"))) >= 2:
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"the run ended before it could be stopped: {process.communicate(timeout=PATIENCE_S)}")


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight") / "run"
    done = aquamend("bench", *SIZE, "--jobs", 1, "--out", folder, env=os.environ | {"PYTHONHASHSEED": "0"})
    assert done.returncode == 0, done.stderr
    return files(folder)


def files(folder):
    return (folder / "records.jsonl").read_bytes(), (folder / "annotations.jsonl").read_bytes()


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_where_it_was(tmp_path, straight, how):
    folder = tmp_path / "run"
    process = started("bench", *SIZE, "--jobs", 1, "--out", folder)
    wait_for_parts(folder, process)
    process.send_signal(how)
    try:
        _, said = process.communicate(timeout=PATIENCE_S)
    finally:
        process.kill()
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert "--resume" in said
        assert "Traceback" not in said
    assert not (folder / "records.jsonl").exists()
    done = aquamend("bench", *SIZE, "--jobs", 1, "--out", folder, "--resume")
    assert done.returncode == 0, done.stderr
    assert files(folder) == straight


CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


@pytest.mark.outer
def test_a_cluster_of_two_processes_writes_the_same_bytes(tmp_path, straight):
    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    cluster = subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    late = threading.Timer(PATIENCE_S, cluster.kill)
    late.start()
    try:
        address = cluster.stdout.readline().strip()
        late.cancel()
        assert address.startswith("tcp://"), "the cluster did not start"
        folder = tmp_path / "run"
        done = aquamend("bench", *SIZE, "--cluster", address, "--out", folder)
        assert done.returncode == 0, done.stderr
        assert files(folder) == straight
    finally:
        late.cancel()
        try:
            cluster.communicate("", timeout=PATIENCE_S)
        finally:
            cluster.kill()


def test_the_bytes_do_not_depend_on_the_order_of_sets(tmp_path, straight):
    folder = tmp_path / "run"
    done = aquamend("bench", *SIZE, "--jobs", 1, "--out", folder, env=os.environ | {"PYTHONHASHSEED": "77"})
    assert done.returncode == 0, done.stderr
    assert files(folder) == straight


@pytest.mark.outer
def test_a_cluster_that_does_not_answer_is_reported_and_nothing_is_written(tmp_path):
    done = aquamend("bench", *SIZE, "--cluster", "tcp://127.0.0.1:1", "--out", tmp_path / "run")
    assert done.returncode == 2
    assert "cluster 'tcp://127.0.0.1:1'" in done.stderr
    assert "check the address" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "run").exists()
