"""The production command against the reference, on random problem files.

All disagreements of a test are gathered before it fails, so one run shows whether a fault is one file's or everybody's.
"""

import json
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tests.reference import comparison
from tests.reference.brute_force import Reference
from tests.tiers import cases
from tests.waiting import PATIENCE_S

from aquamend import InformationState
from aquamend.files import parse_problem

SIZES = {
    "plain": cases(15, 150),
    "plain-gaussian": cases(6, 26),
    "valued": cases(24, 250),
    "valued-gaussian": cases(8, 40),
    "last": cases(4, 60),
    "extra": cases(20, 200),
    "ruled": cases(24, 250),
}
"""How many problems of every kind; of ``last`` a continuous probe can only be the last, so the optimum is known."""

DISCRETE, GAUSSIAN = ("plain", "valued", "extra", "ruled"), ("plain-gaussian", "valued-gaussian", "last")
PLANNERS = ("aquamend", "exact", "lookahead-2", "all-candidates", "lookahead-1", "lookahead-3")[: cases(3, 6)]
FIXED = ("no-reprobe", "restart")
UNCHECKED = ("troubleshooting", "decoupled", "greedy", "rollback-only", "certified", "best")
"""Policies that the format names and does not define: only what holds for any policy can be checked."""

COMMAND = Path(sys.executable).with_name("aquamend")


def problem_of(generator, kind, seed):
    """Return the problem of that kind and seed."""
    rng = random.Random(seed)
    if kind in ("extra", "last", "ruled"):
        return getattr(generator, f"{kind}_problem")(rng)
    make = generator.random_problem if kind.startswith("plain") else generator.valued_problem
    return make(rng, gaussian=kind in GAUSSIAN, max_total_uses=4)


def write(folder, generator, kind, seeds):
    """Write problems into the folder; return the reference of each by the name of its file."""
    references = {}
    for seed in seeds:
        name = f"{kind}-{seed}.json"
        problem = problem_of(generator, kind, seed)
        (folder / name).write_text(json.dumps(problem, indent=1))
        references[name] = Reference(problem)
    return references


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("problems")


@pytest.fixture(scope="module")
def problems(folder, generator):
    """Return the references of every kind of problem, by file."""
    return {kind: write(folder, generator, kind, range(size)) for kind, size in SIZES.items()}


ask = cache(comparison.ask)  # several tests look at different parts of the same answers


def decided(folder, references, policy, seen=()):
    """Yield every file's reference with what one run of ``decide`` says of it."""
    lines = ask(folder, "decide", *references, "--policy", policy, *comparison.flags(seen))
    assert [Path(line["file"]).name for line in lines] == list(references)
    return zip(references.items(), lines, strict=True)


def check(faults):
    """Fail with every disagreement."""
    assert not faults, "\n".join([f"{len(faults)} disagreements:", *faults[:40]])


def tolerance_of(kind):
    return 1e-6 if kind in GAUSSIAN else 1e-7


@pytest.mark.parametrize("kind", SIZES)
def test_every_problem_is_valid(folder, problems, kind):
    assert len(ask(folder, "validate", *problems[kind])) == SIZES[kind]


@pytest.mark.parametrize("policy", [*PLANNERS, *FIXED])
@pytest.mark.parametrize("kind", DISCRETE)
def test_first_decision(folder, problems, kind, policy):
    faults = []
    for (name, reference), said in decided(folder, problems[kind], policy):
        faults += [f"{name}: {fault}" for fault in comparison.decision_faults(reference, policy, (), said)]
    check(faults)


@pytest.mark.parametrize("policy", ["aquamend", "no-reprobe"])
@pytest.mark.parametrize("kind", GAUSSIAN)
def test_first_decision_with_continuous_probes(folder, problems, kind, policy):
    faults = []
    for (name, reference), said in decided(folder, problems[kind], policy):
        found = comparison.decision_faults(reference, policy, (), said, tolerance=1e-6)
        faults += [f"{name}: {fault}" for fault in found]
    check(faults)


def ending_in_a_continuous_answer(references):
    """Return the problems of which the optimum is known."""
    return {name: r for name, r in references.items() if comparison.optimum_of(r, ()) is not None}


@pytest.mark.parametrize("policy", ["exact", "lookahead-2"])
def test_planning_where_a_continuous_probe_is_the_last(folder, problems, policy):
    known, faults = ending_in_a_continuous_answer(problems["last"]), []
    assert len(known) > SIZES["last"] / 2
    for (name, reference), said in decided(folder, known, policy):
        found = comparison.decision_faults(reference, policy, (), said, tolerance=1e-6)
        faults += [f"{name}: {fault}" for fault in found]
    check(faults)


@pytest.mark.parametrize("policy", ["aquamend", "exact"])
@pytest.mark.parametrize("kind", SIZES)
def test_decision_after_observations(folder, problems, kind, policy):
    """Every problem after its own random observations."""
    references, faults = problems[kind], []
    if policy == "exact" and kind in GAUSSIAN:
        references = ending_in_a_continuous_answer(references)
    for i, (name, reference) in enumerate(references.items()):
        seen = comparison.walk(reference, random.Random(i))
        (said,) = ask(folder, "decide", name, "--policy", policy, *comparison.flags(seen))
        found = comparison.decision_faults(reference, policy, seen, said, tolerance=tolerance_of(kind))
        faults += [f"{name} after {seen}: {fault}" for fault in found]
    check(faults)


