"""The production command against the reference, on several hundred random problem files.

Every policy is asked once for all files. All disagreements are gathered before the test fails, so one run shows
whether a fault is one file's or everybody's.
"""

import json
import math
import random
import subprocess
import sys
from contextlib import chdir
from functools import cache
from pathlib import Path

import pytest
from tests.tiers import cases
from tests.waiting import PATIENCE_S
from typer.testing import CliRunner

from aquamend.cli.main import app

DISCRETE, GAUSSIAN = cases(28, 160), cases(13, 26)
PLANNERS = ("aquamend", "all-candidates", "lookahead-1", "lookahead-2", "lookahead-3", "exact")
FIXED = ("no-reprobe", "restart")
UNCHECKED = ("troubleshooting", "decoupled", "greedy", "rollback-only")
"""Policies that the format names and does not define: only what holds for any policy can be checked."""

SECOND_DISCRETE, SECOND_GAUSSIAN, SECOND_LAST = 28, cases(8, 26), cases(12, 40)
"""Problems of format 2: some with discrete probes (many more in the second tier), with Gaussian ones, or one last."""

MANY_DISCRETE, MANY_GAUSSIAN = 500, 150
SECOND_POLICIES = ("aquamend", "exact", "lookahead-2", "no-reprobe", "all-candidates", "restart")
SECOND_OBSERVATIONS = [
    (("p0", "o0"),),
    (("p1", "o1"),),
    (("p0", "o1"), ("p1", "o0")),
    (("p0", "o1"), ("p0", "o0")),
    (("p0", "o0"), ("p1", "o0"), ("p2", "o0")),
]

PLANNED = {"aquamend": 1, "all-candidates": 1, "exact": math.inf} | {f"lookahead-{k}": k for k in (1, 2, 3)}
"""How many probes ahead a policy plans."""

COMMAND = Path(sys.executable).with_name("aquamend")


def _write(folder, generator, brute_force, *, count, first_seed, gaussian):
    references = {}
    for seed in range(first_seed, first_seed + count):
        problem = generator.random_problem(random.Random(seed), gaussian=gaussian)
        name = f"{'gaussian' if gaussian else 'discrete'}-{seed}.json"
        (folder / name).write_text(json.dumps(problem, indent=1))
        references[name] = brute_force.Reference(problem)
    return references


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("problems")


@pytest.fixture(scope="module")
def discrete(folder, generator, brute_force):
    return _write(folder, generator, brute_force, count=DISCRETE, first_seed=0, gaussian=False)


@pytest.fixture(scope="module")
def gaussian(folder, generator, brute_force):
    return _write(folder, generator, brute_force, count=GAUSSIAN, first_seed=0, gaussian=True)


@cache  # several tests look at different parts of the same answers
def ask(folder, *arguments):
    """Return the JSON lines of one run of the command."""
    with chdir(folder):
        run = CliRunner().invoke(app, [*arguments, "--json"])
    assert run.exit_code == 0, f"exit {run.exit_code}\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}"
    return [json.loads(line) for line in run.stdout.splitlines()]


def near(actual, expected, tolerance):
    """Return whether a reported number is the expected one; ``"inf"`` is infinity and ``null`` is ``None``."""
    if expected is None or actual is None:
        return actual is expected
    actual = math.inf if actual == "inf" else actual
    return actual == expected or abs(actual - expected) <= tolerance * max(1.0, abs(expected))


def terminal_faults(label, said, terminal, reference, seen):
    """Yield where a reported terminal decision differs; restart and escalate carry no correction to compare."""
    if said["kind"] != terminal.kind:
        yield f"{label}: {said}, not {terminal.kind} {terminal.correct}"
    elif terminal.kind in ("roll_back", "continue"):
        if tuple(said.get("correct", ())) != terminal.correct:
            yield f"{label} corrects {said.get('correct')}, not {terminal.correct}"
        if set(said.get("undo", ())) != set(terminal.undo):
            yield f"{label} undoes {said.get('undo')}, not {terminal.undo}"
        declare = said.get("declare") or {}
        if declare != terminal.declare and not rounding_declares(reference, seen, declare, terminal.declare):
            yield f"{label} declares {declare}, not {terminal.declare}"


