"""One colour and one marker a policy, the same in every drawing; legible on white and on black."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

INK = "#1b1c1e"
"""Text, axes and the oracles; a page in dark mode puts its own text colour in its place."""
PAPER = "#fefefd"
"""Background, and the inside of hollow markers."""
FAINT = "#d8d9db"
"""Grid lines."""


@dataclass(frozen=True, slots=True)
class Look:
    """Colour and marker (in matplotlib's letters)."""

    colour: str
    marker: str


_LOOKS = {  # after Okabe and Ito, and Tol; told apart by marker where hues come close
    "oracle": Look(INK, "*"),
    "closure-oracle": Look(INK, "p"),
    "exact": Look("#0077bb", "s"),
    "lookahead-2": Look("#33a6dd", "^"),
    "lookahead-3": Look("#009e73", "v"),
    "aquamend": Look("#d55e00", "o"),
    "all-candidates": Look("#e69f00", "D"),
    "linear-chain": Look("#a5692b", "h"),
    "troubleshooting": Look("#cc6699", "P"),
    "decoupled": Look("#9a5fc0", "X"),
    "greedy": Look("#8f8f2f", "d"),
    "restart": Look("#808488", "<"),
    "rollback-only": Look("#808488", ">"),
    "no-reprobe": Look("#7272d8", "H"),
    "certified": Look("#2fa596", "8"),
    "structured": Look("#3f9a4d", "p"),
    "blind-retry": Look("#b8860b", "v"),
    "rewind": Look("#5a6068", ">"),
    "belief-replan": Look("#56a0d3", "D"),
    "tms-revision": Look("#3d7a5c", "s"),
    "no-attribution": Look("#0077bb", "s"),
    "no-source-separation": Look("#33a6dd", "^"),
    "power-detection": Look("#cc6699", "P"),
    "independence-proxy": Look("#e69f00", "D"),
    "beam-proxy": Look("#8f8f2f", "d"),
    "monte-carlo-proxy": Look("#009e73", "v"),
    "overconfident": Look("#9a5fc0", "X"),
    "independent": Look("#d55e00", "o"),
    "monte-carlo-500": Look("#009e73", "v"),
    "beam-32": Look("#0077bb", "s"),
}
_OTHERS = ("#0077bb", "#d55e00", "#009e73", "#cc6699", "#9a5fc0", "#8f8f2f", "#7272d8", "#a5692b")
_MARKERS = ("o", "s", "^", "v", "D", "P", "X")


def look_of(policy: str) -> Look:
    """Return how a policy is drawn; one this list does not know gets a look from its name alone."""
    number = crc32(policy.encode())  # not hash(): that differs between processes
    return _LOOKS.get(policy) or Look(_OTHERS[number % len(_OTHERS)], _MARKERS[number // 8 % len(_MARKERS)])
