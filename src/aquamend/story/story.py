"""One recovery, or one decision, as a story: what was believed, what was weighed, what was done, what it cost.

Plain data that knows nothing of robots and policies: a terminal, a page and a program read the same. A session's log
makes one, a simulation adds pictures and the truth.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from aquamend.codec import Loss, form_of, write
from aquamend.codec.forms import SHARED, Schema
from aquamend.recovery.acts import Charge, Receipt, charged

FORMAT = "aquamend-story/1"


class Kind(StrEnum):
    """What a moment of the story is."""

    BELIEVED = "believed"
    """The robot measured and made up its mind."""
    ACTED = "acted"
    ALARM = "alarm"
    MEASURED = "measured"
    DECIDED = "decided"
    """The policy chose a step; what it weighed comes with it."""
    ASKED = "asked"
    """A person was asked, or has answered."""
    TROUBLE = "trouble"
    """Something went wrong, or is in doubt."""
    ENDED = "ended"
    UNSEEN = "unseen"
    """What was so in truth, which only the world knew."""


@dataclass(frozen=True, slots=True)
class Option:
    """One alternative that was weighed, with its expected loss split up."""

    name: str
    scope: str
    """What it undoes and declares; empty if nothing."""
    loss: Loss
    sensing: Loss
    recovery: Loss | None
    """Rollback and continuation. This and the residual are None where only their sum is known."""
    residual: Loss | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class AfterAnswer:
    """What would be done after one answer of the probe chosen."""

    answer: str
    probability: float
    then: str
    scope: str
    loss: Loss


@dataclass(frozen=True, slots=True)
class Flip:
    """Where another step takes over as the doubt in one belief moves."""

    belief: str
    now: float
    at: float
    to: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A decision with all it was weighed against."""

    policy: str
    step: str
    scope: str
    why: str
    options: tuple[Option, ...]
    """Least expected loss first; the chosen one is always among them."""
    answers: tuple[AfterAnswer, ...] = ()
    """Of the probe, where one was chosen."""
    flips: tuple[Flip, ...] = ()
    """Nearest first."""
    nearest_flip: str = ""
    lower: Loss = 0.0
    upper: Loss = float("inf")
    certificate: str = ""
    """What the two bounds on the best possible expected loss say."""


@dataclass(frozen=True, slots=True)
class Moment:
    """Something worth telling."""

    time: float
    """In seconds, on the clock of the story."""
    kind: Kind
    title: str
    text: str = ""
    bad: bool = False
    """Whether something went wrong."""
    seconds: float | None = None
    """How long it took: an act from its beginning to its receipt, an answer from the question on."""
    choice: Choice | None = None
    picture: str | None = None
    """A PNG picture of the scene, as a data address."""
    picture_time: float | None = None
    """When it was taken, where not at the moment itself."""
    number: int | None = None
    """Of the event in the session's log."""


@dataclass(frozen=True, slots=True)
class Update:
    """What was believed from one time on until the next."""

    time: float
    when: str
    """Since when it is in force, as it is to be read: "after the alarm", "after look_B = 31" …"""
    explanations: Mapping[str, float]
    """Probability of what may be the matter, named in the same order in every update."""
    doubts: Mapping[str, float | None]
    """Probability that each statement is wrong; None where unavailable."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One declaration that the robot acted on."""

    name: str
    value: str
    support: tuple[str, ...]
    """Evidence it rests on."""
    wrong: bool | None = None
    """Whether it was wrong in truth; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the recovery graph."""

    name: str
    kind: str
    """probe, belief or action."""
    note: str = ""
    """A short line below the name, e.g. "12 % doubt" or "undo 3.1 s"."""
    doubt: float | None = None
    """Of a belief: the probability that it is wrong now."""
    marks: tuple[str, ...] = ()
    """Any of: planned, undone, corrected, wrong, suspected, used."""


@dataclass(frozen=True, slots=True)
class Believed:
    """What the robot believes of the scene beside what is so, from one time on until the next."""

    time: float
    places_m: Mapping[str, tuple[float, float]]
    """By vessel: where it is believed to stand; those in the hand are left out."""
    levels_g: Mapping[str, tuple[float, float]]
    """By vessel: how much it is believed to hold, and how much it holds."""
    flowing: bool = False
    """Whether water is on its way, so that the two levels cannot be compared yet."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What somebody who had known what was the matter would have done without, and what that would have cost."""

    needless_probes: tuple[str, ...]
    """Probes that bore on nothing that was put right."""
    needless_undone: tuple[str, ...]
    """Actions that were undone and rested on nothing that was wrong."""
    sensing: float
    """The localisation that belongs to every alarm."""
    recovery: Loss
    """Putting right what was wrong, as cheaply as can be."""
    finishing: float
    """What was left of the task."""

    @property
    def loss(self) -> float:
        """All of it together."""
        return self.sensing + self.recovery + self.finishing


@dataclass(frozen=True, slots=True)
class Story:
    """Everything needed to tell one recovery, or one decision."""

    title: str
    lead: str = ""
    """What happens, in two or three sentences."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Scene, seed, policy, file …: label to value."""
    unit: str = ""
    """Of every cost, e.g. "s"."""
    policy: str = ""
    """Who decided."""
    began: float | None = None
    """When the clock of the story stood at 0, in seconds since 1970; None: a simulation, or no time at all."""
    moments: tuple[Moment, ...] = ()
    updates: tuple[Update, ...] = ()
    statements: tuple[Statement, ...] = ()
    nodes: tuple[Node, ...] = ()
    edges: tuple[tuple[str, str, str], ...] = ()
    """Source, target, kind of edge."""
    receipts: tuple[Receipt, ...] = ()
    """What was paid for: every act that ran, and every failure left uncorrected that is known."""
    success: bool | None = None
    """None where nobody can say."""
    verdict: str = ""
    """How it ended or stands, in a sentence."""
    notes: tuple[str, ...] = ()
    """What else a reader has to know: what is in doubt, what a person is asked, what was needless."""
    beliefs: tuple[Believed, ...] = ()
    """What was believed of the scene beside what was so, in the order of time."""
    hindsight: Hindsight | None = None

    def to_data(self) -> dict[str, Any]:
        """Return the story as plain data."""
        return {"format": FORMAT, **write(self, complete=True)}


def story_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of a story."""
    own = form_of(Story).schema()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AquaMend story",
        "description": "One recovery, or one decision: what was believed, weighed and done, and what it cost.",
        **own,
        "properties": {"format": {"const": FORMAT}, **own["properties"]},
        "required": ["format", *own["required"]],
        "$defs": {**SHARED, "Receipt": form_of(Receipt).schema()},
    }


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
