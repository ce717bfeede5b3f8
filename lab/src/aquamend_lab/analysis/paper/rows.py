"""What a row and a table of the paper consist of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Group = Mapping[str, int | str]


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One policy (or estimator) in one group, as printed."""

    policy: str
    values: Mapping[str, float]
    """By the keys of our metrics; what the paper leaves blank is not there."""
    group: Group = field(default_factory=dict)

    def get(self, key: str) -> float | None:
        """Return a number by the key of its metric; None where the paper has none."""
        return self.values.get(key)


def printed_rows(
    columns: Sequence[str], lines: Iterable[Sequence[Any]], *, group: Group | None = None
) -> tuple[PaperRow, ...]:
    """Return rows from lines of a policy and its numbers, in the order of the columns; None is a blank."""
    found = []
    for policy, *numbers in lines:
        values = {key: float(value) for key, value in zip(columns, numbers, strict=True) if value is not None}
        found.append(PaperRow(str(policy), values, group or {}))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class PaperPair:
    """One paired comparison, as printed: the policy that the paper proposes minus another, in mean complete loss."""

    difference: float
    low: float
    high: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table, or numbers in running text, of the paper."""

    family: str
    """Suites it belongs to, without their version: ``m1`` stands for ``m1-v2``."""
    label: str
    where: str
    """Where in the paper it stands, for people."""
    rows: tuple[PaperRow, ...]
    pairs: Mapping[str, PaperPair] = field(default_factory=dict)
    """AquaMend against others, by their names."""

    @property
    def title(self) -> str:
        """What to call it in a caption."""
        return f"{self.label}, {self.where}"

    def row(self, policy: str, group: Mapping[str, object]) -> PaperRow | None:
        """Return what the paper says of a policy in a group; nothing if it does not say.

        The paper does not say how many samples its ``monte-carlo`` drew: that row is beside ``monte-carlo-500``.
        """
        names = (policy, re.sub(r"^(monte-carlo)-\d+$", r"\1", policy))
        return next((row for row in self.rows if row.policy in names and dict(row.group) == dict(group)), None)


def family_of(suite: str) -> str:
    """Return the name of a suite without its version: ``m1-depth-v1`` → ``m1-depth``."""
    return re.sub(r"-v\d+$", "", suite)
