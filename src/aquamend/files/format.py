"""What a problem file says beyond the objects that it describes, and the file as a whole."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from aquamend.codec import (
    TRUE_VALUE,
    UNREAD,
    Cost,
    FaultReport,
    Finite,
    Form,
    Label,
    Loss,
    Name,
    Probability,
    form_of,
    number_or_table,
)
from aquamend.codec.annotations import entries, one_of
from aquamend.codec.forms import FINITE, LOSS, PROBABILITY, SHARED, Schema, never_null
from aquamend.codec.plain_data import shown_value
from aquamend.problem.building.compensations import Compensation
from aquamend.problem.building.root_causes import CauseState
from aquamend.problem.building.truths import Effect
from aquamend.problem.graph import Action, Belief, Edge, Operation, Probe, Value
from aquamend.problem.model import Alarm, Cause, Coverage, Declaration, Hypothesis, Kernel, Spread
from aquamend.problem.model.kernels import KERNELS

FORMAT = "aquamend-problem/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAction(Action):
    """An action whose undoing takes time."""

    takes: Loss = 0.0
    """How long undoing it takes, in the unit of delay; 0 unless given."""
    redo_takes: Loss = 0.0
    """How long doing it again takes; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOperation(Operation):
    """An operation that takes time."""

    takes: Loss = 0.0
    """How long it takes, in the unit of delay; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedProbe(Probe):
    """A probe that takes time, and may err in the same way again."""

    takes: Loss = 0.0
    """How long one use takes, in the unit of delay; 0 unless given."""
    persistent: Probability = 0.0
    """The share of its error that is the same at every use; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedCompensation(Compensation):
    """A compensation that takes time."""

    takes: Loss = 0.0
    """How long it takes, in the unit of delay; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restarting:
    """Starting over, by what is left after it."""

    loss: Annotated[float | Mapping[str, float], number_or_table(LOSS)]
    """The expected loss that is left after it: one number, or one for each hypothesis."""
    correct: Sequence[Name] = ()
    """The beliefs that are right after it."""
    undo: Sequence[Name] = ()
    """The executed actions that it undoes."""
    takes: Loss = 0.0
    """How long it takes, in the unit of delay; 0 unless given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlan(Restarting):
    """A further way of ending."""

    name: Name
    """Its name, which no other plan has."""
    last_resort: bool = False
    """True: it is considered only where nothing else is admissible."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenCause:
    """A cause: with a single state of its own, or with several by name."""

    name: Name
    """What happened; no other cause and no belief has this name."""
    kind: Cause = Cause.UNKNOWN
    """Who is to blame; unknown unless given."""
    prior: Annotated[float | Mapping[str, float], number_or_table(PROBABILITY)] | None = None
    """How probable it is; or rules for that, by conditions on causes listed before."""
    rate: Annotated[float | Mapping[str, float], number_or_table(FINITE)] | None = None
    """In place of a prior, how often it comes in a unit of time; or rules for it. What is older is likelier wrong."""
    failed: Sequence[Name] = ()
    """The beliefs that it makes wrong, of those that declare no value."""
    truth: Mapping[Name, Annotated[Value, TRUE_VALUE] | Spread] = field(default_factory=dict)
    """What it makes true of beliefs that declare a value."""
    states: Mapping[Name, CauseState] | None = None
    """The ways in which it may be present, if there are several."""


def _read_format(value: Any, where: str, report: FaultReport) -> Any:
    if value == FORMAT:
        return FORMAT
    report.add(where, f"{shown_value(value)} is not a format this version reads", f"write {FORMAT}")
    return UNREAD


_FORMAT = Form(_read_format, lambda: {"const": FORMAT}, instead=FORMAT)
KERNEL = one_of(KERNELS, "it does not say how the probe answers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemFile:
    """A problem as a file writes it."""

    format: Annotated[str, _FORMAT]
    """The format of this file."""
    name: Label = "recovery problem"
    """What to call the problem."""
    unit: Label = ""
    """The unit of every cost and loss, for display."""
    beliefs: Sequence[Belief]
    """What the robot holds true and acted on."""
    actions: Sequence[TimedAction] = ()
    """What was done, or is planned, because of the beliefs."""
    operations: Sequence[TimedOperation] = ()
    """Movements that undoing several actions may share."""
    probes: Sequence[TimedProbe] = ()
    """Measurements that can be made now."""
    edges: Sequence[Edge] = ()
    """What rests on what: a source, a target and the kind of the edge."""
    hypotheses: Sequence[Hypothesis] | None = None
    """All that may be the case, of which one is true."""
    causes: Sequence[WrittenCause] | None = None
    """What may have happened, in place of hypotheses, which follow."""
    together: int | None = None
    """How many causes may be present at once; all of them unless given."""
    age: Finite | Mapping[Name, Finite] | None = None
    """How long ago beliefs were measured, all or each by its name, for causes with a rate."""
    effects: Sequence[Effect] = ()
    """What follows from conditions, in this order: the last that holds decides."""
    kernels: Mapping[Name, Annotated[Kernel, KERNEL]] = field(default_factory=dict)
    """For every probe by its name, how it answers under each hypothesis."""
    alarm: Alarm | None = None
    """What the monitor said; it changes the priors once."""
    alarms: Mapping[Name, Alarm] = field(default_factory=dict)
    """Several monitors by name, in place of `alarm`: each says by itself whether it has rung."""
    declarations: Sequence[Declaration] = ()
    """Statements made from evidence, whose standing is asked."""
    sensing_budget: Cost = math.inf
    """The most that all probes together may cost; infinite unless given."""
    restart: Cost | Restarting | None = None
    """Starting over: its cost, if that corrects everything, or else its loss and what it corrects and undoes."""
    escalate: Cost | None = None
    """The loss of handing over to a person."""
    plans: Sequence[WrittenPlan] = ()
    """Further ways of ending, each with a loss of its own."""
    compensations: Sequence[TimedCompensation] = ()
    """Ways of making up for what was done, without undoing."""
    delay: Loss = 0.0
    """The loss for each unit of time that the recovery takes; 0 unless given."""
    corrections: bool = True
    """False: the recovery ends by a plan, a restart or a person, not by a correction."""
    coverage: Coverage | None = None
    """Calibration records that tell where probes may be left out."""


def sections() -> list[str]:
    """Return the keys at the top of a file, in order."""
    return list(entries(ProblemFile))


def problem_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of the problem file.

    It tells which keys there are and what kind of value each has. Whether names, probabilities and edges fit together
    is more than a schema can say; `load_problem` says it.
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AquaMend problem",
        "description": "One recovery problem: what is believed, done, measurable and possibly wrong.",
        **never_null(form_of(ProblemFile).schema()),
        "anyOf": [{"required": [key]} for key in ("hypotheses", "causes")],
        "$defs": SHARED,
    }


def schema_text(schema: Schema) -> str:
    """Return a schema as text."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"
