"""Several monitors, silence, beliefs of any age and checks before an action, on random files, against the reference."""

import json
import random

import pytest
from tests.reference import comparison, generator
from tests.reference.brute_force import Reference
from tests.reference.moments import monitors
from tests.tiers import cases

MANY = {"heard": cases(40, 600), "aged": cases(25, 400), "before": cases(60, 900), "all": cases(25, 500)}
POLICIES = ("aquamend", "exact")


def some_problem(rng, kind):
    """Return a random problem of any sort, those with causes among them."""
    if kind in ("aged", "all"):
        return generator.aged_problem(rng)
    return rng.choice([generator.random_problem, generator.valued_problem, generator.extra_problem])(rng)


def with_monitors(rng, problem):
    """Return the problem with one to three named monitors, by conditions or by hypothesis."""
    names = [b["name"] for b in problem["beliefs"]]
    found = {}
    for name in ("torque", "scale", "scan")[: rng.randint(1, 3)]:
        p, q = rng.choice([0.05, 0.5, 0.9, 1.0]), rng.choice([0.05, 0.2, 0.5])
        found[name] = {"likelihood": {rng.choice(names): p, "default": q}, "suspects": rng.sample(names, 1)}
        if rng.random() < 0.5:
            found[name]["again"] = {rng.choice(names): q, "default": 0.3}
    return {**{key: value for key, value in problem.items() if key != "alarm"}, "alarms": found}


def question(rng, kind):
    """Return a problem, what is said of the moment, and the same as options of the command."""
    problem = some_problem(rng, kind)
    said, options = {}, []
    if kind in ("heard", "all", "before") and (kind != "before" or rng.random() < 0.5):
        problem = with_monitors(rng, problem)
    planned = [a["name"] for a in problem["actions"] if a.get("status", "planned") == "planned"]
    if kind in ("before", "all") and planned and (kind == "before" or rng.random() < 0.5):
        said["guarded"] = rng.choice(planned)
        options += ["--before", said["guarded"]]
    if kind in ("aged", "all") and rng.random() < 0.5:
        said["ages"] = rng.choice([0.5, 3, 20])
        options += ["--age", str(said["ages"])]
    names = list(monitors(problem)) if "alarms" in problem else []
    rung = [] if "guarded" in said else [name for name in names if rng.random() < 0.5]
    rung += [name for name in rung if "again" in monitors(problem)[name] and rng.random() < 0.3]
    silent = [name for name in names if name not in rung and rng.random() < 0.5]
    if len(names) == 1 and not rung and "guarded" not in said:
        options += ["--no-alarm"]
    if names:
        said |= {"rung": rung, "silent": silent}
        options += [part for name in rung for part in ("--alarm", name)]
        options += [part for name in silent for part in ("--silent", name)]
    return problem, said, options


def faults(folder, kind, seed):
    """Return how the command's answers to one random question differ from the reference's."""
    rng = random.Random(f"{kind} {seed}")
    problem, said, options = question(rng, kind)
    reference = Reference(problem, **said)
    name = f"{kind}-{seed}.json"
    (folder / name).write_text(json.dumps(problem))
    try:
        reference.mass(())
    except ValueError:  # no hypothesis allows what the monitors say
        with pytest.raises(AssertionError, match="exits with 2"):
            comparison.ask(folder, "decide", name, *options)
        return []
    seen = comparison.walk(reference, rng) if rng.random() < 0.5 else ()
    found = []
    for policy in POLICIES:
        (line,) = comparison.ask(folder, "decide", name, "--policy", policy, *options, *comparison.flags(seen))
        differences = comparison.decision_faults(reference, policy, seen, line)
        found += [f"{name} {options} after {seen}, {policy}: {fault}" for fault in differences]
    return found


@pytest.mark.parametrize("kind", MANY)
def test_decisions_of_a_moment_are_those_of_brute_force(tmp_path, kind):
    found = [fault for seed in range(MANY[kind]) for fault in faults(tmp_path, kind, seed)]
    assert not found, "\n".join([f"{len(found)} disagreements:", *found[:40]])


@pytest.mark.slow
@pytest.mark.parametrize("first", range(10_000, 13_000, 250))
def test_many_decisions_of_a_moment_are_those_of_brute_force(tmp_path, first):
    kinds = list(MANY)
    found = [f for seed in range(first, first + 250) for f in faults(tmp_path, kinds[seed % len(kinds)], seed)]
    assert not found, "\n".join([f"{len(found)} disagreements:", *found[:40]])
