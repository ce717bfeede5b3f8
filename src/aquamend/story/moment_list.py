"""The moments of a recovery in time order: what was seen, weighed and done, with pictures."""

from __future__ import annotations

from base64 import b64encode
from itertools import groupby

from aquamend.story.losses_chart import option_bars
from aquamend.story.markup import safe, seconds
from aquamend.story.story import Kind, Moment, Story

KIND_WORDS = {
    Kind.BELIEVED: "measures",
    Kind.ACTED: "acts",
    Kind.ALARM: "alarm",
    Kind.PROBED: "looks again",
    Kind.DECIDED: "decides",
    Kind.ENDED: "end",
    Kind.REVEALED: "unseen by the robot",
}
"""What the page calls each kind of moment."""

_PNG = b"\x89PNG\r\n\x1a\n"


def moment_list(story: Story) -> str:
    """Return every moment; runs of plain actions are folded into one line each."""
    ordered = sorted(story.moments, key=lambda moment: moment.time_s)
    if not ordered:
        return "<p>No moments were recorded.</p>"
    items = []
    for plain, run in groupby(ordered, key=is_plain):
        moments = tuple(run)
        items += [_plain_run(moments)] if plain else [_moment(moment, story.unit) for moment in moments]
    return f'<ol class="story">\n{"".join(items)}</ol>'


def is_plain(moment: Moment) -> bool:
    """Return whether a moment is an action that went as it should, with no more to show than a line."""
    return moment.kind is Kind.ACTED and not moment.failed and moment.still is None and not moment.options


def still_figure(moment: Moment) -> str:
    """Return the picture of a moment inside the page itself; nothing where there is none."""
    if moment.still is None:
        return ""
    at = seconds(moment.time_s if moment.still_s is None else moment.still_s)
    alt = f"The scene at {at}: {moment.title}"
    uri = b64encode(moment.still).decode("ascii")
    return (
        f'<figure class="still"><img src="data:image/png;base64,{uri}" alt="{safe(alt)}"{_size(moment.still)}>'
        f"<figcaption>The scene at {at}</figcaption></figure>"
    )


def _moment(moment: Moment, unit: str) -> str:
    text = f"<p>{safe(moment.told)}</p>" if moment.told else ""
    figure = still_figure(moment)
    return (
        f'<li class="moment {moment.kind.value}{" pictured" if figure else ""}">{_time(moment.time_s)}'
        f'<div class="telling"><h3><span class="kind">{KIND_WORDS[moment.kind]}</span> {safe(moment.title)}</h3>'
        f"{text}{option_bars(moment.options, unit, reading=moment.weighing)}</div>{figure}</li>\n"
    )


def _plain_run(moments: tuple[Moment, ...]) -> str:
    lines = "".join(f"<li><span>{seconds(moment.time_s)}</span> {_line(moment)}</li>" for moment in moments)
    return (
        f'<li class="moment acted plain">{_time(moments[0].time_s)}'
        f'<div class="telling"><span class="kind">{KIND_WORDS[Kind.ACTED]}</span><ul>{lines}</ul></div></li>\n'
    )


def _line(moment: Moment) -> str:
    return f"{safe(moment.title)}{f': {safe(moment.text)}' if moment.text else ''}"


def _time(time_s: float) -> str:
    return f'<span class="time">{seconds(time_s)}</span>'


def _size(png: bytes) -> str:
    """Return the size attributes of a PNG, so that nothing on the page moves while it is decoded."""
    if not png.startswith(_PNG) or len(png) < 24:
        return ""
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    return f' width="{width}" height="{height}"'
