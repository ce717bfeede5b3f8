"""One recovery as a story: what was believed, the alarm, what was weighed, what was done and what it cost.

Plain data that knows nothing of worlds and policies, so that a page can be made from it anywhere. What was paid is
told by receipts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from aquamend.recovery.receipts import Receipt


class Kind(StrEnum):
    """What a moment of the story is."""

    BELIEVED = "believed"
    """The agent measured and made up its mind."""
    ACTED = "acted"
    """A primitive ran, before or after the alarm."""
    ALARM = "alarm"
    PROBED = "probed"
    DECIDED = "decided"
    """The policy chose a step; its alternatives come with it."""
    ENDED = "ended"
    REVEALED = "revealed"
    """What had really happened, which only the world knew."""


@dataclass(frozen=True, slots=True)
class Option:
    """One alternative that was weighed, with its expected loss split up."""

    name: str
    loss: float
    sensing: float
    rollback: float | None
    """None where it was not told apart from the residual."""
    continuation: float
    """What going on takes after it, or the person who does."""
    residual: float | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """Something worth telling, at its simulated time."""

    time_s: float
    kind: Kind
    title: str
    text: str = ""
    options: tuple[Option, ...] = ()
    weighing: str = ""
    """How the losses of the options and the choice belong together."""
    still: bytes | None = None
    """A PNG picture of the scene."""
    still_s: float | None = None
    """When it was taken, where not at the moment itself."""
    failed: bool = False
    """Whether what was done did not succeed; the text says why."""

    @property
    def told(self) -> str:
        """The text, with the failure told."""
        return f"failed: {self.text}" if self.failed else self.text


@dataclass(frozen=True, slots=True)
class Statement:
    """One declaration of the agent, and how it fared."""

    name: str
    version: int
    value: str
    support: tuple[str, ...]
    """Evidence it rests on."""
    doubt: tuple[float | None, ...]
    """Probability that it is invalid at each entry of ``Story.posteriors``; None where unavailable."""
    failed: bool
    """Whether it was really wrong; known only in the end."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """How likely every explanation was at one time."""

    time_s: float
    when: str
    """Since when it is in force, as it is to be read: "before the alarm", "after the alarm", "after look at B" …"""
    explanations: Mapping[str, float]
    """Probability of each explanation, in the same order in every posterior; sums to one."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the recovery graph."""

    name: str
    kind: str
    """probe, belief or action."""
    note: str = ""
    """A short line below the name, e.g. "12 % doubt" or "undo 3.1 s"."""
    marks: tuple[str, ...] = ()
    """Any of: planned, undone, corrected, failed, suspected, used."""


@dataclass(frozen=True, slots=True)
class Believed:
    """What the agent believes of the scene beside what is so, from one time on until the next."""

    time_s: float
    places_m: Mapping[str, tuple[float, float]]
    """By vessel: where it is believed to stand; those in the hand are left out."""
    levels_g: Mapping[str, tuple[float, float]]
    """By vessel: how much it is believed to hold, and how much it holds."""


@dataclass(frozen=True, slots=True)
class Hindsight:
    """What somebody who had known what was the matter would have done without, and what that would have cost."""

    needless_probes: tuple[str, ...]
    """Probes that told of nothing that was put right."""
    needless_undone: tuple[str, ...]
    """Actions that were undone and rested on nothing that was really wrong."""
    sensing: float
    """The localisation that belongs to every alarm."""
    recovery: float
    """Putting right what was really wrong, as cheaply as can be."""
    finishing: float
    """What was left of the task."""

    @property
    def loss(self) -> float:
        """All of it together."""
        return self.sensing + self.recovery + self.finishing


@dataclass(frozen=True, slots=True)
class Story:
    """Everything a page needs to tell one recovery."""

    title: str
    lead: str
    """What happens, in two or three sentences."""
    facts: Mapping[str, str]
    """Scene, stage, seed, policy, model hash …: label to value."""
    statements: tuple[Statement, ...]
    posteriors: tuple[Posterior, ...]
    moments: tuple[Moment, ...]
    nodes: tuple[Node, ...]
    edges: tuple[tuple[str, str, str], ...]
    """Source, target, kind of edge."""
    ledger: tuple[Receipt, ...]
    """What was paid for: every primitive that ran, and every failure left uncorrected."""
    unit: str
    """Of every cost, e.g. "s"."""
    success: bool
    verdict: str
    """How it ended, in a sentence."""
    policy: str = ""
    """Who decided."""
    beliefs: tuple[Believed, ...] = ()
    """What was believed of the scene beside what was so, in the order of time."""
    hindsight: Hindsight | None = None


def untold(title: str) -> Story:
    """Return a story of which nothing but its title is known, for a recording that comes alone."""
    return Story(
        title=title,
        lead="A recording of poses alone; what was decided was not saved with it.",
        facts={},
        statements=(),
        posteriors=(),
        moments=(),
        nodes=(),
        edges=(),
        ledger=(),
        unit="s",
        success=True,
        verdict="",
    )
