"""The suites by name."""

from __future__ import annotations

from aquamend.benchmarks import m1, m1_depth
from aquamend.benchmarks.m1_proxy import ProxySuite
from aquamend.benchmarks.pouring import POURING_SUITES
from aquamend.benchmarks.suite import RecoverySuite, Suite
from aquamend.benchmarks.t4.suites import T4_SUITES
from aquamend.errors import UnknownName

M1 = RecoverySuite(
    name=m1.NAME,
    description=(
        "4,000 small random graphs (800 for each of five seeds) with shared rollbacks, false alarms, and independent "
        "or correlated failures, small enough to solve exactly: realised loss on a hidden truth, exact expected risk."
    ),
    scenarios=800,
    seeds=5,
    policies=(
        "oracle",
        "exact",
        "lookahead-3",
        "lookahead-2",
        "aquamend",
        "troubleshooting",
        "greedy-repair",
        "decoupled",
        "greedy",
        "restart",
        "rollback-only",
        "no-reprobe",
        "linear-chain",
    ),
    make=m1.make,
)

M1_DEPTH = RecoverySuite(
    name=m1_depth.NAME,
    description=(
        "One of n = 3 … 6 beliefs changed, and probes pay only in sequence: what planning ahead is worth. Every hidden "
        "realisation is played; decision time and memory are measured."
    ),
    scenarios=len(m1_depth.SIZES),
    seeds=500,
    policies=("aquamend", "lookahead-2", "lookahead-3", "exact"),
    make=m1_depth.make,
    time_decisions=True,
)

M1_DEPTH_SCALED = RecoverySuite(
    name=m1_depth.SCALED_NAME,
    description=(
        "The same diagnostic up to n = 20, with probe costs scaled so that searching to the end stays worth it at "
        "every n while no short horizon can see that."
    ),
    scenarios=len(m1_depth.SCALED_SIZES),
    seeds=10,
    policies=("aquamend", "troubleshooting", "greedy-repair", "lookahead-2", "lookahead-3", "certified", "exact"),
    make=m1_depth.make_scaled,
    time_decisions=True,
)

_M1: list[Suite] = [M1, M1_DEPTH, M1_DEPTH_SCALED, ProxySuite()]

SUITES: dict[str, Suite] = {suite.name: suite for suite in [*_M1, *T4_SUITES, *POURING_SUITES]}

PUBLISHED = tuple(name for name in SUITES if SUITES[name] not in POURING_SUITES)
"""Suites whose records are kept in results/ and come out the same on every machine; contact physics does not."""


def suite_named(name: str) -> Suite:
    """Return a suite by its versioned name."""
    if name not in SUITES:
        raise UnknownName("suite", name, SUITES)
    return SUITES[name]
