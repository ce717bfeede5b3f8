"""Networks that others wrote as recovery problems: exact where a problem file can say it, honest where it cannot."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from aquamend import AquaMend, InformationState, load_problem
from aquamend.cli.main import app
from aquamend.errors import AquaMendError, InvalidProblem, UnknownName
from aquamend.networks import Network, imported, load_network, read_roles, suggested
from aquamend.networks.network_problem import as_noisy_or, as_rules

pyagrum = pytest.importorskip("pyagrum")

ASIA = """network unknown {}
variable smoke { type discrete [ 2 ] { yes, no }; }
variable lung { type discrete [ 2 ] { yes, no }; }
variable tub { type discrete [ 2 ] { yes, no }; }
variable either { type discrete [ 2 ] { yes, no }; }
variable xray { type discrete [ 2 ] { clear, shadow }; }
variable dysp { type discrete [ 2 ] { yes, no }; }
variable mood { type discrete [ 3 ] { good, fair, bad }; }
probability ( smoke ) { table 0.4, 0.6; }
probability ( lung | smoke ) { (yes) 0.1, 0.9; (no) 0.01, 0.99; }
probability ( tub ) { table 0.02, 0.98; }
probability ( either | lung, tub ) { (yes,yes) 1.0, 0.0; (yes,no) 1.0, 0.0; (no,yes) 1.0, 0.0; (no,no) 0.0, 1.0; }
probability ( xray | either ) { (yes) 0.02, 0.98; (no) 0.95, 0.05; }
probability ( dysp | either, smoke ) { (yes,yes) 0.9, 0.1; (yes,no) 0.7, 0.3; (no,yes) 0.3, 0.7; (no,no) 0.1, 0.9; }
probability ( mood ) { table 0.5, 0.3, 0.2; }
"""


@pytest.fixture(scope="module")
def asia(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("networks") / "asia.bif"
    path.write_text(ASIA)
    return path


def random_network(seed: int, n: int = 8) -> Network:
    """Nodes of two or three states, each with up to three parents before it; some tables hold zeros."""
    rng = np.random.default_rng(seed)
    states = {f"n{i}": tuple(f"s{k}" for k in range(int(rng.integers(2, 4)))) for i in range(n)}
    parents, tables = {}, {}
    for i, node in enumerate(states):
        own = sorted(rng.choice(i, size=min(i, int(rng.integers(0, 4))), replace=False).tolist()) if i else []
        parents[node] = tuple(f"n{j}" for j in own)
        shape = tuple(len(states[p]) for p in parents[node])
        rows = rng.dirichlet(np.ones(len(states[node])), shape)
        rows[rng.random(shape) < 0.2] = np.eye(len(states[node]))[0]
        tables[node] = rows
    return Network("random", states, parents, tables)


def joint_table(network: Network) -> np.ndarray:
    """The probability of every setting of all nodes, an axis for each."""
    nodes = list(network.states)
    total = np.ones([len(network.states[node]) for node in nodes])
    for setting in itertools.product(*(range(size) for size in total.shape)):
        for node in nodes:
            at = tuple(setting[nodes.index(one)] for one in (*network.parents[node], node))
            total[setting] *= network.tables[node][at]
    return total


@pytest.mark.parametrize("seed", range(6))
def test_probabilities_are_those_of_the_whole_joint_table(seed):
    network, rng = random_network(seed), np.random.default_rng(seed)
    nodes, joint = list(network.states), joint_table(random_network(seed))
    for _ in range(4):
        drawn = [nodes[i] for i in rng.choice(len(nodes), size=5, replace=False)]
        targets, given = drawn[:2], drawn[2:]
        settings = np.array([*itertools.product(*(range(len(network.states[node])) for node in given))])
        found = network.probabilities(targets, given, settings)
        for row, setting in zip(found, settings, strict=True):
            at = tuple(setting[given.index(one)] if one in given else slice(None) for one in nodes)
            rest = [one for one in nodes if one not in given]
            exact = joint[at].sum(axis=tuple(k for k, one in enumerate(rest) if one not in targets))
            exact = exact if rest.index(targets[0]) < rest.index(targets[1]) else exact.T
            if exact.sum() > 0:
                np.testing.assert_allclose(row, exact / exact.sum(), atol=1e-12)
            else:
                assert np.isnan(row).all()


@pytest.mark.parametrize("seed", range(6))
def test_a_node_depends_on_none_but_those_that_decide_it(seed):
    network = random_network(seed)
    nodes = list(network.states)
    given = nodes[1:6]
    settings = np.array([*itertools.product(*(range(len(network.states[node])) for node in given))])
    decided = network.probabilities([nodes[7]], given, settings)
    own = network.deciding(nodes[7], given)
    again = network.probabilities([nodes[7]], own, settings[:, [given.index(node) for node in own]])
    possible = np.isfinite(decided).all(axis=1)
    np.testing.assert_allclose(decided[possible], again[possible], atol=1e-12)


def test_rules_say_every_row_and_the_first_that_holds_decides():
    rng = np.random.default_rng(3)
    settings = np.array([*itertools.product([False, True], repeat=5)])
    rows = rng.integers(0, 3, (32, 1)).astype(float)
    words = [(f"w{k}", settings[:, k]) for k in range(5)]
    rules = as_rules(rows, words, "it")
    assert rules[-1][0] == "default"
    for setting, row in zip(settings, rows, strict=True):
        holds = {f"w{k}" for k in np.flatnonzero(setting)} | {"default"}
        assert next(said for condition, said in rules if set(condition.split(" & ")) <= holds) == row.tolist()


def test_a_noisy_or_is_found_and_nothing_else_is_taken_for_one():
    settings = np.array([*itertools.product([False, True], repeat=3)])
    words = [(f"w{k}", settings[:, k]) for k in range(3)]
    present = 1.0 - 0.9 * np.prod(np.where(settings, [0.2, 0.5, 0.7], 1.0), axis=1)
    found = as_noisy_or(present, words)
    assert found == pytest.approx({"leak": 0.1, "w0": 0.8, "w1": 0.5, "w2": 0.3})
    assert as_noisy_or(present + 0.01 * settings.all(axis=1), words) is None
    assert as_noisy_or(1.0 - present, words) is None


def test_the_problem_says_what_exact_inference_in_the_network_says(asia):
    network = load_network(asia)
    roles = suggested(network, {"dysp": "yes"})
    assert list(roles.causes) == ["tub", "smoke"]
    assert roles.causes["smoke"].normal == "no"
    made = imported(network, roles)
    differences = made.differences(asia)
    assert max(differences[node] for node in roles.causes) < 1e-7  # what was heard is exact
    assert set(made.unused) == {"lung", "either", "mood"} | ({"xray"} - set(roles.tests))


def test_causes_may_have_parents_among_the_causes(asia):
    network = load_network(asia)
    from aquamend.networks.network_problem import CauseRole, Roles

    causes = {node: CauseRole(normal="no") for node in ("smoke", "lung", "tub")}
    made = imported(network, Roles(symptom={"dysp": "yes"}, causes=causes, tests={"xray": 1.0}))
    assert made.dependent == ()
    assert max(made.differences(asia).values()) < 1e-7
    assert made.data["causes"][2]["prior"] == [["smoke", 0.1], ["default", 0.01]]


def test_what_two_tests_depend_on_each_other_by_is_said(asia):
    network = load_network(asia)
    from aquamend.networks.network_problem import CauseRole, Roles

    roles = Roles(symptom={"dysp": "yes"}, causes={"smoke": CauseRole(normal="no")}, tests={"xray": 1.0})
    (only,) = imported(network, roles).dependent
    joint = joint_table(network)
    nodes = list(network.states)
    worst = 0.0
    for smoke in (0, 1):
        table = np.moveaxis(joint, [nodes.index(n) for n in ("smoke", "dysp", "xray")], [0, 1, 2])[smoke]
        both = table.sum(axis=tuple(range(2, table.ndim)))
        both /= both.sum()
        worst = max(worst, np.abs(both - np.outer(both.sum(axis=1), both.sum(axis=0))).max())
    assert (only.one, only.other, only.by) == ("dysp", "xray", pytest.approx(worst))


def test_the_command_writes_a_problem_and_the_roles_it_guessed(asia, tmp_path):
    out, roles, run = tmp_path / "out.yaml", tmp_path / "roles.yaml", CliRunner()
    said = run.invoke(app, ["import", str(asia), "--symptom", "dysp=yes", "--repair", "tub=9", "--out", str(out),
                            "--write-roles", str(roles)])  # fmt: skip
    assert said.exit_code == 0, said.output
    assert "2 causes" in said.output
    problem = load_problem(out)
    assert AquaMend().next_step(InformationState.alarmed(problem))
    assert {action.name: action.undo for action in problem.graph.actions} == {"smoke as it is": 5, "tub as it is": 9}
    edited = yaml.safe_load(roles.read_text())
    edited["causes"]["smoke"]["residual"] = 7.0
    roles.write_text(yaml.safe_dump(edited))
    again = run.invoke(app, ["import", str(asia), "--roles", str(roles), "--json"])
    data = json.loads(again.output)
    assert {one["name"]: one["residual"] for one in data["problem"]["beliefs"]} == {"smoke is no": 7, "tub is no": 60}
    assert set(data["differences"]) == {"smoke", "tub", *data["roles"]["tests"]}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "say what rang, with --symptom"),
        (["--symptom", "dysp"], "is no pair"),
        (["--symptom", "mood=bad"], "no node stands above mood"),
        (["--symptom", "dsyp=yes"], "did you mean 'dysp'"),
        (["--symptom", "dysp=maybe"], "unknown state of dysp 'maybe'"),
        (["--symptom", "dysp=yes", "--test", "xray=-1"], "'-1' is no cost"),
        (["--symptom", "dysp=yes", "--repair", "xray=1"], "'xray' is no cause"),
        (["--symptom", "dysp=yes", "--cause", "smoke=never"], "'never' is no state of smoke"),
    ],
)
def test_what_cannot_be_meant_is_refused_in_words(asia, options, said):
    found = CliRunner().invoke(app, ["import", str(asia), *options])
    assert found.exit_code == 2
    assert said in found.output
    assert "Traceback" not in found.output


@pytest.mark.parametrize(("suffix", "saved"), [(".uai", "saveUAI"), (".bifxml", "saveBIFXML"), (".xml", "saveBIFXML")])
def test_other_kinds_of_files_say_the_same(asia, tmp_path, suffix, saved):
    path = tmp_path / f"asia{suffix}"
    known = path if suffix != ".xml" else tmp_path / "asia.bifxml"
    getattr(pyagrum.loadBN(str(asia)), saved)(str(known))
    if known != path:
        known.rename(path)
    network, original = load_network(path), load_network(asia)
    assert sorted(table.shape for table in network.tables.values()) == sorted(t.shape for t in original.tables.values())
    leaf = max(network.leaves, key=lambda node: len(network.ancestors([node])))
    roles = suggested(network, {leaf: network.states[leaf][0]})
    made = imported(network, roles)
    differences = made.differences(path)
    assert max(differences[node] for node in roles.causes) < 1e-6


def test_files_that_are_no_networks_are_refused(tmp_path):
    broken, other = tmp_path / "broken.bif", tmp_path / "problem.yaml"
    broken.write_text("network {")
    other.write_text("x")
    for path, said in ((broken, "cannot read it"), (other, "no kind of network"), (tmp_path / "a.bif", "no such file")):
        with pytest.raises(AquaMendError, match=said):
            load_network(path)


def test_every_fault_of_a_roles_file_is_reported(asia, tmp_path):
    network, roles = load_network(asia), tmp_path / "roles.yaml"
    roles.write_text(
        "symptom: {dysp: never}\ncauses: {dysp: {normal: 'no'}, somke: {normal: 'no'}}\ntests: {xray: -1}\n"
    )
    with pytest.raises(InvalidProblem, match=r"tests\.xray"):
        read_roles(roles, network)
    roles.write_text("symptom: {dysp: never}\ncauses: {dysp: {normal: 'no'}, somke: {normal: 'no'}}\n")
    with pytest.raises(InvalidProblem) as refused:
        read_roles(roles, network)
    assert {fault.where for fault in refused.value.faults} == {"symptom.dysp", "causes.somke", "causes.dysp"}


def test_an_unknown_node_is_named():
    with pytest.raises(UnknownName):
        random_network(0).state("x", "y")
