"""How well causes were told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from aquamend.learning.samples import require_same_length


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
