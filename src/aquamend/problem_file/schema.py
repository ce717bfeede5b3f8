"""Which keys a problem file has, section by section: what each says, who reads it, and since which format.

The JSON Schema of the file is made from the same tables, so that the two cannot disagree.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from aquamend.graph import Edge, EdgeKind
from aquamend.model import Cause, Kernel
from aquamend.model.kernels import KERNELS, Shape
from aquamend.problem_file.fields import (
    AS_WRITTEN,
    COST,
    COUNT,
    FINITE,
    FLAG,
    LABEL,
    LOSS,
    NAME,
    NUMBER,
    PROBABILITY,
    SHARED_SCHEMAS,
    VALUE,
    WHOLE,
    Field,
    Schema,
    by_name,
    either,
    list_of,
    numbers_of,
    one_of,
    read_list,
    read_mapping,
    row_of,
    row_with_mean,
)
from aquamend.problem_file.plain_data import shown
from aquamend.problem_file.report import FORMATS, FaultReport, place


class Key(NamedTuple):
    """One key of a mapping."""

    field: Field[Any]
    about: str
    """What it says, in a sentence."""
    required: bool = False
    since: int = 1
    """The first version of the format that has it."""


Keys = Mapping[str, Key]


@dataclass(slots=True)
class Entry:
    """What could be read of one mapping."""

    values: dict[str, Any] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    """Keys with a fault in them, and required keys that are missing."""

    @property
    def given(self) -> frozenset[str]:
        """Keys that the file gave, well or badly."""
        return self.broken | self.values.keys()


def read_entry(value: Any, where: str, keys: Keys, report: FaultReport) -> Entry | None:
    """Read a mapping with these keys."""
    items = read_mapping(value, where, report)
    if items is None:
        return None
    entry = Entry()
    for name, item in items.items():
        key = keys.get(name)
        if key is None:
            guess = report.unknown_key(where, name, _in_version(keys, report.version))
            if guess is not None and guess not in items:
                entry.broken |= {guess}  # meant, so not missing
            continue
        before, at = report.count, f"{where}.{name}" if where else name
        if key.since > report.version:
            report.needs(at, shown(name), key.since, "remove the key")
        result = key.field.read(item, at, report)
        if result is not None:
            entry.values[name] = result
        if report.count != before:
            entry.broken |= {name}
    for name, key in keys.items():
        if key.required and name not in items and name not in entry.broken:
            report.add(place(where, name), "it is missing", f"add the key {name!r}")
            entry.broken |= {name}
    return entry


def _in_version(keys: Keys, version: int) -> dict[str, Key]:
    return {name: key for name, key in keys.items() if key.since <= version}


def mapping_with(keys: Keys, *needed: str) -> Field[Entry]:
    """Return the kind of a mapping with these keys; one without the needed ones counts as unreadable."""

    def read(value: Any, where: str, report: FaultReport) -> Entry | None:
        entry = read_entry(value, where, keys, report)
        return entry if entry is not None and all(key in entry.values for key in needed) else None

    return Field(read, lambda version: object_schema(keys, version))


def object_schema(keys: Keys, version: int) -> Schema:
    """Return the JSON Schema of a mapping that has these keys and no others."""
    known = _in_version(keys, version)
    return {
        "type": "object",
        "properties": {name: {"description": key.about, **key.field.schema(version)} for name, key in known.items()},
        "required": [name for name, key in known.items() if key.required],
        "additionalProperties": False,
    }


def _read_format(value: Any, where: str, report: FaultReport) -> str | None:
    if isinstance(value, str) and value in FORMATS:
        return str(value)
    report.add(where, f"{shown(value)} is not a format this version reads", f"write {' or '.join(FORMATS)}")
    return None


_KIND = one_of(kind.value for kind in EdgeKind)


def _read_edge(value: Any, where: str, report: FaultReport) -> Edge | None:
    ends = read_list(value, where, report)
    if ends is None:
        return None
    if len(ends) != 3:
        report.add(where, f"{shown(ends)} has {len(ends)} entries", "give [source, target, kind]")
        return None
    source, target = NAME.read(ends[0], f"{where}[0]", report), NAME.read(ends[1], f"{where}[1]", report)
    kind = _KIND.read(ends[2], f"{where}[2]", report)
    return Edge(source, target, EdgeKind(kind)) if source is not None and target is not None and kind else None


def _edge_schema(version: int) -> Schema:
    ends = [NAME.schema(version), NAME.schema(version), _KIND.schema(version)]
    return {"type": "array", "prefixItems": ends, "minItems": 3, "maxItems": 3}


_NODE = Key(NAME, "Its name, which no other belief, action or probe has.", required=True)
BELIEF: Keys = {
    "name": _NODE,
    "residual": Key(COST, "The loss if it has failed and nothing corrects it; 0 unless given."),
    "may_keep": Key(FLAG, "False: while it may have failed, it has to be corrected."),
    "declared": Key(VALUE, "What the robot now believes, as text or as a number."),
    "tolerance": Key(COST, "How far a number may be from the truth without having failed; 0 unless given."),
    "needs_support": Key(FLAG, "True: it may be kept or declared only while it rests on usable evidence."),
}
ACTION: Keys = {
    "name": _NODE,
    "status": Key(one_of(("executed", "planned")), "Whether it was done already; planned unless given."),
    "undo": Key(COST, "What undoing it costs."),
    "operations": Key(list_of(NAME), "The operations that undoing it takes, in place of undo."),
    "reversible": Key(FLAG, "False: once executed it cannot be undone."),
    "redo": Key(COST, "What doing it again costs after it was undone; 0 unless given."),
    "takes": Key(LOSS, "How long undoing it takes, in the unit of delay; 0 unless given."),
    "redo_takes": Key(LOSS, "How long doing it again takes; 0 unless given."),
    "undo_succeeds": Key(PROBABILITY, "The probability that undoing it, tried once, succeeds; 1 unless given."),
}
OPERATION: Keys = {
    "name": Key(NAME, "Its name, which no other operation has.", required=True),
    "cost": Key(COST, "What it costs, paid once however many actions need it.", required=True),
    "takes": Key(LOSS, "How long it takes, in the unit of delay; 0 unless given."),
}
PROBE: Keys = {
    "name": _NODE,
    "cost": Key(COST, "What one use costs; finite.", required=True),
    "modality": Key(NAME, "The kind of sensor."),
    "max_uses": Key(COUNT, "How often it may be used; once unless given."),
    "takes": Key(LOSS, "How long one use takes, in the unit of delay; 0 unless given."),
    "persistent": Key(PROBABILITY, "The share of its error that is the same at every use; 0 unless given."),
    "source": Key(NAME, "The belief that the instrument is sound."),
}
SPREAD: Keys = {
    "normal": Key(numbers_of(FINITE), "Numbers near a mean: the mean and the standard deviation."),
    "uniform": Key(numbers_of(FINITE), "Numbers of a range, all alike: the lowest and the highest."),
    "values": Key(
        either(list_of(AS_WRITTEN), by_name(FINITE)), "The values one by one, all alike or each with a weight."
    ),
    "step": Key(FINITE, "How far apart the numbers of normal or uniform are; two thirds of the tolerance."),
}
HYPOTHESIS: Keys = {
    "name": Key(NAME, "Its name, which no other hypothesis has.", required=True),
    "prior": Key(PROBABILITY, "Its probability before the alarm.", required=True),
    "failed": Key(list_of(NAME), "The beliefs that are wrong if it is true, of those that declare no value."),
    "cause": Key(one_of(cause.value for cause in Cause), "Why something failed; unknown unless given."),
    "truth": Key(
        by_name(either(AS_WRITTEN, mapping_with(SPREAD))),
        "What would be true of beliefs that declare a value, where it differs; a spread where nobody knows yet.",
    ),
}
_STATE: Keys = {
    "prior": Key(
        either(PROBABILITY, by_name(PROBABILITY)),
        "How probable it is; or rules for that, by conditions on causes listed before.",
    ),
    "failed": HYPOTHESIS["failed"],
    "truth": HYPOTHESIS["truth"],
}
STATE: Keys = {**_STATE, "prior": _STATE["prior"]._replace(required=True)}
CAUSE: Keys = {
    "name": Key(NAME, "What happened; no other cause and no belief has this name.", required=True),
    "kind": Key(one_of(cause.value for cause in Cause), "Who is to blame; unknown unless given."),
    **_STATE,
    "states": Key(by_name(mapping_with(STATE, "prior")), "The ways in which it may be present, if there are several."),
}
EFFECT: Keys = {
    "when": Key(NAME, "A condition on causes, hypotheses and what is true, such as level_A > level_B.", required=True),
    "failed": HYPOTHESIS["failed"],
    "truth": Key(by_name(AS_WRITTEN), "What is true of beliefs that declare a value."),
}
ALARM: Keys = {
    "suspects": Key(list_of(NAME), "The beliefs that the monitor pointed at."),
    "likelihood": Key(
        by_name(PROBABILITY), "For every hypothesis, how probable this alarm was if it is true.", required=True
    ),
    "again": Key(by_name(PROBABILITY), "For every hypothesis, how probable one more such alarm is."),
}
DECLARATION: Keys = {
    "name": Key(NAME, "What was stated.", required=True),
    "version": Key(WHOLE, "Which version of the statement it is; 1 unless given."),
    "belief": Key(NAME, "The belief it is about.", required=True),
    "invalid_in": Key(list_of(NAME), "The hypotheses under which it is wrong, if its belief declares no value."),
    "support": Key(list_of(NAME), "The probes it was made from."),
    "value": Key(VALUE, "What it states, if that is not what its belief declares."),
}
RESTART: Keys = {
    "loss": Key(
        either(LOSS, by_name(LOSS)),
        "The expected loss that is left after it: one number, or one for each hypothesis.",
        required=True,
    ),
    "correct": Key(list_of(NAME), "The beliefs that are right after it."),
    "undo": Key(list_of(NAME), "The executed actions that it undoes."),
    "takes": Key(LOSS, "How long it takes, in the unit of delay; 0 unless given."),
}
COMPENSATION: Keys = {
    "name": Key(NAME, "Its name, which no other compensation and no plan has.", required=True),
    "cost": Key(COST, "What it costs; finite.", required=True),
    "correct": Key(list_of(NAME), "The beliefs that are as good as right after it.", required=True),
    "succeeds": Key(PROBABILITY, "The probability that it works; 1 unless given."),
    "takes": Key(LOSS, "How long it takes, in the unit of delay; 0 unless given."),
}
PLAN: Keys = {
    "name": Key(NAME, "Its name, which no other plan has.", required=True),
    **RESTART,
    "last_resort": Key(FLAG, "True: it is considered only where nothing else is admissible."),
}
GROUP: Keys = {
    "name": Key(NAME, "What to call the group.", required=True),
    "probes": Key(list_of(NAME), "The probes that these records inform about.", required=True),
    "prototype_g": Key(numbers_of(FINITE), "The typical quantities of the group, in grams."),
    "prototype_mm": Key(numbers_of(FINITE), "The typical offsets of the group, in millimetres."),
}
COVERAGE: Keys = {
    "stage": Key(NAME, "The stage at which the alarm came.", required=True),
    "covered_stages": Key(list_of(NAME), "The stages for which calibration records were made.", required=True),
    "groups": Key(list_of(mapping_with(GROUP, "name")), "Groups of similar calibration records.", required=True),
    "quantities_g": Key(numbers_of(FINITE), "What was measured at this alarm, in grams, as in the prototypes."),
    "offsets_mm": Key(numbers_of(FINITE), "What was measured at this alarm, in millimetres, as in the prototypes."),
}

FORMAT_1_KERNEL_KEYS = ("outcomes", "likelihood", "gaussian")
"""What format 1 had; whatever kind of kernel is added belongs to the newest format."""
_SHAPES: dict[Shape, Field[Any]] = {
    Shape.NAMES: list_of(NAME, instead="unreadable name {}".format),
    Shape.PROBABILITIES: by_name(numbers_of(PROBABILITY, low=0.0, high=1.0)),
    Shape.NUMBERS: by_name(numbers_of(NUMBER)),
    Shape.TABLES: by_name(row_of(row_with_mean(1))),
    Shape.MEANS: by_name(row_with_mean(0)),
    Shape.NUMBER: NUMBER,
    Shape.NAME: NAME,
}


def kernel_keys(kind: type[Kernel]) -> dict[str, Key]:
    """Return the keys of one kind of kernel, the required ones first."""
    return {
        name: Key(_SHAPES[shape], kind.about[name], i < kind.required, 1 if name in FORMAT_1_KERNEL_KEYS else 2)
        for i, (name, shape) in enumerate(kind.keys.items())
    }


def kernel_kinds(version: int) -> Iterator[type[Kernel]]:
    """Yield the kinds of kernels that a version of the format has."""
    for kind in KERNELS:
        if all(key.since <= version for key in kernel_keys(kind).values() if key.required):
            yield kind


KERNEL: Keys = {name: key._replace(required=False) for kind in KERNELS for name, key in kernel_keys(kind).items()}
"""The keys of all kinds together; which of them a kernel must have is known once its kind is."""


def _kernel_schema(version: int) -> Schema:
    return {"anyOf": [object_schema(kernel_keys(kind), version) for kind in kernel_kinds(version)]}


_KERNEL = Field(mapping_with(KERNEL).read, _kernel_schema)
PROBLEM: Keys = {
    "format": Key(
        Field(_read_format, lambda version: {"const": FORMATS[version - 1]}),
        "The format of this file.",
        required=True,
    ),
    "name": Key(LABEL, "What to call the problem."),
    "unit": Key(LABEL, "The unit of every cost and loss, for display."),
    "beliefs": Key(list_of(mapping_with(BELIEF, "name")), "What the robot holds true and acted on.", required=True),
    "actions": Key(list_of(mapping_with(ACTION, "name")), "What was done, or is planned, because of the beliefs."),
    "operations": Key(list_of(mapping_with(OPERATION, "name")), "Movements that undoing several actions may share."),
    "probes": Key(list_of(mapping_with(PROBE, "name")), "Measurements that can be made now."),
    "edges": Key(
        list_of(Field(_read_edge, _edge_schema)), "What rests on what: a source, a target and the kind of the edge."
    ),
    "hypotheses": Key(list_of(mapping_with(HYPOTHESIS, "name")), "All that may be the case, of which one is true."),
    "causes": Key(
        list_of(mapping_with(CAUSE, "name")), "What may have happened, in place of hypotheses, which follow."
    ),
    "together": Key(WHOLE, "How many causes may be present at once; all of them unless given."),
    "effects": Key(
        list_of(mapping_with(EFFECT, "when")),
        "What follows from conditions, in this order: the last that holds decides.",
    ),
    "kernels": Key(by_name(_KERNEL), "For every probe by its name, how it answers under each hypothesis."),
    "alarm": Key(mapping_with(ALARM), "What the monitor said; it changes the priors once."),
    "declarations": Key(
        list_of(mapping_with(DECLARATION, "name", "belief")), "Statements made from evidence, whose standing is asked."
    ),
    "sensing_budget": Key(COST, "The most that all probes together may cost; infinite unless given."),
    "restart": Key(
        either(COST, mapping_with(RESTART), mapping_since=2),
        "Starting over: its cost, if that corrects everything, or else its loss and what it corrects and undoes.",
    ),
    "escalate": Key(COST, "The loss of handing over to a person."),
    "plans": Key(list_of(mapping_with(PLAN, "name")), "Further ways of ending, each with a loss of its own."),
    "compensations": Key(
        list_of(mapping_with(COMPENSATION, "name")), "Ways of making up for what was done, without undoing."
    ),
    "delay": Key(LOSS, "The loss for each unit of time that the recovery takes; 0 unless given."),
    "corrections": Key(FLAG, "False: the recovery ends by a plan, a restart or a person, not by a correction."),
    "coverage": Key(mapping_with(COVERAGE, "stage"), "Calibration records that tell where probes may be left out."),
}


def problem_schema() -> Schema:
    """Return the JSON Schema (draft 2020-12) of the problem file.

    It tells which keys there are and what kind of value each has. Whether names, probabilities and edges fit together
    is more than a schema can say; `load_problem` says it.
    """
    versions = {f"format_{v}": _version_schema(v) for v in range(1, len(FORMATS) + 1)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "AquaMend problem",
        "description": "One recovery problem: what is believed, done, measurable and possibly wrong.",
        "type": "object",
        "properties": {"format": {"enum": list(FORMATS)}},
        "required": ["format"],
        "if": {"properties": {"format": {"const": FORMATS[0]}}},
        "then": {"$ref": "#/$defs/format_1"},
        "else": {"$ref": "#/$defs/format_2"},
        "$defs": {**SHARED_SCHEMAS, **versions},
    }


def _version_schema(version: int) -> Schema:
    schema = object_schema(PROBLEM, version)
    either_of = [key for key in ("hypotheses", "causes") if PROBLEM[key].since <= version]
    if len(either_of) == 1:
        return {**schema, "required": [*schema["required"], *either_of]}
    return {**schema, "anyOf": [{"required": [key]} for key in either_of]}


def schema_text() -> str:
    """Return the JSON Schema as the text of ``problem.schema.json``, which is shipped beside this module."""
    return json.dumps(problem_schema(), indent=1, ensure_ascii=False) + "\n"
