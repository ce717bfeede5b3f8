"""The application: requests are read and checked, handed to their routes, and answered; and its OpenAPI description."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any
from urllib.parse import unquote

from aquamend.errors import InvalidData, MissingLibrary

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.routing import Route as Path
    from starlette.types import ASGIApp
except ImportError:
    raise MissingLibrary("starlette", "serve", "or use the commands of `aquamend`") from None

from aquamend.codec import form_of, load
from aquamend.codec.annotations import entries
from aquamend.codec.forms import SHARED
from aquamend.recovery import Receipt
from aquamend.recovery.plain import from_json, to_json
from aquamend.serve.guarding import MOST_DRAINED, Door, DoorKeeper
from aquamend.serve.problem_details import MEDIA_TYPE, Refusal, Refused, malformed, refusal, refusal_of
from aquamend.serve.routes import ROUTES, RequestRead, Route
from aquamend.serve.service import Service

log = logging.getLogger("aquamend.serve")

Pages = Sequence[BaseRoute]
"""More that is served behind the same door."""
BODY_S = 20.0
"""How long a request may take to arrive."""
LARGEST_IN_QUERY = 10**9
"""No number behind the question mark of an address needs to be larger."""
_ALWAYS = (400, 401, 403, 421, 500, 503)
"""Statuses of faults that any request may meet."""
_OF_BODIES = (408, 413, 415, 422)
_OF_NAMES = (404,)
_NUMBER = re.compile(r"\d{1,30}(\.\d{0,30})?(e[-+]?\d{1,3})?", re.IGNORECASE)


def application(service: Service, own: Door, *, more: Pages = ()) -> ASGIApp:
    """Return the service as an ASGI application; ``more`` are pages beside it, behind the same door."""

    @asynccontextmanager
    async def running(app: Starlette) -> AsyncIterator[None]:
        await service.start()
        try:
            yield
        finally:
            await service.close()

    described = to_json(description(ROUTES))

    async def openapi(request: Request) -> Response:
        return Response(described, media_type="application/json")

    by_path: dict[str, dict[str, Route]] = {}
    for route in ROUTES:
        by_path.setdefault(route.path, {})[route.method] = route
    paths = [Path(path, _Endpoint(service, routes)) for path, routes in by_path.items()]
    handlers: Any = {HTTPException: _not_found, Exception: _broken}
    app = Starlette(
        routes=[Path("/api/openapi.json", openapi), *paths, *more], lifespan=running, exception_handlers=handlers
    )
    app.router.redirect_slashes = False
    return DoorKeeper(_as_written(app), own)


def _as_written(app: ASGIApp) -> ASGIApp:
    """Return an application that sees paths as they were sent: in a name, %2F is a letter and no end of it."""

    async def routed(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and "raw_path" in scope:
            scope = {**scope, "path": scope["raw_path"].decode("latin-1")}
        await app(scope, receive, send)

    return routed


class _Endpoint:
    """Answers what can be asked under one path."""

    def __init__(self, service: Service, routes: Mapping[str, Route]) -> None:
        self._service, self._routes = service, routes

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        route = self._routes.get("GET" if request.method == "HEAD" else request.method)
        if route is None:
            allowed = ", ".join(self._routes)
            refused = refusal(405, "wrong-method", f"{request.method} is not possible here; use {allowed}")
            response = _refused(refused, {"allow": allowed})
        else:
            response = await self._answered(route, request)
        await response(scope, receive, send)

    async def _answered(self, route: Route, request: Request) -> Response:
        try:
            try:
                data = {} if route.body is None else await _sent(request, self._service.limits.body)
                body = None if route.body is None else load(route.body, data, "request", complete=False)
                query = _query(route.query, request)
            except InvalidData as error:
                return _refused(malformed(error))
            path = {name: unquote(part) for name, part in request.path_params.items()}
            answer = await route.handle(RequestRead(self._service, request, body, data, query, path))
            if isinstance(answer, Response):
                return answer
            return Response(to_json(answer), route.status, media_type="application/json")
        except (ClientDisconnect, asyncio.CancelledError):
            raise
        except Exception as error:
            found = refusal_of(error)
            if found.status >= 500 and not isinstance(error, Refused):
                log.exception("%s %s", request.method, request.url.path)
            return _refused(found)


async def _sent(request: Request, most: int) -> Mapping[str, Any]:
    """Return the JSON object that was sent, if it is no larger than allowed and comes in time."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(refusal(415, "wrong-type", f"the body is {kind[:100]!r}; send 'application/json'"))
    parts, size = [], 0
    try:
        async with asyncio.timeout(BODY_S):
            async for part in request.stream():
                size += len(part)
                if size <= most:
                    parts.append(part)
                elif size > MOST_DRAINED * most:
                    break
    except TimeoutError:
        raise Refused(refusal(408, "too-slow", f"the request has not come within {BODY_S:g} s")) from None
    if size > most:
        raise Refused(refusal(413, "too-large", f"a request may have at most {most:,} bytes"))
    data = from_json(b"".join(parts))
    if not isinstance(data, Mapping):
        raise InvalidData("request", "it is no JSON object; give keys and values")
    return data


