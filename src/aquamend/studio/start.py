"""What a studio opens with: the problem, its first decision, and offline the likeliest states, too."""

from __future__ import annotations

import heapq
import itertools
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import numpy as np

from aquamend.belief import InformationState, Observation
from aquamend.files import read_problem
from aquamend.policies import POLICIES
from aquamend.policies.decision_report import decision_report
from aquamend.policies.policy import Policy
from aquamend.policies.registry import FAMILIES
from aquamend.problem.model.kernels import Outcomes, Readings
from aquamend.story.of_decision import View, view_of
from aquamend.story.page import asset, page

FORMAT = "aquamend-studio/1"
MOST_STATES = 2_000
GRID = 9
"""Readings of a probe that stand in an offline page."""


@dataclass(frozen=True, slots=True)
class Start:
    """What stands in the page when it opens."""

    problem: str = ""
    """The text of the file."""
    file: str = ""
    policy: str = "best"
    view: Mapping[str, Any] | None = None
    """The first decision; None where there is no problem yet."""
    sessions: bool = False
    """Whether there is a log to look at."""
    states: Mapping[str, Any] | None = None
    """Offline: the view of every state that is in the page."""
    beyond: float = 0.0
    """Offline: how probable it is that the policy comes to a state that is not in the page."""
    grid: Mapping[str, list[float]] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "format": FORMAT,
            "file": self.file,
            "problem": self.problem,
            "policy": self.policy,
            "policies": list(POLICIES),
            "families": [asdict(family) for family in FAMILIES],
            "view": self.view,
            "sessions": self.sessions,
            "tab": "situation" if self.view is not None or not self.sessions else "sessions",
            "states": self.states,
            "beyond": self.beyond,
            "grid": dict(self.grid),
        }


def opened(text: str, *, file: str, policy: Policy, name: str, sessions: bool = False) -> Start:
    """Return the start of a studio on a problem."""
    report = decision_report(InformationState.alarmed(read_problem(text)), policy, name=name)
    return Start(text, file, name, view_of(report).to_data(), sessions)


def offline(text: str, *, file: str, policy: Policy, name: str, most: int) -> Start:
    """Return a start with the likeliest states in it, each with its decision."""
    root = InformationState.alarmed(read_problem(text))
    states, grid = dict[str, Any](), dict[str, list[float]]()
    waiting: list[tuple[float, int, float, InformationState, tuple[Observation, ...]]] = [(0.0, 0, 1.0, root, ())]
    order, followed, mass = itertools.count(1), dict[str, float](), {"[]": 1.0}
    while waiting and len(states) < min(most, MOST_STATES):
        _, _, chance, state, path = heapq.heappop(waiting)
        report = decision_report(state, policy, name=name)
        view = view_of(report, with_flips=not path, with_knobs=not path)
        states[_key(path)] = view.to_data() if not path else _brief(view)
        followed[_key(path)] = mass.get(_key(path), 0.0)
        for probe in state.legal_probes:
            for outcome, p in _answers(state, probe, grid):
                observation = Observation(probe, outcome)
                after = state.after(observation)
                if after.contradiction is None and p > 0.0:
                    longer = (*path, observation)
                    if getattr(report.step, "probe", None) == probe:
                        mass[_key(longer)] = followed[_key(path)] * p
                    # Whoever clicks may begin with any probe; after that, the policy's own is followed first.
                    likely = chance * p * (1.0 if getattr(report.step, "probe", None) == probe else 0.2)
                    rank = -likely - (1.0 if not path else 0.0)
                    heapq.heappush(waiting, (rank, next(order), likely, after, longer))
    beyond = math.fsum(p for key, p in mass.items() if key not in states)
    return Start(text, file, name, states["[]"], states=states, beyond=beyond, grid=grid)


def _key(path: tuple[Observation, ...]) -> str:
    """Return what the page finds a state by: the answers so far, written as JavaScript writes them."""
    answers = [[o.probe, _as_in_javascript(o.outcome)] for o in path]
    return json.dumps(answers, separators=(",", ":"), ensure_ascii=False)


def _as_in_javascript(outcome: str | float) -> str | float:
    return int(outcome) if isinstance(outcome, float) and outcome.is_integer() else outcome


def _brief(view: View) -> dict[str, Any]:
    """Return a view without what is the same in every state."""
    return {**view.to_data(), "edges": [], "corrections": [], "knobs": []}


def _answers(state: InformationState, probe: str, grid: dict[str, list[float]]) -> Iterator[tuple[str | float, float]]:
    channel = state.problem.model.channels[probe]
    if isinstance(channel, Outcomes):
        yield from zip(channel.outcomes, (state.posterior @ channel.table).tolist(), strict=True)
    elif isinstance(channel, Readings):
        readings = grid.setdefault(probe, _grid(state, channel))
        density = channel.density(np.array(readings)) @ channel.gathered(state.posterior)
        yield from zip(readings, (density / max(float(density.sum()), 1e-300)).tolist(), strict=True)


def _grid(state: InformationState, channel: Readings) -> list[float]:
    mass = channel.gathered(state.posterior)[channel.owner] * channel.weight
    likely = mass > 1e-3 * mass.max()
    low, high = (
        float((channel.mean - 2 * channel.sd)[likely].min()),
        float((channel.mean + 2 * channel.sd)[likely].max()),
    )
    return [float(f"{x:.4g}") + 0.0 for x in np.linspace(low, high, GRID).tolist()]


def studio_html(start: Start) -> str:
    """Return the studio as one page; offline it may load nothing, otherwise the service that it comes from."""
    own = files("aquamend.studio") / "assets"
    return page(
        "studio.html",
        package="aquamend.studio",
        data=start.to_data(),
        script=(own / "studio.js").read_text(encoding="utf-8"),
        later={"editor": (own / "editor.js").read_text(encoding="utf-8")},
        style=asset("story.css") + (own / "studio.css").read_text(encoding="utf-8"),
        connects=start.states is None,
        title=f"{start.file or 'studio'} · AquaMend",
        start=start,
    )


def replay_file(session: str) -> str:
    """Return the name of the page that replays a session, beside its journal: its name as in an address.

    It is made by whoever recorded what the robot did.
    """
    return f"{quote(session, safe='')}.replay.html"
