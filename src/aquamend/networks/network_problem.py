"""A network made into a problem file by causes: what each of its nodes is for a recovery, and how near the file comes.

A node is a cause, a test, the symptom that rang, or nothing. What nobody says is guessed, by a rule that knows no
network: causes are the nodes without parents above the symptom, each of them sound in its most probable state; tests
are the other nodes without children that depend on a cause. Every test costs 1, every repair 5, a fault that is left
costs 60, handing over 100. A person corrects that in a file.

Every cause has its probability given the causes before it, every test and the alarm theirs given the causes, all of
them exact. What a problem file cannot say is said beside it: tests that depend on each other though all causes are
known, and combinations of more causes than may come together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations as pairs
from pathlib import Path
from typing import Any

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.belief import InformationState
from aquamend.codec import Cost, FaultReport, Loss, Name, form_of
from aquamend.codec.plain_text import data_at
from aquamend.errors import AquaMendError, Fault, InvalidProblem
from aquamend.files import parse_problem
from aquamend.files.format import FORMAT
from aquamend.networks.network import Network, library, read_by_library
from aquamend.problem import Problem
from aquamend.problem.building.root_causes import combinations

TEST, REPAIR, RESIDUAL, ESCALATE = 1.0, 5.0, 60.0, 100.0
MOST_TOGETHER = 4
MOST_SETTINGS = 100_000
"""Settings of the causes up to which one more may come together, where nobody says how many may."""
MOST_PAIRS = 400
"""Pairs of tests whose dependence is computed; of more, the first."""
MOST_CHECKED = 20_000
"""Settings of causes at which two tests are compared."""
MOST_DEPENDENT = 0.05
"""By how much a guessed test may depend on another, all causes known."""
NOTEWORTHY = 1e-6
"""What two tests may depend on each other without being mentioned."""
SAME = 1e-12
"""Numbers that differ by less are one."""
MOST_RULES = 20_000
DEFAULT = "default"

Literal = tuple[str, Bools]
"""A word of a condition, and under which settings it holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRole:
    """A node that may be at fault."""

    normal: Name
    """The state in which nothing is wrong; any other is a fault."""
    repair: Cost = REPAIR
    """What putting it right costs."""
    residual: Loss = RESIDUAL
    """What is lost if it is at fault and stays so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """What each node is, and what everything costs."""

    symptom: Mapping[Name, Name]
    """What rang: nodes with the states that they are in."""
    causes: Mapping[Name, CauseRole]
    """The nodes that may be at fault."""
    tests: Mapping[Name, Cost] = field(default_factory=dict)
    """The nodes that can be looked at now, with what that costs."""
    together: int | None = None
    """How many causes may be at fault at once; all of them unless given."""
    escalate: Cost | None = ESCALATE
    """What handing over to a person costs."""
    restart: Cost | None = None
    """What replacing everything costs."""
    unit: str = ""
    """The unit of every cost and loss."""


def guessed(network: Network, symptom: Mapping[str, str]) -> Roles:
    """Return what the nodes are, as far as the network tells; `suggested` leaves out tests that would mislead."""
    if not symptom:
        leaves = ", ".join(f"{leaf} ({', '.join(network.states[leaf])})" for leaf in network.leaves[:12])
        raise AquaMendError(f"say what rang, with --symptom NODE=STATE; nodes without children are {leaves}")
    for node, state in symptom.items():
        network.state(node, state)
    above = network.ancestors(symptom)
    roots = [node for node in above if not network.parents[node] and node not in symptom]
    usual = {node: network.states[node][int(network.tables[node].argmax())] for node in roots}
    causes = {node: CauseRole(normal=state) for node, state in usual.items()}
    if not causes:
        raise AquaMendError(
            f"no node stands above {', '.join(symptom)}; name another symptom, or causes in a roles file"
        )
    tests = {
        leaf: TEST
        for leaf in network.leaves
        if leaf not in symptom and leaf not in causes and network.deciding(leaf, list(causes))
    }
    return with_together(network, Roles(symptom=symptom, causes=causes, tests=tests))


def with_together(network: Network, roles: Roles) -> Roles:
    """Return the roles with how many causes may come together: four, or as many as there is room for."""
    faults, counts, most = [len(network.states[node]) - 1 for node in roles.causes], [1], 0
    while most < min(MOST_TOGETHER, len(faults)):
        most += 1
        counts = [1] + [0] * most
        for states in faults:
            for k in range(most, 0, -1):
                counts[k] += states * counts[k - 1]
        if sum(counts) > MOST_SETTINGS:
            most -= 1
            break
    return replace(roles, together=max(1, most))


def read_roles(path: Path, network: Network) -> Roles:
    """Return the roles that a file gives; ``InvalidProblem`` with every fault in it."""
    report = FaultReport(nulls=True)
    roles: Any = form_of(Roles).read(data_at(path), "", report)
    if report.count:
        raise report.error(())
    return checked_roles(roles, network)


def checked_roles(roles: Roles, network: Network) -> Roles:
    """Return the roles; ``InvalidProblem`` with every name of nothing in them, and nodes with two roles."""
    faults = list(_faults(roles, network))
    if faults:
        raise InvalidProblem(faults)
    return roles


def _faults(roles: Roles, network: Network) -> Iterator[Fault]:
    said: list[tuple[str, str]] = [(f"symptom.{node}", node) for node in roles.symptom]
    said += [(f"causes.{node}", node) for node in roles.causes] + [(f"tests.{node}", node) for node in roles.tests]
    for where, node in said:
        if node not in network.states:
            yield Fault(where, f"{node!r} is no node of the network", "rename it", node, list(network.states))
    states = {f"symptom.{node}": (node, state) for node, state in roles.symptom.items()}
    states |= {f"causes.{node}.normal": (node, role.normal) for node, role in roles.causes.items()}
    for where, (node, state) in states.items():
        if node in network.states and state not in network.states[node]:
            yield Fault(where, f"{state!r} is no state of {node}", "rename it", state, network.states[node])
    costs = {f"tests.{node}": cost for node, cost in roles.tests.items()}
    costs |= {f"causes.{node}.repair": role.repair for node, role in roles.causes.items()}
    costs |= {f"causes.{node}.residual": role.residual for node, role in roles.causes.items()}
    costs |= {key: cost for key in ("escalate", "restart") if (cost := getattr(roles, key)) is not None}
    for where, cost in costs.items():
        if not cost >= 0.0:
            yield Fault(where, f"{cost!r} is not a cost", "give a number of at least 0")
    if roles.together is not None and roles.together < 1:
        yield Fault("together", f"{roles.together} leaves no cause", "give a whole number of at least 1")
    if not roles.symptom:
        yield Fault("symptom", "there is none", "say which node is in which state")
    if not roles.causes:
        yield Fault("causes", "there are none", "name at least one node that may be at fault")
    for node in roles.causes:
        if node in roles.symptom or node in roles.tests:
            yield Fault(f"causes.{node}", "it is a symptom or a test, too", "keep one of the two")


@dataclass(frozen=True, slots=True)
class Dependence:
    """Two observed nodes that depend on each other though all causes are known, and by how much at most."""

    one: str
    other: str
    by: float
    """The largest difference of the probability of two states together from their product."""


@dataclass(frozen=True, eq=False)
class Imported:
    """A problem made from a network."""

    network: Network
    roles: Roles
    data: Mapping[str, Any]
    """The problem file, as plain data."""
    dependent: tuple[Dependence, ...]
    """What it cannot express, the worst first."""
    unchecked_pairs: int = 0

    @cached_property
    def problem(self) -> Problem:
        """The problem that the file describes."""
        return parse_problem(self.data)

    @property
    def unused(self) -> list[str]:
        """Nodes without a role: they are summed over."""
        named = {*self.roles.symptom, *self.roles.causes, *self.roles.tests}
        return [node for node in self.network.states if node not in named]

    def probabilities(self) -> dict[str, dict[str, float]]:
        """Return what the problem says of each cause and of each test's answer, once the symptom has rung."""
        state = InformationState.alarmed(self.problem)
        posterior, found = state.posterior, dict[str, dict[str, float]]()
        failed = dict(zip((b.name for b in self.problem.graph.beliefs), self.problem.failed.T, strict=True))
        for node, role in self.roles.causes.items():
            found[node] = {"at fault": float(posterior @ failed[belief_of(node, role.normal)])}
        for test in self.roles.tests:
            channel: Any = self.problem.model.channels[clean(test)]
            said = dict(zip(channel.outcomes, (posterior @ channel.table).tolist(), strict=True))
            found[test] = {name: said[clean(name)] for name in self.network.states[test]}
        return found

    def differences(self, path: Path) -> dict[str, float]:
        """Return by how much that differs from exact inference in the network itself, by node, the worst first."""
        engine = library().LazyPropagation(read_by_library(path))
        engine.setEvidence(dict(self.roles.symptom))
        engine.makeInference()
        found = {}
        for node, ours in self.probabilities().items():
            exact = dict(zip(self.network.states[node], engine.posterior(node).toarray().tolist(), strict=True))
            if node in self.roles.causes:
                exact = {"at fault": 1.0 - exact[self.roles.causes[node].normal]}
            found[node] = max(abs(ours[state] - exact[state]) for state in ours)
        return dict(sorted(found.items(), key=lambda item: -item[1]))


