"""What the paper reports, one number beside ours: how far apart they are, and whether ours counts as reproduced.

Its numbers and why ours differ are data, in ``paper.yaml``: the tables row by row, under the names and groups that our
suites use, the families of tests, and the reasons.

What counts as reproduced was chosen after the first runs had been seen, as plainly as possible, and is the same for
every row: a share within 0.05, a count within a tenth or a quarter of one, an error within a seventh. Prices are ours,
so a loss is compared as a multiple of AquaMend's mean loss in the same table, within a seventh or 0.05; of AquaMend
itself the loss is therefore not compared, but what it consists of is. Times and memory are of another machine, and are
not compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.resources import files
from itertools import product
from typing import Any

import yaml

from aquamend_lab.analysis.metrics import METRICS, Summary

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


_PAPER: dict[str, Any] = yaml.safe_load((files("aquamend_lab.analysis") / "paper.yaml").read_text(encoding="utf-8"))


def _rows(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterable[PaperRow]:
    """Yield rows from lines of a group's values, a policy and its numbers; what is blank is left out."""
    at = columns.index("policy")
    for line in rows:
        printed = zip(columns[at + 1 :], line[at + 1 :], strict=True)
        values = {key: float(value) for key, value in printed if value is not None}
        yield PaperRow(line[at], values, dict(zip(columns[:at], line[:at], strict=True)))


def _table(family: str, label: str, where: str, parts: Iterable[Any], pairs: Mapping[str, Any]) -> PaperTable:
    rows = tuple(row for part in parts for row in _rows(part["columns"], part["rows"]))
    return PaperTable(family, label, where, rows, {name: PaperPair(*numbers) for name, numbers in pairs.items()})


PAPER_TABLES = tuple(_table(**{"pairs": {}, **one}) for one in _PAPER["tables"])

FAMILIES: Mapping[str, Mapping[str, Sequence[str]]] = _PAPER["families"]
"""By suite without its version: the policies of each family."""
OTHERS = "ours"
"""The family of the policies that the paper did not compare on such a suite."""

FIRST_COMMANDS: Mapping[str, tuple[str, str, str]] = _PAPER["first_commands"]
"""By posterior: changed first commands, mean total variation and mean predicted loss, as printed."""
Q1_DIFFERENCES: Mapping[str, tuple[float, float, float]] = _PAPER["q1_differences"]
"""By setting: mean loss minus that of the original posterior, and its exploratory interval, as printed."""


def paper_table(suite: str) -> PaperTable | None:
    """Return the paper's table for a suite, if it has one."""
    return next((table for table in PAPER_TABLES if table.family == family_of(suite)), None)


def holm_family(suite: str, policy: str) -> str:
    """Return the family that comparing with a policy belongs to; nothing where all of a suite's are one family."""
    families = FAMILIES.get(family_of(suite))
    if families is None:
        return ""
    return next((name for name, policies in families.items() if policy in policies), OTHERS)


def family_order(suite: str) -> tuple[str, ...]:
    """Return the families of a suite in the order that tables list them."""
    families = FAMILIES.get(family_of(suite))
    return ("",) if families is None else (*families, OTHERS)


Quality = tuple[float, float, float, float]
"""Share invalid, mean stated probability, Brier score, expected calibration error."""
Times = tuple[float, float, float, float, float]
"""Decision times in seconds: AquaMend, all candidates, the second minus the first and its 95 % interval."""
EXECUTED = ("pouring", "pouring-96")
"""The families of which the paper prints probabilities of declarations and decision times."""


def paper_quality(family: str, event: str, version: str) -> Quality | None:
    """Return what the paper prints about the probabilities of an event, of the old or of the current declarations."""
    return _PAPER["quality"].get(version, {}).get(event) if family in EXECUTED else None


def paper_times(family: str, stage: str) -> Times | None:
    """Return what the paper prints about decision times at a stage."""
    return _PAPER["times"].get(stage) if family in EXECUTED else None


def differences_from_paper(suite: str) -> tuple[str, ...]:
    """Return why a suite's numbers need not agree with the paper's, a reason a sentence or two."""
    return tuple(_PAPER["differences"].get(family_of(suite), ()))


REASONS: Mapping[tuple[str, str, str], str] = {
    key: one["why"]
    for one in _PAPER["reasons"]
    for key in product(one["families"], one.get("who", [""]), one.get("metrics", [""]))
}
"""By family of suites, policy or the value of a group, and metric; empty stands for any."""


def reason_for(family: str, policy: str, metric: str, group: Group) -> str:
    """Return why our number of a policy in a group differs; empty where that is not known."""
    for who in (policy, *map(str, group.values())):
        for key in ((family, who, metric), (family, who, "")):
            if key in REASONS:
                return REASONS[key]
    return REASONS.get((family, "", metric), "")


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
    found = []
    for table in tables:
        suite = suites.get(table.family, "")
        ours = summaries.get(suite, ())
        rows = [CheckedRow(row.policy, row.group, tuple(_checks(table, row, ours))) for row in table.rows]
        found.append(CheckedTable(table, suite, tuple(row for row in rows if row.checks)))
    return found


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
