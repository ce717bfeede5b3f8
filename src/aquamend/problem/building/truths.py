"""What is true of every belief under every hypothesis: spreads become hypotheses, and effects decide last.

A hypothesis with a spread stands for one hypothesis for each value, which share its prior; spreads of several beliefs
multiply. Effects are applied in their order, each seeing what the earlier ones set. What a belief is where it failed
and nobody can say how is no value at all: `UNKNOWN`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from aquamend.arrays import Bools, Floats, Indices, distinct
from aquamend.codec import TRUE_VALUE, Name
from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.problem.building.rules import Clash, Vocabulary
from aquamend.problem.faults import refuse
from aquamend.problem.graph import Belief, Value
from aquamend.problem.model import Hypotheses, Hypothesis
from aquamend.problem.model.joint_model import Grown
from aquamend.problem.model.spreads import Spread, differs, values_of_spread
from aquamend.text import named

MOST_HYPOTHESES = 50_000
"""Most hypotheses that causes and spreads are expanded to."""
UNKNOWN = None
"""What is true where a belief failed and no value can be named."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What follows from a condition, beside or instead of what hypotheses or causes say by themselves."""

    when: Name
    """A condition on causes, hypotheses and what is true, such as level_A > level_B."""
    failed: Sequence[Name] = ()
    """Beliefs that fail then, without a value."""
    truth: Mapping[Name, Annotated[Value, TRUE_VALUE]] = field(default_factory=dict)
    """What is then true: values, since a spread would be one hypothesis for each."""


@dataclass(frozen=True, eq=False)
class Expanded:
    """The hypotheses in full: every one with a single value of every belief."""

    hypotheses: Sequence[Hypothesis]
    origin: Indices
    """Shape ``(n_hypotheses,)``; which hypothesis as written each one comes from."""
    widths: Mapping[str, Floats]
    """For beliefs with a spread, shape ``(n_hypotheses,)``: how wide a range the value stands for, 0 for itself."""
    vocabulary: Vocabulary
    """Words for what was written, for beliefs and for their values."""

    def grown(self, n_causes: int = 0) -> tuple[Grown, ...]:
        """Return what made more hypotheses than were written."""
        written = len(distinct(self.origin))
        steps = [Grown("combinations of causes", n_causes, written)] if n_causes else []
        if written < len(self.hypotheses):
            steps.append(Grown("spreads", written, len(self.hypotheses)))
        return tuple(steps)


def expanded(
    written: Sequence[Hypothesis],
    beliefs: Sequence[Belief],
    effects: Sequence[Effect] = (),
    *,
    words: Mapping[str, Bools] | None = None,
    contested: Mapping[str, Sequence[Clash]] | None = None,
) -> Expanded:
    """Return the hypotheses that these stand for; ``InvalidProblem`` with every fault where they cannot be made.

    ``words`` are those of causes, with an entry for every hypothesis as written; None where these are listed.
    ``contested`` tells of which beliefs two causes say different things, so that an effect has to decide.
    """
    known = {belief.name: belief for belief in beliefs}
    listed = words is None
    rows: Sequence[Hypothesis]
    widths: dict[str, Floats]
    if isinstance(written, Hypotheses) and not holds_spread(written):
        rows, origin, widths, said = written, np.arange(len(written)), {}, dict(words or {})
        plain = Vocabulary(written.names, said, listed=listed)
    else:
        rows, origin, widths = _spread_out(written, known)
        said = {word: holds[origin] for word, holds in (words or {}).items()}
        if listed:
            said |= {h.name: origin == s for s, h in enumerate(written) if _has_spread(h)}
        names, whole = [row.name for row in rows], [row.part_of or row.name for row in rows]
        plain = Vocabulary(names, said, listed=listed, whole=whole)
    table = _Table(known, rows, widths)
    undecided = {belief: np.ones(len(rows), dtype=bool) for belief in contested or {}}
    faults = []
    for i, effect in enumerate(effects):
        try:
            holds = table.vocabulary(plain).where(effect.when)
        except UnknownCondition as error:
            remedy = error.instead or "name causes, hypotheses and beliefs, joined by & and |"
            faults.append(Fault(f"effects[{i}].when", str(error), remedy))
            continue
        table.apply(effect, holds)
        for belief in (*effect.failed, *effect.truth):
            if belief in undecided:
                undecided[belief] &= ~holds
    for belief, clashes in (contested or {}).items():
        for clash in clashes:
            if (undecided[belief] & plain.where(clash.first) & plain.where(clash.second)).any():
                both = f"{clash.first} & {clash.second}"
                remedy = f"make them states of one cause, or say in effects what is true when '{both}'"
                faults.append(Fault("causes", f"{clash} in what is true of {belief!r}", remedy))
    refuse(faults)
    return Expanded(table.hypotheses(rows, effects), origin, table.widths, table.vocabulary(plain))


