"""A discrete Bayesian network, and exact probabilities in it under very many settings of some nodes at once.

    P(t | c) ∝ Σ over all other nodes  Π_v P(v | parents of v)

The sum is made one node after the other (variable elimination), for all settings c together: each table has one more
axis for them wherever it depends on a node that is set. What is set cuts the network apart, so tables stay small where
the causes are set.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.errors import AquaMendError, MissingLibrary, UnknownName

SUFFIXES = (".bif", ".uai", ".bifxml", ".xmlbif", ".xml", ".dsl", ".net", ".o3prm")
"""Kinds of files that the library reads."""
ALSO_CALLED = {".xml": ".bifxml", ".xmlbif": ".bifxml"}
"""Other names for what the library knows by one."""
MOST_NUMBERS = 2e7
"""Most numbers in one table: a hundred and sixty megabytes."""
CHUNK = 4096
"""Settings that are worked on together."""


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes with their states, parents and tables, parents before children."""

    name: str
    states: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]
    tables: Mapping[str, Floats]
    """By node, P(node | parents), an axis for each parent in order and the last for the node itself."""

    @cached_property
    def children(self) -> Mapping[str, tuple[str, ...]]:
        """By node, the nodes that it is a parent of."""
        found: dict[str, list[str]] = {node: [] for node in self.states}
        for node, parents in self.parents.items():
            for parent in parents:
                found[parent].append(node)
        return {node: tuple(own) for node, own in found.items()}

    @property
    def roots(self) -> list[str]:
        """The nodes without parents."""
        return [node for node, parents in self.parents.items() if not parents]

    @property
    def leaves(self) -> list[str]:
        """The nodes without children."""
        return [node for node, children in self.children.items() if not children]

    def state(self, node: str, name: str) -> int:
        """Return the position of a state; ``UnknownName`` where there is no such node or state."""
        if node not in self.states:
            raise UnknownName("node", node, list(self.states))
        if name not in self.states[node]:
            raise UnknownName(f"state of {node}", name, self.states[node])
        return self.states[node].index(name)

    def ancestors(self, nodes: Iterable[str]) -> list[str]:
        """Return these nodes and all above them, in the order of the network."""
        found, waiting = set[str](), list(nodes)
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting.extend(self.parents[node])
        return [node for node in self.states if node in found]

    def deciding(self, node: str, evidence: Sequence[str]) -> list[str]:
        """Return those of the given nodes that a node may depend on once all of them are known."""
        reached = self._reached(node, evidence, self.ancestors([node, *evidence]))
        return [one for one in evidence if one in reached and one != node]

    def linked(self, one: str, other: str, evidence: Sequence[str]) -> bool:
        """Whether two nodes may depend on each other once all the given ones are known."""
        return other in self._reached(one, evidence, self.ancestors([one, other, *evidence]))

    def _reached(self, node: str, evidence: Sequence[str], above: Sequence[str]) -> set[str]:
        """Return what can be reached from a node among those above without passing through a given one."""
        near: dict[str, set[str]] = {one: set() for one in above}
        for child in above:  # parents and child are linked, and so are the parents of one child
            family = (child, *self.parents[child])
            for one in family:
                near[one].update(other for other in family if other != one)
        reached, waiting, known = {node}, [node], set(evidence)
        while waiting:
            for other in near[waiting.pop()] - reached:
                reached.add(other)
                if other not in known:
                    waiting.append(other)
        return reached

    def probabilities(self, targets: Sequence[str], evidence: Sequence[str], settings: Indices) -> Floats:
        """Return P(targets | given) for every setting, shape ``(n_settings, *states of the targets)``.

        ``settings``, shape ``(n_settings, n_given)``, holds positions of states. Settings that are impossible have nan.
        """
        parts = [
            self._joint(targets, evidence, settings[start : start + CHUNK]) for start in range(0, len(settings), CHUNK)
        ]
        joint = np.concatenate(parts)
        with np.errstate(invalid="ignore"):
            return np.asarray(joint / joint.sum(axis=tuple(range(1, joint.ndim)), keepdims=True))

    def _joint(self, targets: Sequence[str], evidence: Sequence[str], settings: Indices) -> Floats:
        """Return P(targets, given) up to a factor."""
        place = {node: k for k, node in enumerate(evidence)}
        factors = [self._factor(node, place, settings) for node in self.ancestors([*targets, *evidence])]
        free = {node for nodes, _ in factors for node in nodes} - set(targets)
        while free:
            cost = {node: self._size([nodes for nodes, _ in factors if node in nodes]) for node in free}
            node = min(sorted(free), key=cost.__getitem__)
            touched = [factor for factor in factors if node in factor[0]]
            factors = [factor for factor in factors if node not in factor[0]]
            factors.append(self._product(touched, len(settings), without=node))
            free.discard(node)
        return self._product(factors, len(settings), order=targets)[1]

    def _factor(self, node: str, place: Mapping[str, int], settings: Indices) -> Factor:
        """Return a node's table where some nodes are set: the first axis is for the settings, or of length one."""
        family = (*self.parents[node], node)
        known = [k for k, one in enumerate(family) if one in place]
        rest = [k for k, one in enumerate(family) if one not in place]
        table = self.tables[node].transpose([*known, *rest])
        if not known:
            return tuple(family), table[None]
        return tuple(family[k] for k in rest), table[tuple(settings[:, place[family[k]]] for k in known)]

    def _size(self, touched: Sequence[Sequence[str]]) -> float:
        return float(np.prod([len(self.states[one]) for one in {one for nodes in touched for one in nodes}]))

    def _product(
        self, factors: Sequence[Factor], n: int, *, without: str = "", order: Sequence[str] | None = None
    ) -> Factor:
        """Return the product of tables, summed over one node."""
        nodes = list(dict.fromkeys(one for own, _ in factors for one in own))
        kept = tuple(one for one in nodes if one != without) if order is None else tuple(order)
        if self._size([nodes]) * n > MOST_NUMBERS:
            said = f"{self.name}: what links {', '.join(nodes[:4])} … is too large a table to compute exactly"
            raise AquaMendError(f"{said}; take more of those nodes for causes, or another symptom")
        total: Floats = np.ones((1,) * (1 + len(nodes)))
        for own, table in factors:
            at = [own.index(one) if one in own else -1 for one in nodes]
            axes = table.transpose([0, *(1 + k for k in at if k >= 0)])
            shape = [axes.shape[0], *(len(self.states[one]) if one in own else 1 for one in nodes)]
            total = total * axes.reshape(shape)
        if without:
            total = total.sum(axis=1 + nodes.index(without))
            nodes.remove(without)
        arranged = total.transpose([0, *(1 + nodes.index(one) for one in kept)])
        if order is None:
            return kept, arranged
        return kept, np.broadcast_to(arranged, (n, *arranged.shape[1:]))