def rounding_declares(reference, seen, said, expected):
    """Return whether the values differ only where two of them are so nearly tied that rounding decides."""
    if said.keys() != expected.keys():
        return False
    for belief in expected:
        risks = [
            [risk for value, risk in reference.values(belief, seen) if value == declared[belief]]
            for declared in (said, expected)
        ]
        if said[belief] != expected[belief] and not (risks[0] and edge_of_a_tie(risks[0][0], risks[1][0])):
            return False
    return True


def edge_of_a_tie(one, other):
    """Return whether two numbers differ by about 1e-9, so that rounding decides whether they are tied."""
    return one != other and 5e-10 < abs(one - other) < 2e-9


def rounding_decides(reference, seen, said, expected, tolerance, depth):
    """Return whether a step or stop other than the expected one is so nearly tied that rounding decides.

    Among equals the format says which comes first, so an exact tie is no excuse. An integral over a Gaussian answer
    is known to ``tolerance`` only, and no better.
    """
    losses = []
    for step in (said, expected):
        if step["kind"] == "reprobe":
            losses.append(reference.probe_loss(step["probe"], seen, depth))
            continue
        alike = [
            stop.loss(reference.posterior(seen))
            for stop in reference.stops_at(seen)
            if stop.kind == step["kind"]
            and (stop.kind in ("restart", "escalate") or list(stop.correct) == list(step.get("correct", ())))
        ]
        losses.append(alike[0] if alike else math.inf)
    integrals = tolerance > 1e-7 and "reprobe" in (said["kind"], expected["kind"])
    return edge_of_a_tie(*losses) or (integrals and abs(losses[0] - losses[1]) <= tolerance)


def probe_faults(reference, seen, rows, tolerance):
    """Yield where the one-step numbers of the probes differ."""
    stop_loss = reference.best_stop(seen)[1]
    rows = {row["probe"]: row for row in rows}
    legal = reference.legal(seen)
    if [name for name in rows if rows[name]["legal"]] != legal:
        yield f"legal probes {[name for name in rows if rows[name]['legal']]}, not {legal}"
        return
    for probe in legal:
        row, loss = rows[probe], reference.probe_loss(probe, seen)
        benefit = None if loss == math.inf else stop_loss - loss
        if row["screened_out"]:
            yield f"{probe} is screened out"
        if not near(row["expected_loss"], loss, tolerance):
            yield f"{probe} has expected loss {row['expected_loss']}, not {loss}"
        if not near(row["net_benefit"], benefit, tolerance):
            yield f"{probe} has net benefit {row['net_benefit']}, not {benefit}"
        yield from power_faults(reference, seen, probe, row["power"], tolerance)


def power_faults(reference, seen, probe, said, tolerance):
    """Yield where the detection power differs.

    Two corners the format leaves open are let pass: how small a probability reads as "cannot be invalid", and a
    Gaussian answer that only approaches the threshold.
    """
    powers = reference.power(probe, seen)
    if "gaussian" in reference.problem["kernels"][probe]:
        strictly = reference.power(probe, seen, threshold=0.5 + 1e-9)
        least = 1e-6  # what is rarer may be rejected after a glitch, and the reference knows of none
    else:
        strictly, least = powers, 1e-9
    for name, power in powers.items():
        actual = said.get(name, "missing")
        if 0 < invalidity(reference, name, seen) < least:
            continue
        if power is not None and strictly[name] - tolerance <= actual <= power + tolerance:
            continue
        if not near(actual, power, tolerance):
            yield f"{probe} has power {actual} on {name}, not {power}"


def invalidity(reference, declaration, seen):
    """Return the probability that a declaration is invalid."""
    return sum(reference.posterior(seen)[name] for name in reference.declarations[declaration])


