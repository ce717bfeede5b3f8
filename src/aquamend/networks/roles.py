"""What each node of a network is for a recovery: a cause, a test, the symptom that rang, or nothing.

What nobody says is guessed, by a rule that knows no network: causes are the nodes without parents above the symptom,
each of them sound in its most probable state; tests are the other nodes without children that depend on a cause. Every
test costs 1, every repair 5, a fault that is left costs 60, handing over 100. A person corrects that in a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aquamend.codec import Cost, FaultReport, Loss, Name, form_of, write
from aquamend.errors import AquaMendError, Fault, InvalidProblem
from aquamend.networks.network import Network

TEST, REPAIR, RESIDUAL, ESCALATE = 1.0, 5.0, 60.0, 100.0
MOST_TOGETHER = 4
MOST_SETTINGS = 100_000
"""Settings of the causes up to which one more may come together, where nobody says how many may."""


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
    causes = {node: CauseRole(normal=_usual(network, node)) for node in above if not network.parents[node]}
    for node in symptom:
        causes.pop(node, None)
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


def _usual(network: Network, root: str) -> str:
    return network.states[root][int(network.tables[root].argmax())]


def read_roles(path: Path, network: Network) -> Roles:
    """Return the roles that a file gives; ``InvalidProblem`` with every fault in it."""
    from aquamend.codec.plain_text import data_at

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


def written(roles: Roles) -> dict[str, Any]:
    """Return the roles as plain data for a file that a person edits."""
    data: dict[str, Any] = write(roles, complete=True)
    return data
