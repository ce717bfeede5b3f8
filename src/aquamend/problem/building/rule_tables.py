"""Rules turned into tables with an entry for every hypothesis: likelihoods, alarms, losses.

Kernels that follow the truth are written once for a belief, and right whatever that belief turns out to be. The mean of
a continuous probe may be ``BELIEF``, ``BELIEF + NUMBER``, ``BELIEF - NUMBER`` or ``NUMBER * BELIEF + NUMBER``. A value
of a spread stands for its whole step, over which the truth is taken to be uniform: what follows it has the variance
sd² + (factor · step)² / 12. A discrete probe may answer with a belief's value (`ValueOf`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from aquamend.arrays import Floats
from aquamend.codec import FirstThatHolds, key_of, place, place_of_rule
from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.problem import Ages
from aquamend.problem.building.root_causes import RootCause, generated
from aquamend.problem.building.rules import (
    DEFAULT,
    Conditional,
    Resolved,
    Truths,
    Vocabulary,
    clash_fault,
    conditional,
    noisy_or,
    resolved,
)
from aquamend.problem.building.truths import Effect, Expanded, expanded
from aquamend.problem.faults import not_a, refuse
from aquamend.problem.graph import Belief, RecoveryGraph
from aquamend.problem.model import Alarm, Declaration, Discrete, Hypothesis, JointModel, Kernel, NoisyOr, ValueOf
from aquamend.problem.model.hypotheses import ByHypothesis
from aquamend.problem.model.joint_model import hypothesis_faults, truth_faults
from aquamend.problem.model.kernels import rows_of, with_rows
from aquamend.problem.model.kernels.kernel import row_name_faults
from aquamend.text import named

T = TypeVar("T")
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_SCALED = re.compile(rf"(?P<factor>{_NUMBER})\s*\*\s*(?P<rest>\S.*)")
_SHIFTED = re.compile(rf"(?P<rest>.*?\S)\s*(?P<sign>[-+])\s*(?P<offset>{_NUMBER.removeprefix('[-+]?')})")


@dataclass(frozen=True, slots=True)
class FollowedTruth:
    """A mean that is a belief's true value, scaled and shifted."""

    belief: str
    factor: float = 1.0
    offset: float = 0.0


def belief_followed(mean: str, beliefs: Mapping[str, Any]) -> FollowedTruth | None:
    """Return what a mean that is written as text follows; None where it names no belief."""
    text, factor, offset = mean.strip(), 1.0, 0.0
    if text in beliefs:
        return FollowedTruth(text)
    shifted = _SHIFTED.fullmatch(text)
    if shifted is not None:
        text, offset = shifted["rest"], float(shifted["sign"] + shifted["offset"])
    scaled = _SCALED.fullmatch(text)
    if text not in beliefs and scaled is not None:
        text, factor = scaled["rest"], float(scaled["factor"])
    return FollowedTruth(text, factor, offset) if text in beliefs else None


def follows(row: Any) -> bool:
    """Whether a row of a continuous kernel, or a table of several, has a mean that follows a belief."""
    return isinstance(row, Sequence) and not isinstance(row, str) and any(isinstance(x, str) or follows(x) for x in row)


def standing_in(row: Any) -> Any:
    """Return a row with a number in the place of every mean that follows a belief, so that the rest can be judged."""
    if isinstance(row, str):
        return 0.0
    return [standing_in(x) for x in row] if isinstance(row, Sequence) else row


def mean_faults(where: str, row: Any, beliefs: Mapping[str, Belief]) -> Iterator[Fault]:
    """Yield the means in a row that follow nothing that has a number."""
    for mean in _texts(row):
        found = belief_followed(mean, beliefs)
        if found is None:
            said = f"{mean!r} is neither a number nor a belief with one"
            yield Fault(where, said, "write a number, BELIEF, BELIEF + NUMBER or NUMBER * BELIEF + NUMBER")
        elif not isinstance(beliefs[found.belief].declared, float | int):
            said = f"{found.belief!r} declares no number that a mean could follow"
            yield Fault(where, said, "follow a belief that declares a number, or write a number")


