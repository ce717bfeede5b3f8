"""``aquamend import``: a recovery problem from somebody else's Bayesian network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aquamend.cli import Command
from aquamend.cli.options import AsJson, an_argument, an_option
from aquamend.cli.output import print_json, print_text, refusing, write_text
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from rich.console import Console

    from aquamend.networks import Imported, Network, Roles

NEAR = 0.01
"""A probability that differs by more from the network's own is warned of."""
MOST_SHOWN = 8

Pairs = Annotated[list[str], an_option("NODE=STATE", "What rang: a node and its state; repeatable.")]
Costs = Annotated[list[str], an_option("NODE=COST", "A test and its cost, in place of those guessed.")]


def import_network(
    network: Annotated[Path, an_argument("NETWORK", "A network: .bif, .uai, .xmlbif …")],
    *,
    symptom: Pairs = [],  # noqa: B006 - typer copies it
    cause: Annotated[
        list[str], an_option("NODE=STATE", "A cause and its normal state, in place of those guessed.")
    ] = [],  # noqa: B006
    test: Costs = [],  # noqa: B006
    repair: Annotated[list[str], an_option("NODE=COST", "What putting a cause right costs.")] = [],  # noqa: B006
    together: Annotated[
        int | None, typer.Option(min=1, metavar="K", help="How many causes may come together.", show_default=False)
    ] = None,
    roles: Annotated[Path | None, an_option("FILE", "All of that from a file, which --write-roles made.")] = None,
    write_roles: Annotated[Path | None, an_option("FILE", "Write what was guessed to a file, to be edited.")] = None,
    out: Annotated[Path | None, an_option("FILE", "Write the problem here, not to standard output.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a recovery problem of a Bayesian network: which nodes are causes, which are tests, which symptom rang.

    What is not said is guessed: causes are the nodes without parents above the symptom, each sound in its most
    probable state; tests are the other nodes without children that depend on a cause. The problem is checked against
    exact inference in the network; what it cannot express is said, and by how much. Needs pyAgrum.
    """
    with refusing(str(network)):
        from aquamend.networks import imported, load_network

        found = load_network(network)
        own = _roles(found, symptom, cause, test, repair, together, roles)
        if write_roles is not None:
            from aquamend.codec import write

            write_text(write_roles, _as_yaml(write(own, complete=True)))
        made = imported(found, own)
        differences = made.differences(network)
        _deliver(made, differences, out, as_json)


def _roles(
    network: Network,
    symptom: list[str],
    cause: list[str],
    test: list[str],
    repair: list[str],
    together: int | None,
    roles_file: Path | None,
) -> Roles:
    from dataclasses import replace

    from aquamend.networks import read_roles, suggested
    from aquamend.networks.network_problem import CauseRole, checked_roles, with_together

    if roles_file is not None:
        if symptom or cause or test or repair or together:
            raise AquaMendError("--roles says all that the other options would say; edit that file instead")
        return read_roles(roles_file, network)
    said = dict(_pair(one, "--symptom") for one in symptom)
    roles = suggested(network, said)
    if cause:
        roles = replace(roles, causes={node: CauseRole(normal=s) for node, s in (_pair(c, "--cause") for c in cause)})
        roles = with_together(network, checked_roles(roles, network))
        roles = replace(roles, tests={t: c for t, c in roles.tests.items() if t not in roles.causes})
    if test:
        roles = replace(roles, tests={node: _cost(c, "--test") for node, c in (_pair(one, "--test") for one in test)})
    causes = dict(roles.causes)
    for one in repair:
        node, cost = _pair(one, "--repair")
        if node not in causes:
            raise AquaMendError(f"--repair: {node!r} is no cause; those are {', '.join(causes)}")
        causes[node] = replace(causes[node], repair=_cost(cost, "--repair"))
    roles = replace(roles, causes=causes, together=together or roles.together)
    return checked_roles(roles, network)


def _pair(text: str, option: str) -> tuple[str, str]:
    node, equals, rest = text.partition("=")
    if not equals or not node.strip() or not rest.strip():
        raise AquaMendError(f"{option} {text!r} is no pair; write NODE=… with something on either side")
    return node.strip(), rest.strip()


def _cost(text: str, option: str) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = -1.0
    if not cost >= 0.0:
        raise AquaMendError(f"{option}: {text!r} is no cost; give a number of at least 0")
    return cost


def _as_yaml(data: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, default_flow_style=None, width=110)
    return text


def _deliver(made: Imported, differences: dict[str, float], out: Path | None, as_json: bool) -> None:
    text = _as_yaml(dict(made.data))
    if out is not None:
        write_text(out, text)
    if as_json:
        print_json(_as_data(made, differences))
    elif out is None:
        typer.echo(text, nl=False)
        for line in _remarks(made, differences):
            typer.echo(line, err=True)
    else:
        print_text(lambda console: _print(console, made, differences, out))


def _as_data(made: Imported, differences: dict[str, float]) -> dict[str, Any]:
    from aquamend.codec import write

    return {
        "network": made.network.name,
        "roles": write(made.roles, complete=True),
        "hypotheses": len(made.problem.model.names),
        "left_out": made.problem.model.left_out,
        "differences": differences,
        "dependent": [{"between": [one.one, one.other], "by": one.by} for one in made.dependent],
        "unused": made.unused,
        "problem": dict(made.data),
    }


def _remarks(made: Imported, differences: dict[str, float]) -> list[str]:
    """Return what the problem cannot express, and how near it is, in sentences."""
    roles, model = made.roles, made.problem.model
    node, worst = next(iter(differences.items()))
    said = [
        f"{len(roles.causes)} causes, {len(roles.tests)} tests, {len(model.names):,} hypotheses; after the symptom no "
        f"probability is more than {worst:.2g} from the network's own (the worst: {node})"
        + ("." if worst <= NEAR else ": take care."),
    ]
    if model.left_out > 0.0:
        said.append(
            f"More than {roles.together} causes at once are left out, {model.left_out:.2%} of the prior; "
            "`aquamend decide` bounds what that does to the loss."
        )
    if made.dependent:
        pairs = ", ".join(f"{d.one} and {d.other} by up to {d.by:.2g}" for d in made.dependent[:MOST_SHOWN])
        more = f", and {len(made.dependent) - MOST_SHOWN} pairs less" if len(made.dependent) > MOST_SHOWN else ""
        said.append(f"Taken for independent once all causes are known, and are not quite: {pairs}{more}.")
    if made.unchecked_pairs:
        said.append(f"{made.unchecked_pairs:,} more pairs of tests may depend on each other; they were not compared.")
    if made.unused:
        shown = ", ".join(made.unused[:MOST_SHOWN]) + (" …" if len(made.unused) > MOST_SHOWN else "")
        said.append(f"Summed over, since they have no role: {shown}.")
    said.append("Whether a repair has helped cannot be tried out here: that is learnt from the next alarm.")
    return said


def _print(console: Console, made: Imported, differences: dict[str, float], out: Path) -> None:
    from rich.table import Table

    roles = made.roles
    table = Table(title=str(made.data["name"]), title_justify="left")
    for column in ("node", "role", "normally", "cost", "left alone", "off by"):
        table.add_column(column, justify="right" if column in ("cost", "left alone", "off by") else "left")
    for node, role in roles.causes.items():
        table.add_row(node, "cause", role.normal, f"{role.repair:g}", f"{role.residual:g}", f"{differences[node]:.1e}")
    for test, cost in roles.tests.items():
        table.add_row(test, "test", "", f"{cost:g}", "", f"{differences[test]:.1e}")
    console.print(table)
    for line in _remarks(made, differences):
        console.print(line)
    console.print(f"{out}: written; try `aquamend decide {out}`")


COMMANDS = {"import": Command("aquamend.cli.import_network:import_network", "Make a problem of a Bayesian network.")}
