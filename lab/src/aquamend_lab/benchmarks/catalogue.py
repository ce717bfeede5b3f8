"""The suites by name."""

from __future__ import annotations

from pathlib import Path

from aquamend import plugins
from aquamend.errors import UnknownName
from aquamend_lab.benchmarks.m1 import M1, M1_DEPTH, M1_DEPTH_SCALED, ProxySuite
from aquamend_lab.benchmarks.outside_suites import NETWORK_SUITE, TEXTBOOK_SUITE
from aquamend_lab.benchmarks.pouring_suites import POURING_SUITES
from aquamend_lab.benchmarks.problem_files import BEYOND, problem_folder
from aquamend_lab.benchmarks.suite import SUITE_PARTS, Suite
from aquamend_lab.benchmarks.t4_suites import T4_SUITES

OUTSIDE: tuple[Suite, ...] = (NETWORK_SUITE, TEXTBOOK_SUITE)
"""Problems that nobody here wrote."""

_ALL: tuple[Suite, ...] = (
    M1, M1_DEPTH, M1_DEPTH_SCALED, ProxySuite(), *T4_SUITES, BEYOND, *POURING_SUITES, *OUTSIDE,
)  # fmt: skip
SUITES: dict[str, Suite] = {suite.name: suite for suite in _ALL}

EXECUTED = tuple(suite.name for suite in POURING_SUITES)
"""Suites of the simulated robot whose records are kept in results/: contact physics comes out the same on one kind of
processor only, which their manifests name."""
ELSEWHERE: tuple[str, ...] = ("metaworld-v1",)
"""Suites with records in results/ that run in an environment of their own, as ``module:Suite``: `make metaworld`."""
PUBLISHED = tuple(name for name in SUITES if name not in EXECUTED)
"""Suites whose records are kept in results/ and come out the same on every machine; contact physics does not."""

NAMES = (*SUITES, "module:Suite", "a folder of problem files")
"""What may stand where a suite is named."""


def suite_named(name: str) -> Suite:
    """Return a suite by its versioned name; ``module:Suite`` is imported, a folder's problem files are a suite.

    Installed packages add suites under names of their own.
    """
    if name in SUITES:
        return SUITES[name]
    if Path(name).is_dir():
        return problem_folder(Path(name))
    if ":" in name or name in plugins.added(plugins.SUITES):
        return _made(name)
    raise UnknownName("suite", name, (*NAMES, *plugins.added(plugins.SUITES)))


def _made(name: str) -> Suite:
    """Return a user's own suite: ``module:Suite`` (called without arguments), ``module:instance``, or one added."""
    try:
        suite = plugins.made(plugins.added(plugins.SUITES).get(name, name))
    except Exception as error:  # noqa: BLE001 - somebody's module may raise anything when it is imported
        raise UnknownName("suite", f"{name} ({type(error).__name__}: {error})", NAMES) from None
    lacking = [part for part in SUITE_PARTS if not hasattr(suite, part)]
    if lacking:
        raise UnknownName("suite", f"{name} (it has no {', '.join(lacking)})", NAMES)
    if suite.name in SUITES:
        raise UnknownName("suite", f"{name} (its name {suite.name!r} is that of one of ours)", NAMES)
    return suite  # type: ignore[no-any-return]
