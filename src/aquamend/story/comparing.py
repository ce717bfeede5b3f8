"""What was needless, what hindsight would have cost, and recoveries side by side: in words and rows for any page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from aquamend.recovery.acts import Charge, charged
from aquamend.story.story import Hindsight, Kind, Story

Row = tuple[str, ...]
"""What is compared, then one cell for each story."""


def needless(hindsight: Hindsight) -> str:
    """Return what could have been left out, in a sentence or two."""
    probes, undone = hindsight.needless_probes, hindsight.needless_undone
    if not probes and not undone:
        return "Nothing was needless."
    parts = []
    if probes:
        parts.append(f"{_several(probes)} bore on nothing that was wrong")
    if undone:
        parts.append(f"nothing that was wrong rested on what {_several(undone)} undid")
    return f"Needless in hindsight: {'; '.join(parts)}."


def in_hindsight(hindsight: Hindsight, unit: str) -> str:
    """Return what the same recovery would have cost, in a sentence."""
    if math.isinf(hindsight.recovery):
        return "Even with the truth at hand there would have been no supported way to finish."
    return (
        f"With the truth at hand it would have cost {hindsight.loss:.1f} {unit}: {hindsight.sensing:.1f} for what "
        f"the alarm itself measures, {hindsight.recovery:.1f} to put right what was wrong, and "
        f"{hindsight.finishing:.1f} for the rest of the task, by average durations."
    )


def comparison(stories: Sequence[Story]) -> Iterator[Row]:
    """Yield the rows of a table in which recoveries from the same alarm stand side by side."""
    yield "recovered", *("yes" if story.success else "no" for story in stories)
    for charge in Charge:
        yield str(charge), *(f"{charged(story.receipts, charge):.1f} {story.unit}" for story in stories)
    yield "total", *(f"{charged(story.receipts):.1f} {story.unit}" for story in stories)
    yield "decisions", *(str(sum(m.kind is Kind.DECIDED for m in story.moments)) for story in stories)
    known = [story.hindsight for story in stories if story.hindsight is not None]
    if len(known) == len(stories):
        yield "needless probes", *(str(len(h.needless_probes)) for h in known)
        yield "needlessly undone", *(str(len(h.needless_undone)) for h in known)
        yield "with the truth at hand", *(f"{h.loss:.1f} {story.unit}" for h, story in zip(known, stories, strict=True))


def _several(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
