"""Pages beside the service, each with the policy that stands in it as a header, too."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import partial
from html import unescape
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route

from aquamend.serve.app import Pages
from aquamend.serve.service import Service
from aquamend.studio.start import Start, replay_file, studio_html

_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


SHUT_IN = (
    "sandbox allow-scripts; default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; frame-ancestors 'self'"
)
"""What a replay may do, whoever made it: run in its frame and draw, but load nothing, ask nothing and reach no page."""


def pages(start: Start, *, beside: Path | None = None) -> Callable[[Service], Pages]:
    """Return what makes the pages of a studio, for `serve`: the same page for everybody, at the root.

    The replays of its sessions lie in the folder ``beside``.
    """
    routes = [page_at("/", studio_html(start)), page_at("/replay", partial(_replay, beside))]
    return lambda service: routes


async def _replay(beside: Path | None, request: Request) -> Response:
    """Return the replay of ``?session=NAME``; with HEAD one can ask whether there is one."""
    file = None if beside is None else beside / replay_file(request.query_params.get("session", ""))
    if file is None or not await asyncio.to_thread(_is_file, file):
        return Response(status_code=204)
    return FileResponse(file, media_type="text/html", headers={"content-security-policy": SHUT_IN})


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:  # a name that is longer than a file's can be
        return False


def page_at(path: str, page: str | Callable[[Request], Awaitable[Response]]) -> Route:
    """Return a page under a path, or whatever makes one when it is asked for."""
    if not isinstance(page, str):
        return Route(path, page)
    found = html_response(page)

    async def same(request: Request) -> Response:
        return found

    return Route(path, same)


def html_response(html: str) -> Response:
    """Return a page with the policy that stands in it."""
    found = _POLICY.search(html)
    policy = "default-src 'none'" if found is None else unescape(found[1])
    return HTMLResponse(html, headers={"content-security-policy": f"{policy}; frame-ancestors 'none'"})