def _texts(row: Any) -> Iterator[str]:
    for x in row if isinstance(row, Sequence) and not isinstance(row, str) else ():
        yield from [x] if isinstance(x, str) else _texts(x)


def rows_following(
    rows: Mapping[str, Any], names: Sequence[str], truth: Truths, widths: Mapping[str, Floats], where: str
) -> tuple[dict[str, Any], list[Fault]]:
    """Return the rows with numbers for all means, and the faults: a belief that failed has no value to follow."""
    found, without = dict(rows), dict[str, list[str]]()
    for s, name in enumerate(names):
        row = rows.get(name)
        if not follows(row):
            continue
        own = {f.belief for mean in _texts(row) if (f := belief_followed(mean, truth)) is not None}
        missing = [belief for belief in own if truth[belief][s] is None]
        if missing:
            without.setdefault(missing[0], []).append(name)
        elif any(isinstance(truth[belief][s], str) for belief in own):
            found[name] = standing_in(row)  # a text that is true of a number is a fault where it stands
        else:
            found[name] = _numbers(row, s, truth, widths)
    faults = []
    for belief, where_not in without.items():
        more = f" and {len(where_not) - 1} more" if len(where_not) > 1 else ""
        said = f"{belief!r} failed without a value under {where_not[0]!r}{more}, so that no mean follows it there"
        faults.append(Fault(where, said, "give that hypothesis a row of its own"))
    return found, faults


def _numbers(row: Any, s: int, truth: Truths, widths: Mapping[str, Floats]) -> Any:
    if not isinstance(row[0], str | float | int):
        return [_numbers(part, s, truth, widths) for part in row]
    *weight, mean, sd = row
    if not isinstance(mean, str):
        return list(row)
    found = belief_followed(mean, truth)
    value = truth[found.belief][s] if found is not None else None
    if found is None or not isinstance(value, float | int):
        raise ValueError(f"{mean!r} follows no number")  # mean_faults has been asked before
    step = float(widths[found.belief][s]) if found.belief in widths else 0.0
    return [*weight, found.factor * value + found.offset, math.hypot(sd, found.factor * step / math.sqrt(12.0))]


def value_table(kernel: ValueOf, names: Sequence[str], truth: Truths, own: Mapping[str, Any]) -> Kernel:
    """Return the table of a probe that answers with a belief's value; ``own`` are rows that were listed."""
    values = list(dict.fromkeys(value for value in (kernel.declared, *truth[kernel.of]) if value is not None))
    outcomes = [named(value) for value in values] + ([] if kernel.none is None else ["none"])
    none = kernel.none or 0.0
    last = [] if kernel.none is None else [none]
    alike = (1.0 - none) / len(values)
    rows = {}
    for s, name in enumerate(names):
        true = truth[kernel.of][s]
        if true is None or len(values) == 1:
            row = [alike] * len(values)
        else:
            other = max(0.0, 1.0 - kernel.right - none) / (len(values) - 1)
            row = [kernel.right if value == true else other for value in values]
        rows[name] = own.get(name, row + last)
    return Discrete(outcomes, rows, numbers=isinstance(kernel.declared, float | int))


def vocabulary_of(hypotheses: Sequence[Hypothesis], beliefs: Sequence[Belief]) -> Vocabulary:
    """Return what conditions may speak of where the hypotheses are listed: those, and beliefs."""
    return expanded(hypotheses, beliefs).vocabulary


