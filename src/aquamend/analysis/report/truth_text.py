"""What was true in a scenario, in a line of words."""

from __future__ import annotations

from typing import Any

from aquamend.analysis.report.numbers import decimal
from aquamend.errors import InvalidRun
from aquamend.records import Run

MOST_TRUTHS = 6
"""Hidden realisations of one scenario that are told; the rest is counted."""


def truth_texts(run: Run) -> dict[tuple[int, int], list[str]]:
    """Return what was true, by seed and scenario: a text for each hidden realisation."""
    found = {}
    for line in run.annotations:
        place = line["seed"], line["scenario"]
        try:
            found[place] = _texts(line.get("truths") or [])
        except (AttributeError, KeyError, TypeError):
            problem = f"the annotation of scenario {place[1]}, seed {place[0]} has the truths {line['truths']!r:.80}"
            raise InvalidRun(run.folder, problem, "run the benchmark again") from None
    return found


def _texts(truths: list[dict[str, Any]]) -> list[str]:
    texts = [_text(truth) for truth in truths[:MOST_TRUTHS]]
    rest = len(truths) - MOST_TRUTHS
    return [*texts, f"and {rest} more"] if rest > 0 else texts


def _text(truth: dict[str, Any]) -> str:
    failed = ", ".join(truth.get("failed") or []) or "nothing"
    parts = [f"{failed} failed" + (f" ({cause})" if (cause := _plain(truth.get("attribution"))) else "")]
    rollback, cost = truth.get("rollback") or {}, truth.get("rollback_cost") or {}
    if rollback.get("fine"):
        parts.append(f"minimal rollback {', '.join(rollback['fine'])}{_costing(cost, 'fine')}")
    chain = rollback.get("linear-chain")
    if chain and chain != rollback.get("fine"):
        parts.append(f"as a chain {', '.join(chain)}{_costing(cost, 'linear-chain')}")
    reprobe = truth.get("minimal_reprobe")
    if reprobe is not None:
        parts.append(f"minimal re-probe {', '.join(reprobe) or 'none'}")
    return ", ".join(parts)


def _plain(cause: object) -> str:
    return str(cause).replace("_", " ") if cause else ""


def _costing(costs: dict[str, Any], view: str) -> str:
    cost = costs.get(view)
    if cost == "inf":
        return " (infinite)"
    return f" ({decimal(cost, decimals=2)})" if isinstance(cost, int | float) else ""
