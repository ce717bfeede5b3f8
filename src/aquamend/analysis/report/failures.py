"""Every scene that was not recovered: what was left, and whether hand, sensing or decision is to blame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aquamend.analysis.report.document import Cell, Column, Table
from aquamend.analysis.report.names import policy_name
from aquamend.analysis.report.numbers import decimal

HANDLING, SENSING, MODEL, DECISION = "handling", "sensing limit", "model gap", "decision"
REJECT_AT = 0.5

CAPTION = (
    "Handling: all that is declared holds, and the hand's work was not good enough. Model gap: no hypothesis explains "
    "what was read. Decision: what was left wrong was more probably wrong than right by all that had been read, and "
    "was left. Sensing limit: what was read spoke for something that was not so. Beside it, who recovered the scene."
)


def failure_table(records: Sequence[Mapping[str, Any]], policy: str) -> Table | None:
    """Return a row for every scene that a policy did not recover; nothing where records do not tell what was left."""
    told = [r for r in records if r["policy"] == policy and r.get("left") is not None and r.get("error") is None]
    failed = [r for r in told if not r["success"]]
    if not told or not failed:
        return None
    columns = ("seed", "scene", "group", "left wrong or badly done", "because of", "recovered by", "loss")
    rows = [(*_row(r), _recovered_by(records, r), decimal(r["loss"], decimals=1)) for r in failed]
    return Table(
        CAPTION,
        tuple(Column(name, numeric=name in ("seed", "scene", "loss")) for name in columns),
        tuple(tuple(map(Cell, row)) for row in rows),
        header=1,
    )


def _row(record: Mapping[str, Any]) -> tuple[str, ...]:
    what = "; ".join([*(f"{belief} is wrong" for belief in record["left"]), *record.get("faults", ())])
    group = ", ".join(str(value) for value in record["group"].values())
    return str(record["seed"]), str(record["scenario"]), group, what or str(record["ending"]), because_of(record)


def because_of(record: Mapping[str, Any]) -> str:
    """Return what a failure is due to, by what the record tells of the last decision."""
    left, posterior = record["left"], record.get("posterior")
    if not left:
        return HANDLING
    if not posterior or posterior["at"][-1] is None:
        return MODEL
    doubt = dict(zip(posterior["beliefs"], posterior["at"][-1], strict=True))
    was_wrong = {d["event"]: d["so"] for d in record.get("declarations", ()) if d["when"] == "old"}
    misled = any((doubt.get(b, 0.0) >= REJECT_AT) != bool(was_wrong.get(b)) for b in left)
    return SENSING if misled else DECISION


def _recovered_by(records: Sequence[Mapping[str, Any]], failed: Mapping[str, Any]) -> str:
    same = [r for r in records if (r["seed"], r["scenario"]) == (failed["seed"], failed["scenario"])]
    return ", ".join(policy_name(r["policy"]) for r in same if r["success"] == 1.0) or "nobody"
