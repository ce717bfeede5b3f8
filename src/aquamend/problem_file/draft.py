"""What could be read of a problem, as the objects it will be made of; where a value was unreadable, one stands in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from aquamend.errors import Fault
from aquamend.graph import Action, Belief, Edge, Operation, Probe
from aquamend.model import Alarm, Cause, Coverage, Declaration, Discrete, FitGroup, Hypothesis, Kernel, ValueOf
from aquamend.model.kernels import KERNELS, Shape
from aquamend.modelling.compensations import Compensation
from aquamend.modelling.rules import Vocabulary
from aquamend.modelling.truths import has_spread
from aquamend.problem import Plan
from aquamend.problem_file.causes import Tables, read_causes, read_hypotheses, truth_of
from aquamend.problem_file.report import FaultReport, place
from aquamend.problem_file.schema import Entry, kernel_keys, kernel_kinds

PRIORS, STATUSES = "priors", "statuses"
_SECTIONS = ("beliefs", "actions", "operations", "probes", "hypotheses", "kernels")


@dataclass(frozen=True, slots=True)
class KernelDraft:
    """A kernel as far as it could be read."""

    kind: type[Kernel]
    given: Mapping[str, Any]
    """What stands behind its keys; None for a row that could not be read."""
    unread: frozenset[str]
    """Hypotheses with a row that could not be read or judged."""

    @property
    def kernel(self) -> Kernel:
        """The kernel itself."""
        return self.kind.from_data(**self.given)

    def faults(self, where: str, names: Sequence[str], *, all_names: bool) -> Iterable[Fault]:
        """Yield what is wrong with the rows that could be read; names that are none only if all names are known."""
        wanted = [name for name in names if name not in self.unread]
        known = set(wanted)
        given = {}
        for key, value in self.given.items():
            if isinstance(value, Mapping):
                value = {n: row for n, row in value.items() if n in known or (all_names and n not in self.unread)}
            given[key] = value
        return self.kind.from_data(**given).faults(where, wanted)


@dataclass(frozen=True, slots=True)
class Draft:
    """A problem as far as it could be read; what stands in for an unreadable value breaks no rule."""

    beliefs: list[Belief]
    actions: list[Action]
    operations: list[Operation]
    probes: list[Probe]
    edges: list[Edge]
    hypotheses: list[Hypothesis]
    kernels: dict[str, KernelDraft | None]
    """None: the kernel is there but unreadable."""
    alarm: Alarm | None
    declarations: list[Declaration]
    plans: list[Plan]
    restart: float | Plan | None
    coverage: Coverage | None
    compensations: list[Compensation]
    persistent: dict[str, float]
    """Of probes that may repeat themselves, how probable that is."""
    vocabulary: Vocabulary
    """What conditions in this file may speak of."""
    left_out: float
    """Prior probability of combinations of causes that were not generated."""
    rest: dict[str, Any]
    """The simple values at the top of the file, by the names of the problem's own fields."""
    incomplete: frozenset[str]
    """Sections that may hold names which could not be read; ``PRIORS`` and ``STATUSES`` where one of them could not."""

    @property
    def names(self) -> list[str]:
        """The names of the hypotheses."""
        return [hypothesis.name for hypothesis in self.hypotheses]


