"""The OpenAPI description of the service, from the same routes that answer."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

from aquamend.codec import form_of
from aquamend.codec.forms import SHARED
from aquamend.recovery import Receipt
from aquamend.serve.problem_details import MEDIA_TYPE, Refusal
from aquamend.serve.routes import Route

LARGEST_IN_QUERY = 10**9
"""No number behind the question mark of an address needs to be larger."""
_ALWAYS = (400, 401, 403, 421, 500, 503)
"""Statuses of faults that any request may meet."""
_OF_BODIES = (408, 413, 415, 422)
_OF_NAMES = (404,)


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
