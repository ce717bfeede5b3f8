"""The replay in three dimensions: one HTML file that needs nothing else, not even a network.

The list of moments is plain HTML and can be read without a script; ``assets/replay.js`` (built from ``viewer/``) adds
the picture, the clock and the posterior.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from aquamend.replay.recording import Recording, to_bytes
from aquamend.replay.story import Kind, Moment, Option, Story

OPTIONS_SHOWN = 4
"""Of the alternatives of a decision; the others are folded away."""

_WORDS = {
    Kind.BELIEVED: "believed",
    Kind.ACTED: "acted",
    Kind.ALARM: "alarm",
    Kind.PROBED: "probed",
    Kind.DECIDED: "decided",
    Kind.ENDED: "ended",
    Kind.REVEALED: "really",
}


def replay_html(recording: Recording, story: Story) -> str:
    """Return a page that plays the recording beside the story: self-contained, and it asks the network for nothing."""
    script = _asset("replay.js").replace("</script", "<\\/script")
    return _PAGE.format(
        policy=escape(_content_policy(script)),
        title=escape(story.title),
        lead=escape(story.lead),
        style=_asset("replay.css"),
        moments="\n".join(_moment(moment, story.unit) for moment in _in_order(story)),
        verdict=escape(story.verdict),
        outcome="success" if story.success else "failure",
        story=_json_in_html(_story_data(recording, story)),
        recording=base64.b64encode(to_bytes(recording)).decode("ascii"),
        script=script,
    )


def _asset(name: str) -> str:
    return (files("aquamend.replay") / "assets" / name).read_text(encoding="utf-8")


def _content_policy(script: str) -> str:
    """Return a policy that lets the page run this one script and load nothing from anywhere."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:"


def _in_order(story: Story) -> list[Moment]:
    return sorted(story.moments, key=lambda moment: moment.time_s)


def _story_data(recording: Recording, story: Story) -> dict[str, object]:
    """Return what the script needs of the story; what the moments say is in the page already."""
    times_s = [float(recording.times_s[0]), float(recording.times_s[-1])]
    times_s += [moment.time_s for moment in story.moments]
    return {
        "start_s": min(times_s),
        "end_s": max(times_s),
        "moments": [{"time_s": m.time_s, "kind": m.kind.value, "title": m.title} for m in _in_order(story)],
        "posteriors": [
            {"time_s": p.time_s, "when": p.when, "explanations": [[*pair] for pair in p.explanations.items()]}
            for p in story.posteriors
        ],
    }


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
        f"{text}{_options(moment.options, unit)}</li>"
    )


def _options(options: Sequence[Option], unit: str) -> str:
    """Return the alternatives as bars, the cheapest first; the chosen one is always in sight."""
    if not options:
        return ""
    longest = max((option.loss for option in options if math.isfinite(option.loss)), default=1.0)
    ranked = sorted(options, key=lambda option: option.loss)
    shown = [option for i, option in enumerate(ranked) if i < OPTIONS_SHOWN or option.chosen]
    folded = [option for option in ranked if option not in shown]
    rows = "".join(_option(option, longest, unit) for option in shown)
    table = f'<p class="reading">Expected loss of each choice, in {escape(unit)}; less is better.</p><ul>{rows}</ul>'
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
<body>
<header>
<h1>{title}</h1>
<p>{lead}</p>
</header>
<main>
<div class="watch">
<div id="stage">
<p id="caption" aria-live="polite" hidden><span class="kind"></span> <span class="title"></span></p>
<button id="begin" type="button"><span class="icon" aria-hidden="true"></span><span>Play the replay</span></button>
<div id="views"><button id="turn" type="button">Other side</button>
<button id="reset" type="button">Reset view</button></div>
<div id="trouble" hidden><p id="trouble-why"></p>
<p>What happened can still be read and played through in the list of moments.</p></div>
<noscript><div class="trouble"><p>The replay needs JavaScript. The moments can be read without it.</p></div></noscript>
</div>
<div id="bar-of-buttons">
<div class="scrubber"><div id="ticks"></div><input id="scrub" type="range" aria-label="Time" value="0"></div>
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
<section id="posterior">
<h2>What the robot thinks happened <span id="after"></span></h2>
<ul id="explanations"></ul>
</section>
</div>
<section class="story" aria-label="What happened, moment by moment">
<h2>Moment by moment</h2>
<div class="scroll">
<ol id="moments">
{moments}
</ol>
<p class="verdict {outcome}">{verdict}</p>
</div>
</section>
</main>
<script type="application/json" id="story">{story}</script>
<script type="application/octet-stream" id="recording">{recording}</script>
<script>{script}</script>
</body>
</html>
"""
