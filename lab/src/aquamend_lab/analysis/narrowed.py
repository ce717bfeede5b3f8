"""Whether a run is the suite it is called after, or part of it."""

from __future__ import annotations

from typing import Any

from aquamend_lab.records import Run


def narrowed(run: Run) -> str:
    """Return in a sentence what a run was asked to leave out of its suite; nothing where it holds all of it.

    Nothing either of runs from before manifests said how large a suite is.
    """
    full, asked = run.manifest.get("full"), run.manifest
    if not isinstance(full, dict):
        return ""
    parts = [_scenarios(asked, full), _policies(asked["policies"], full.get("policies", []))]
    text = " and ".join(part for part in parts if part)
    return f"Narrowed: {text}. The suite's description is of all of it." if text else ""


def _scenarios(asked: dict[str, Any], full: dict[str, Any]) -> str:
    each, seeds = min(asked["scenarios"], full["scenarios"]), min(asked["seeds"], full["seeds"])
    whole = full["scenarios"] * full["seeds"]
    if each * seeds >= whole:
        return ""
    less = [f"{seeds:,} of {full['seeds']:,} seeds"] if seeds < full["seeds"] else []
    less += [f"{each:,} of {full['scenarios']:,} scenarios for each seed"] if each < full["scenarios"] else []
    return f"{each * seeds:,} of the suite's {whole:,} scenarios ({', '.join(less)})"


def _policies(asked: list[str], full: list[str]) -> str:
    took_part = sum(name in asked for name in full)
    return f"{took_part} of its {len(full)} policies" if took_part < len(full) else ""
