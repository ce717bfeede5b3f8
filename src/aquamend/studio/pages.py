"""Pages beside the service, each with the policy that stands in it as a header, too."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from html import unescape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from aquamend.serve.app import Pages
from aquamend.serve.service import Service
from aquamend.studio.start import Start, studio_html

_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def pages(start: Start) -> Callable[[Service], Pages]:
    """Return what makes the pages of a studio, for `serve`: the same page for everybody, at the root."""
    route = page_at("/", studio_html(start))
    return lambda service: [route]


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