def _has_spread(hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis stands for several, one for each value of a spread."""
    return any(isinstance(value, Spread) for value in hypothesis.truth.values())


def holds_spread(written: Sequence[Hypothesis]) -> bool:
    """Whether one of the hypotheses stands for several."""
    if not isinstance(written, Hypotheses):
        return any(map(_has_spread, written))
    # the same truths stand in a column again and again
    return any(isinstance(value, Spread) for column in written.truth.values() for value in
               {id(value): value for value in column.tolist()}.values())  # fmt: skip


def _spread_out(
    written: Sequence[Hypothesis], known: Mapping[str, Belief]
) -> tuple[Sequence[Hypothesis], Indices, dict[str, Floats]]:
    """Return one hypothesis for each value, where each comes from, and how wide a range each value stands for."""
    rows: list[Hypothesis] = []
    origin: list[int] = []
    wide: list[tuple[int, str, float]] = []
    for s, hypothesis in enumerate(written):
        spreads = {b: v for b, v in hypothesis.truth.items() if isinstance(v, Spread)}
        if not spreads:
            rows.append(hypothesis)
            origin.append(s)
            continue
        steps = {b: values_of_spread(spread, known[b]) for b, spread in spreads.items()}
        if len(rows) + math.prod(len(own.values) for own in steps.values()) > MOST_HYPOTHESES:
            raise InvalidProblem([_too_many(written, known)])
        for chosen in product(*(range(len(own.values)) for own in steps.values())):
            values = {b: own.values[k] for (b, own), k in zip(steps.items(), chosen, strict=True)}
            share = math.prod(own.shares[k] for own, k in zip(steps.values(), chosen, strict=True))
            stated = ", ".join(f"{b}={named(value)}" for b, value in values.items())
            wide += [(len(rows), b, own.width) for b, own in steps.items() if own.width]
            rows.append(replace(
                hypothesis, name=f"{hypothesis.name} ({stated})", prior=hypothesis.prior * share,
                truth={**hypothesis.truth, **values}, part_of=hypothesis.name,
            ))  # fmt: skip
            origin.append(s)
    widths = {b: np.zeros(len(rows)) for _, b, _ in wide}
    for s, b, width in wide:
        widths[b][s] = width
    return rows, np.array(origin, dtype=np.intp), widths


def _too_many(written: Sequence[Hypothesis], known: Mapping[str, Belief]) -> Fault:
    """Return the fault of too many hypotheses, with where they come from."""
    counts = {}
    for hypothesis in written:
        own = {b: v for b, v in hypothesis.truth.items() if isinstance(v, Spread)}
        sizes = {b: len(values_of_spread(spread, known[b]).values) for b, spread in own.items()}
        counts[hypothesis.name] = math.prod(sizes.values()), sizes
    name, (largest, sizes) = max(counts.items(), key=lambda item: item[1][0])
    by = " · ".join(f"{size} of {b}" for b, size in sizes.items())
    total = sum(count for count, _ in counts.values())
    said = f"spreads make {total:,} hypotheses, more than {MOST_HYPOTHESES:,}; {largest:,} from {name!r} ({by})"
    return Fault("hypotheses", said, "give larger steps, or fewer beliefs that nobody knows the truth of")


@dataclass(eq=False)
class _Table:
    """What is true of each belief while effects are applied; lists have an entry for every hypothesis."""

    known: Mapping[str, Belief]
    rows: Sequence[Hypothesis]
    widths: dict[str, Floats]

    def __post_init__(self) -> None:
        n = len(self.rows)
        columns = Hypotheses.of(self.rows)
        self.failed = {name: columns.failed.get(name, np.zeros(n, dtype=bool)) for name in self.known}
        declared = {name: belief.declared for name, belief in self.known.items() if belief.declared is not None}
        self.truth = columns.true_values(declared, exactly=True)

    def apply(self, effect: Effect, holds: Bools) -> None:
        """Make an effect so where its condition holds."""
        for name, value in effect.truth.items():
            self._set(name, holds, value)
        for name in effect.failed:
            self._set(name, holds, UNKNOWN)
            self.failed[name] = self.failed[name] | holds

    def _set(self, name: str, holds: Bools, value: Value | None) -> None:
        if name not in self.truth:
            return
        self.truth[name] = self.truth[name].copy()
        self.truth[name][holds] = value
        self.failed[name] = self.failed[name] & ~holds
        if name in self.widths:
            self.widths[name] = np.where(holds, 0.0, self.widths[name])

    def vocabulary(self, plain: Vocabulary) -> Vocabulary:
        """Return the words with one for every belief, that it has failed, and what is true of it for comparing."""
        words, beliefs = dict(plain.words), list[str]()
        hidden = {*plain.names, *plain.words} if plain.listed else set[str]()  # listed hypotheses come before beliefs
        for name, belief in self.known.items():
            failed = self.failed[name]
            if belief.declared is not None:
                values = self.truth[name].tolist()
                differ = {v: differs(v, belief.declared, belief.tolerance) for v in dict.fromkeys(values)}
                failed = np.array([differ[value] for value in values])
            if name not in hidden and name not in words:
                words[name] = failed.astype(bool)
                beliefs.append(name)
        return replace(plain, words=words, truth=self.truth, beliefs=beliefs)

    def hypotheses(self, rows: Sequence[Hypothesis], effects: Sequence[Effect]) -> Sequence[Hypothesis]:
        """Return the hypotheses with what is true under each."""
        if not effects:
            return rows
        if isinstance(rows, Hypotheses):
            return replace(rows, failed={b: f for b, f in self.failed.items() if f.any()}, truth=self._columns(rows))
        order = list(self.known)
        found = []
        for s, row in enumerate(rows):
            failed = tuple(name for name in order if self.failed[name][s])
            truth = {}
            for name, values in self.truth.items():
                value = values[s]
                if value is not UNKNOWN and (name in row.truth or value != self.known[name].declared):
                    truth[name] = value
            found.append(replace(row, failed=failed, truth=truth))
        return tuple(found)

    def _columns(self, rows: Hypotheses) -> dict[str, NDArray[np.object_]]:
        """Return what is true of every belief where it differs from what is declared, or was said to be true before."""
        found = {}
        for name, values in self.truth.items():
            differs_there = values != self.known[name].declared
            if name in rows.truth:
                differs_there |= rows.truth[name] != None  # noqa: E711  # entry by entry
            if differs_there.any():
                found[name] = values.copy()
                found[name][~differs_there] = UNKNOWN
        return found