def table(rules: Mapping[str, T], vocabulary: Vocabulary, *, where: str = "rules") -> Mapping[str, T]:
    """Return what the rules say of every hypothesis, by its name; ``InvalidProblem`` where they leave one out.

    ``where`` is the place of the rules in a file, for the faults: conditions that mean nothing, rules that contradict
    each other, hypotheses of which nothing is said.
    """
    found = _resolved(rules, vocabulary, where)
    missing = np.flatnonzero(found.chosen < 0)
    if len(missing):
        more = f", nor of {len(missing) - 1} more" if len(missing) > 1 else ""
        problem = f"nothing is said of hypothesis {vocabulary.names[int(missing[0])]!r}{more}"
        raise InvalidProblem([Fault(where, problem, "add a rule for it, or a default")])
    return ByHypothesis(vocabulary.names, found.values, found.chosen)


def rows_said(rules: Mapping[str, T], vocabulary: Vocabulary, *, where: str = "rules") -> dict[str, T]:
    """Return what the rules say, by the names of those hypotheses of which they say anything."""
    found = _resolved(rules, vocabulary, where)
    return {name: row for name, row in zip(vocabulary.names, found, strict=True) if row is not None}


def _resolved(rules: Mapping[str, T], vocabulary: Vocabulary, where: str) -> Resolved[T]:
    places = ((place_of_rule(where, rules, condition), condition) for condition in rules)
    refuse(fault for place, condition in places for fault in condition_faults(place, condition, vocabulary))
    found = resolved(rules, vocabulary)
    if found.clashes and not vocabulary.lenient:
        raise InvalidProblem([clash_fault(where, found)])
    return found


def condition_faults(where: str, condition: str, vocabulary: Vocabulary) -> Iterable[Fault]:
    """Yield what is wrong with a condition."""
    try:
        vocabulary.where(condition)
    except UnknownCondition as error:
        valid = [*vocabulary.words, *(vocabulary.names if vocabulary.listed or not vocabulary.words else ())]
        said = f"{error.word!r} names no cause, belief or hypothesis"
        yield Fault(where, said, error.instead or "rename it", error.word, valid)


