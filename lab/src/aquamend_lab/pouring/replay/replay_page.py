"""The replay in three dimensions: one HTML file that needs nothing else, not even a network.

It shows one execution, or two side by side on one clock. The list of moments is plain HTML and can be read without a
script; ``assets/replay.js`` (built from ``viewer/``) adds the picture, the clock, the costs and the posterior.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from aquamend.recovery.receipts import Receipt
from aquamend.story.story import Kind, Moment, Option, Posterior, Story
from aquamend.text import percent
from aquamend_lab.pouring.replay.recording import Recording, to_bytes

OPTIONS_SHOWN = 4
"""Of the alternatives of a decision; the others are folded away."""
EXPLANATIONS_SHOWN = 7
"""Of what may be the matter; the others are one row."""

Execution = tuple[Recording, Story]

_WORDS = {
    Kind.BELIEVED: "believed",
    Kind.ACTED: "acted",
    Kind.ALARM: "alarm",
    Kind.PROBED: "probed",
    Kind.DECIDED: "decided",
    Kind.ENDED: "ended",
    Kind.REVEALED: "really",
}


def replay_html(executions: Sequence[Execution], *, page: str | None = None) -> str:
    """Return a page that plays one recording beside its story, or two of them side by side.

    It is self-contained and asks the network for nothing. ``page`` is a relative link back to the story with pictures.
    """
    script = _asset("replay.js").replace("</script", "<\\/script")
    stories = [story for _, story in executions]
    told = any(story.moments for story in stories)
    several = len(executions) > 1
    back = "" if page is None else f'<p><a class="back" href="{escape(page)}">← The story with pictures</a></p>\n'
    title = f"{stories[0].title}, {' versus '.join(s.policy for s in stories)}" if several else stories[0].title
    lead = _TWO if several else stories[0].lead
    return _PAGE.format(
        policy=escape(_content_policy(script)),
        title=escape(title),
        lead=escape(lead),
        back=back,
        style=_asset("replay.css"),
        layout=" ".join(["versus" if several else "single", *([] if told else ["untold"])]),
        sides="\n".join(_side(recording, story, several=several) for recording, story in executions),
        story=_json_in_html(_page_data(executions)),
        script=script,
    )


_TWO = (
    "The same table and the same alarm, bit for bit; from there on each policy recovers on a branch of its own. One "
    "clock drives both sides."
)


def _side(recording: Recording, story: Story, *, several: bool) -> str:
    who = f'<h2 class="who">{escape(story.policy)} <span class="result" hidden></span></h2>' if several else ""
    return _SIDE.format(
        who=who,
        moments="\n".join(_moment(moment, story.unit) for moment in _in_order(story)),
        verdict=escape(story.verdict),
        outcome="success" if story.success else "failure",
        recording=base64.b64encode(to_bytes(recording)).decode("ascii"),
    )


def _asset(name: str) -> str:
    return (files("aquamend.story") / "assets" / name).read_text(encoding="utf-8")


def _content_policy(script: str) -> str:
    """Return a policy that lets the page run this one script and load nothing from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"


def _in_order(story: Story) -> list[Moment]:
    return sorted(story.moments, key=lambda moment: moment.time_s)


def _page_data(executions: Sequence[Execution]) -> dict[str, object]:
    """Return what the script needs of the stories; what the moments say is in the page already."""
    times_s = [float(time) for recording, _ in executions for time in (recording.times_s[0], recording.times_s[-1])]
    times_s += [moment.time_s for _, story in executions for moment in story.moments]
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
    later.sort(key=lambda entry: entry[0].time_s)
    return [
        {"time_s": moment.time_s, "kind": moment.kind.value, "title": moment.title, "rows": rows}
        for moment, rows in [*everywhere, *later]
    ]


def _side_data(story: Story) -> dict[str, object]:
    ended = [moment.time_s for moment in story.moments if moment.kind is Kind.ENDED]
    return {
        "unit": story.unit,
        "success": story.success,
        "ended_s": ended[-1] if ended else None,
        "posteriors": _posteriors(story.posteriors),
        "costs": [_cost(receipt) for receipt in story.ledger if receipt.start_s is not None],
        "beliefs": [[b.time_s, dict(b.places_m), dict(b.levels_g)] for b in story.beliefs],
    }


def _cost(receipt: Receipt) -> list[object]:
    start = receipt.start_s or 0.0
    return [str(receipt.charge), start, start if receipt.end_s is None else receipt.end_s, receipt.cost]


def _posteriors(posteriors: Sequence[Posterior]) -> list[dict[str, object]]:
    """Return every posterior as rows that keep their places, the ever likeliest first; the rest are one row."""
    names = list(dict.fromkeys(name for posterior in posteriors for name in posterior.explanations))
    most = {name: max(p.explanations.get(name, 0.0) for p in posteriors) for name in names}
    ranked = sorted(names, key=lambda name: -most[name])
    kept = ranked if len(ranked) <= EXPLANATIONS_SHOWN else ranked[: EXPLANATIONS_SHOWN - 1]
    found: list[dict[str, object]] = []
    for posterior in posteriors:
        shares = [(name, posterior.explanations.get(name, 0.0)) for name in kept]
        if len(kept) < len(ranked):
            rest = math.fsum(posterior.explanations.get(name, 0.0) for name in ranked[len(kept) :])
            shares.append((f"{len(ranked) - len(kept)} others", rest))
        rows = [[name, share, percent(share)] for name, share in shares]
        found.append({"time_s": posterior.time_s, "when": posterior.when, "rows": rows})
    return found


