"""What is wrong with what the readable parts of a file mean together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeVar

from aquamend.errors import Fault
from aquamend.graph import LEGAL_ENDPOINTS, Action, Belief, Operation, Probe
from aquamend.graph.validation import graph_faults
from aquamend.model import Alarm, Declaration, Discrete, Gaussian, Kernel
from aquamend.model.validation import model_faults, reference_faults
from aquamend.problem import terminal_faults
from aquamend.problem_file.draft import PRIORS, Draft

_UNREADABLE: Kernel = Gaussian({})
_V = TypeVar("_V")


def meaning_faults(draft: Draft) -> Iterator[Fault]:
    """Yield every fault of the graph, the model, and what they say of each other.

    A name that stands nowhere is no fault while it may be one of those that could not be read.
    """
    yield from _graph_faults(draft)
    yield from _model_faults(draft)
    yield from _reference_faults(draft)
    yield from terminal_faults(draft.sensing_budget, draft.restart, draft.escalate)


def _graph_faults(draft: Draft) -> list[Fault]:
    assumed: dict[str, Belief | Action | Probe] = {}
    nodes: list[Belief | Action | Probe] = [*draft.beliefs, *draft.actions, *draft.probes]
    known = {node.name for node in nodes}
    for edge in draft.edges:
        for name, node_type in zip(edge[:2], LEGAL_ENDPOINTS[edge.kind], strict=True):
            if name not in known and f"{node_type}s" in draft.incomplete:
                assumed.setdefault(name, _assumed_node(name, node_type))
    operations = list(draft.operations)
    if "operations" in draft.incomplete:
        named = {name: None for action in draft.actions for name in action.operations}
        present = {operation.name for operation in operations}
        operations += [Operation(name, 0.0) for name in named if name not in present]
    return graph_faults(
        [*draft.beliefs, *(node for node in assumed.values() if isinstance(node, Belief))],
        [*draft.actions, *(node for node in assumed.values() if isinstance(node, Action))],
        [*draft.probes, *(node for node in assumed.values() if isinstance(node, Probe))],
        draft.edges,
        operations,
    )


def _assumed_node(name: str, node_type: str) -> Belief | Action | Probe:
    if node_type == "probe":
        return Probe(name, 0.0)
    return Belief(name) if node_type == "belief" else Action(name)


def _model_faults(draft: Draft) -> list[Fault]:
    kernels = {probe: kernel for probe, kernel in draft.kernels.items() if kernel is not None}
    alarm, declarations = draft.alarm, draft.declarations
    if "hypotheses" in draft.incomplete:
        known = {hypothesis.name for hypothesis in draft.hypotheses}
        kernels = {probe: _known_rows(kernel, known) for probe, kernel in kernels.items()}
        declarations = [_known_invalid(declaration, known) for declaration in declarations]
        if alarm is not None:  # possible under a hypothesis that could not be read, for all we know
            alarm = Alarm({name: value or 1.0 for name, value in _only(alarm.likelihood, known).items()})
    faults = model_faults(draft.hypotheses, kernels, alarm, declarations)
    if draft.incomplete & {"hypotheses", PRIORS}:
        return [fault for fault in faults if fault.where != "hypotheses"]  # their number and their sum
    return faults


def _only(rows: Mapping[str, _V], known: set[str]) -> dict[str, _V]:
    return {name: row for name, row in rows.items() if name in known}


def _known_rows(kernel: Kernel, known: set[str]) -> Kernel:
    if isinstance(kernel, Discrete) and isinstance(kernel.likelihood, Mapping):
        return Discrete(kernel.outcomes, _only(kernel.likelihood, known))
    if isinstance(kernel, Gaussian) and isinstance(kernel.mean_sd, Mapping):
        return Gaussian(_only(kernel.mean_sd, known))
    return kernel


def _known_invalid(declaration: Declaration, known: set[str]) -> Declaration:
    return replace(declaration, invalid_in=tuple(name for name in declaration.invalid_in if name in known))


def _reference_faults(draft: Draft) -> Iterator[Fault]:
    beliefs = [belief.name for belief in draft.beliefs]
    probes = [probe.name for probe in draft.probes]
    kernels: dict[str, Kernel] = {probe: kernel or _UNREADABLE for probe, kernel in draft.kernels.items()}
    if "beliefs" in draft.incomplete:
        beliefs += [name for hypothesis in draft.hypotheses for name in hypothesis.failed]
        beliefs += draft.alarm.suspects if draft.alarm else ()
        beliefs += [declaration.belief for declaration in draft.declarations]
    if "kernels" in draft.incomplete:
        kernels = dict.fromkeys(probes, _UNREADABLE) | kernels
    if "probes" in draft.incomplete:
        supports = [name for declaration in draft.declarations for name in declaration.support]
        kernels = dict.fromkeys(supports, _UNREADABLE) | kernels
        # A probe that was read still needs a kernel; those assumed here all have one.
        known = set(probes)
        probes += [name for name in kernels if name not in known]
    return reference_faults(draft.hypotheses, kernels, draft.alarm, draft.declarations, beliefs, probes)
