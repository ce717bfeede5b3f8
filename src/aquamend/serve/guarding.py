"""Who may ask at all: the right host, no page of somebody else's, the token where there is one, and so many bytes.

It stands before everything else, so that nothing behind it can be reached past it.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aquamend.recovery.plain import to_json
from aquamend.serve.problem_details import MEDIA_TYPE, Refusal, refusal

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
SHORTEST_TOKEN = 16
"""Characters of a token, at least."""
MOST_DRAINED, DRAIN_S = 4, 5.0
"""Of a request that is refused no more is read than so many times what one may have, and no longer."""
SAFE_HEADERS: Mapping[str, str] = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
"""What every response says, unless it says otherwise itself."""


@dataclass(frozen=True, slots=True)
class Door:
    """Which requests are let in."""

    hosts: frozenset[str]
    """Names and addresses under which the service may be asked for."""
    any_address: bool = False
    """Whether every address will do: a page cannot be made to send one of its own."""
    token: str | None = None
    body: int = 4 * 1024 * 1024
    """Most bytes of a request."""

    def refusal(self, headers: Headers) -> Refusal | None:
        """Return why a request with these headers is not let in; None where it is."""
        host = headers.get("host", "")
        if not self._is_ours(host):
            what = f"the host {host[:200]!r} is none of {', '.join(sorted(self.hosts))}; add it with --name"
            return refusal(421, "wrong-host", what)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and urlsplit_or_none(origin) != host.lower():
            return refusal(403, "wrong-origin", f"a page of {origin[:200]!r} may not ask here")
        if site not in (None, "same-origin", "none"):
            return refusal(403, "wrong-origin", "a page of another site may not ask here")
        if self.token is not None and not _bears(headers, self.token):
            what = "give the token of the service in the header 'Authorization: Bearer TOKEN'"
            return refusal(401, "no-token", what)
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit():
            return refusal(400, "bad-length", "the header Content-Length is no number")
        if int(length) > self.body:
            return self.too_large
        return None

    @property
    def too_large(self) -> Refusal:
        """What is said of a request that is too large."""
        return refusal(413, "too-large", f"a request may have at most {self.body:,} bytes")

    def _is_ours(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        return name in self.hosts or (self.any_address and is_address(name))


def urlsplit_or_none(origin: str) -> str | None:
    """Return the host and the port that an origin names; None where it is none of the web's."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.netloc.lower() if parts.scheme in ("http", "https") else None


def is_address(name: str) -> bool:
    """Whether this is a number of a machine, not a name of one."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether only programs of this machine can reach this address."""
    return host == "localhost" or (is_address(host) and ipaddress.ip_address(host).is_loopback)


def door(host: str, names: Collection[str], token: str | None, *, body: int) -> Door:
    """Return the door of a service that listens at a host, known by other names too."""
    everywhere = is_address(host) and ipaddress.ip_address(host).is_unspecified
    known = {*LOOPBACK_NAMES, *(name.lower() for name in names), *(() if everywhere else (host.lower(),))}
    return Door(frozenset(known), any_address=everywhere, token=token, body=body)


def _bears(headers: Headers, token: str) -> bool:
    kind, _, received = headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and hmac.compare_digest(received.strip().encode(), token.encode())


class DoorKeeper:
    """An application that lets in what a door lets in."""

    def __init__(self, app: ASGIApp, own: Door) -> None:
        self._app, self._door = app, own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = self._door.refusal(Headers(scope=scope))
            if refused is not None:
                await _drained(receive, MOST_DRAINED * self._door.body)
                await _refuse(refused, _with_headers(send))
            else:
                await self._app(scope, receive, _with_headers(send))


def _with_headers(send: Send) -> Send:
    async def safely(message: Message) -> None:
        if message["type"] == "http.response.start":
            received = {name.lower() for name, _ in message.get("headers", ())}
            more = [(k.encode(), v.encode()) for k, v in SAFE_HEADERS.items() if k.encode() not in received]
            message = {**message, "headers": [*message.get("headers", ()), *more]}
        await send(message)

    return safely


async def _drained(receive: Receive, most: int) -> None:
    """Read what is being sent, up to so many bytes: a sender who is not done might not see the answer."""
    try:
        async with asyncio.timeout(DRAIN_S):
            while most > 0 and (message := await receive()).get("more_body"):
                most -= len(message.get("body", b""))
    except TimeoutError:
        pass


async def _refuse(refused: Refusal, send: Send) -> None:
    said = to_json(refused.to_data()).encode()
    headers = [
        (b"content-type", MEDIA_TYPE.encode()), (b"content-length", str(len(said)).encode()), (b"connection", b"close")
    ]  # fmt: skip
    if refused.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": said})
