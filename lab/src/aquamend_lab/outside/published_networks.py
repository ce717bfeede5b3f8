"""Published Bayesian networks, read from an installed package, with symptoms, costs and truths by one rule.

The rule was fixed before the first run. Of each network, the symptoms are the first four nodes without children, those
with most causes above them first, for which an unusual state (the least probable one of at least one per cent that is
not called normal) can be imported with what `aquamend import` guesses, so that there are two faults and two tests at
least. Costs are drawn log-uniformly: tests from 0.5 to 2, repairs from 2 to 10, a fault that is left from 20 to 100;
replacing everything costs 60, a person 100.

What is true is drawn from the network itself, given the symptom: all of its nodes, so that more faults at once than the
problem allows may be there, and tests may depend on each other as the problem says they do not.
"""

from __future__ import annotations

import gzip
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aquamend.arrays import Indices
from aquamend.errors import AquaMendError
from aquamend.networks import Imported, Network, imported, load_network, suggested
from aquamend.networks.network_problem import belief_of, clean
from aquamend.problem import Problem
from aquamend.recovery import Ending, Measure, Receipt, Recovery, Verdict, residuals
from aquamend.testing.model_world import ModelWorld

PACKAGE, VERSION = "pgmpy", "1.1.2"
"""The package whose wheel holds the networks (MIT; most come from the bnlearn repository, CC BY-SA 3.0); it is never
imported."""
NETWORKS = {
    "win95pts": "printing under Windows 95 (Microsoft Research)",
    "alarm": "monitoring a patient under anaesthesia (Beinlich et al. 1989)",
    "hepar2": "disorders of the liver (Onisko 2003)",
    "pathfinder": "diseases of lymph nodes (Heckerman et al. 1992)",
}
SYMPTOMS = 4
UNUSUAL = 0.01
"""The least probability of a symptom's state."""
TEST, REPAIR, RESIDUAL = (0.5, 2.0), (2.0, 10.0), (20.0, 100.0)
REPLACE, PERSON = 60.0, 100.0
DRAWN_AT_ONCE, MOST_DRAWS = 20_000, 100


class Symptom(NamedTuple):
    """A network, and what rang in it."""

    network: str
    node: str
    state: str


@cache
def network_file(name: str) -> Path:
    """Return the path of a network, unpacked for as long as this process runs."""
    try:
        packed = Path(str(distribution(PACKAGE).locate_file(f"pgmpy/utils/example_models/{name}.bif.gz")))
    except PackageNotFoundError:
        remedy = f"run `make setup`, or `pip install --no-deps {PACKAGE}=={VERSION}`"
        raise AquaMendError(f"the networks come with the package {PACKAGE}, which is not installed; {remedy}") from None
    folder = tempfile.TemporaryDirectory(prefix="aquamend-networks-")
    _FOLDERS.append(folder)  # it goes with the process
    path = Path(folder.name) / f"{name}.bif"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []


@cache
def network_named(name: str) -> Network:
    """Return a published network."""
    return load_network(network_file(name))


@cache
def symptoms(name: str) -> tuple[Symptom, ...]:
    """Return the symptoms of a network, by the rule."""
    network, found = network_named(name), list[Symptom]()
    causes = {leaf: sum(not network.parents[node] for node in network.ancestors([leaf])) for leaf in network.leaves}
    for leaf in sorted(network.leaves, key=lambda node: -causes[node]):  # equal ones in the order of the network
        (chances,) = network.probabilities([leaf], [], np.zeros((1, 0), dtype=np.intp))
        order = np.argsort(chances, kind="stable").tolist()
        abnormal = [k for k in order if network.states[leaf][k].casefold() != "normal"]
        unusual = [k for k in abnormal if chances[k] >= UNUSUAL][:1]
        if unusual and unusual[0] != int(chances.argmax()):
            symptom = Symptom(name, leaf, network.states[leaf][unusual[0]])
            try:
                made = problem_of(symptom)
            except AquaMendError:
                continue
            if len(made.problem.model.names) > 2 and len(made.roles.tests) >= 2:
                found.append(symptom)
        if len(found) == SYMPTOMS:
            break
    return tuple(found)


@cache
def problem_of(symptom: Symptom) -> Imported:
    """Return what is imported for a symptom, with all that is guessed."""
    network = network_named(symptom.network)
    roles = suggested(network, {symptom.node: symptom.state})
    return imported(network, replace(roles, escalate=PERSON, restart=REPLACE))


def with_costs(problem: Problem, rng: np.random.Generator) -> Problem:
    """Return a problem with costs drawn by the rule."""

    def drawn(span: tuple[float, float]) -> float:
        return float(np.exp(rng.uniform(*np.log(span))))

    graph = problem.graph
    changed = replace(
        graph,
        probes=[replace(probe, cost=drawn(TEST)) for probe in graph.probes],
        actions=[replace(action, undo=drawn(REPAIR)) for action in graph.actions],
        beliefs=[replace(belief, residual=drawn(RESIDUAL)) for belief in graph.beliefs],
    )
    return replace(problem, graph=changed, written=None)


def drawn_truth(symptom: Symptom, rng: np.random.Generator) -> dict[str, str]:
    """Return the states of all nodes, drawn from the network given the symptom; the first of many draws that has it."""
    network = network_named(symptom.network)
    for _ in range(MOST_DRAWS):
        states = draws(symptom, rng)
        if len(states[symptom.node]):
            return {node: network.states[node][int(own[0])] for node, own in states.items()}
    raise AquaMendError(f"{symptom}: too improbable to draw")


def draws(symptom: Symptom, rng: np.random.Generator) -> dict[str, Indices]:
    """Return the states of all nodes, node by node, in those of many draws from the network that have the symptom."""
    network, states = network_named(symptom.network), dict[str, Indices]()
    for node in network.states:
        rows = network.tables[node][tuple(states[parent] for parent in network.parents[node])]
        rows = np.broadcast_to(rows, (DRAWN_AT_ONCE, rows.shape[-1]))
        reached = rows.cumsum(axis=1) < rng.random(DRAWN_AT_ONCE)[:, None]
        states[node] = np.minimum(reached.sum(axis=1), rows.shape[1] - 1)
    hits = np.flatnonzero(states[symptom.node] == network.state(symptom.node, symptom.state))
    return {node: own[hits] for node, own in states.items()}


@dataclass(eq=False)
class NetworkWorld(ModelWorld):
    """All nodes of a network are in some state; a test says what its node is, however often it is asked."""

    states: Mapping[str, str] = field(default_factory=dict)
    """By test, what it answers."""
    wrong: tuple[str, ...] = ()
    """The beliefs that have failed. For the judge alone."""

    def measure(self, step: Measure) -> Receipt:
        """Read the node."""
        return step.done(self.states[step.probe])

    def judge(self, recovery: Recovery) -> Verdict:
        """Say which faults were left."""
        if recovery.ending is not Ending.FINISHED:
            return Verdict(self.wrong, (), success=False)
        left = tuple(name for name in self.wrong if name not in recovery.corrected)
        return Verdict(left, residuals(self.start.problem, left, ()), success=not left)


def faults_of(made: Imported, truth: Mapping[str, str]) -> tuple[str, ...]:
    """Return the beliefs that are wrong where the nodes are in these states."""
    return tuple(
        belief_of(node, role.normal)
        for node in made.network.states
        if (role := made.roles.causes.get(node)) is not None and truth[node] != role.normal
    )


def answers_of(made: Imported, truth: Mapping[str, str]) -> dict[str, str]:
    """Return what the tests answer where the nodes are in these states."""
    return {clean(test): clean(truth[test]) for test in made.roles.tests}
