"""What recovering saved against starting over, false alarms without a rollback, and how well causes were told apart."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aquamend.arrays import Bools
from aquamend.learning.estimates import probability_sample, require_same_length, sample


def operational_saving(costs: Sequence[float], restart_costs: Sequence[float]) -> float | None:
    """Return Save_C = 1 - sum C / sum C_restart over the same scenarios: a ratio of sums, not a mean of ratios.

    C is what was spent on sensing, undoing and going on, by the robot or a person; residual losses and decision time
    are not in it. None where the ratio does not exist: no scenarios, or restarting costs nothing, or both sums are
    infinite.

    Reference: the paper, "Metrics", and its appendix on operational saving.
    """
    spent, restarting = sample("costs", costs), sample("restart_costs", restart_costs)
    require_same_length("costs", spent.size, "restart_costs", restarting.size)
    total, whole = float(spent.sum()), float(restarting.sum())
    if whole == 0.0 or (math.isinf(total) and math.isinf(whole)):
        return None
    return 1.0 - total / whole


def zero_rollback_rate(undone: Sequence[float], false_alarm: Sequence[bool | None]) -> float | None:
    """Return the share of false alarms on which nothing was undone; None where there is no false alarm.

    A scenario whose ``false_alarm`` is None (unknown, or several truths in one) counts on neither side.

    Reference: the paper, "Metrics" (ZRR).
    """
    kept = _false_alarms(undone, false_alarm)
    return float(np.mean(kept)) if kept.size else None


def zero_rollback_and_success_rate(
    undone: Sequence[float], false_alarm: Sequence[bool | None], success: Sequence[float]
) -> float | None:
    """Return the share of false alarms that ended in success with nothing undone; None where there is none.

    It has the same denominator as ``zero_rollback_rate``; a success between 0 and 1 counts as that share.

    Reference: the paper, "Metrics" (ZRR and success).
    """
    succeeded = probability_sample("success", success)
    require_same_length("success", succeeded.size, "undone", len(undone))
    kept = _false_alarms(undone, false_alarm)
    chosen = np.array([alarm is True for alarm in false_alarm], dtype=bool)
    return float(np.mean(kept * succeeded[chosen])) if kept.size else None


def _false_alarms(undone: Sequence[float], false_alarm: Sequence[bool | None]) -> Bools:
    """Return, for each false alarm, whether nothing was undone."""
    counts = sample("undone", undone)
    require_same_length("undone", counts.size, "false_alarm", len(false_alarm))
    chosen = np.array([alarm is True for alarm in false_alarm], dtype=bool)
    nothing: Bools = counts[chosen] == 0.0
    return nothing


@dataclass(frozen=True, slots=True)
class AttributionScores:
    """Macro averages of precision and recall over labels."""

    precision: float
    """Over the labels that occur among the truths."""
    recall: float
    precision_strict: float
    """Over all labels, one that never occurs among the truths counting as zero."""
    recall_strict: float


def attribution_scores(
    truths: Sequence[str], attributed: Sequence[str | None], *, labels: Sequence[str]
) -> AttributionScores | None:
    """Return macro precision and recall of the attributed labels; None if there is nothing to score.

    The precision of a label is the share of its attributions that are right, and its recall the share of its truths
    that were attributed to it. A label that occurs but was never attributed has no precision; it counts as zero, so
    that never saying it earns nothing. Attributing a label that never occurs lowers the recall of the true one, and
    nothing else: the strict averages count such a label as zero anyway. So does attributing nothing, which is None.

    Reference: the paper's appendix on physics-grounded diagnostics (both averages).
    """
    require_same_length("truths", len(truths), "attributed", len(attributed))
    strange = [label for label in (*truths, *attributed) if label not in (None, *labels)]
    if strange:
        raise ValueError(f"{strange[0]!r} is no label; give some of {', '.join(labels)}")
    if not truths:
        return None
    support, said = Counter(truths), Counter(attributed)
    right = Counter(truth for truth, label in zip(truths, attributed, strict=True) if truth == label)
    known = [label for label in labels if support[label]]
    precision = sum(right[label] / said[label] for label in known if said[label])
    recall = sum(right[label] / support[label] for label in known)
    return AttributionScores(precision / len(known), recall / len(known), precision / len(labels), recall / len(labels))