Factor = tuple[tuple[str, ...], Floats]
"""Nodes, and a table with an axis for the settings and one for each of them."""


def load_network(path: Path) -> Network:
    """Return the network of a file: BIF, UAI, XMLBIF and what else pyAgrum reads."""
    bn = read_by_library(path)
    nodes = [bn.variable(i).name() for i in bn.topologicalOrder()]
    states = {node: tuple(bn.variable(node).labels()) for node in nodes}
    parents, tables = {}, {}
    for node in nodes:
        table = bn.cpt(node)
        axes = list(reversed(table.names))  # as its array has them: the node itself comes last
        numbers = _as_written(np.asarray(table.toarray(), dtype=np.float64))
        parents[node], tables[node] = tuple(axes[:-1]), numbers / numbers.sum(axis=-1, keepdims=True)
    return Network(path.stem, states, parents, tables)


def library() -> Any:
    """Return pyAgrum. Its import warns of its own making, and crashes where warnings are errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pyagrum
    except ImportError:
        raise MissingLibrary("pyagrum", "networks", "to read Bayesian networks") from None
    return pyagrum


def read_by_library(path: Path) -> Any:
    """Return what pyAgrum makes of a file, for its own inference."""
    pyagrum = library()
    if path.suffix.lower() not in SUFFIXES:
        raise AquaMendError(f"{path.suffix or path.name!r} is no kind of network; give one of {', '.join(SUFFIXES)}")
    if not path.is_file():
        raise AquaMendError("there is no such file; give the path of a network")
    try:
        with tempfile.TemporaryDirectory(prefix="aquamend-") as folder:
            known = Path(folder) / f"network{ALSO_CALLED.get(path.suffix.lower(), path.suffix.lower())}"
            shutil.copyfile(path, known)
            return pyagrum.loadBN(str(known))
    except Exception as error:  # noqa: BLE001 - whatever the library raises is about the file
        first = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise AquaMendError(f"pyAgrum cannot read it: {first.replace(str(known), path.name)}") from None


def _as_written(numbers: Floats) -> Floats:
    """Return numbers to seven digits, all that the library keeps of them: 0.9499999987 was written as 0.95."""
    with np.errstate(divide="ignore"):
        digits = 6 - np.floor(np.log10(np.where(numbers > 0.0, numbers, 1.0)))
    scale = 10.0**digits
    return np.asarray(np.round(numbers * scale) / scale)
