"""The studio as a page beside the service."""

from __future__ import annotations

import re
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from aquamend.serve.app import Pages
from aquamend.serve.service import Service
from aquamend.studio.start import Start, studio_html

_POLICY = re.compile(r'http-equiv="Content-Security-Policy" content="([^"]*)"')


def pages(start: Start) -> Callable[[Service], Pages]:
    """Return what makes the pages of a studio, for `serve`: the same page for everybody, at the root."""
    html = studio_html(start)
    found = _POLICY.search(html)
    policy = "default-src 'none'" if found is None else found[1].replace("&#39;", "'")
    headers = {"content-security-policy": f"{policy}; frame-ancestors 'none'"}

    async def studio(request: Request) -> Response:
        return HTMLResponse(html, headers=headers)

    return lambda service: [Route("/", studio)]
