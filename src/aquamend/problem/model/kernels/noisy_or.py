"""A probe with two outcomes whose causes act independently: one number for each cause, and a leak."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from aquamend.codec import Name, Probability
from aquamend.codec.forms import NAME, list_of
from aquamend.errors import AquaMendError, Fault
from aquamend.problem.model.kernels.kernel import Channel


@dataclass(frozen=True, eq=False)
class NoisyOr:
    """A probe with two outcomes, the second of which each cause that is present may bring about by itself.

    As it is written down: ``aquamend.joint_model`` makes a table of it, once it is known which causes there are.
    """

    noisy_or: Mapping[Name, Probability]
    """How probable each cause or failed belief makes the second outcome by itself, and a leak."""
    outcomes: Annotated[Sequence[str], list_of(NAME, instead="unreadable name {}".format)]
    """The names of its two answers."""

    table: ClassVar[str] = "noisy_or"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield outcomes that are not two, and numbers that are no probabilities."""
        if len(self.outcomes) != 2 or self.outcomes[0] == self.outcomes[1]:
            said = f"{list(self.outcomes)!r} is not two outcomes, of which noisy_or gives the second's probability"
            yield Fault(f"{where}.outcomes", said, "name two, or give a likelihood")
        yield from noisy_or_faults(f"{where}.noisy_or", self.noisy_or)

    def channel(self, names: Sequence[str]) -> Channel:
        """Refuse: which causes are present under a hypothesis is not known here."""
        raise AquaMendError("a noisy-or needs the model's causes; make the model with aquamend.joint_model")


def noisy_or_faults(where: str, numbers: Mapping[str, float]) -> Iterator[Fault]:
    """Yield the numbers that are no probabilities."""
    for name, p in numbers.items():
        if not 0.0 <= p <= 1.0:
            yield Fault(f"{where}.{name}", f"{p!r} is not a probability", "give a number from 0 to 1")
