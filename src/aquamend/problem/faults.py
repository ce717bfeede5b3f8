"""Faults that all of a problem may have: names that are none, numbers that are no probabilities, or no costs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from aquamend.errors import Fault, InvalidProblem, first_of, with_article


def not_a(
    kind: str, where: str, name: str, valid: Collection[str], *, remedy: str = "rename or remove it", add: str = ""
) -> Fault:
    """Return the fault of a name that is no belief, no probe, …, whatever ``kind`` says it should be.

    With ``add``, the remedy is to do that, or to use a valid name.
    """
    section = "hypotheses" if kind == "hypothesis" else f"{kind}s"
    remedy = f"{add}, or use one of {first_of(valid)}" if add else remedy
    return Fault(where, f"{name!r} is not {with_article(kind)}", remedy, name, valid, (section,))


def unknown_among(
    kind: str, where: str, names: Iterable[str], valid: Collection[str], *, add: str = ""
) -> Iterator[Fault]:
    """Yield that fault for every unknown name in the list at a place."""
    for j, name in enumerate(names):
        if name not in valid:
            yield not_a(kind, f"{where}[{j}]", name, valid, add=add)


def probability_faults(numbers: Iterable[tuple[str, float]]) -> Iterator[Fault]:
    """Yield which of these numbers, each with its place, are no probabilities."""
    for where, p in numbers:
        if not 0.0 <= p <= 1.0:
            yield Fault(where, f"{p!r} is not a probability", "give a number from 0 to 1")


def cost_faults(numbers: Iterable[tuple[str, float | None]], *, what: str = "a cost") -> Iterator[Fault]:
    """Yield which of these numbers, each with its place, are no costs; infinity is one, and None is nothing said."""
    for where, value in numbers:
        if value is not None and not value >= 0.0:  # neither is nan
            yield Fault(where, f"{value!r} is not {what}", "give a number of at least 0, or inf")


def refuse(faults: Iterable[Fault]) -> None:
    """Raise ``InvalidProblem`` with all of these faults, if there are any."""
    if found := tuple(faults):
        raise InvalidProblem(found)