def clean(name: str) -> str:
    """Return a name without the signs that conditions have a meaning for."""
    return re.sub(r"[&|=+<>]", "_", name).removeprefix("not ")


def belief_of(node: str, normal: str) -> str:
    """Return what the belief is called that a node is sound."""
    return f"{clean(node)} is {clean(normal)}"


def suggested(network: Network, symptom: Mapping[str, str]) -> Roles:
    """Return guessed roles, less the tests that depend by themselves on the symptom, or on a test kept before.

    A problem file takes all of them for independent once the causes are known.
    """
    roles = guessed(network, symptom)
    causes = [node for node in network.states if node in roles.causes]
    maker, kept = _Maker(network, roles, causes), list[str]()
    for test in roles.tests:
        others = [node for node in (*symptom, *kept) if network.linked(test, node, causes)]
        if all(maker.dependence(test, other) <= MOST_DEPENDENT for other in others):
            kept.append(test)
    return replace(roles, tests={test: roles.tests[test] for test in kept})


def imported(network: Network, roles: Roles) -> Imported:
    """Return the problem of a network whose nodes have these roles."""
    causes = [node for node in network.states if node in roles.causes]  # parents before children
    maker = _Maker(network, roles, causes)
    data: dict[str, Any] = {
        "format": FORMAT,
        "name": f"{network.name}: " + ", ".join(f"{node} {state}" for node, state in roles.symptom.items()),
        **({"unit": roles.unit} if roles.unit else {}),
        "beliefs": [{"name": maker.belief(node), "residual": roles.causes[node].residual} for node in causes],
        "actions": [
            {"name": f"{clean(node)} as it is", "undo": roles.causes[node].repair, "status": "executed"}
            for node in causes
        ],
        "probes": [{"name": clean(test), "cost": cost} for test, cost in roles.tests.items()],
        "edges": [[maker.belief(node), f"{clean(node)} as it is", "belief_to_action"] for node in causes]
        + [
            [clean(test), maker.belief(node), "detection"]
            for test in roles.tests
            for node in network.deciding(test, causes)
        ],
        "causes": [maker.cause(k) for k in range(len(causes))],
        **({"together": maker.together} if maker.together < len(causes) else {}),
        "alarm": {"suspects": [maker.belief(node) for node in causes], **maker.alarm()},
        "kernels": {clean(test): maker.kernel(test) for test in roles.tests},
    }
    for key, cost in (("restart", roles.restart), ("escalate", roles.escalate)):
        if cost is not None:
            data[key] = cost
    observed = [*roles.symptom, *roles.tests]
    linked = [pair for pair in pairs(observed, 2) if network.linked(*pair, causes)]
    found = [Dependence(*pair, maker.dependence(*pair)) for pair in linked[:MOST_PAIRS]]
    worst = sorted((one for one in found if one.by > NOTEWORTHY), key=lambda one: -one.by)
    return Imported(network, roles, data, tuple(worst), max(0, len(linked) - MOST_PAIRS))


