"""Rules turned into tables with an entry for every hypothesis: likelihoods, alarms, accuracies, losses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from aquamend.errors import Fault, InvalidProblem, UnknownCondition
from aquamend.graph import Belief, RecoveryGraph
from aquamend.model import Alarm, Declaration, Hypothesis, JointModel, Kernel
from aquamend.modelling.root_causes import Effect, RootCause, generated, with_beliefs
from aquamend.modelling.rules import DEFAULT, Vocabulary, resolved

T = TypeVar("T")


def vocabulary_of(hypotheses: Sequence[Hypothesis], beliefs: Sequence[Belief]) -> Vocabulary:
    """Return what conditions may speak of where the hypotheses are listed: those, and beliefs."""
    return with_beliefs(Vocabulary([h.name for h in hypotheses], {}), hypotheses, beliefs)


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


def kernel_table(kernel: Kernel, vocabulary: Vocabulary, *, where: str = "kernel") -> Kernel:
    """Return a kernel whose rows, given by rules, stand for every hypothesis."""
    conditions = [c for value in vars(kernel).values() if isinstance(value, Mapping) for c in value]
    faults = list(kernel.faults(where, conditions))
    if faults:
        raise InvalidProblem(faults)
    given = {
        key: table(value, vocabulary, where=f"{where}.{key}") if isinstance(value, Mapping) else value
        for key, value in kernel.to_data(conditions).items()
    }
    return type(kernel).from_data(**given)


def joint_model(
    graph: RecoveryGraph,
    causes: Sequence[RootCause],
    *,
    together: int | None = None,
    effects: Sequence[Effect] = (),
    kernels: Mapping[str, Kernel] | None = None,
    alarm: Alarm | None = None,
    declarations: Sequence[Declaration] = (),
) -> JointModel:
    """Return the model of these causes; kernels, alarm and ``invalid_in`` are given by rules.

    >>> joint_model(graph, [RootCause.single("slipped", 0.1, ["pose"])],
    ...             kernels={"scan": Discrete(["fits", "differs"], {"default": [0.9, 0.1], "pose": [0.2, 0.8]})})
    """
    made = generated(causes, graph.beliefs, together=together, effects=effects)
    words = made.vocabulary
    if alarm is not None:
        again = None if alarm.again is None else table(alarm.again, words, where="alarm.again")
        alarm = replace(alarm, likelihood=table(alarm.likelihood, words, where="alarm.likelihood"), again=again)
    return JointModel(
        made.hypotheses,
        {probe: kernel_table(k, words, where=f"kernels.{probe}") for probe, k in (kernels or {}).items()},
        alarm,
        [d if d.invalid_in is None else replace(d, invalid_in=names_where(d.invalid_in, words)) for d in declarations],
        made.left_out,
    )
