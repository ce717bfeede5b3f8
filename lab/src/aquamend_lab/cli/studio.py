"""A run in the studio: its report, and for the pouring robot's scenarios the story and the replay of any policy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from aquamend.errors import AquaMendError
from aquamend.policies.registry import registered

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from aquamend.serve.app import Pages
    from aquamend.serve.service import Service

WATCH = "/watch"
"""Where a scenario is watched: ``?suite=pouring-v2&seed=0&scenario=20&policy=best``; its replay with ``&replay=1``."""
KEPT = 8
"""Scenarios that were watched last and are kept, since a story leads to its replay and back."""
_one_at_a_time = threading.Lock()


def run_pages(folder: Path) -> Callable[[Service], Pages]:
    """Return what makes the pages of a run's folder, for the service; whatever is wrong with it is raised."""
    from aquamend.studio.pages import page_at
    from aquamend_lab.analysis.charts import described_by, styles_in
    from aquamend_lab.analysis.report.build import analysed_runs, report_of
    from aquamend_lab.analysis.report.rendering import as_html
    from aquamend_lab.analysis.table import merged
    from aquamend_lab.records import load_run

    runs = merged([load_run(folder)])
    with described_by(styles_in(run.manifest for run in runs)):
        html = as_html(report_of(analysed_runs(runs)), watched_at=WATCH)

    async def watch(request: Request) -> Response:
        from starlette.responses import PlainTextResponse

        from aquamend.studio.pages import html_response

        asked = request.query_params
        try:
            seed, number = int(asked.get("seed", "")), int(asked.get("scenario", ""))
            policy, suite = asked.get("policy", ""), asked.get("suite", "")
            story, replay = await asyncio.to_thread(_watched, suite, seed, number, policy)
        except (AquaMendError, ValueError) as error:
            return PlainTextResponse(f"{error}\n", status_code=422)
        return html_response(replay if "replay" in asked else story)

    return lambda service: [page_at("/", html), page_at(WATCH, watch)]


@lru_cache(maxsize=KEPT)
def _watched(suite: str, seed: int, number: int, policy: str) -> tuple[str, str]:
    """Return the story and the replay of a policy on a scenario, simulated again from the same seeds."""
    from aquamend.story.page import story_html
    from aquamend_lab.benchmarks.pouring_suites import episode_of
    from aquamend_lab.pouring.recording import replay_html
    from aquamend_lab.pouring.telling import begin, go_on

    decider, episode = registered(policy), episode_of(suite, seed, number)
    with _one_at_a_time:
        beginning = begin(episode, lambda moment: None)
        facts = {"suite": suite, "seed": str(seed), "scenario": str(number), "policy": policy}
        shown = go_on(beginning, decider, policy, lambda moment: None, facts=facts, title=f"{suite}, scenario {number}")
    here = f"{WATCH.lstrip('/')}?{urlencode(facts)}"
    story = story_html(shown.story, replay=f"{here}&replay=1", back=None)
    return story, replay_html([(shown.recording, shown.story)], page=here)