@dataclass(frozen=True, eq=False)
class Tables:
    """Turns what is given by conditions into an entry for every hypothesis; what is given by name stays as it is.

    ``InvalidProblem`` with every fault where that cannot be done.
    """

    made: Expanded
    beliefs: Mapping[str, Belief]

    @property
    def names(self) -> Sequence[str]:
        """The names of the hypotheses."""
        return self.made.vocabulary.names

    @cached_property
    def _known(self) -> set[str]:
        return set(self.names)

    def are_rules(self, written: Iterable[str]) -> bool:
        """Whether some key is a condition rather than the name of a hypothesis."""
        in_order = isinstance(written, FirstThatHolds)
        return in_order or not self.made.vocabulary.listed or any(self._is_condition(key) for key in written)

    def _is_condition(self, key: str) -> bool:
        if key in self._known:
            return False
        try:
            self.made.vocabulary.where(key)
        except UnknownCondition:
            return "&" in key or "|" in key
        return True

    def losses(self, written: float | Mapping[str, float], where: str) -> list[float]:
        """Return a loss for every hypothesis: of one number, by name with a default, or by conditions."""
        if not isinstance(written, Mapping):
            return [written] * len(self.names)
        named = written if isinstance(written, FirstThatHolds) else [key for key in written if key != DEFAULT]
        if self.are_rules(named):
            written = table(written, self.made.vocabulary, where=where)
        else:
            refuse(self._loss_faults(written, where))
        if isinstance(written, ByHypothesis):
            return written.rows()
        return [written[name] if name in written else written[DEFAULT] for name in self.names]

    def _loss_faults(self, written: Mapping[str, float], where: str) -> Iterator[Fault]:
        own = [name for name in written if name != DEFAULT or name in self._known]
        wanted = [name for name in self.names if name in written] if DEFAULT in written else self.names
        for fault in row_name_faults(where, own, wanted):
            yield replace(fault, remedy=f"{fault.remedy}, or a default") if fault.where == where else fault

    def names_where(self, written: Sequence[str]) -> tuple[str, ...]:
        """Return the hypotheses under which any of the conditions holds; what is no condition stays as it is."""
        if not self.are_rules(written):
            return tuple(written)
        unknown = [one for one in written if [*condition_faults("", one, self.made.vocabulary)]]
        holds = [self.made.vocabulary.where(one) for one in written if one not in unknown]
        return (*(name for s, name in enumerate(self.names) if any(own[s] for own in holds)), *unknown)

    def kernel(self, kernel: Kernel, where: str) -> Kernel:
        """Return a kernel with a row for every hypothesis; what follows a belief has its truth."""
        if isinstance(kernel, ValueOf):
            return self._answers(kernel, where)
        if isinstance(kernel, NoisyOr):
            return self._two_outcomes(kernel, where)
        rows = rows_of(kernel)
        if not isinstance(rows, Mapping):
            return kernel
        at, vocabulary = f"{where}.{key_of(type(kernel), kernel.table)}", self.made.vocabulary
        rules, moving = self.are_rules(rows), any(map(follows, rows.values()))
        faults: list[Fault] = []
        for name, row in rows.items() if moving else ():
            faults += mean_faults(place_of_rule(at, rows, name), row, self.beliefs)
        if rules:
            faults += self._row_faults(kernel, rows, where, at)
        if not faults and rules:
            rows = table(rows, vocabulary, where=at)
        if not faults and moving:
            rows, faults = rows_following(rows, vocabulary.names, vocabulary.truth, self.made.widths, at)
        refuse(faults)
        return with_rows(kernel, rows) if rules or moving else kernel

    def _two_outcomes(self, kernel: NoisyOr, where: str) -> Kernel:
        refuse(kernel.faults(where, ()))
        second = noisy_or(kernel.noisy_or, self.made.vocabulary, where=f"{where}.noisy_or")
        said = ByHypothesis.of_numbers(self.names, second)
        rows = [(1.0 - p, p) for p in said.different]
        return Discrete(kernel.outcomes, ByHypothesis(self.names, rows, said.chosen))

    def alarm(self, alarm: Alarm, where: str = "alarm") -> Alarm:
        """Return an alarm with an entry for every hypothesis, and with the conditions that ask about beliefs."""
        written = {"likelihood": alarm.likelihood} if alarm.noisy_or is None else {"noisy_or": alarm.noisy_or}
        if alarm.again is not None:
            written["again"] = alarm.again
        faults, found = list[Fault](), dict[str, tuple[Mapping[str, float], Conditional | None]]()
        for key, numbers in written.items():
            try:
                found[key] = self._probabilities(numbers, f"{where}.{key}", noisy=key == "noisy_or")
            except InvalidProblem as error:
                faults += error.faults
        refuse(faults)
        likelihood, conditions = found.get("likelihood") or found["noisy_or"]
        again, again_by = found.get("again", (None, None))
        return replace(
            alarm, likelihood=likelihood, again=again, noisy_or=None, conditions=conditions, again_by=again_by
        )

    def _probabilities(
        self, written: Mapping[str, float], where: str, *, noisy: bool
    ) -> tuple[Mapping[str, float], Conditional | None]:
        """Return an entry for every hypothesis, and the rules that it was given by if they ask about beliefs."""
        if noisy:
            numbers = noisy_or(written, self.made.vocabulary, where=where)
            return ByHypothesis.of_numbers(self.names, numbers), conditional(written, self.made.vocabulary, noisy=True)
        if not self.are_rules(written):
            return written, None
        return table(written, self.made.vocabulary, where=where), conditional(written, self.made.vocabulary)

    def _row_faults(self, kernel: Kernel, rows: Mapping[str, Any], where: str, at: str) -> Iterator[Fault]:
        """Yield what is wrong with rows by conditions, at the places where they stand."""
        by_name = {place(at, name): place_of_rule(at, rows, name) for name in rows}
        for fault in with_rows(kernel, {name: standing_in(row) for name, row in rows.items()}).faults(
            where, list(rows)
        ):
            yield replace(fault, where=by_name.get(fault.where, fault.where))

    def _answers(self, kernel: ValueOf, where: str) -> Kernel:
        """Return the table of a probe that answers with a belief's value."""
        faults, belief = list(kernel.faults(where, ())), self.beliefs.get(kernel.of)
        if belief is None:
            faults.append(not_a("belief", f"{where}.of", kernel.of, self.beliefs, remedy="rename it"))
        elif belief.declared is None:
            said = f"{kernel.of!r} declares no value that a probe could answer"
            faults.append(Fault(f"{where}.of", said, "give the belief what is declared, or list outcomes"))
        if faults or belief is None:
            raise InvalidProblem(faults)
        vocabulary = self.made.vocabulary
        own = rows_said(kernel.likelihood, vocabulary, where=f"{where}.likelihood") if kernel.likelihood else {}
        return value_table(replace(kernel, declared=belief.declared), vocabulary.names, vocabulary.truth, own)