def bound_faults(bounds, optimum, tolerance):
    """Yield where the certificate does not bracket the optimum."""
    lower, upper = (math.inf if bounds[end] == "inf" else bounds[end] for end in ("lower", "upper"))
    if lower is not None and lower > optimum + tolerance:
        yield f"lower bound {lower} is above the optimum {optimum}"
    if upper is not None and upper < optimum - tolerance:
        yield f"upper bound {upper} is below the optimum {optimum}"


def decision_faults(reference, policy, seen, said, *, tolerance, optimum):
    """Yield every way in which one reported decision differs from the reference's."""
    step = reference.next_step(policy, seen)
    stop, loss = reference.best_stop(seen)
    for label, expected, depth in (("step", step, PLANNED.get(policy)), ("stop", stop, 0)):
        if isinstance(expected, str):
            found = []
            if (said[label]["kind"], said[label].get("probe")) != ("reprobe", expected):
                found = [f"{label} {said[label]}, not reprobe {expected}"]
            wanted = {"kind": "reprobe", "probe": expected}
        else:
            found = list(terminal_faults(label, said[label], expected, reference, seen))
            wanted = {"kind": expected.kind, "correct": expected.correct}
            price = expected.loss(reference.posterior(seen))
            if not found and not near(said[label].get("loss"), price, tolerance):
                found = [f"{label} {said[label]} should cost {price}"]
        if found and (depth is None or not rounding_decides(reference, seen, said[label], wanted, tolerance, depth)):
            yield from found
    if not near(said["stop"]["loss"], loss, tolerance):
        yield f"stop costs {said['stop']['loss']}, not {loss}"
    yield from probe_faults(reference, seen, said["probes"], tolerance)
    for table in ("marginals", "attribution"):
        expected = getattr(reference, table)(seen)
        if said[table].keys() != expected.keys() or any(
            not near(said[table][k], expected[k], tolerance) for k in expected
        ):
            yield f"{table} {said[table]}, not {expected}"
    if optimum is not None:
        yield from bound_faults(said["bounds"], optimum, tolerance)


def compare_decisions(folder, references, policy, *, observe=(), tolerance=1e-7, optimum=lambda reference, seen: None):
    """Fail with every disagreement of one run of ``decide`` over these files."""
    seen = tuple(sorted(observe))
    flags = [flag for probe, outcome in observe for flag in ("--observe", f"{probe}={outcome}")]
    lines = ask(folder, "decide", *references, "--policy", policy, *flags)
    assert [Path(line["file"]).name for line in lines] == list(references)
    faults = []
    for (name, reference), said in zip(references.items(), lines, strict=True):
        assert said["policy"] == policy
        best = optimum(reference, seen)
        found = decision_faults(reference, policy, seen, said, tolerance=tolerance, optimum=best)
        faults += [f"{name}: {fault}" for fault in found]
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


def observable(references, observe):
    """Return the problems in which these observations are legal, one after the other, and possible."""
    found = {}
    for name, reference in references.items():
        seen = ()
        for probe, outcome in observe:
            if probe not in reference.legal(seen) or not conceivable(reference, seen, probe, outcome):
                break
            seen = tuple(sorted((*seen, (probe, outcome))))
        else:
            found[name] = reference
    return found


def conceivable(reference, seen, probe, outcome):
    """Return whether some hypothesis allows the outcome: a reading within five deviations, which is no glitch."""
    kernel = reference.problem["kernels"][probe]
    alive = [name for name, mass in reference.posterior(seen).items() if mass > 0]
    if "gaussian" in kernel:
        return any(abs(outcome - mean) <= 5 * sd for mean, sd in map(kernel["gaussian"].get, alive))
    if outcome not in kernel["outcomes"]:
        return False
    return any(kernel["likelihood"][name][kernel["outcomes"].index(outcome)] > 0 for name in alive)


