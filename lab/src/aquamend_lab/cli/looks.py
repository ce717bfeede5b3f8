"""How policies describe themselves, for reports that know only their names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

from aquamend_lab.analysis.figures.appearance import Describe, Look

if TYPE_CHECKING:
    from aquamend_lab.records import Run

MARKERS = frozenset(".,ov^<>12348spP*hH+xXDd|_")
"""Those of matplotlib that a policy may have."""


def looks_in(runs: Iterable[Run]) -> Describe:
    """Return how policies look: ours as they say, a user's own as the runs have kept it."""
    kept = [run.manifest.get("own_looks") for run in runs]
    own = {name: _look(look) for looks in kept if isinstance(looks, dict) for name, look in looks.items()}
    titles = [look.title for look in own.values() if look is not None]

    def look_in(name: str) -> Look | None:
        look = look_named(name) or own.get(name)
        return None if look is not None and titles.count(look.title) > 1 else look  # its name tells it from others

    return look_in


def _look(kept: object) -> Look | None:
    """Return a look as a run has kept it; None where it is none, since runs may come from anywhere."""
    told = kept if isinstance(kept, dict) else {}
    title, colour, marker = (str(told.get(name, "")) for name in ("title", "colour", "marker"))
    sound = title and re.fullmatch("#[0-9a-fA-F]{6}", colour) and marker in MARKERS
    return Look(title, colour, marker) if sound else None


@cache
def look_named(name: str) -> Look | None:
    """Return what a policy says of itself; None for somebody's own, whose code no report runs, and for nobody's."""
    from aquamend.errors import UnknownName
    from aquamend.policies import DescribedPolicy, Policy, policy_named
    from aquamend_lab.benchmarks.catalogue import SUITES
    from aquamend_lab.benchmarks.contestants import ORACLE, Oracle

    policy: Policy | None = Oracle(()) if name == ORACLE else None
    if policy is None and ":" not in name:
        try:
            policy = policy_named(name)
        except UnknownName:
            makers = [own[name] for suite in SUITES.values() if name in (own := getattr(suite, "own", {}))]
            policy = makers[0]() if makers else None
    if not isinstance(policy, DescribedPolicy):
        return None
    about = policy.description
    return Look(about.title, about.colour, about.marker)