def draft_of(top: Entry, report: FaultReport) -> Draft:
    """Return the draft of what was read at the top of the file; report what contradicts itself within one entry."""
    values, incomplete = top.values, _incomplete(top, report)
    beliefs = [_belief(entry) for entry in values.get("beliefs", ())]
    known = {belief.name: belief for belief in beliefs}
    hypotheses, left_out = (
        [_hypothesis(entry, f"hypotheses[{i}]", known, report) for i, entry in enumerate(values.get("hypotheses", ()))],
        0.0,
    )
    if "causes" in top.given:
        found = read_causes(top, beliefs, report, incomplete)
        made, left_out = (None, 0.0) if found is None else (found.made, found.left_out)
    else:
        made = read_hypotheses(hypotheses, top, beliefs, report, incomplete)
    if made is not None:
        hypotheses = list(made.hypotheses)
    elif "causes" in top.given or "effects" in top.given or any(has_spread(h) for h in hypotheses):
        incomplete |= {"hypotheses"}
    delay = values.get("delay", 0.0)
    for i, entry in enumerate(values.get("actions", ())):
        if "takes" in entry.given and "operations" in entry.given:
            said = "it is undone by operations, each of which takes its own time"
            report.add(f"actions[{i}].takes", said, "give `takes` to the operations instead")
    tables = Tables.of(made, hypotheses, beliefs, report, complete="hypotheses" not in incomplete)
    plan_of = partial(_plan, tables=tables, delay=delay)
    restart = values.get("restart")
    simple = ("name", "unit", "sensing_budget", "escalate", "corrections")
    return Draft(
        beliefs=beliefs,
        actions=[_action(entry, delay) for entry in values.get("actions", ())],
        operations=[
            Operation(e.values["name"], _late(e, delay, e.values.get("cost", 0.0)))
            for e in values.get("operations", ())
        ],
        probes=[_probe(entry, f"probes[{i}]", tables, delay) for i, entry in enumerate(values.get("probes", ()))],
        edges=values.get("edges", []),
        hypotheses=hypotheses,
        kernels={
            name: entry and _kernel(entry, place("kernels", name), report, tables)
            for name, entry in values.get("kernels", {}).items()
        },
        alarm=_alarm(values["alarm"], tables) if "alarm" in values else None,
        declarations=[_declaration(entry, i, tables) for i, entry in enumerate(values.get("declarations", ()))],
        plans=[plan_of(entry, f"plans[{i}]") for i, entry in enumerate(values.get("plans", ()))],
        restart=plan_of(restart, "restart") if isinstance(restart, Entry) else restart,
        coverage=_coverage(values["coverage"]) if "coverage" in values.keys() - top.broken else None,
        vocabulary=tables.vocabulary,
        left_out=left_out,
        compensations=[_compensation(entry, delay) for entry in values.get("compensations", ())],
        persistent=_persistent(values.get("probes", ())),
        rest={key: values[key] for key in simple if key in values},
        incomplete=incomplete,
    )


def _incomplete(top: Entry, report: FaultReport) -> frozenset[str]:
    sections = [s for s in _SECTIONS if s in report.positions or (s in top.broken and s not in top.values)]
    if any("prior" not in entry.values for entry in top.values.get("hypotheses", ())):
        sections.append(PRIORS)
    if any("status" in entry.broken for entry in top.values.get("actions", ())):
        sections.append(STATUSES)
    return frozenset(sections)


def _belief(entry: Entry) -> Belief:
    values = entry.values
    return Belief(
        values["name"],
        values.get("residual", 0.0),
        values.get("may_keep", True),
        values.get("declared", "unreadable" if "declared" in entry.broken else None),
        values.get("tolerance", 0.0),
        values.get("needs_support", False),
    )


def _late(entry: Entry, delay: float, cost: float, key: str = "takes") -> float:
    """Return a cost with that of the time it takes; 0 · ∞ = 0."""
    takes = entry.values.get(key, 0.0)
    return cost + delay * takes if delay and takes else cost


def _compensation(entry: Entry, delay: float) -> Compensation:
    values = entry.values
    return Compensation(
        values["name"],
        _late(entry, delay, values.get("cost", 0.0)),
        tuple(values.get("correct", ())),
        values.get("succeeds", 1.0),
    )


def _persistent(probes: Iterable[Entry]) -> dict[str, float]:
    return {e.values["name"]: e.values["persistent"] for e in probes if e.values.get("persistent")}


def _action(entry: Entry, delay: float) -> Action:
    values, broken = entry.values, entry.broken
    operations = tuple(values.get("operations", ()))
    # An unreadable undo, or unreadable operations alone, still say what undoing costs.
    said = "undo" in broken or ("operations" in broken and not operations)
    undo = values.get("undo", 0.0 if said else None)
    return Action(
        values["name"],
        undo=None if undo is None else _late(entry, delay, undo),
        operations=operations,
        executed=values.get("status") == "executed",
        reversible=values.get("reversible", "reversible" not in broken),
        redo=_late(entry, delay, values.get("redo", 0.0), "redo_takes"),
        undo_succeeds=values.get("undo_succeeds", 1.0),
    )


def _probe(entry: Entry, where: str, tables: Tables, delay: float) -> Probe:
    values = entry.values
    return Probe(
        values["name"],
        _late(entry, delay, values.get("cost", 0.0)),
        values.get("modality"),
        values.get("max_uses", 1),
        values.get("source"),
    )


def _hypothesis(entry: Entry, where: str, known: Mapping[str, Belief], report: FaultReport) -> Hypothesis:
    values = entry.values
    cause = Cause(values.get("cause", Cause.UNKNOWN))
    truth = truth_of(entry, where, known, report)
    return Hypothesis(values["name"], values.get("prior", 0.5), tuple(values.get("failed", ())), cause, truth)