def joint_model(
    graph: RecoveryGraph,
    causes: Sequence[RootCause] = (),
    *,
    hypotheses: Sequence[Hypothesis] = (),
    together: int | None = None,
    effects: Sequence[Effect] = (),
    kernels: Mapping[str, Kernel] | None = None,
    alarm: Alarm | None = None,
    declarations: Sequence[Declaration] = (),
    alarms: Mapping[str, Alarm] | None = None,
    ages: Ages | None = None,
) -> JointModel:
    """Return the model of these causes, or of hypotheses with spreads; kernels, alarms and ``invalid_in`` by rules.

    >>> joint_model(graph, [RootCause.single("slipped", 0.1, ["pose"])],
    ...             kernels={"scan": Discrete(["fits", "differs"], {"default": [0.9, 0.1], "pose": [0.2, 0.8]})})
    >>> joint_model(graph, hypotheses=[Hypothesis("nothing", 0.7),
    ...                                Hypothesis("added", 0.3, truth={"level": Normal(40, 14)})],
    ...             kernels={"weigh": Gaussian({"default": ("level", 0.7)})})
    """
    if hypotheses:
        made, left_out = expanded_or_faults(hypotheses, graph.beliefs, effects), 0.0
    else:
        found = generated(causes, graph.beliefs, together=together, effects=effects, ages=ages)
        made, left_out = found.made, found.left_out
    tables = Tables(made, {belief.name: belief for belief in graph.beliefs})
    return JointModel(
        made.hypotheses,
        {probe: tables.kernel(kernel, f"kernels.{probe}") for probe, kernel in (kernels or {}).items()},
        None if alarm is None else tables.alarm(alarm, "alarm"),
        [d if d.invalid_in is None else replace(d, invalid_in=tables.names_where(d.invalid_in)) for d in declarations],
        left_out,
        made.grown(len(causes)),
        {name: tables.alarm(one, f"alarms.{name}") for name, one in (alarms or {}).items()},
    )


def expanded_or_faults(
    hypotheses: Sequence[Hypothesis], beliefs: Sequence[Belief], effects: Sequence[Effect]
) -> Expanded:
    """Return all that these hypotheses stand for; ``InvalidProblem`` with every fault in what they say of beliefs."""
    known = {belief.name: belief for belief in beliefs}
    said: list[tuple[str, Hypothesis | Effect]] = [(f"hypotheses[{i}]", h) for i, h in enumerate(hypotheses)]
    said += [(f"effects[{i}]", effect) for i, effect in enumerate(effects)]
    faults = list(hypothesis_faults(hypotheses))
    faults += [fault for where, one in said for fault in truth_faults(where, one.failed, one.truth, known)]
    refuse(faults)
    return expanded(hypotheses, beliefs, effects)