@pytest.mark.parametrize("policy", [*PLANNERS, *FIXED])
def test_first_decision_on_discrete_problems(folder, discrete, policy):
    compare_decisions(folder, discrete, policy, optimum=lambda reference, seen: reference.optimum(seen))


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-2", "exact"])
@pytest.mark.parametrize(
    "observe",
    [(("p0", "o0"),), (("p0", "o1"), ("p1", "o0")), (("p0", "o1"), ("p0", "o0"))],
    ids=["one observation", "two probes", "one probe twice"],
)
def test_decision_after_observations(folder, discrete, policy, observe):
    possible = observable(discrete, observe)
    assert len(possible) > len(discrete) / 8
    compare_decisions(folder, possible, policy, observe=observe, optimum=lambda r, seen: r.optimum(seen))


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-1", "no-reprobe"])
@pytest.mark.parametrize("observe", [(), (("p0", 0.7),)], ids=["at first", "after an observation"])
def test_decision_with_gaussian_probes(folder, gaussian, policy, observe):
    possible = observable(gaussian, observe)
    assert len(possible) > 0.6 * GAUSSIAN
    compare_decisions(folder, possible, policy, observe=observe, tolerance=1e-6)


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-2", "exact"])
def test_decision_with_one_gaussian_use_left(folder, gaussian, policy):
    """Where a Gaussian probe can only be the last, the complete tree is known exactly."""
    last = {name: reference for name, reference in gaussian.items() if _gaussian_ends(reference)}
    assert len(last) > GAUSSIAN / 6
    compare_decisions(folder, last, policy, tolerance=1e-6, optimum=lambda reference, seen: reference.optimum(seen))


def _gaussian_ends(reference):
    try:
        reference.optimum()
    except ValueError:
        return False
    return True


def test_evaluation_matches_the_full_outcome_tree(folder, discrete):
    policies = (*PLANNERS, *FIXED)
    lines = ask(folder, "evaluate", *discrete, "--policy", ",".join(policies))
    asked = [(name, policy) for name in discrete for policy in policies]
    assert [(Path(line["file"]).name, line["policy"]) for line in lines] == asked
    faults = []
    for (name, policy), said in zip(asked, lines, strict=True):
        for key, expected in discrete[name].evaluate(policy).items():
            if not near(said[key], expected, 1e-7):
                faults.append(f"{name}: {policy} has {key} {said[key]}, not {expected}")
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


def test_no_other_policy_claims_to_beat_the_optimum(folder, discrete):
    lines = ask(folder, "evaluate", *discrete, "--policy", ",".join(UNCHECKED))
    faults = []
    for said in lines:
        optimum = discrete[Path(said["file"]).name].optimum()
        loss = math.inf if said["expected_loss"] == "inf" else said["expected_loss"]
        if loss < optimum - 1e-7 or not -1e-9 <= said["success"] <= 1 + 1e-9:
            faults.append(f"{said}, but the optimum is {optimum}")
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


def _write_second(folder, generator, brute_force, *, count, first_seed, kind="discrete"):
    references = {}
    sizes = {"max_probes": 2, "max_total_uses": 2} if kind == "last" else {}
    for seed in range(first_seed, first_seed + count):
        problem = generator.format_2_problem(random.Random(seed), gaussian=kind != "discrete", **sizes)
        name = f"second-{kind}-{seed}.json"
        (folder / name).write_text(json.dumps(problem, indent=1))
        references[name] = brute_force.Reference(problem)
    return references


@pytest.fixture(scope="module")
def second(folder, generator, brute_force):
    return _write_second(folder, generator, brute_force, count=SECOND_DISCRETE, first_seed=0)


@pytest.fixture(scope="module")
def second_gaussian(folder, generator, brute_force):
    return _write_second(folder, generator, brute_force, count=SECOND_GAUSSIAN, first_seed=0, kind="gaussian")


@pytest.fixture(scope="module")
def second_last(folder, generator, brute_force):
    """Return problems whose complete tree is known exactly: a Gaussian probe can only be the last."""
    found = _write_second(folder, generator, brute_force, count=3 * SECOND_LAST, first_seed=5000, kind="last")
    return {name: reference for name, reference in found.items() if _gaussian_ends(reference)}