def _alarm(entry: Entry, tables: Tables) -> Alarm:
    likelihood = entry.values.get("likelihood", dict.fromkeys(tables.names, 1.0))
    again = entry.values.get("again")
    return Alarm(
        tables.table(_read_as_certain(likelihood), "alarm.likelihood", instead=1.0),
        tuple(entry.values.get("suspects", ())),
        None if again is None else tables.table(_read_as_certain(again), "alarm.again", instead=1.0),
    )


def _read_as_certain(row: Mapping[str, float | None]) -> dict[str, float]:
    """Return a row with what could not be read taken for 1: that fault has been told, and needs no second one."""
    return {name: 1.0 if value is None else value for name, value in row.items()}


def _declaration(entry: Entry, index: int, tables: Tables) -> Declaration:
    values = entry.values
    invalid_in = tables.names_where(values["invalid_in"]) if "invalid_in" in values else None
    return Declaration(
        name=values["name"],
        belief=values["belief"],
        # A version that could not be read is taken for one that nobody else has.
        version=values.get("version", -1 - index if "version" in entry.broken else 1),
        value=values.get("value"),
        invalid_in=invalid_in,
        support=tuple(values.get("support", ())),
    )


def _plan(entry: Entry, where: str, *, tables: Tables, delay: float) -> Plan:
    values = entry.values
    losses = [_late(entry, delay, loss) for loss in tables.losses(values.get("loss", 0.0), f"{where}.loss")]
    correct, undo = tuple(values.get("correct", ())), tuple(values.get("undo", ()))
    name = values.get("name", "restart")
    return Plan(name, np.array(losses, dtype=float), correct, undo, values.get("last_resort", False))


def _coverage(entry: Entry) -> Coverage:
    values = entry.values
    groups = [
        FitGroup(
            group.values["name"],
            tuple(group.values.get("probes", ())),
            group.values.get("prototype_g", ()),
            group.values.get("prototype_mm", ()),
        )
        for group in values.get("groups", ())
    ]
    measured = values.get("quantities_g", ()), values.get("offsets_mm", ())
    return Coverage(values["stage"], tuple(values.get("covered_stages", ())), tuple(groups), *measured)


_OWN = {kind: kernel_keys(kind) for kind in KERNELS}
_NEEDED = {kind: [name for name, key in keys.items() if key.required] for kind, keys in _OWN.items()}


def _kernel(entry: Entry, where: str, report: FaultReport, tables: Tables) -> KernelDraft | None:
    given = entry.given
    started = [kind for kind in KERNELS if next(iter(_OWN[kind])) in given]
    started = started or [kind for kind in KERNELS if any(name in given for name in _NEEDED[kind])]
    ways = ", or ".join(" and ".join(_NEEDED[kind]) for kind in started or kernel_kinds(report.version))
    if not started:
        report.add(where, "it does not say how the probe answers", f"give {ways}")
        return None
    if len(started) > 1:
        report.add(where, f"it has {' and '.join(sorted(given))}", f"keep {ways}")
        return None
    (kind,) = started
    for name in _NEEDED[kind]:
        if name not in given:
            report.add(f"{where}.{name}", "it is missing", f"add the key {name!r}")
    for name in sorted(given - _OWN[kind].keys()):
        report.add(f"{where}.{name}", f"{name!r} does not go with {ways}", f"keep only {', '.join(_OWN[kind])}")
    own = {name: value for name, value in entry.values.items() if name in _OWN[kind]}
    rows = tables.rows(kind, own, where)
    return _kernel_draft(Discrete if kind is ValueOf else kind, rows)


def _kernel_draft(kind: type[Kernel], values: dict[str, Any]) -> KernelDraft | None:
    tables = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    unread = {name for rows in tables.values() for name, row in rows.items() if row is None}
    for key, shape in list(kind.keys.items())[: kind.required]:
        if key in values:
            continue
        rows = [(name, row) for table in tables.values() for name, row in table.items() if row]
        if shape is not Shape.NAMES or not rows:
            return None
        width = len(rows[0][1])  # as many names as the first row has numbers; those that differ cannot be judged
        values = {**values, key: [f"unreadable name {i}" for i in range(width)]}
        unread |= {name for name, row in rows if len(row) != width}
    return KernelDraft(kind, values, frozenset(unread))
