"""How well stated probabilities matched what was so: from records that keep them, their versions and the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from aquamend.errors import InvalidRun
from aquamend_lab.analysis.statistics import ProbabilityQuality, probability_quality
from aquamend_lab.analysis.table import RunTable


@dataclass(frozen=True, slots=True)
class EventQuality:
    """The probabilities of one event, in one version of the declarations."""

    when: str
    """Which version: ``old`` before the alarm, ``current`` at the first decision."""
    event: str
    quality: ProbabilityQuality


def event_qualities(table: RunTable) -> list[EventQuality]:
    """Return the quality of every event's probabilities, as they appear; none where no record keeps any.

    They are those at the first decision, the same for all policies, so each scenario counts once: by the first policy
    that has them.
    """
    stated: dict[tuple[str, str], tuple[list[float], list[bool | None]]] = {}
    for line in (line for row in range(len(table.scenarios)) for line in _declarations(table, row)):
        try:
            key, q, so = (str(line["when"]), str(line["event"])), line["q"], line["so"]
            if q is not None:
                probabilities, truths = stated.setdefault(key, ([], []))
                probabilities.append(float(q))
                truths.append(None if so is None else bool(so))
        except (KeyError, TypeError, ValueError):
            problem = f"{line!r:.80} is no probability of a declaration"
            raise InvalidRun(table.run.folder, problem, "run the benchmark again") from None
    try:
        return [EventQuality(*key, probability_quality(*found)) for key, found in stated.items()]
    except ValueError as error:
        raise InvalidRun(table.run.folder, str(error), "run the benchmark again") from None


def _declarations(table: RunTable, row: int) -> Sequence[Any]:
    found = (table.records.get((row, column), {}).get("declarations") for column in range(len(table.policies)))
    return next((lines for lines in found if isinstance(lines, list) and lines), [])


@dataclass(frozen=True, slots=True)
class Doubt:
    """How doubtful beliefs were at each decision, on average: those that had really failed, and those that had not."""

    policy: str
    failed: tuple[float, ...]
    sound: tuple[float, ...]


def doubts(table: RunTable) -> list[Doubt]:
    """Return how every policy's doubts went from decision to decision; a recovery that has ended keeps its last.

    Of policies whose records keep the posterior, on scenarios with one truth.
    """
    truths = {
        (line["seed"], line["scenario"]): line["truths"][0].get("failed") or ()
        for line in table.run.annotations
        if len(line.get("truths") or ()) == 1
    }
    found = []
    for column, policy in enumerate(table.policies):
        paths: dict[bool, list[list[float]]] = {True: [], False: []}
        for row, place in enumerate(table.scenarios):
            kept = table.records.get((row, column), {}).get("posterior")
            if kept and place in truths:
                for number, belief in enumerate(kept["beliefs"]):
                    paths[belief in truths[place]].append([at[number] for at in kept["at"] if at is not None])
        means = {failed: _mean_path([path for path in several if path]) for failed, several in paths.items()}
        if means[True] or means[False]:
            found.append(Doubt(policy, means[True], means[False]))
    return found


def _mean_path(paths: Sequence[Sequence[float]]) -> tuple[float, ...]:
    if not paths:
        return ()
    longest = max(map(len, paths))
    full = np.array([[*path, *[path[-1]] * (longest - len(path))] for path in paths])
    return tuple(full.mean(axis=0).tolist())