@dataclass(frozen=True, eq=False)
class _Maker:
    """Makes the tables of a problem file."""

    network: Network
    roles: Roles
    causes: Sequence[str]

    @property
    def together(self) -> int:
        return len(self.causes) if self.roles.together is None else min(self.roles.together, len(self.causes))

    def belief(self, node: str) -> str:
        return belief_of(node, self.roles.causes[node].normal)

    def faults(self, node: str) -> list[int]:
        """Return the positions of a node's states in which it is at fault."""
        normal = self.network.state(node, self.roles.causes[node].normal)
        return [k for k in range(len(self.network.states[node])) if k != normal]

    def word(self, node: str, state: int) -> str:
        """Return how a condition says that a node is in a state of fault; a single one goes without its name."""
        several = len(self.faults(node)) > 1
        return f"{clean(node)}={clean(self.network.states[node][state])}" if several else clean(node)

    def settings(self, nodes: Sequence[str], most: int) -> tuple[Indices, list[Literal]]:
        """Return the states of these causes, so many of them at fault at most, and under which each word holds."""
        faults = [self.faults(node) for node in nodes]
        present = combinations([len(own) for own in faults], most)
        states = np.zeros(present.shape, dtype=np.intp)
        words = []
        for k, (node, own) in enumerate(zip(nodes, faults, strict=True)):
            normal = self.network.state(node, self.roles.causes[node].normal)
            states[:, k] = np.array([normal, *own])[present[:, k]]
            if len(own) > 1:
                words.append((clean(node), present[:, k] > 0))
            words += [(self.word(node, state), present[:, k] == i) for i, state in enumerate(own, start=1)]
        return states, words

    def table(self, node: str, evidence: Sequence[str], most: int) -> tuple[Floats, list[Literal]]:
        """Return P(node | causes) for every possible setting of those that decide it, and the words for these."""
        own = self.network.deciding(node, evidence)
        states, words = self.settings(own, most)
        rows = self.network.probabilities([node], own, states)
        possible = np.isfinite(rows).all(axis=1)
        return rows[possible], [(word, holds[possible]) for word, holds in words]

    def cause(self, k: int) -> dict[str, Any]:
        """Return a cause, its probability by what is true of those before it."""
        node = self.causes[k]
        rows, words = self.table(node, self.causes[:k], self.together - 1 if k else 0)
        states = {}
        for state in self.faults(node):
            rules = as_rules(rows[:, [state]], words, node)
            prior = [[condition, row[0]] for condition, row in rules]
            one = rules[0][1][0] if len(rules) == 1 else prior
            states[clean(self.network.states[node][state])] = {"prior": one, "failed": [self.belief(node)]}
        if len(states) == 1:
            return {"name": clean(node), **next(iter(states.values()))}
        return {"name": clean(node), "states": states}

    def alarm(self) -> dict[str, Any]:
        """Return how likely the symptom is: as a noisy-or where it is one."""
        nodes = list(self.roles.symptom)
        own = list(dict.fromkeys(c for node in nodes for c in self.network.deciding(node, self.causes)))
        own = [node for node in self.causes if node in own]
        states, words = self.settings(own, self.together)
        joint = self.network.probabilities(nodes, own, states)
        at = [self.network.state(node, state) for node, state in self.roles.symptom.items()]
        rung = joint.reshape(len(states), -1)[:, int(np.ravel_multi_index(at, joint.shape[1:]))]
        numbers = as_noisy_or(rung, self._alone(words))
        if numbers is not None:
            return {"noisy_or": numbers}
        return {"likelihood": [[condition, row[0]] for condition, row in as_rules(rung[:, None], words, nodes[0])]}

    def kernel(self, test: str) -> dict[str, Any]:
        """Return how a test answers: as a noisy-or where it has two answers and is one."""
        rows, words = self.table(test, self.causes, self.together)
        outcomes = [clean(state) for state in self.network.states[test]]
        if len(outcomes) == 2:
            for second in (1, 0):
                numbers = as_noisy_or(rows[:, second], self._alone(words))
                if numbers is not None and len(numbers) > 1:
                    return {"noisy_or": numbers, "outcomes": outcomes if second else outcomes[::-1]}
        rules = as_rules(rows, words, test)
        if len(rules) == 1:
            return {"outcomes": outcomes, "likelihood": {DEFAULT: rules[0][1]}}
        return {"outcomes": outcomes, "likelihood": [[condition, row] for condition, row in rules]}

    def _alone(self, words: Sequence[Literal]) -> list[Literal]:
        """Return the words that do not hold where another one does for the same cause: those of states."""
        several = {clean(node) for node in self.causes if len(self.faults(node)) > 1}
        return [(word, holds) for word, holds in words if word not in several]

    def dependence(self, one: str, other: str) -> float:
        """Return by how much two observed nodes depend on each other at most, all causes known."""
        own = [
            node
            for node in self.causes
            if node in {*self.network.deciding(one, self.causes), *self.network.deciding(other, self.causes)}
        ]
        most = self.together
        while most > 1 and len(combinations([len(self.faults(node)) for node in own], most)) > MOST_CHECKED:
            most -= 1
        states, _ = self.settings(own, most)
        joint = self.network.probabilities([one, other], own, states)
        joint = joint[np.isfinite(joint).all(axis=(1, 2))]
        apart = joint.sum(axis=2)[:, :, None] * joint.sum(axis=1)[:, None, :]
        return float(np.abs(joint - apart).max(initial=0.0))


