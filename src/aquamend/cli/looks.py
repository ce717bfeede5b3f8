"""How policies describe themselves, for reports that know only their names."""

from __future__ import annotations

from functools import cache

from aquamend.analysis.figures.appearance import Look


@cache
def look_named(name: str) -> Look | None:
    """Return what a policy says of itself; None for somebody's own, whose code no report runs, and for nobody's."""
    from aquamend.benchmarks.catalogue import SUITES
    from aquamend.benchmarks.contestants import ORACLE, Oracle
    from aquamend.errors import UnknownName
    from aquamend.policies import DescribedPolicy, Policy, policy_named

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