def _optimum(reference, seen):
    return reference.optimum(seen)


def declaration_faults(reference, seen, rows, tolerance):
    """Yield where the declarations differ: those in force, and the risk of those that the evidence now supports."""
    rest = list(rows)
    for expected in reference.in_force(seen):
        found = [row for row in rest if all(row.get(key) == expected[key] for key in ("name", "belief", "version"))]
        if not found:
            yield f"no declaration {expected} in {rows}"
            continue
        row = found[0]
        rest.remove(row)
        for key in ("value", "support", "usable"):
            if row.get(key) != expected[key]:
                yield f"declaration {expected['name']} has {key} {row.get(key)}, not {expected[key]}"
        if not near(row.get("invalid"), expected["invalid"], tolerance):
            yield f"declaration {expected['name']} has invalid {row.get('invalid')}, not {expected['invalid']}"
    supported = {belief["name"] for belief in reference.beliefs if belief.get("correction") == "supported"}
    for row in rest:
        risks = [risk for _, risk in reference.values(row["belief"], seen)]
        if row["belief"] in supported and not any(near(row["invalid"], risk, tolerance) for risk in risks):
            yield f"declaration {row} is of no value that may be declared; those are wrong with {risks}"


def compare_declarations(folder, references, observe=(), tolerance=1e-7):
    """Fail with every disagreement about the declarations in one run of ``decide`` over these files."""
    seen = tuple(sorted(observe))
    flags = [flag for probe, outcome in observe for flag in ("--observe", f"{probe}={outcome}")]
    lines = ask(folder, "decide", *references, "--policy", "aquamend", *flags)
    faults = []
    for (name, reference), said in zip(references.items(), lines, strict=True):
        found = declaration_faults(reference, seen, said["declarations"], tolerance)
        faults += [f"{name}: {fault}" for fault in found]
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


def compare_bounds(folder, references, policy, observe=(), tolerance=1e-7):
    """Fail with every certificate of one run of ``decide`` that does not bracket the optimum."""
    seen = tuple(sorted(observe))
    flags = [flag for probe, outcome in observe for flag in ("--observe", f"{probe}={outcome}")]
    lines = ask(folder, "decide", *references, "--policy", policy, *flags)
    faults = []
    for (name, reference), said in zip(references.items(), lines, strict=True):
        found = bound_faults(said["bounds"], reference.optimum(seen), tolerance)
        faults += [f"{name}: {fault}" for fault in found]
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


def compare_evaluations(folder, references, policies):
    """Fail with every disagreement of one run of ``evaluate`` over these files and policies."""
    lines = ask(folder, "evaluate", *references, "--policy", ",".join(policies))
    asked = [(name, policy) for name in references for policy in policies]
    assert [(Path(line["file"]).name, line["policy"]) for line in lines] == asked
    faults = []
    for (name, policy), said in zip(asked, lines, strict=True):
        for key, expected in references[name].evaluate(policy).items():
            if not near(said[key], expected, 1e-7):
                faults.append(f"{name}: {policy} has {key} {said[key]}, not {expected}")
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


@pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} is not installed; run `make setup`")
def test_a_process_of_its_own_says_the_same(folder, second):
    command = [COMMAND, "decide", *list(second)[:5], "--policy", "aquamend", "--json"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert [json.loads(line) for line in run.stdout.splitlines()] == ask(folder, *command[1:-1])


def test_every_problem_of_format_2_is_valid(folder, second, second_gaussian, second_last):
    names = [*second, *second_gaussian, *second_last]
    assert len(ask(folder, "validate", *names)) == len(names)


@pytest.mark.parametrize("policy", SECOND_POLICIES)
def test_first_decision_with_values_and_evidence(folder, second, policy):
    compare_decisions(folder, second, policy, optimum=_optimum)


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-2", "exact"])
@pytest.mark.parametrize("observe", SECOND_OBSERVATIONS, ids=str)
def test_decision_with_values_and_evidence_after_observations(folder, second, policy, observe):
    possible = observable(second, observe)
    assert len(possible) > len(second) / 8
    compare_decisions(folder, possible, policy, observe=observe, optimum=_optimum)


@pytest.mark.parametrize("policy", ["aquamend", "all-candidates", "no-reprobe"])
@pytest.mark.parametrize("observe", [(), (("p0", 0.7),)], ids=["at first", "after an observation"])
def test_decision_with_values_and_gaussian_probes(folder, second_gaussian, policy, observe):
    possible = observable(second_gaussian, observe)
    assert len(possible) > 0.75 * SECOND_GAUSSIAN
    compare_decisions(folder, possible, policy, observe=observe, tolerance=1e-6)


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-2", "exact"])
def test_decision_with_values_and_one_gaussian_use_left(folder, second_last, policy):
    assert len(second_last) > SECOND_LAST / 2
    compare_decisions(folder, second_last, policy, tolerance=1e-6, optimum=_optimum)


@pytest.mark.parametrize("observe", [(), *SECOND_OBSERVATIONS], ids=str)
def test_declarations_in_force_and_supported(folder, second, observe):
    compare_declarations(folder, observable(second, observe), observe)


def test_declarations_after_a_gaussian_answer(folder, second_gaussian):
    observe = (("p0", 0.7),)
    compare_declarations(folder, observable(second_gaussian, observe), observe, tolerance=1e-6)


@pytest.mark.parametrize("policy", ["aquamend", "exact", "certified"])
@pytest.mark.parametrize("observe", [(), (("p0", "o0"),), (("p0", "o1"), ("p1", "o0"))], ids=str)
def test_bounds_bracket_the_optimum_with_values_and_evidence(folder, second, policy, observe):
    compare_bounds(folder, observable(second, observe), policy, observe)


@pytest.mark.parametrize("policy", ["aquamend", "exact", "certified"])
def test_bounds_bracket_the_optimum_with_one_gaussian_use_left(folder, second_last, policy):
    compare_bounds(folder, second_last, policy, tolerance=1e-6)


def test_evaluation_with_values_and_evidence(folder, second):
    compare_evaluations(folder, second, SECOND_POLICIES)


def test_no_other_policy_claims_to_beat_the_optimum_with_values_and_evidence(folder, second):
    lines = ask(folder, "evaluate", *second, "--policy", ",".join([*UNCHECKED, "certified"]))
    faults = []
    for said in lines:
        optimum = second[Path(said["file"]).name].optimum()
        loss = math.inf if said["expected_loss"] == "inf" else said["expected_loss"]
        if loss < optimum - 1e-7 or not -1e-9 <= said["success"] <= 1 + 1e-9:
            faults.append(f"{said}, but the optimum is {optimum}")
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_000 + MANY_DISCRETE, 250))
def test_many_problems_with_values_and_evidence(folder, generator, brute_force, first):
    """Every comparison above, on other problems, a few hundred at a time, so that processes can share them."""
    some = _write_second(folder, generator, brute_force, count=250, first_seed=first)
    for policy in SECOND_POLICIES:
        compare_decisions(folder, some, policy, optimum=_optimum)
    for observe in SECOND_OBSERVATIONS:
        possible = observable(some, observe)
        for policy in ("aquamend", "exact"):
            compare_decisions(folder, possible, policy, observe=observe, optimum=_optimum)
        compare_declarations(folder, possible, observe)
    compare_bounds(folder, some, "certified")
    compare_evaluations(folder, some, SECOND_POLICIES)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_000 + MANY_GAUSSIAN, 50))
def test_hundreds_of_problems_with_values_and_gaussian_probes(folder, generator, brute_force, first):
    some = _write_second(folder, generator, brute_force, count=50, first_seed=first, kind="gaussian")
    compare_decisions(folder, some, "aquamend", tolerance=1e-6)
    possible = observable(some, (("p0", -1.3),))
    compare_decisions(folder, possible, "aquamend", observe=(("p0", -1.3),), tolerance=1e-6)