def _query(kind: type | None, request: Request) -> Any:
    """Return what stands behind the question mark of an address; numbers are all there can be."""
    known = {} if kind is None else entries(kind)
    read: dict[str, Any] = {}
    for name, text in request.query_params.multi_items():
        if name not in known or name in read:
            listed = ", ".join(known) or "none"
            raise InvalidData("query", f"{name[:100]!r} has no meaning here, or is given twice; the keys are: {listed}")
        if not _NUMBER.fullmatch(text):
            raise InvalidData(f"query.{name}", f"{text[:100]!r} is no number of at least 0")
        read[name] = int(text) if text.isdigit() else float(text)
        if read[name] > LARGEST_IN_QUERY:
            raise InvalidData(f"query.{name}", f"{text[:100]} is more than {LARGEST_IN_QUERY:,}")
    return None if kind is None else load(kind, read, "query", complete=False)


def _refused(found: Refusal, headers: Mapping[str, str] | None = None) -> Response:
    more = dict(headers or {})
    if found.retry_after_s is not None:
        more["retry-after"] = str(found.retry_after_s)
    return Response(to_json(found.to_data()), found.status, more, media_type=MEDIA_TYPE)


async def _not_found(request: Request, error: HTTPException) -> Response:
    if error.status_code == 404:
        what = f"there is nothing at {request.url.path[:200]!r}; see /api/openapi.json"
        return _refused(refusal(404, "no-such-address", what), error.headers)
    return _refused(refusal(error.status_code, "http", error.detail), error.headers)


async def _broken(request: Request, error: Exception) -> Response:
    return _refused(refusal_of(error))


def description(routes: Sequence[Route]) -> dict[str, Any]:
    """Return the OpenAPI document, version 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route, routes)
    schemas = {**SHARED, "Refusal": form_of(Refusal).schema(), "Receipt": form_of(Receipt).schema()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "AquaMend",
            "version": version("aquamend"),
            "description": "Problems, decisions, recovery sessions, approvals and live events. Every fault is a "
            'problem document (RFC 9457). Infinity is written as the text "inf".',
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "schemas": {name: _referring(schema) for name, schema in schemas.items()},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "Needed where the service has a token."}
            },
        },
        "security": [{}, {"token": []}],
    }


def _operation(route: Route, routes: Sequence[Route]) -> dict[str, Any]:
    names = re.findall(r"{(\w+)}", route.path)
    inputs = bool(route.body or route.query)
    faults = {*_ALWAYS, *route.faults, *(_OF_NAMES if names or route.body else ()), *(_OF_BODIES if inputs else (422,))}
    responses: dict[str, Any] = {
        str(route.status): {
            "description": "As asked.",
            "content": {route.media_type: {"schema": _referring(route.answers)}},
            **({} if route.names is None else {"links": _links(route, routes)}),
        }
    }
    if route.operation == "live_session":
        responses["204"] = {"description": "The session has ended, and all of it is known already."}
    for status in sorted(faults):
        content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Refusal"}}}
        responses[str(status)] = {"description": "Refused; the document says why.", "content": content}
    return {
        "operationId": route.operation,
        "summary": route.summary,
        "parameters": [*(_in_path(name) for name in names), *_in_query(route.query)],
        **({} if route.body is None else {"requestBody": _body(route.body)}),
        "responses": responses,
    }


def _links(route: Route, routes: Sequence[Route]) -> dict[str, Any]:
    """Return what can be done next with the name that an answer gives."""
    own = f"{{{route.names}}}"
    parameters = {str(route.names): f"$response.body#/{route.names}"}
    return {
        other.operation: {"operationId": other.operation, "parameters": parameters}
        for other in routes
        if own in other.path and other is not route and other.media_type == "application/json"
    }


def _in_path(name: str) -> dict[str, Any]:
    schema = {"type": "string", "minLength": 1, "pattern": "^[^/]+$"}
    return {"name": name, "in": "path", "required": True, "schema": schema}


def _in_query(kind: type | None) -> list[dict[str, Any]]:
    found = form_of(kind).schema()["properties"] if kind is not None else {}
    listed = []
    for name in found:
        whole = "integer" in str(found[name])
        schema = {"type": "integer" if whole else "number", "minimum": 0, "maximum": LARGEST_IN_QUERY}
        listed.append(
            {"name": name, "in": "query", "schema": schema, "description": found[name].get("description", "")}
        )
    return listed


def _body(kind: type) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": _referring(form_of(kind).schema())}}}


def _referring(schema: Any) -> Any:
    """Return a schema that refers to the document's own components."""
    if isinstance(schema, Mapping):
        return {
            key: one.replace("#/$defs/", "#/components/schemas/") if key == "$ref" else _referring(one)
            for key, one in schema.items()
        }
    return [_referring(one) for one in schema] if isinstance(schema, list | tuple) else schema
