"""The production command against the reference, on several hundred random problem files.

Every policy is asked in one process for all files. All disagreements are gathered before the test fails, so one run
shows whether a fault is one file's or everybody's.
"""

import json
import math
import random
import subprocess
import sys
from pathlib import Path

import pytest

DISCRETE, GAUSSIAN = 320, 40
PLANNERS = ("aquamend", "all-candidates", "lookahead-1", "lookahead-2", "lookahead-3", "exact")
FIXED = ("no-reprobe", "restart")
UNCHECKED = ("troubleshooting", "decoupled", "greedy", "rollback-only")
"""Policies that the format names and does not define: only what holds for any policy can be checked."""

COMMAND = Path(sys.executable).with_name("aquamend")

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} is not installed; run `make setup`")


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


def ask(folder, *arguments):
    """Return the JSON lines of one run of the command."""
    run = subprocess.run([COMMAND, *arguments, "--json"], cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, f"exit {run.returncode}\n{run.stdout[-2000:]}\n{run.stderr[-4000:]}"
    return [json.loads(line) for line in run.stdout.splitlines()]


def near(actual, expected, tolerance):
    """Return whether a reported number is the expected one; ``"inf"`` is infinity and ``null`` is ``None``."""
    if expected is None or actual is None:
        return actual is expected
    actual = math.inf if actual == "inf" else actual
    return actual == expected or abs(actual - expected) <= tolerance * max(1.0, abs(expected))


def terminal_faults(label, said, terminal):
    """Yield where a reported terminal decision differs; restart and escalate carry no correction to compare."""
    if said["kind"] != terminal.kind:
        yield f"{label}: {said}, not {terminal.kind} {terminal.correct}"
    elif terminal.kind in ("roll_back", "continue"):
        if tuple(said.get("correct", ())) != terminal.correct:
            yield f"{label} corrects {said.get('correct')}, not {terminal.correct}"
        if set(said.get("undo", ())) != set(terminal.undo):
            yield f"{label} undoes {said.get('undo')}, not {terminal.undo}"


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
    else:
        strictly = powers
    for name, power in powers.items():
        actual = said.get(name, "missing")
        if 0 < invalidity(reference, name, seen) < 1e-9:
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
    if isinstance(step, str):
        if (said["step"]["kind"], said["step"].get("probe")) != ("reprobe", step):
            yield f"step {said['step']}, not reprobe {step}"
    else:
        yield from terminal_faults("step", said["step"], step)
    stop, loss = reference.best_stop(seen)
    yield from terminal_faults("stop", said["stop"], stop)
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
    """Return whether some hypothesis allows the outcome; a reading within six deviations counts as allowed."""
    kernel = reference.problem["kernels"][probe]
    alive = [name for name, mass in reference.posterior(seen).items() if mass > 0]
    if "gaussian" in kernel:
        return any(abs(outcome - mean) <= 6 * sd for mean, sd in map(kernel["gaussian"].get, alive))
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
    assert len(possible) > 20
    compare_decisions(folder, possible, policy, observe=observe, optimum=lambda r, seen: r.optimum(seen))


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-1", "no-reprobe"])
@pytest.mark.parametrize("observe", [(), (("p0", 0.7),)], ids=["at first", "after an observation"])
def test_decision_with_gaussian_probes(folder, gaussian, policy, observe):
    possible = observable(gaussian, observe)
    assert len(possible) > 20
    compare_decisions(folder, possible, policy, observe=observe, tolerance=1e-6)


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-2", "exact"])
def test_decision_with_one_gaussian_use_left(folder, gaussian, policy):
    """Where a Gaussian probe can only be the last, the complete tree is known exactly."""
    last = {name: reference for name, reference in gaussian.items() if _gaussian_ends(reference)}
    assert len(last) > 5
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