@pytest.mark.parametrize("kind", DISCRETE)
def test_evaluation_matches_the_full_outcome_tree(folder, problems, kind):
    policies, faults = (*PLANNERS, *FIXED), []
    lines = ask(folder, "evaluate", *problems[kind], "--policy", ",".join(policies))
    asked = [(name, policy) for name in problems[kind] for policy in policies]
    assert [(Path(line["file"]).name, line["policy"]) for line in lines] == asked
    for (name, policy), said in zip(asked, lines, strict=True):
        found = comparison.evaluation_faults(problems[kind][name], policy, said)
        faults += [f"{name}: {fault}" for fault in found]
    check(faults)


@pytest.mark.parametrize("kind", ["plain", "valued"])
def test_no_other_policy_claims_to_beat_the_optimum(folder, problems, kind):
    policies, faults = UNCHECKED, []
    lines = ask(folder, "evaluate", *problems[kind], "--policy", ",".join(policies))
    for said in lines:
        name = Path(said["file"]).name
        found = comparison.evaluation_faults(problems[kind][name], said["policy"], said)
        faults += [f"{name}: {fault}" for fault in found]
    check(faults)


@pytest.mark.parametrize("kind", ["plain", "valued", "last"])
def test_certified_bounds_bracket_the_optimum(folder, problems, kind):
    references, faults = ending_in_a_continuous_answer(problems[kind]), []
    for (name, reference), said in decided(folder, references, "certified"):
        found = comparison.bound_faults(reference, (), said["bounds"], tolerance_of(kind))
        faults += [f"{name}: {fault}" for fault in found]
    check(faults)


@pytest.mark.parametrize("kind", ["valued", "extra"])
def test_an_answer_that_is_no_outcome_is_refused(folder, problems, kind):
    """A probe with a list of outcomes says which ones it has."""
    name, reference = next((n, r) for n, r in problems[kind].items() if not comparison.continuous(r) and r.legal())
    with pytest.raises(AssertionError, match="exits with 2") as caught:
        comparison.ask(folder, "decide", name, "--observe", f"{reference.legal()[0]}=nobody has said this")
    assert all(outcome in str(caught.value) for outcome in reference.kernels[reference.legal()[0]].outcomes)


@pytest.mark.skipif(not COMMAND.exists(), reason=f"{COMMAND} is not installed; run `make setup`")
def test_a_process_of_its_own_says_the_same(folder, problems):
    command = [COMMAND, "decide", *list(problems["valued"])[:5], "--policy", "aquamend", "--json"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert [json.loads(line) for line in run.stdout.splitlines()] == ask(folder, *command[1:-1])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 11_000, 250))
@pytest.mark.parametrize("kind", DISCRETE)
def test_many_problems(folder, generator, kind, first):
    """Every comparison above, on other problems, a few hundred at a time, so that processes can share them."""
    some, faults = write(folder, generator, kind, range(first, first + 250)), []
    for policy in ("aquamend", "exact", "lookahead-2"):
        for (name, reference), said in decided(folder, some, policy):
            faults += [f"{name}: {fault}" for fault in comparison.decision_faults(reference, policy, (), said)]
    for i, (name, reference) in enumerate(some.items()):
        seen = comparison.walk(reference, random.Random(i))
        (said,) = comparison.ask(folder, "decide", name, "--policy", "aquamend", *comparison.flags(seen))
        found = comparison.decision_faults(reference, "aquamend", seen, said)
        faults += [f"{name} after {seen}: {fault}" for fault in found]
    for said in ask(folder, "evaluate", *some, "--policy", "aquamend,exact"):
        name = Path(said["file"]).name
        faults += [f"{name}: {f}" for f in comparison.evaluation_faults(some[name], said["policy"], said)]
    check(faults)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 10_150, 50))
@pytest.mark.parametrize("kind", ["valued-gaussian", "last"])
def test_many_problems_with_continuous_probes(folder, generator, kind, first):
    some, faults = write(folder, generator, kind, range(first, first + 50)), []
    for i, (name, reference) in enumerate(some.items()):
        for seen in ((), comparison.walk(reference, random.Random(i))):
            (said,) = comparison.ask(folder, "decide", name, "--policy", "aquamend", *comparison.flags(seen))
            found = comparison.decision_faults(reference, "aquamend", seen, said, tolerance=1e-6)
            faults += [f"{name} after {seen}: {fault}" for fault in found]
    check(faults)


def test_rules_noisy_or_and_preconditions_mean_what_the_reference_says(generator):
    """Priors, alarm, kernels, losses of plans and legality themselves, so that far more problems can be compared."""
    reached = dict.fromkeys(("list", "noisy_or", "prior", "never decides", "not possible"), 0)
    for seed in range(20_000, 20_000 + cases(150, 3_000)):
        data = generator.ruled_problem(random.Random(seed))
        reference, problem = Reference(data), parse_problem(data)
        state = InformationState.alarmed(problem)
        assert len(problem.model.names) == len(reference.names), seed  # names may differ in their last digit
        assert state.posterior == pytest.approx(reference.mass(()), abs=1e-12), seed
        assert list(state.legal_probes) == reference.legal(), seed
        for probe, kernel in reference.kernels.items():
            assert np.allclose(problem.model.channels[probe].table, kernel.table, rtol=0, atol=1e-12), (seed, probe)
        for plan, own in zip(data.get("plans", ()), problem.plans, strict=False):
            assert own.loss == pytest.approx(reference.plan_losses(plan)), seed
        tables = [kernel.get("likelihood") for kernel in data["kernels"].values()]
        reached["list"] += any(isinstance(table, list) for table in tables)
        reached["noisy_or"] += any("noisy_or" in kernel for kernel in data["kernels"].values())
        reached["prior"] += any(isinstance(cause.get("prior"), list) for cause in data.get("causes", ()))
        reached["never decides"] += any(isinstance(table, list) and table[-1][0] != "default" for table in tables)
        reached["not possible"] += bool(problem.graph.why_impossible)
    assert min(reached.values()) > 5, reached
