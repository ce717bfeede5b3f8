"""The replay in three dimensions: one HTML file that needs nothing else, not even a network.

It shows one execution, or two side by side on one clock. The list of moments is plain HTML and can be read without a
script; ``assets/replay.js`` (built from ``viewer/``) adds the picture, the clock, the costs and the posterior.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from importlib.resources import files

from aquamend.recovery.acts import Receipt
from aquamend.story.page import page as filled_in
from aquamend.story.story import Choice, Kind, Moment, Story, Update
from aquamend.text import percent
from aquamend_lab.pouring.replay.recording import Recording, to_bytes

OPTIONS_SHOWN = 4
"""Of the alternatives of a decision; the others are folded away."""
EXPLANATIONS_SHOWN = 7
"""Of what may be the matter; the others are one row."""

Execution = tuple[Recording, Story]

_TWO = (
    "The same table and the same alarm, bit for bit; from there on each policy recovers on a branch of its own. One "
    "clock drives both sides."
)


def replay_html(executions: Sequence[Execution], *, page: str | None = None) -> str:
    """Return a page that plays one recording beside its story, or two of them side by side.

    It is self-contained and asks the network for no file. ``page`` is a relative link back to the story with pictures.
    """
    stories = [story for _, story in executions]
    several = len(executions) > 1
    known = any(story.moments for story in stories)
    return filled_in(
        "replay.html",
        package="aquamend_lab.pouring.replay",
        script=_asset("replay.js"),
        style=_asset("replay.css"),
        data=_page_data(executions),
        title=f"{stories[0].title}, {' versus '.join(s.policy for s in stories)}" if several else stories[0].title,
        lead=_TWO if several else stories[0].lead,
        back=page,
        layout=" ".join(["versus" if several else "single", *([] if known else ["untold"])]),
        several=several,
        sides=[_side(recording, story) for recording, story in executions],
    )


def without_story(title: str) -> Story:
    """Return a story of which nothing but its title is known, for a recording that comes alone."""
    return Story(title, "A recording of poses alone; what was decided was not saved with it.", unit="s", success=True)


def _side(recording: Recording, story: Story) -> dict[str, object]:
    return {
        "story": story,
        "moments": [(moment, _clock(moment.time), _options(moment.choice)) for moment in _in_order(story)],
        "recording": base64.b64encode(to_bytes(recording)).decode("ascii"),
    }


def _clock(time: float) -> str:
    seconds = math.floor(time + 1e-6)
    return f"{seconds // 60}:{seconds % 60:02d}"


def _options(choice: Choice | None) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the alternatives by what they cost more than the best; the second list can be folded away."""
    options = () if choice is None else choice.options
    finite = sorted(option.loss for option in options if math.isfinite(option.loss))
    least, most = min(finite, default=0.0), max(finite[:OPTIONS_SHOWN], default=1.0)
    rows = []
    for option in options:
        more = option.loss - least
        share = 1.0 if math.isinf(more) else min(1.0, more / (most - least)) if most > least else 0.0
        text = "least" if more < 1e-9 else "∞" if math.isinf(more) else f"+{more:.1f}"
        rows.append({"name": option.name, "chosen": option.chosen, "share": 100.0 * share, "text": text})
    shown = [row for i, row in enumerate(rows) if i < OPTIONS_SHOWN or row["chosen"]]
    return shown, [row for row in rows if row not in shown]


def _asset(name: str) -> str:
    return (files("aquamend_lab.pouring.replay") / "assets" / name).read_text(encoding="utf-8")


def _in_order(story: Story) -> list[Moment]:
    return sorted(story.moments, key=lambda moment: moment.time)


def _page_data(executions: Sequence[Execution]) -> dict[str, object]:
    """Return what the script needs of the stories; what the moments say is in the page already."""
    times_s = [float(time) for recording, _ in executions for time in (recording.times_s[0], recording.times_s[-1])]
    times_s += [moment.time for _, story in executions for moment in story.moments]
    return {
        "start_s": min(times_s),
        "end_s": max(times_s),
        "moments": _on_one_clock([_in_order(story) for _, story in executions]),
        "sides": [_side_data(story) for _, story in executions],
    }


def _on_one_clock(sides: Sequence[Sequence[Moment]]) -> list[dict[str, object]]:
    """Return all moments in the order of time, each with its row in the list of every side, or none there.

    What the sides have in common, up to their alarm, is there once.
    """
    common = 0
    while len(sides) > 1 and common < min(map(len, sides)) and len({id(side[common]) for side in sides}) == 1:
        common += 1
    everywhere = [(moment, [row] * len(sides)) for row, moment in enumerate(sides[0][:common])]
    later = [
        (moment, [row if i == side else None for i in range(len(sides))])
        for side, moments in enumerate(sides)
        for row, moment in enumerate(moments)
        if row >= common
    ]
    later.sort(key=lambda entry: entry[0].time)
    return [
        {"time_s": moment.time, "kind": moment.kind.value, "title": moment.title, "rows": rows}
        for moment, rows in [*everywhere, *later]
    ]


def _side_data(story: Story) -> dict[str, object]:
    ended = [moment.time for moment in story.moments if moment.kind is Kind.ENDED]
    return {
        "unit": story.unit,
        "success": story.success,
        "ended_s": ended[-1] if ended else None,
        "posteriors": _posteriors(story.updates),
        "costs": [_cost(receipt) for receipt in story.receipts if receipt.start_s is not None],
        "beliefs": [[b.time, dict(b.places_m), dict(b.levels_g), b.flowing] for b in story.beliefs],
    }


def _cost(receipt: Receipt) -> list[object]:
    start = receipt.start_s or 0.0
    return [str(receipt.charge), start, start if receipt.end_s is None else receipt.end_s, receipt.cost]


def _posteriors(posteriors: Sequence[Update]) -> list[dict[str, object]]:
    """Return every posterior as rows that keep their places, the ever likeliest first; the rest are one row."""
    names = list(dict.fromkeys(name for update in posteriors for name in update.explanations))
    most = {name: max(p.explanations.get(name, 0.0) for p in posteriors) for name in names}
    kept = sorted(names, key=lambda name: -most[name])[:EXPLANATIONS_SHOWN]
    found: list[dict[str, object]] = []
    for update in posteriors:
        rows = [[name, (share := update.explanations.get(name, 0.0)), percent(share)] for name in kept]
        rest = max(0.0, 1.0 - math.fsum(update.explanations.get(name, 0.0) for name in kept))
        found.append({"time_s": update.time, "when": update.when, "rows": rows, "others": [rest, percent(rest)]})
    return found
