"""The real service as a process of its own, and whoever asks it."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import PATIENCE_S

EXAMPLES = Path(__file__).parents[2] / "examples"
MAIN = "from aquamend.cli.main import main; main()"
JSON = {"content-type": "application/json"}


class Client:
    """Asks the service at one address."""

    def __init__(self, address, process=None):
        self.address, self.process = address, process
        self.host, self.port = re.fullmatch(r"https?://\[?([^\]]+?)\]?:(\d+)", address).groups()

    def raw(self, method, path, body=None, headers=None):
        """Return status, headers and bytes of the answer; what is given goes out as it is."""
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def ask(self, method, path, data=None, **headers):
        """Return status and data of the answer; every refusal is a problem document."""
        body = None if data is None else json.dumps(data)
        given = {**({} if data is None else JSON), **{k.replace("_", "-"): v for k, v in headers.items()}}
        status, answered, said = self.raw(method, path, body, given)
        found = json.loads(said)
        if status >= 400:
            assert answered["content-type"] == "application/problem+json"
            assert found["status"] == status
            assert found["type"].startswith("urn:aquamend:")
            assert found["detail"]
        return status, found

    def get(self, path, **headers):
        """Return the answer to something that has to be possible."""
        status, found = self.ask("GET", path, **headers)
        assert status == 200, found
        return found

    def post(self, path, data, **headers):
        """Return the answer to something that has to be possible."""
        status, found = self.ask("POST", path, data, **headers)
        assert status in (200, 201), found
        return found

    def refused(self, method, path, data=None, **headers):
        """Return status and kind of a refusal."""
        status, found = self.ask(method, path, data, **headers)
        return status, found["type"].removeprefix("urn:aquamend:")

    @contextmanager
    def stream(self, path, **headers):
        """Give the messages of a stream, one by one."""
        connection = http.client.HTTPConnection(self.host, int(self.port), timeout=PATIENCE_S)
        try:
            connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
            response = connection.getresponse()
            assert response.status == 200
            assert response.getheader("content-type").startswith("text/event-stream")
            yield messages(response)
        finally:
            connection.close()


def messages(response):
    """Yield kind and data of every server-sent event."""
    fields = {}
    for line in response:
        name, _, value = line.decode().rstrip("\n").partition(": ")
        if name:
            fields[name] = value
        elif "data" in fields:
            yield fields["event"], json.loads(fields["data"])
            fields = {}


@contextmanager
def started(*args, folder, env=None):
    """Run the service in a folder until the block ends; give a client of it."""
    command = [sys.executable, "-c", MAIN, "serve", "--port", "0", *map(str, args)]
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )
    errors = []
    reading = threading.Thread(target=lambda: errors.extend(process.stderr), daemon=True)
    reading.start()
    try:
        said = process.stdout.readline()
        assert said, errors or process.wait(PATIENCE_S)
        client = Client(re.search(r"https?://\S+", said)[0], process)
        client.errors = errors
        yield client
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)
        reading.join(PATIENCE_S)
        process.stdout.close()
        process.stderr.close()


def recover(client, begun, answers):
    """Do all that a session asks for, as a robot does, and approve what it asks of a person; return how it ended."""
    now, done = begun, []
    name = begun["session"]
    while now["request"]["kind"] != "end":
        request = now["request"]
        match request["kind"]:
            case "measure":
                found = answers[request["act"]["probe"]]
                now = client.post(
                    f"/api/sessions/{name}/reply", {"to": request["number"], "done": True, "finding": found}
                )
            case "perform":
                now = client.post(f"/api/sessions/{name}/reply", {"to": request["number"], "done": True})
            case "wait":
                said = {"token": now["asked"]["token"], "granted": True, "by": "Ada"}
                now = client.post(f"/api/sessions/{name}/answer", said)
            case "decide":
                now = client.get(f"/api/sessions/{name}/request?after={request['number']}&wait=20")
            case other:
                raise AssertionError(other)
        done.append(request["kind"])
    return now, done
