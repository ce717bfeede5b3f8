"""Who may ask, and how much: nothing reaches the service past its door."""

import json
import logging
import socket
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers
from tests.adapters.problems import CUP
from tests.serve.running import JSON, started

from aquamend.serve.guarding import door, is_loopback

TOKEN = "correct-horse-battery-staple"
LOCAL = door("127.0.0.1", (), None, body=1000)


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "", "[", "192.168.0.7"]
)
def test_a_request_for_another_host_is_refused(service, host):
    status, _, said = service.raw("GET", "/api", headers={"Host": host})
    assert (status, json.loads(said)["type"]) == (421, "urn:aquamend:wrong-host")


@pytest.mark.parametrize("host", ["localhost", "localhost:1", "127.0.0.1:8642", "[::1]:8642"])
def test_this_machine_is_known_by_its_names(service, host):
    assert service.raw("GET", "/api", headers={"Host": host})[0] == 200


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "https://127.0.0.1.evil.example",
        "file://",
        "http://127.0.0.1:1",
        "x" * 300,
        "http://[",
    ],
)
def test_a_page_of_somebody_else_may_not_ask(service, origin):
    assert service.refused("GET", "/api", Origin=origin) == (403, "wrong-origin")
    assert service.refused("POST", "/api/decide", {"kept": "cup"}, Origin=origin) == (403, "wrong-origin")


def test_a_page_of_ours_may_ask(service):
    host = f"127.0.0.1:{service.port}"
    assert service.get("/api", Origin=f"http://{host}", Host=host, Sec_Fetch_Site="same-origin")
    assert service.refused("GET", "/api", Sec_Fetch_Site="cross-site") == (403, "wrong-origin")
    assert service.refused("GET", "/api", Sec_Fetch_Site="same-site") == (403, "wrong-origin")


def test_nobody_is_allowed_to_read_across_origins(service):
    _, headers, _ = service.raw("GET", "/api")
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_what_a_form_can_send_is_no_request(service, kind):
    status, _, said = service.raw("POST", "/api/decide", '{"kept": "cup"}', {"content-type": kind} if kind else {})
    assert (status, json.loads(said)["type"]) == (415, "urn:aquamend:wrong-type")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400), ("{", 400), ("[]", 400), ("null", 400), ("NaN", 400), ('{"kept": NaN}', 400), ("[" * 100_000, 400),
        ('{"kept": ' + "1" * 5000 + "}", 400), ("\x00", 400), (b"\xff\xfe", 400), ('{"kept": "\\ud800"}', 400),
        ('{"problem": "&a [*a]"}', 422), ("x" * 5_000_000, 413), ('{"problem": {"format": 1e999}}', 422),
    ],
)  # fmt: skip
def test_any_body_has_an_answer(service, body, status):
    found, headers, said = service.raw("POST", "/api/decide", body, JSON)
    assert (found, headers["content-type"]) == (status, "application/problem+json")
    assert json.loads(said)["detail"]


def test_a_body_without_a_length_is_counted_as_it_comes(service):
    parts = (b" " * 100_000 for _ in range(100))
    status, _, said = service.raw("POST", "/api/decide", parts, JSON)
    assert (status, json.loads(said)["type"]) == (413, "urn:aquamend:too-large")


@pytest.mark.parametrize(
    ("method", "path", "status", "kind"),
    [
        ("GET", "/", 404, "no-such-address"), ("GET", "/api/", 404, "no-such-address"),
        ("GET", "/api/../../etc/passwd", 404, "no-such-address"), ("GET", "/api/decide", 405, "wrong-method"),
        ("DELETE", "/api", 405, "wrong-method"), ("BREW", "/api", 405, "wrong-method"),
        ("GET", "/api?token=secret", 400, "malformed"),
        ("GET", "/api/sessions/x/events?after=a", 400, "malformed"),
        ("GET", "/api/sessions/x/events?after=1&after=2", 400, "malformed"),
        ("GET", "/api/sessions/x/request?wait=inf", 400, "malformed"),
        ("GET", "/api/sessions/%00", 404, "unknown-name"), ("GET", "/api/sessions/%F0%9F", 404, "unknown-name"),
    ],
)  # fmt: skip
def test_any_address_has_an_answer(service, method, path, status, kind):
    assert service.refused(method, path) == (status, kind)