def _json_in_html(data: object) -> str:
    """Return JSON in which no letter can end the element that holds it."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _moment(moment: Moment, unit: str) -> str:
    seconds = math.floor(moment.time_s + 1e-6)
    text = f'<p class="text">{escape(moment.told)}</p>' if moment.told else ""
    return (
        f'<li class="moment {moment.kind.value}"><button type="button">'
        f'<span class="time">{seconds // 60}:{seconds % 60:02d}</span>'
        f'<span class="kind">{_WORDS[moment.kind]}</span>'
        f'<span class="title">{escape(moment.title)}</span></button>'
        f"{text}{_options(moment, unit)}</li>"
    )


def _options(moment: Moment, unit: str) -> str:
    """Return the alternatives as bars, the cheapest first; the chosen one is always in sight."""
    options = moment.options
    if not options:
        return ""
    longest = max((option.loss for option in options if math.isfinite(option.loss)), default=1.0)
    ranked = sorted(options, key=lambda option: option.loss)
    shown = [option for i, option in enumerate(ranked) if i < OPTIONS_SHOWN or option.chosen]
    folded = [option for option in ranked if option not in shown]
    rows = "".join(_option(option, longest, unit) for option in shown)
    weighing = escape(moment.weighing) if moment.weighing else f"Expected loss of each choice, in {escape(unit)}."
    table = f'<p class="reading">{weighing}</p><ul>{rows}</ul>'
    if folded:
        rest = "".join(_option(option, longest, unit) for option in folded)
        table += f"<details><summary>{len(folded)} more</summary><ul>{rest}</ul></details>"
    return f'<div class="options">{table}</div>'


def _option(option: Option, longest: float, unit: str) -> str:
    finite = math.isfinite(option.loss)
    share = max(0.0, min(1.0, option.loss / longest)) if finite and longest > 0 else float(not finite)
    loss = f"{option.loss:.1f}" if finite else "∞"
    chosen = ' class="chosen"' if option.chosen else ""
    mark = '<span class="mark" aria-hidden="true">✓</span><span class="hidden">chosen: </span>' if option.chosen else ""
    return (
        f'<li{chosen}><span class="name">{mark}{escape(option.name)}</span>'
        f'<span class="track"><span class="fill" style="width:{100 * share:.1f}%"></span></span>'
        f'<span class="share" title="{escape(loss)} {escape(unit)}">{loss}</span></li>'
    )


_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}: replay</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body class="{layout}">
<header>
<h1>{title}</h1>
<p>{lead}</p>
{back}</header>
<main>
<div id="bar-of-buttons">
<div class="scrubber"><div id="ticks"></div><div class="line"></div>
<input id="scrub" type="range" aria-label="Time" value="0"></div>
<div class="row">
<button id="previous" type="button" aria-label="Previous moment" title="Previous moment (left arrow)"></button>
<button id="play" type="button" aria-label="Play" data-shows="play" title="Play or pause (space)"></button>
<button id="next" type="button" aria-label="Next moment" title="Next moment (right arrow)"></button>
<span id="now"></span>
<label class="linger"><input id="linger" type="checkbox" checked> linger at decisions</label>
<label class="speed"><span>speed</span> <select id="speed" aria-label="Speed">
<option value="0.5">0.5×</option><option value="1" selected>1×</option><option value="2">2×</option>
<option value="4">4×</option><option value="8">8×</option>
</select></label>
</div>
</div>
{sides}
</main>
<script type="application/json" id="story">{story}</script>
<script>{script}</script>
</body>
</html>
"""

_SIDE = """<section class="side">
{who}
<div class="stage">
<p class="caption" aria-live="polite" hidden><span class="kind"></span> <span class="title"></span></p>
<button class="begin" type="button"><span class="icon" aria-hidden="true"></span><span>Play the replay</span></button>
<div class="views"><button class="turn" type="button">Other side</button>
<button class="reset" type="button">Reset view</button></div>
<div class="trouble" hidden><p class="why"></p>
<p>What happened can still be read and played through in the list of moments.</p></div>
<noscript><div class="trouble"><p>The replay needs JavaScript. The moments can be read without it.</p></div></noscript>
</div>
<div class="costs" hidden><span class="sum"></span><span class="track"></span><span class="parts"></span></div>
<section class="posterior">
<h2>What the robot thinks happened <span class="when"></span></h2>
<ul class="explanations"></ul>
</section>
<section class="story" aria-label="What happened, moment by moment">
<h2>Moment by moment</h2>
<div class="scroll">
<ol class="moments">
{moments}
</ol>
<p class="verdict {outcome}">{verdict}</p>
</div>
</section>
<script type="application/octet-stream" class="recording">{recording}</script>
</section>"""
