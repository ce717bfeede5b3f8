"""A PostgreSQL server of the tests' own: on loopback, in a folder of its own, under a user without rights."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from pathlib import Path

import psycopg
import pytest
from tests.waiting import PATIENCE_S

USER, PASSWORD = "fleet", "s3cret-of-the-fleet"


def programs():
    """Return the folder of PostgreSQL's programs, wherever Debian has put it; None where there is none."""
    found = shutil.which("initdb")
    places = [Path(found).resolve().parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


def _free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def needed():
    """Skip a test where there is no PostgreSQL; where all tests have to run, that is a failure."""
    if programs() is None:
        refuse = pytest.fail if os.environ.get("ALL_TESTS_RUN") else pytest.skip
        refuse("there is no PostgreSQL here; .ci/packages installs it")


class Server:
    """A server that can be killed and started again; ``address`` is where its empty database is."""

    def __init__(self, *, on_disk=False):
        self.bin, self.port = programs(), _free_port()
        root = os.geteuid() == 0  # PostgreSQL refuses to run as root
        self._as = {"user": _nobody(), "group": pwd.getpwnam(_nobody()).pw_gid, "extra_groups": []} if root else {}
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) and not on_disk else None
        self.folder = Path(tempfile.mkdtemp(prefix="aquamend-fleet-", dir=memory))
        if root:
            shutil.chown(self.folder, _nobody(), self._as["group"])
        self.data, self._process = self.folder / "data", None
        word = self.folder / "password"
        word.write_text(PASSWORD, encoding="utf-8")
        word.chmod(0o644)
        self._run(
            "initdb", "-D", self.data, "-U", USER, "-A", "scram-sha-256", f"--pwfile={word}",
            "-E", "UTF8", "--no-locale", "--no-sync",
        )  # fmt: skip
        self.start()

    @property
    def address(self):
        return f"postgresql://{USER}:{PASSWORD}@127.0.0.1:{self.port}/postgres"

    def _run(self, program, *arguments):
        command = [str(self.bin / program), *map(str, arguments)]
        subprocess.run(command, check=True, capture_output=True, cwd=self.folder, timeout=PATIENCE_S, **self._as)

    def start(self):
        """Start it, and wait until it answers; what was killed may have to be waited for."""
        settings = {
            "port": self.port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
            "max_connections": 60, "shared_buffers": "16MB", "log_min_messages": "panic",
            "restart_after_crash": "on",
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            if self._process is None or self._process.poll() is not None:
                self._process = subprocess.Popen(
                    [str(self.bin / "postgres"), "-D", str(self.data), *options],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **self._as,
                )  # fmt: skip
            try:
                psycopg.connect(self.address, connect_timeout=2).close()
            except psycopg.OperationalError:
                time.sleep(0.01)
            else:
                return
        raise AssertionError("the server does not start")

    def kill(self):
        """Kill it with -9, as a power cut would: its children notice by themselves."""
        self._process.kill()
        self._process.wait(PATIENCE_S)

    def stop(self):
        """Stop it at once, connections and all."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(PATIENCE_S)

    def ask(self, sql, *values):
        """Return what a query finds, as whoever owns the server."""
        with psycopg.connect(self.address, autocommit=True) as connection:
            found = connection.execute(sql, values or None)
            return found.fetchall() if found.description else []

    def cut_connections(self):
        """End every connection that a log has, and return how many there were."""
        cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'aquamend%'"
        return len(self.ask(cut))

    def remove(self):
        """Stop it and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _nobody():
    """Return whom the server runs as where the tests run as root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


class Line:
    """A line to a server that can be cut: for good, or once, after the server has done what it was asked to commit."""

    def __init__(self, server):
        self._server, self._socket = server, socket.create_server(("127.0.0.1", 0))
        self.address = server.address.replace(f":{server.port}/", f":{self._socket.getsockname()[1]}/")
        self.loses_the_next_answer = self.is_cut = False
        self.lost = 0
        self._ends: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._socket.accept()
                if self.is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._server.port))
                self._ends += [near, far]
                for one, other, asks in ((near, far, True), (far, near, False)):
                    self._threads.append(threading.Thread(target=self._pass_on, args=(one, other, asks), daemon=True))
                    self._threads[-1].start()

    def _pass_on(self, one, other, asks):
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                if asks and self.loses_the_next_answer and b"COMMIT" in data:
                    self.loses_the_next_answer = False
                    self.lost += 1
                    committing = time.monotonic()
                    other.sendall(data)
                    before = "SELECT count(*) FROM pg_stat_activity WHERE query = 'COMMIT' AND state <> 'idle'"
                    while self._server.ask(before) != [(0,)]:
                        assert time.monotonic() - committing < PATIENCE_S
                    break
                other.sendall(data)
        for end in (one, other):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        """Let nothing through any more."""
        self.is_cut = True
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def mend(self):
        self.is_cut = False

    def close(self):
        self.cut()
        self._socket.close()
        for thread in self._threads:
            thread.join(PATIENCE_S)
        for end in self._ends:
            end.close()
