"""What a row and a table of the paper consist of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PaperRow:
    """One policy (or estimator) in one group, as printed."""

    policy: str
    group: Mapping[str, int | str] = field(default_factory=dict)
    success: float | None = None
    loss: float | None = None
    """Realised cost."""
    expected_risk: float | None = None
    gap_to_oracle: float | None = None
    decision_ms: float | None = None
    peak_kib: float | None = None
    probes: float | None = None
    undone: float | None = None
    zero_rollback_rate: float | None = None
    escalation_rate: float | None = None
    over_budget_rate: float | None = None
    normalised_error: float | None = None
    """Mean absolute error over mean exact value, as a fraction."""


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table, or numbers in running text, of the paper."""

    family: str
    """Suites it belongs to, without their version: ``m1`` stands for ``m1-v1``."""
    label: str
    where: str
    """Where in the paper it stands, for people."""
    rows: tuple[PaperRow, ...]

    @property
    def title(self) -> str:
        """What to call it in a caption."""
        return f"{self.label}, {self.where}"

    def row(self, policy: str, group: Mapping[str, object]) -> PaperRow | None:
        """Return what the paper says of a policy in a group; nothing if it does not say.

        A row without a number covers every setting: the paper's ``monte-carlo`` is our ``monte-carlo-500``.
        """
        names = (policy, re.sub(r"-\d+$", "", policy))
        return next((row for row in self.rows if row.policy in names and dict(row.group) == dict(group)), None)


def family_of(suite: str) -> str:
    """Return the name of a suite without its version: ``m1-depth-v1`` → ``m1-depth``."""
    return re.sub(r"-v\d+$", "", suite)
