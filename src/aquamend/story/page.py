"""Stories as HTML pages that load nothing from elsewhere.

A template holds what can be read without a script; the viewer's script (built from ``viewer/``) draws the charts from
the story's JSON, which stands in the page.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aquamend.recovery.acts import charged
from aquamend.story.story import Story, comparison
from aquamend.text import percent, quantity, shown

if TYPE_CHECKING:
    from jinja2 import Environment

NOTHING_ELSE = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def story_html(story: Story, *, replay: str | None = None, back: str | None = None) -> str:
    """Return the page; ``replay`` is a relative link to the replay in three dimensions, ``back`` to a comparison."""
    return page(
        "story.html",
        title=story.title,
        story=story,
        data=story.to_data(),
        replay=_relative(replay),
        back=_relative(back),
    )


def comparison_html(pages: Mapping[str, Story], *, replay: str | None = None) -> str:
    """Return a page that compares recoveries from the same alarm; ``pages`` are relative links to their own pages."""
    stories = list(pages.values())
    return page(
        "comparison.html",
        title=f"{stories[0].title}, {' versus '.join(story.policy for story in stories)}",
        data={"stories": [story.to_data() for story in stories], "dearest": max(charged(s.receipts) for s in stories)},
        sides=[(_relative(link), story) for link, story in pages.items()],
        rows=list(comparison(stories)),
        replay=_relative(replay),
    )


def page(
    template: str,
    *,
    data: object,
    script: str = "",
    style: str = "",
    package: str = "aquamend.story",
    connects: bool = False,
    later: Mapping[str, str] | None = None,
    **values: Any,
) -> str:
    """Return a package's template filled in; the page may load nothing, and run this script alone.

    ``connects`` says whether the script may ask the service that the page comes from, and show other pages of it in a
    frame. ``later`` are scripts that stand in the page as text, by the names under which the script may have them run.
    """
    code = _embeddable(script or asset("story.js"))
    parts = {name: _embeddable(part) for name, part in (later or {}).items()}
    return (
        _environment(package)
        .get_template(template)
        .render(
            policy=content_policy(code, *parts.values(), connects=connects),
            script=code,
            later=parts,
            style=f"{asset('palette.css')}{style or asset('story.css')}",
            json=json_in_html(data),
            **values,
        )
    )


def _embeddable(script: str) -> str:
    return script.replace("</script", "<\\/script")


def content_policy(*scripts: str, connects: bool = False) -> str:
    """Return the policy of a page that may load nothing and run these scripts alone."""
    hashes = " ".join(f"'sha256-{digest(script)}'" for script in scripts)
    return f"{NOTHING_ELSE}; script-src {hashes}" + ("; connect-src 'self'; frame-src 'self'" if connects else "")


def asset(name: str) -> str:
    """Return a file that the viewer was built into."""
    return (files("aquamend.story") / "assets" / name).read_text(encoding="utf-8")


@cache
def _environment(package: str) -> Environment:
    """Return what fills templates in: all that is not marked as a page already is escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader("aquamend.story")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: _plain(value) if isinstance(value, str) else value,
    )
    made.filters |= {"quantity": quantity, "percent": percent}
    return made


def json_in_html(data: object) -> str:
    """Return JSON in which no letter can end the element that holds it."""
    text = json.dumps(_printable(data), allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _printable(data: Any) -> Any:
    """Return data whose texts hold no control characters."""
    match data:
        case str():
            return _plain(data)
        case Mapping():
            return {_plain(str(key)): _printable(value) for key, value in data.items()}
        case Sequence():
            return [_printable(value) for value in data]
        case _:
            return data


def _plain(text: str) -> str:
    from markupsafe import Markup

    if isinstance(text, Markup):
        return text
    return text if text.isprintable() else "\n".join(shown(line) for line in text.split("\n"))


def digest(script: str) -> str:
    """Return what a page's policy knows a script by."""
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _relative(link: str | None) -> str | None:
    if link is None:
        return None
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or not link.strip():
        raise ValueError(f"{link!r} is not a relative link; pass the path as seen from the page")
    return link
