"""The service as a process: it listens, says where, and ends when it is asked to, with nothing half done."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from aquamend.errors import AquaMendError, MissingLibrary
from aquamend.recovery import Store
from aquamend.recovery.plain import to_json
from aquamend.serve.app import Pages, application
from aquamend.serve.guarding import SHORTEST_TOKEN, door, is_loopback
from aquamend.serve.problem_details import MEDIA_TYPE, Refusal, refusal
from aquamend.serve.service import Service, ServiceLimits

try:
    import uvicorn
    from uvicorn.protocols.http.h11_impl import H11Protocol
except ImportError:
    raise MissingLibrary("uvicorn", "serve", "or use the commands of `aquamend`") from None

FAREWELL_S = 5
"""How long requests may take to end once the service is asked to stop."""
PATIENCE_S = 20.0
"""How long a connection may stay without a request."""
MOST_CONNECTIONS = 1_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where the service listens, and who may ask there."""

    host: str = "127.0.0.1"
    port: int = 8642
    """0: one that is free."""
    names: Collection[str] = field(default=())
    """Other names under which it may be asked for."""
    token: str | None = None
    certificate: Path | None = None
    """With its key: for TLS."""
    key: Path | None = None

    def check(self) -> None:
        """Refuse a place that is open to others without a token."""
        if self.token is not None and (len(self.token) < SHORTEST_TOKEN or not self.token.isprintable()):
            raise AquaMendError(f"a token has at least {SHORTEST_TOKEN} printable characters; make one that is random")
        if not is_loopback(self.host) and self.token is None:
            raise AquaMendError(
                f"{self.host} can be reached from other machines: give a token in a file (--token-file) or in the "
                "environment (AQUAMEND_TOKEN), or listen on 127.0.0.1"
            )
        if (self.certificate is None) != (self.key is None):
            raise AquaMendError("--certificate and --key belong together; give both")
        if self.certificate is not None:
            try:
                ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(self.certificate, self.key)
            except OSError as error:
                what = f"{self.certificate} and {self.key} are no certificate with its key ({error})"
                raise AquaMendError(f"{what}; give both as PEM files") from None


def run_service(
    journal: Store,
    place: Place,
    *,
    limits: ServiceLimits | None = None,
    kept: Mapping[str, str] | None = None,
    more: Callable[[Service], Pages] = lambda service: (),
    ready: Callable[[str], None],
) -> None:
    """Run the service until it is asked to stop; ``ready`` hears its address once it can be asked.

    It keeps the problems of these texts from the start; ``more`` makes pages that are served beside it.
    """
    place.check()

    async def run(listening: socket.socket) -> None:
        service = Service(journal, limits=limits)
        service.problems |= kept or {}
        own = door(place.host, place.names, place.token, body=service.limits.body)
        config = uvicorn.Config(
            application(service, own, more=more(service)), log_config=None, access_log=False, server_header=False,
            proxy_headers=False, ws="none", lifespan="on", http=_Connection, timeout_graceful_shutdown=FAREWELL_S,
            ssl_certfile=place.certificate, ssl_keyfile=place.key,
        )  # fmt: skip
        scheme = "http" if place.certificate is None else "https"
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        await _Server(config, service, lambda: ready(f"{scheme}://{shown}:{port}")).serve([listening])

    with closing(_listening(place)) as listening:
        asyncio.run(run(listening))


def _listening(place: Place) -> socket.socket:
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, protocol)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(128)
        except BaseException:
            found.close()
            raise
    except OSError as error:
        what = f"cannot listen at {place.host}, port {place.port}: {error.strerror or error}"
        raise AquaMendError(f"{what}; give another --host or --port (0: one that is free)") from None
    return found


class _Connection(H11Protocol):
    """A connection that has to say soon what it wants, and hears what is wrong as everybody else does."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Give it some time, and turn it away where there are too many."""
        super().connection_made(transport)
        self.loop.call_later(PATIENCE_S, self._no_longer)
        if len(self.connections) > MOST_CONNECTIONS:
            self._say(refusal(503, "busy", "too many are connected; try again later", retry_after_s=5))

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP."""
        self._say(refusal(400, "no-http", "this is no HTTP request"))

    def _no_longer(self) -> None:
        asked: object = self.scope  # none before the first request
        if asked is None and not self.transport.is_closing():
            self._say(refusal(408, "too-slow", f"no request has come within {PATIENCE_S:g} s"))

    def _say(self, refused: Refusal) -> None:
        said = to_json(refused.to_data()).encode()
        head = f"HTTP/1.1 {refused.status} {refused.title}\r\ncontent-type: {MEDIA_TYPE}\r\n"
        self.transport.write(f"{head}content-length: {len(said)}\r\nconnection: close\r\n\r\n".encode() + said)
        self.transport.close()


class _Server(uvicorn.Server):
    """A server that lets go of its callers as soon as it is asked to stop."""

    def __init__(self, config: uvicorn.Config, service: Service, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service, self._ready = service, ready
        self._loop = asyncio.get_running_loop()

    async def startup(self, sockets: Sequence[socket.socket] | None = None) -> None:
        """Say where it listens, once it does."""
        await super().startup(None if sockets is None else list(sockets))
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop, and let everybody go; asked twice, at once."""
        self.force_exit = self.should_exit
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._service.stopping.set)
