"""Rules turned into tables with an entry for every hypothesis: likelihoods, alarms, accuracies, losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.graph import Belief, RecoveryGraph
from aquamend.model import Alarm, Declaration, Hypothesis, JointModel, Kernel, ValueOf
from aquamend.model.validation import hypothesis_faults, truth_faults
from aquamend.modelling.following import following, mean_faults, standing_in, value_table
from aquamend.modelling.root_causes import RootCause, generated
from aquamend.modelling.rules import DEFAULT, Vocabulary, resolved
from aquamend.modelling.truths import Effect, Expanded, expanded

T = TypeVar("T")


def vocabulary_of(hypotheses: Sequence[Hypothesis], beliefs: Sequence[Belief]) -> Vocabulary:
    """Return what conditions may speak of where the hypotheses are listed: those, and beliefs."""
    return expanded(hypotheses, beliefs).vocabulary


def table(rules: Mapping[str, T], vocabulary: Vocabulary, *, where: str = "rules") -> dict[str, T]:
    """Return what the rules say of every hypothesis, by its name; ``InvalidProblem`` where they leave one out.

    ``where`` is the place of the rules in a file, for the faults: conditions that mean nothing, rules that contradict
    each other, hypotheses of which nothing is said.
    """
    found = _resolved(rules, vocabulary, where)
    said = dict(zip(vocabulary.names, found, strict=True))
    missing = [name for name, value in said.items() if value is None]
    if missing:
        more = f", nor of {len(missing) - 1} more" if len(missing) > 1 else ""
        problem = f"nothing is said of hypothesis {missing[0]!r}{more}"
        raise InvalidProblem([Fault(where, problem, "add a rule for it, or a default")])
    return {name: value for name, value in said.items() if value is not None}


def exceptions(rules: Mapping[str, T], vocabulary: Vocabulary, *, where: str = "rules") -> dict[str, T]:
    """Return what the rules other than ``default`` say, by the names of the hypotheses, and the default itself."""
    found = _resolved(rules, vocabulary, where)
    default = {DEFAULT: rules[DEFAULT]} if DEFAULT in rules else {}
    own = {
        name: rules[found.conditions[i]]
        for name, i in zip(vocabulary.names, found.chosen.tolist(), strict=True)
        if i >= 0 and found.conditions[i] != DEFAULT
    }
    return default | own


def _resolved(rules: Mapping[str, T], vocabulary: Vocabulary, where: str) -> Any:
    faults = [fault for condition in rules for fault in condition_faults(f"{where}.{condition}", condition, vocabulary)]
    if faults:
        raise InvalidProblem(faults)
    found = resolved(rules, vocabulary)
    if found.clashes:
        raise InvalidProblem([Fault(where, str(clash), clash.remedy) for clash in found.clashes])
    return found


def condition_faults(where: str, condition: str, vocabulary: Vocabulary) -> Iterable[Fault]:
    """Yield what is wrong with a condition."""
    try:
        vocabulary.where(condition)
    except UnknownCondition as error:
        valid = [*vocabulary.words, *(() if vocabulary.words else vocabulary.names)]
        yield Fault(where, f"{error.word!r} names no cause, belief or hypothesis", "rename it", error.word, valid)


def names_where(conditions: Iterable[str], vocabulary: Vocabulary) -> list[str]:
    """Return the hypotheses under which any of the conditions holds."""
    holds = [vocabulary.where(condition) for condition in conditions]
    return [name for s, name in enumerate(vocabulary.names) if any(h[s] for h in holds)]


def kernel_table(
    kernel: Kernel,
    vocabulary: Vocabulary,
    *,
    where: str = "kernel",
    beliefs: Sequence[Belief] = (),
    widths: Mapping[str, NDArray[np.float64]] | None = None,
) -> Kernel:
    """Return a kernel whose rows, given by rules, stand for every hypothesis; what follows a belief has its truth."""
    known = {belief.name: belief for belief in beliefs}
    if isinstance(kernel, ValueOf):
        return _answers(kernel, vocabulary, where, known)
    given = dict(vars(kernel))
    tables = {key: dict(rows) for key, rows in given.items() if isinstance(rows, Mapping)}
    plain = {key: {c: standing_in(row) for c, row in rows.items()} for key, rows in tables.items()}
    conditions = [condition for rows in tables.values() for condition in rows]
    faults = list(type(kernel)(**{**given, **plain}).faults(where, conditions))
    faults += [
        fault
        for rows in tables.values()
        for condition, row in rows.items()
        for fault in mean_faults(f"{where}.{condition}", row, known)
    ]
    for key, rows in tables.items() if not faults else ():
        every = table(rows, vocabulary, where=f"{where}.{key}")
        given[key], without = following(every, vocabulary.names, vocabulary.truth, widths or {}, where)
        faults += without
    if faults:
        raise InvalidProblem(faults)
    return type(kernel)(**given)


def _answers(kernel: ValueOf, vocabulary: Vocabulary, where: str, known: Mapping[str, Belief]) -> Kernel:
    faults = list(kernel.faults(where, ()))
    if kernel.of not in known or known[kernel.of].declared is None:
        faults.append(Fault(f"{where}.of", f"{kernel.of!r} is no belief with a value", "name one", kernel.of, known))
    if faults:
        raise InvalidProblem(faults)
    own = exceptions(kernel.likelihood, vocabulary, where=f"{where}.likelihood") if kernel.likelihood else {}
    declared = replace(kernel, declared=known[kernel.of].declared)
    return value_table(declared, vocabulary.names, vocabulary.truth, own)


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
) -> JointModel:
    """Return the model of these causes, or of hypotheses with spreads; kernels, alarm and ``invalid_in`` by rules.

    >>> joint_model(graph, [RootCause.single("slipped", 0.1, ["pose"])],
    ...             kernels={"scan": Discrete(["fits", "differs"], {"default": [0.9, 0.1], "pose": [0.2, 0.8]})})
    >>> joint_model(graph, hypotheses=[Hypothesis("nothing", 0.7),
    ...                                Hypothesis("added", 0.3, truth={"level": Normal(40, 14)})],
    ...             kernels={"weigh": Gaussian({"default": ("level", 0.7)})})
    """
    if hypotheses:
        made, left_out = expanded_or_faults(hypotheses, graph.beliefs, effects), 0.0
    else:
        found = generated(causes, graph.beliefs, together=together, effects=effects)
        made, left_out = found.made, found.left_out
    words = made.vocabulary
    if alarm is not None:
        again = None if alarm.again is None else table(alarm.again, words, where="alarm.again")
        alarm = replace(alarm, likelihood=table(alarm.likelihood, words, where="alarm.likelihood"), again=again)
    return JointModel(
        made.hypotheses,
        {
            probe: kernel_table(k, words, where=f"kernels.{probe}", beliefs=graph.beliefs, widths=made.widths)
            for probe, k in (kernels or {}).items()
        },
        alarm,
        [d if d.invalid_in is None else replace(d, invalid_in=names_where(d.invalid_in, words)) for d in declarations],
        left_out,
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
    if faults:
        raise InvalidProblem(faults)
    return expanded(hypotheses, beliefs, effects)
