"""The paper's numbers one by one: how far ours are from each, and whether that is within what counts as reproduced.

What counts as reproduced was chosen after the first runs had been seen, as plainly as possible, and is the same for
every row: a share within 0.05, a count within a tenth or a quarter of one, an error within a seventh. Prices are ours,
so a loss is compared as a multiple of AquaMend's mean loss in the same table, within a seventh or 0.05; of AquaMend
itself the loss is therefore not compared, but what it consists of is. Times and memory are of another machine, and are
not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from aquamend_lab.analysis.metrics import METRICS, Summary
from aquamend_lab.analysis.paper.differences import reason_for
from aquamend_lab.analysis.paper.printed_tables import PAPER_TABLES
from aquamend_lab.analysis.paper.rows import Group, PaperRow, PaperTable, family_of

SHARE = 0.05
COUNT, FEW = 0.1, 0.25
RELATIVE = 1.0 / 7.0
NOT_COMPARED = ("decision_ms", "peak_kib")
RATES = ("success", "zero_rollback_rate", "zero_rollback_and_success_rate", "escalation_rate", "over_budget_rate",
         "saving", "normalised_saving")  # fmt: skip
LOSSES = ("expected_risk", "mean_loss", "normalised_loss")
"""What losses are multiples of: AquaMend's own, of the same kind where there is one."""


class Agreement(StrEnum):
    """How one of the paper's numbers stands."""

    REPRODUCED = "reproduced"
    DIFFERS = "differs because"
    OPEN = "not explained"
    ABSENT = "not run"


@dataclass(frozen=True, slots=True)
class PaperNumber:
    """One number of the paper beside ours."""

    metric: str
    ours: float | None
    """As a multiple of AquaMend's where ``multiple``."""
    paper: float
    multiple: bool
    standing: Agreement
    why: str = ""

    @property
    def distance(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.ours is None else self.ours - self.paper


@dataclass(frozen=True, slots=True)
class CheckedRow:
    """One row of one of the paper's tables."""

    policy: str
    group: Group
    checks: tuple[PaperNumber, ...]


@dataclass(frozen=True, slots=True)
class CheckedTable:
    """One of the paper's tables beside the run of one suite; the suite is empty where there is none."""

    table: PaperTable
    suite: str
    rows: tuple[CheckedRow, ...]

    def count(self, standing: Agreement) -> int:
        """Return how many numbers stand so."""
        return sum(check.standing is standing for row in self.rows for check in row.checks)

    @property
    def numbers(self) -> int:
        """How many numbers are compared."""
        return sum(len(row.checks) for row in self.rows)


def checked_tables(summaries: Mapping[str, Sequence[Summary]]) -> list[CheckedTable]:
    """Return all of the paper's tables, each beside the suite of its family among these, by name."""
    suites = {family_of(suite): suite for suite in summaries}
    known = list(PAPER_TABLES)  # larger batches stand beside the same rows a second time
    tables = [table for k, table in enumerate(known) if all(table.rows != other.rows for other in known[:k])]
    return [_checked(table, suites.get(table.family, ""), summaries) for table in tables]


def _checked(table: PaperTable, suite: str, summaries: Mapping[str, Sequence[Summary]]) -> CheckedTable:
    ours = summaries.get(suite, ())
    rows = [CheckedRow(row.policy, row.group, tuple(_checks(table, row, ours))) for row in table.rows]
    return CheckedTable(table, suite, tuple(row for row in rows if row.checks))


def _checks(table: PaperTable, row: PaperRow, ours: Sequence[Summary]) -> Iterable[PaperNumber]:
    found = next((s for s in ours if table.row(s.policy, s.group) is row), None)
    for key, printed in row.values.items():
        if key in NOT_COMPARED:
            continue
        multiple = METRICS[key].priced or key in LOSSES
        base = _base(table, row.group) if multiple else None
        if multiple and (base is None or (row.policy == base.policy and key in LOSSES)):
            continue
        paper = printed / base.values[_kind(key, base)] if base is not None else printed
        value = None if found is None else found[key]
        if base is not None and value is not None:
            reference = next(s for s in ours if table.row(s.policy, s.group) is base)
            whole = reference[_kind(key, base)]
            value = value / whole if whole else None
        if value is None:
            yield PaperNumber(key, None, paper, multiple, Agreement.ABSENT)
            continue
        near = _near(key, value, paper, multiple=multiple)
        why = "" if near else reason_for(table.family, row.policy, key, row.group)
        standing = Agreement.REPRODUCED if near else Agreement.OPEN
        yield PaperNumber(key, value, paper, multiple, Agreement.DIFFERS if why else standing, why)


def _base(table: PaperTable, group: Group) -> PaperRow | None:
    """Return the paper's row of AquaMend in a group, where it prints a loss of it."""
    for name in ("aquamend-two-step", "aquamend"):
        row = next((r for r in table.rows if r.policy == name and dict(r.group) == dict(group)), None)
        if row is not None and not {*LOSSES}.isdisjoint(row.values):
            return row
    return None


def _kind(key: str, base: PaperRow) -> str:
    return key if key in base.values and key in LOSSES else next(k for k in LOSSES[1:] if k in base.values)


def _near(key: str, ours: float, paper: float, *, multiple: bool) -> bool:
    apart = abs(ours - paper)
    if key in RATES:
        return apart <= SHARE + 1e-9
    if multiple or METRICS[key].form == "percentage":
        return apart <= max(RELATIVE * abs(paper), SHARE if multiple else 0.01)
    return apart <= max(COUNT * abs(paper), FEW)
