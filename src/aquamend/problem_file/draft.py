"""What could be read of a problem, as the objects it will be made of."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aquamend.graph import Action, Belief, Edge, Operation, Probe
from aquamend.model import Alarm, Cause, Declaration, Discrete, Gaussian, Hypothesis, Kernel
from aquamend.problem_file.report import FaultReport, place
from aquamend.problem_file.schema import Entry

_SECTIONS = ("beliefs", "actions", "operations", "probes", "hypotheses", "kernels")
PRIORS = "priors"


@dataclass(frozen=True, slots=True)
class Draft:
    """A problem as far as it could be read; where a value was unreadable, one stands in that breaks no rule."""

    beliefs: list[Belief]
    actions: list[Action]
    operations: list[Operation]
    probes: list[Probe]
    edges: list[Edge]
    hypotheses: list[Hypothesis]
    kernels: dict[str, Kernel | None]
    """None: the kernel is there but unreadable."""
    alarm: Alarm | None
    declarations: list[Declaration]
    sensing_budget: float
    restart: float | None
    escalate: float | None
    name: str
    unit: str
    incomplete: frozenset[str]
    """Sections that may hold names which could not be read; and ``PRIORS`` where one of them could not."""


def draft_of(top: Entry, report: FaultReport) -> Draft:
    """Return the draft of what was read at the top of the file; report kernels that contradict themselves."""
    values = top.values
    hypotheses = [_hypothesis(entry) for entry in values.get("hypotheses", ())]
    kernels = values.get("kernels", {})
    return Draft(
        beliefs=[_belief(entry) for entry in values.get("beliefs", ())],
        actions=[_action(entry) for entry in values.get("actions", ())],
        operations=[Operation(e.values["name"], e.values.get("cost", 0.0)) for e in values.get("operations", ())],
        probes=[_probe(entry) for entry in values.get("probes", ())],
        edges=values.get("edges", []),
        hypotheses=hypotheses,
        kernels={name: entry and _kernel(entry, place("kernels", name), report) for name, entry in kernels.items()},
        alarm=_alarm(values["alarm"], hypotheses) if "alarm" in values else None,
        declarations=[_declaration(entry, i) for i, entry in enumerate(values.get("declarations", ()))],
        sensing_budget=values.get("sensing_budget", math.inf),
        restart=values.get("restart"),
        escalate=values.get("escalate"),
        name=values.get("name", "recovery problem"),
        unit=values.get("unit", ""),
        incomplete=_incomplete(top, report),
    )


def _incomplete(top: Entry, report: FaultReport) -> frozenset[str]:
    sections = [s for s in _SECTIONS if s in report.positions or (s in top.broken and s not in top.values)]
    if any("prior" not in entry.values for entry in top.values.get("hypotheses", ())):
        sections.append(PRIORS)
    return frozenset(sections)


def _belief(entry: Entry) -> Belief:
    values = entry.values
    return Belief(values["name"], values.get("residual", 0.0), values.get("may_keep", True))


def _action(entry: Entry) -> Action:
    values, broken = entry.values, entry.broken
    operations = tuple(values.get("operations", ()))
    # An unreadable undo, or unreadable operations alone, still say what undoing costs.
    said = "undo" in broken or ("operations" in broken and not operations)
    return Action(
        values["name"],
        undo=values.get("undo", 0.0 if said else None),
        operations=operations,
        executed=values.get("status") == "executed",
        reversible=values.get("reversible", "reversible" not in broken),
    )


def _probe(entry: Entry) -> Probe:
    values = entry.values
    return Probe(values["name"], values.get("cost", 0.0), values.get("modality"), values.get("max_uses", 1))


def _hypothesis(entry: Entry) -> Hypothesis:
    values = entry.values
    cause = Cause(values.get("cause", Cause.UNKNOWN))
    return Hypothesis(values["name"], values.get("prior", 0.5), tuple(values.get("failed", ())), cause)


def _alarm(entry: Entry, hypotheses: list[Hypothesis]) -> Alarm:
    likelihood = entry.values.get("likelihood")
    if likelihood is None:
        likelihood = dict.fromkeys((hypothesis.name for hypothesis in hypotheses), 1.0)
    readable = {name: 1.0 if value is None else value for name, value in likelihood.items()}
    return Alarm(readable, tuple(entry.values.get("suspects", ())))


def _declaration(entry: Entry, index: int) -> Declaration:
    values = entry.values
    return Declaration(
        name=values["name"],
        belief=values["belief"],
        # A version that could not be read is taken for one that nobody else has.
        version=values.get("version", -1 - index if "version" in entry.broken else 1),
        invalid_in=tuple(values.get("invalid_in", ())),
        support=tuple(values.get("support", ())),
    )


def _kernel(entry: Entry, where: str, report: FaultReport) -> Kernel | None:
    given = entry.given
    if "gaussian" in given and len(given) > 1:
        other = " and ".join(sorted(given - {"gaussian"}))
        report.add(where, f"it has gaussian and {other}", "keep gaussian, or outcomes and likelihood")
    elif "gaussian" in given:
        rows = entry.values.get("gaussian")
        if rows is not None:
            return Gaussian({name: (0.0, 1.0) if row is None else row for name, row in rows.items()})
    elif not given:
        report.add(where, "it does not say how the probe answers", "give outcomes and likelihood, or gaussian")
    else:
        for key in ("outcomes", "likelihood"):
            if key not in given:
                report.add(f"{where}.{key}", "it is missing", f"add the key {key!r}")
        return _discrete(entry.values.get("outcomes"), entry.values.get("likelihood"))
    return None


def _discrete(outcomes: list[str] | None, rows: dict[str, tuple[float, ...] | None] | None) -> Discrete | None:
    if rows is None:
        return None
    if outcomes is None:  # the first row says how many there must be
        width = len(next((row for row in rows.values() if row), (1.0,)))
        outcomes = [str(i) for i in range(width)]
        rows = {name: row if row and len(row) == width else None for name, row in rows.items()}
    uniform = (1.0 / max(len(outcomes), 1),) * len(outcomes)
    return Discrete(tuple(outcomes), {name: uniform if row is None else row for name, row in rows.items()})
