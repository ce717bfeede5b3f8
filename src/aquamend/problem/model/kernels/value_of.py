"""A probe that answers with a belief's value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from aquamend.codec import NOT_WRITTEN, Name, Number
from aquamend.errors import AquaMendError, Fault
from aquamend.problem.faults import probability_faults
from aquamend.problem.graph.nodes import Value
from aquamend.problem.model.kernels.discrete_outcomes import ROWS
from aquamend.problem.model.kernels.kernel import Channel


@dataclass(frozen=True, eq=False)
class ValueOf:
    """A probe whose outcomes are the values of a belief, and, where it may not answer, ``none``.

    As it is written down: ``aquamend.joint_model`` makes a table of it, once it is known what may be true.
    """

    of: Name
    """The belief whose value it answers."""
    right: Number
    """Probability of answering the true value; what is left goes to all other values alike."""
    none: Number | None = None
    """Probability of answering ``none``; there is no such outcome unless given."""
    likelihood: Annotated[Mapping[str, Sequence[float]], ROWS] = field(default_factory=dict)
    """Rows of its own, by hypothesis or condition, which go before: the probability of each value, and of none."""
    declared: Annotated[Value | None, NOT_WRITTEN] = None
    """What the belief declares: the first outcome."""

    table: ClassVar[str] = "likelihood"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield probabilities that are none, or that are more than one together."""
        none = self.none or 0.0
        wrong = list(probability_faults([(f"{where}.right", self.right), (f"{where}.none", none)]))
        yield from wrong
        if not wrong and self.right + none > 1.0 + 1e-9:
            said = f"right and none are {self.right + none:.6g} together"
            yield Fault(where, said, "make them at most 1; the other values share what is left")

    def channel(self, names: Sequence[str]) -> Channel:
        """Refuse: what the outcomes are is not known here."""
        raise AquaMendError(
            f"a probe that answers the value of {self.of!r} needs the model's truths; make the model with "
            "aquamend.joint_model"
        )