# A table with a row for every setting of causes, written as few rules: the first that holds decides.
#
# The table is split by one state of a cause after the other, each time by the one that tells most about which row it is
# (in bits), until all rows are the same. What holds where a state is present comes first, so that the rules for the
# rest need not say that it is absent: each rule names only what is present.


def as_rules(rows: Floats, words: Sequence[Literal], what: str) -> list[tuple[str, list[float]]]:
    """Return conditions with rows, shape ``(n_settings, width)``, in order; ``what`` is named if they are too many."""
    _, label = np.unique(np.round(rows / SAME), axis=0, return_inverse=True)
    first = np.unique(label, return_index=True)[1]
    found = []
    for path, of in _split(label.reshape(-1), words, np.arange(len(rows)), ()):
        found.append((" & ".join(path) or DEFAULT, [float(f"{p:.15g}") for p in rows[first[of]].tolist()]))
        if len(found) > MOST_RULES:
            said = f"what {what} says of its causes takes more than {MOST_RULES:,} rules"
            raise AquaMendError(f"{said}; take fewer causes, let fewer come together, or leave it out")
    return found


def _split(
    label: Indices, words: Sequence[Literal], among: Indices, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], int]]:
    own = label[among]
    if (own == own[0]).all():
        yield path, int(own[0])
        return
    best, least = None, np.inf
    for k, (_, holds) in enumerate(words):
        here = holds[among]
        if here.any() and not here.all():
            left = _bits(own[here]) + _bits(own[~here])
            if left < least:
                best, least = k, left
    if best is None:
        raise AquaMendError("two settings of the causes that no word tells apart have different rows")
    word, holds = words[best]
    here = holds[among]
    yield from _split(label, words, among[here], (*path, word))
    yield from _split(label, words, among[~here], path)