@pytest.mark.parametrize(
    "said",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\x16\x03\x01\x02\x00",
        b"GET /api HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
    ],
)
def test_what_is_no_http_is_told_so(service, said):
    with socket.create_connection((service.host, int(service.port)), timeout=60) as raw:
        raw.sendall(said + b"\r\n" * 10)
        answer = raw.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith((b"HTTP/1.1 400", b"HTTP/1.1 421"))
    assert json.loads(body)["status"] in (400, 421)


@given(st.text(max_size=60))
def test_no_odd_host_or_origin_is_let_in(text):
    headers = {"host": text.encode("latin-1", "replace").decode("latin-1")}
    refused = LOCAL.refusal(Headers(headers))
    name = headers["host"].rpartition(":")[0] or headers["host"]
    assert (refused is None) <= any(known in headers["host"].lower() for known in ("localhost", "127.0.0.1", "::1")), (
        name
    )
    ours = {"host": "localhost", "origin": headers["host"]}
    assert LOCAL.refusal(Headers(ours)) is not None


def test_addresses_are_told_from_names():
    assert all(map(is_loopback, ("localhost", "127.0.0.1", "127.8.8.8", "::1")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.0.7", "robot", "localhost.evil.example")))
    everywhere = door("0.0.0.0", ("robot.lan",), TOKEN, body=1000)
    bearer = {"authorization": f"Bearer {TOKEN}"}
    for host in ("192.168.0.7:8642", "robot.lan", "localhost"):
        assert everywhere.refusal(Headers({"host": host, **bearer})) is None
    refused = everywhere.refusal(Headers({"host": "evil.example", **bearer}))
    assert refused is not None
    assert refused.status == 421


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    """Return a client of a service with a token, which all machines could reach."""
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "token").write_text(f"{TOKEN}\n")
    with started("--host", "0.0.0.0", "--token-file", "token", folder=folder) as client:
        yield client


@pytest.mark.parametrize("path", ["/api", "/api/openapi.json", "/api/sessions", "/nowhere", f"/api?token={TOKEN}"])
def test_nothing_is_said_without_the_token(guarded, path):
    assert guarded.refused("GET", path) == (401, "no-token")
    for wrong in ("", "Bearer", f"Bearer {TOKEN}x", f"Basic {TOKEN}", f"Bearer {TOKEN[:-1]}", TOKEN):
        assert guarded.refused("GET", path, Authorization=wrong) == (401, "no-token")


def test_the_token_opens_the_door_and_is_in_no_log(guarded):
    assert guarded.get("/api", Authorization=f"Bearer {TOKEN}")["version"]
    assert guarded.get("/api", authorization=f"bearer {TOKEN}")["version"]
    guarded.ask("GET", f"/api?token={TOKEN}", Authorization=f"Bearer {TOKEN}")
    guarded.ask("GET", "/nowhere", Authorization=f"Bearer {TOKEN}")
    time.sleep(0.05)
    assert TOKEN not in "".join(guarded.errors)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0"], "give a token"),
        (["--host", "::"], "give a token"),
        (["--host", "192.0.2.1"], "give a token"),
        (["--token-file", "none"], "cannot be read"),
        (["--token-file", "short"], "at least 16"),
        (["--certificate", "short"], "belong together"),
        (["--certificate", "short", "--key", "short"], "no certificate"),
        (["--certificate", "none", "--key", "none"], "no certificate"),
        (["cup.json", "./cup.json"], "another file of the name 'cup'"),
        (["nothing.yaml"], "does not exist"),
        (["short"], "short"),
    ],
)
def test_what_would_be_unsafe_is_not_started(run, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AQUAMEND_TOKEN", raising=False)
    (tmp_path / "short").write_text("1234")
    (tmp_path / "cup.json").write_text(json.dumps(CUP))
    result = run("serve", *options)
    assert result.exit_code == 2
    assert said in result.stderr
    assert not (tmp_path / "aquamend.journal").exists()


def test_a_port_that_is_taken_is_reported(run, service, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("serve", "--port", service.port)
    assert result.exit_code == 2
    assert "--port" in result.stderr


def teardown_module():
    logging.getLogger().handlers.clear()  # the program has set them up in this process
