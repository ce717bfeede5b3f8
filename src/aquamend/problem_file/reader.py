"""From a problem file, or its data, to a problem; or to every fault found."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from aquamend.errors import Fault, InvalidProblem
from aquamend.graph import LEGAL_ENDPOINTS, Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.graph.validation import graph_faults
from aquamend.model import Alarm, Gaussian, JointModel, Kernel
from aquamend.model.coverage import coverage_faults
from aquamend.model.validation import model_faults, reference_faults
from aquamend.modelling.compensations import with_compensations
from aquamend.modelling.persistence import with_persistent_errors
from aquamend.modelling.rules import Vocabulary
from aquamend.problem import Plan, Problem, plan_faults, terminal_faults
from aquamend.problem_file.causes import require_hypotheses
from aquamend.problem_file.draft import PRIORS, STATUSES, Draft, draft_of
from aquamend.problem_file.location import located
from aquamend.problem_file.report import FORMATS, FaultReport
from aquamend.problem_file.schema import PROBLEM, read_entry
from aquamend.problem_file.text import data_of, text_at

_ANY_KERNEL: Kernel = Gaussian({})
_V = TypeVar("_V")


def load_problem(path: str | os.PathLike[str]) -> Problem:
    """Return the problem that a JSON or YAML file describes.

    Raises `InvalidProblem` with every fault found, also where the file is missing, unreadable or no JSON or YAML.
    """
    return read_problem(text_at(path), suffix=Path(path).suffix)


def read_problem(text: str, *, suffix: str = "") -> Problem:
    """Return the problem that a text describes, as JSON or YAML; faults come with their lines and columns.

    ``suffix`` is the end of the file's name, ``.json`` or ``.yaml``; without one, a leading brace means JSON.
    """
    data = data_of(text, suffix=suffix)
    try:
        return parse_problem(data)
    except InvalidProblem as error:
        raise InvalidProblem(located(error.faults, text)) from None


def parse_problem(data: Mapping[str, Any]) -> Problem:
    """Return the problem that plain data describes: mappings, lists, text and numbers, as a problem file has them.

    Raises `InvalidProblem` with every fault found: of the data's shape and, in all that could be read, of its meaning.
    """
    report = FaultReport(_version_of(data))
    top = read_entry(data, "", PROBLEM, report)
    if top is None:
        raise report.error(PROBLEM)
    require_hypotheses(top, report)
    draft = draft_of(top, report)
    if report.count == 0:
        try:
            return _problem(draft)
        except InvalidProblem as error:  # of the part that was built first; the others are judged below
            report.judge(error.faults)
    report.judge(meaning_faults(draft))
    raise report.error(PROBLEM)


def vocabulary_in(data: Mapping[str, Any]) -> Vocabulary:
    """Return what conditions in the data of a sound problem may speak of, and its hypotheses before any is split."""
    report = FaultReport(len(FORMATS))
    top = read_entry(data, "", PROBLEM, report)
    if top is None:
        raise report.error(PROBLEM)
    return draft_of(top, report).vocabulary


def _version_of(data: object) -> int:
    said = data.get("format") if isinstance(data, Mapping) else None
    # A format that is none is a fault of its own; that a key is newer than it would not be worth saying.
    return FORMATS.index(said) + 1 if isinstance(said, str) and said in FORMATS else len(FORMATS)


def _problem(draft: Draft) -> Problem:
    kernels = {probe: found.kernel for probe, found in draft.kernels.items() if found is not None}
    problem = Problem(
        graph=RecoveryGraph(draft.beliefs, draft.actions, draft.probes, draft.edges, draft.operations),
        model=JointModel(draft.hypotheses, kernels, draft.alarm, draft.declarations, draft.left_out),
        restart=draft.restart,
        plans=draft.plans,
        coverage=draft.coverage,
        **draft.rest,
    )
    if draft.compensations:
        problem = with_compensations(problem, draft.compensations)
    return with_persistent_errors(problem, draft.persistent)


def meaning_faults(draft: Draft) -> Iterator[Fault]:
    """Yield every fault of the graph, the model, and what they say of each other.

    A name that stands nowhere is no fault while it may be one of those that could not be read.
    """
    yield from _graph_faults(draft)
    yield from _model_faults(draft)
    yield from _kernel_faults(draft)
    yield from _reference_faults(draft)
    yield from _ending_faults(draft)
    if draft.coverage is not None:
        yield from coverage_faults(draft.coverage)


def _graph_faults(draft: Draft) -> list[Fault]:
    assumed = _assumed_nodes(draft)
    operations = list(draft.operations)
    if "operations" in draft.incomplete:
        used = {name: None for action in draft.actions for name in action.operations}
        present = {operation.name for operation in operations}
        operations += [Operation(name, 0.0) for name in used if name not in present]
    return graph_faults(
        [*draft.beliefs, *(node for node in assumed if isinstance(node, Belief))],
        [*draft.actions, *(node for node in assumed if isinstance(node, Action))],
        [*draft.probes, *(node for node in assumed if isinstance(node, Probe))],
        draft.edges,
        operations,
    )


def _assumed_nodes(draft: Draft) -> list[Belief | Action | Probe]:
    """Return nodes that edges and sources name and that may be among those that could not be read."""
    nodes: list[Belief | Action | Probe] = [*draft.beliefs, *draft.actions, *draft.probes]
    known, assumed = {node.name for node in nodes}, dict[str, Belief | Action | Probe]()
    named: list[tuple[str, Sequence[str]]] = []
    for edge in draft.edges:
        sources, target = LEGAL_ENDPOINTS[edge.kind]
        named += [(edge.source, sources), (edge.target, (target,))]
    named += [(probe.source, ("belief",)) for probe in draft.probes if probe.source is not None]
    for name, node_types in sorted(named, key=lambda pair: len(pair[1])):  # first where only one type can be meant
        unread = [node_type for node_type in node_types if f"{node_type}s" in draft.incomplete]
        if name not in known and unread:
            assumed.setdefault(name, _assumed_node(name, unread[0]))
    return list(assumed.values())


def _assumed_node(name: str, node_type: str) -> Belief | Action | Probe:
    if node_type == "probe":
        return Probe(name, 0.0)
    return Belief(name) if node_type == "belief" else Action(name)


def _model_faults(draft: Draft) -> list[Fault]:
    alarm, declarations = draft.alarm, draft.declarations
    if "hypotheses" in draft.incomplete:
        known = set(draft.names)
        declarations = [replace(d, invalid_in=tuple(n for n in d.invalid_in or () if n in known)) for d in declarations]
        if alarm is not None:  # possible under a hypothesis that could not be read, for all we know
            alarm = Alarm({name: value or 1.0 for name, value in _only(alarm.likelihood, known).items()})
    faults = model_faults(draft.hypotheses, {}, alarm, declarations)
    if draft.incomplete & {"hypotheses", PRIORS}:
        return [fault for fault in faults if fault.where != "hypotheses"]  # their number and their sum
    return faults


def _only(rows: Mapping[str, _V], known: set[str]) -> dict[str, _V]:
    return {name: row for name, row in rows.items() if name in known}


def _kernel_faults(draft: Draft) -> Iterator[Fault]:
    all_names = "hypotheses" not in draft.incomplete
    for probe, found in draft.kernels.items():
        if found is not None:
            yield from found.faults(f"kernels.{probe}", draft.names, all_names=all_names)


def _reference_faults(draft: Draft) -> Iterator[Fault]:
    beliefs, probes = list(draft.beliefs), list(draft.probes)
    kernels = dict.fromkeys(draft.kernels, _ANY_KERNEL)
    if "beliefs" in draft.incomplete:
        beliefs += _assumed_beliefs(draft)
    if "kernels" in draft.incomplete:
        kernels = dict.fromkeys([probe.name for probe in probes], _ANY_KERNEL) | kernels
    if "probes" in draft.incomplete:
        supports = [name for declaration in draft.declarations for name in declaration.support]
        kernels = dict.fromkeys(supports, _ANY_KERNEL) | kernels
        # A probe that was read still needs a kernel; those assumed here all have one.
        known = {probe.name for probe in probes}
        probes += [Probe(name, 0.0) for name in kernels if name not in known]
    return reference_faults(draft.hypotheses, kernels, draft.alarm, draft.declarations, beliefs, probes)


def _assumed_beliefs(draft: Draft) -> list[Belief]:
    known = {belief.name for belief in draft.beliefs}
    failed = {name: Belief(name) for hypothesis in draft.hypotheses for name in hypothesis.failed}
    valued = {name: Belief(name, declared="unreadable") for h in draft.hypotheses for name in h.truth}
    named = [*(draft.alarm.suspects if draft.alarm else ()), *(d.belief for d in draft.declarations)]
    assumed = {name: Belief(name) for name in named} | valued | failed
    return [belief for name, belief in assumed.items() if name not in known]


def _ending_faults(draft: Draft) -> Iterator[Fault]:
    restart = draft.restart if isinstance(draft.restart, Plan) else None
    flat = None if isinstance(draft.restart, Plan) else draft.restart
    yield from terminal_faults(draft.rest.get("sensing_budget", 0.0), flat, draft.rest.get("escalate"))
    beliefs = {belief.name for belief in draft.beliefs}
    executed = {action.name for action in draft.actions if action.executed}
    plans = [*draft.plans, restart] if restart else draft.plans
    if "beliefs" in draft.incomplete:
        beliefs |= {name for plan in plans for name in plan.correct}
    if draft.incomplete & {"actions", STATUSES}:
        executed |= {name for plan in plans for name in plan.undo}
    yield from plan_faults(draft.plans, restart, beliefs, executed, len(draft.hypotheses))