def _bits(label: Indices) -> float:
    """Return how much is left to be said of which label each entry has."""
    counts = np.bincount(label)
    counts = counts[counts > 0]
    return float(-(counts * np.log(counts / len(label))).sum())


def as_noisy_or(present: Floats, words: Sequence[Literal]) -> dict[str, float] | None:
    """Return the numbers of a noisy-or, with its leak; None where a probability, one for each setting, is none.

    1 − p(s) = (1 − leak) Π (1 − number) over what is present: so each number follows from the settings with one alone.
    """
    count = np.sum([holds for _, holds in words], axis=0)
    if not (count == 0).any():
        return None
    stays = 1.0 - present
    leak, none = float(present[np.flatnonzero(count == 0)[0]]), float(stays[np.flatnonzero(count == 0)[0]])
    numbers, expected = {"leak": leak}, np.full(len(present), none)
    for word, holds in words:
        alone = np.flatnonzero(holds & (count == 1))
        if not len(alone) or none <= 0.0 or stays[alone[0]] > none + SAME:
            return None
        factor = float(stays[alone[0]]) / none
        numbers[word] = max(0.0, 1.0 - factor)
        expected = np.where(holds, expected * factor, expected)
    return numbers if np.abs(expected - stays).max() <= 1e-9 else None
