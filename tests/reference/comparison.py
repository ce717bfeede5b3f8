"""What the production command says of a problem file beside what the reference says; every difference is a fault."""

import json
import math
import random
from collections.abc import Iterable, Iterator
from contextlib import chdir
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.reference.brute_force import Ending, Reference, Seen
from tests.reference.worlds import Continuous
from typer.testing import CliRunner

from aquamend.cli.main import app

PLANNED: dict[str, float] = {"aquamend": 1, "all-candidates": 1, "exact": math.inf, "lookahead-1": 1} | {
    f"lookahead-{k}": k for k in (2, 3)
}
"""How many probes ahead a policy plans."""


def ask(folder: Path, *arguments: str) -> list[dict[str, Any]]:
    """Return the JSON lines of one run of the command in that folder."""
    with chdir(folder):
        run = CliRunner().invoke(app, [*arguments, "--json"])
    if run.exit_code:
        raise AssertionError(f"{arguments} exits with {run.exit_code}\n{run.output[-3000:]}\n{run.exception!r}")
    return [json.loads(line) for line in run.stdout.splitlines()]


@cache
def knows(policy: str) -> bool:
    """Return whether the command has a policy of that name."""
    belief, hypothesis = {"name": "b", "residual": 1}, {"name": "h", "prior": 1}
    problem = {"format": "aquamend-problem/1", "beliefs": [belief], "hypotheses": [hypothesis]}
    with TemporaryDirectory() as folder, chdir(folder):
        Path("any.json").write_text(json.dumps(problem))
        return CliRunner().invoke(app, ["decide", "any.json", "--policy", policy, "--json"]).exit_code == 0


def flags(seen: Seen) -> list[str]:
    """Return the observations as options of ``decide``."""
    return [flag for probe, outcome in seen for flag in ("--observe", f"{probe}={outcome}")]


def continuous(reference: Reference) -> bool:
    """Return whether some probe answers a number."""
    return any(isinstance(kernel, Continuous) for kernel in reference.kernels.values())


def optimum_of(reference: Reference, seen: Seen) -> float | None:
    """Return the optimum; ``None`` where a continuous probe may be followed by another."""
    try:
        return reference.optimum(seen)
    except ValueError:
        return None


def walk(reference: Reference, rng: random.Random, *, most: int = 3) -> Seen:
    """Return some observations that are legal one after the other and not improbable, drawn from one world."""
    seen: Seen = ()
    weights = reference.mass(()).tolist()
    world = rng.choices(range(len(weights)), weights=weights)[0]
    for _ in range(rng.randint(1, most)):
        if not reference.legal(seen):
            break
        probe = rng.choice(reference.legal(seen))
        kernel = reference.kernels[probe]
        if isinstance(kernel, Continuous):
            deviations = max(-3.0, min(3.0, rng.gauss(0, 1)))
            outcome: Any = round(float(kernel.mean[world] + kernel.sd[world] * deviations), 3)
        else:
            outcome = rng.choices(kernel.outcomes, weights=kernel.table[world].tolist())[0]
        seen = tuple(sorted((*seen, (probe, outcome))))
    return seen


def near(actual: Any, expected: float | None, tolerance: float) -> bool:
    """Return whether a reported number is the expected one; ``"inf"`` is infinity and ``null`` is ``None``."""
    if expected is None or actual is None:
        return actual is expected
    actual = math.inf if actual == "inf" else actual
    return actual == expected or abs(actual - expected) <= tolerance * max(1.0, abs(expected))


def edge_of_a_tie(one: float, other: float) -> bool:
    """Return whether two losses differ by about 1e-9, so that rounding decides whether they are tied."""
    return one != other and 5e-10 < abs(one - other) < 2e-9


# Endings.


def ending_faults(label: str, said: dict[str, Any], ending: Ending, reference: Reference, seen: Seen) -> Iterator[str]:
    """Yield where a reported ending differs; restart and escalate carry no correction to compare."""
    if said["kind"] != ending.kind:
        yield f"{label}: {said}, not {ending.kind} {ending.correct}"
    elif ending.kind in ("roll_back", "continue"):
        if sorted(said.get("correct", ())) != sorted(ending.correct):
            yield f"{label} corrects {said.get('correct')}, not {ending.correct}"
        if set(said.get("undo", ())) != set(ending.undo):
            yield f"{label} undoes {said.get('undo')}, not {ending.undo}"
        yield from declare_faults(label, said.get("declare") or {}, ending, reference, seen)


def declare_faults(label: str, said: dict[str, Any], ending: Ending, reference: Reference, seen: Seen) -> Iterator[str]:
    """Yield where other values are declared; of values that are as often wrong, rounding may choose another."""
    if said.keys() != ending.declare.keys():
        yield f"{label} declares {said}, not {ending.declare}"
        return
    for belief, said_there in ending.declare.items():
        risks = {entry["value"]: risk for entry, risk in reference.values(belief, seen)}
        alike = [risk for value, risk in risks.items() if same(value, said[belief]["value"])]
        if not any(abs(risk - risks[said_there["value"]]) <= 1e-12 for risk in alike):
            yield f"{label} declares {belief} as {said[belief]['value']}, not {said_there['value']}; risks {risks}"


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same, up to rounding."""
    if isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-9 * max(1.0, abs(one))
    return one == other


def loss_of(reference: Reference, seen: Seen, step: dict[str, Any], depth: float) -> float:
    """Return what a reported step costs by the reference."""
    if step["kind"] == "reprobe":
        return reference.probe_loss(step["probe"], seen, depth)
    return min(
        (
            ending.loss
            for ending in reference.endings(seen)
            if ending.kind == step["kind"]
            and (ending.kind in ("restart", "escalate") or sorted(ending.correct) == sorted(step.get("correct", ())))
        ),
        default=math.inf,
    )


def excused(
    reference: Reference, seen: Seen, said: dict[str, Any], wanted: str | Ending, tolerance: float, depth: float
) -> bool:
    """Return whether another step than the expected one is so nearly tied that rounding decides.

    Among equals the format says which comes first, so an exact tie is no excuse, except between plans and
    compensations and the rest. An integral over a continuous answer is known to ``tolerance`` only, and no better.
    """
    probing = isinstance(wanted, str)
    expected = reference.probe_loss(wanted, seen, depth) if isinstance(wanted, str) else wanted.loss
    loss = loss_of(reference, seen, said, depth)
    if edge_of_a_tie(loss, expected):
        return True
    if (probing or said["kind"] == "reprobe") and continuous(reference) and abs(loss - expected) <= tolerance:
        return True
    own = {"plans", "compensations"} & reference.problem.keys()
    return bool(own) and not probing and said["kind"] != "reprobe" and abs(loss - expected) <= 2e-9


def stop_faults(reference: Reference, seen: Seen, said: dict[str, Any], tolerance: float) -> Iterator[str]:
    """Yield where the best stop differs."""
    stop, loss = reference.best_stop(seen)
    if not near(said["stop"]["loss"], loss, tolerance):
        yield f"stop {said['stop']} costs {said['stop']['loss']}, not {loss} for {stop.kind} {stop.correct}"
    found = list(ending_faults("stop", said["stop"], stop, reference, seen))
    if found and not excused(reference, seen, said["stop"], stop, tolerance, 0):
        yield from found


def step_faults(reference: Reference, seen: Seen, said: dict[str, Any], policy: str, tolerance: float) -> Iterator[str]:
    """Yield where the next step of a policy that the reference knows differs."""
    step, depth = reference.next_step(policy, seen), PLANNED.get(policy, 0)
    if isinstance(step, str):
        found = []
        if (said["step"]["kind"], said["step"].get("probe")) != ("reprobe", step):
            found = [f"step {said['step']}, not reprobe {step}"]
    else:
        found = list(ending_faults("step", said["step"], step, reference, seen))
    if found and not excused(reference, seen, said["step"], step, tolerance, depth):
        yield from found


# Probes, tables, bounds.


def probe_faults(reference: Reference, seen: Seen, rows: Iterable[dict[str, Any]], tolerance: float) -> Iterator[str]:
    """Yield where the one-step numbers of the probes differ."""
    stop_loss = reference.best_stop(seen)[1]
    by_name = {row["probe"]: row for row in rows}
    legal = reference.legal(seen)
    if [name for name in by_name if by_name[name]["legal"]] != legal:
        yield f"legal probes {[name for name in by_name if by_name[name]['legal']]}, not {legal}"
        return
    for probe in legal:
        row, loss = by_name[probe], reference.probe_loss(probe, seen)
        benefit = None if loss == math.inf else stop_loss - loss
        if row["screened_out"]:
            yield f"{probe} is screened out"
        if not near(row["expected_loss"], loss, tolerance):
            yield f"{probe} has expected loss {row['expected_loss']}, not {loss}"
        if not near(row["net_benefit"], benefit, tolerance):
            yield f"{probe} has net benefit {row['net_benefit']}, not {benefit}"
        yield from power_faults(reference, seen, probe, row["power"], tolerance)


def power_faults(reference: Reference, seen: Seen, probe: str, said: dict[str, Any], tolerance: float) -> Iterator[str]:
    """Yield where the detection power differs.

    Two corners the format leaves open are let pass: how small a probability reads as "cannot be invalid", and a
    continuous answer that only approaches the threshold.
    """
    powers = reference.power(probe, seen)
    if isinstance(reference.kernels[probe], Continuous):
        strictly = reference.power(probe, seen, threshold=0.5 + 1e-9)
        least = 1e-6  # what is rarer may be rejected after a glitch, and the reference knows of none
    else:
        strictly, least = powers, 1e-9
    for name, power in powers.items():
        actual = said.get(name, "missing")
        if 0 < float(reference.mass(seen) @ reference.declarations[name]) < least:
            continue
        if power is not None and actual not in (None, "missing"):
            lowest = strictly[name]
            if lowest is not None and lowest - tolerance <= actual <= power + tolerance:
                continue
        if not near(actual, power, tolerance):
            yield f"{probe} has power {actual} on {name}, not {power}"


def table_faults(reference: Reference, seen: Seen, said: dict[str, Any], tolerance: float) -> Iterator[str]:
    """Yield where the failure probabilities or the causes differ."""
    for table in ("marginals", "attribution"):
        expected = getattr(reference, table)(seen)
        if said[table].keys() != expected.keys() or any(
            not near(said[table][key], expected[key], tolerance) for key in expected
        ):
            yield f"{table} {said[table]}, not {expected}"


def bound_faults(reference: Reference, seen: Seen, bounds: dict[str, Any], tolerance: float) -> Iterator[str]:
    """Yield where the certificate does not bracket the optimum, or what is known to be above it."""
    lower, upper = (math.inf if bounds[end] == "inf" else bounds[end] for end in ("lower", "upper"))
    optimum = optimum_of(reference, seen)
    above = optimum
    if above is None:
        above = min([reference.best_stop(seen)[1], *(reference.probe_loss(p, seen) for p in reference.legal(seen))])
    room = tolerance * max(1.0, abs(above)) if above < math.inf else 0.0
    if lower is not None and lower > above + room:
        yield f"lower bound {lower} is above the optimum {above}"
    if upper is not None and optimum is not None and upper < optimum - room:
        yield f"upper bound {upper} is below the optimum {optimum}"


def declaration_faults(reference: Reference, seen: Seen, rows: list[dict[str, Any]], tolerance: float) -> Iterator[str]:
    """Yield where the declarations in force differ."""
    for expected in reference.in_force(seen):
        keys = ("name", "belief", "version")
        found = [
            row for row in rows if row.get("in_force", True) and all(row.get(key) == expected[key] for key in keys)
        ]
        if not found:
            yield f"no declaration {expected} in {rows}"
            continue
        for key in ("value", "support"):
            if found[0].get(key) != expected[key]:
                yield f"declaration {expected['name']} has {key} {found[0].get(key)}, not {expected[key]}"
        if not near(found[0].get("invalid"), expected["invalid"], tolerance):
            yield f"declaration {expected['name']} has invalid {found[0].get('invalid')}, not {expected['invalid']}"
        if stands_alone(reference, expected) and found[0].get("usable") != expected["usable"]:
            yield f"declaration {expected['name']} has usable {found[0].get('usable')}, not {expected['usable']}"


def stands_alone(reference: Reference, entry: dict[str, Any]) -> bool:
    """Return whether this is the only declaration of its belief, and invalid just where that has failed."""
    own = [given for given in reference.problem.get("declarations", []) if given["belief"] == entry["belief"]]
    return len(own) <= 1 and not any("invalid_in" in given for given in own)


# Everything at once.


def decision_faults(
    reference: Reference, policy: str, seen: Seen, said: dict[str, Any], *, tolerance: float = 1e-7
) -> list[str]:
    """Return every way in which one reported decision differs from the reference's."""
    found = [] if said["policy"] == policy else [f"policy {said['policy']}, not {policy}"]
    found += stop_faults(reference, seen, said, tolerance)
    if policy in PLANNED or policy in ("no-reprobe", "restart"):
        found += step_faults(reference, seen, said, policy, tolerance)
    found += probe_faults(reference, seen, said["probes"], tolerance)
    found += table_faults(reference, seen, said, tolerance)
    found += bound_faults(reference, seen, said["bounds"], tolerance)
    if "declarations" in said:
        found += declaration_faults(reference, seen, said["declarations"], tolerance)
    return found


def evaluation_faults(reference: Reference, policy: str, said: dict[str, Any], tolerance: float = 1e-7) -> list[str]:
    """Return every way in which one reported evaluation differs; of policies unknown here, what holds for any.

    A tie that rounding decides may change what is counted, though not the loss.
    """
    loss = math.inf if said["expected_loss"] == "inf" else said["expected_loss"]
    if policy in PLANNED or policy in ("no-reprobe", "restart"):
        expected = reference.evaluate(policy)
        keys = ["expected_loss", "expected_probes", "expected_undone", "success"]
        if {"plans", "compensations"} & reference.problem.keys():
            keys = keys[:2]
        return [
            f"{policy} has {key} {said[key]}, not {expected[key]}"
            for key in keys
            if not near(said[key], expected[key], tolerance)
        ]
    room = tolerance * max(1.0, abs(loss)) if loss < math.inf else 0.0
    if loss < reference.optimum() - room:
        return [f"{policy} claims {loss}, but the optimum is {reference.optimum()}"]
    if policy == "best" and loss > reference.evaluate("aquamend")["expected_loss"] + room:
        return [f"best loses {loss}, and aquamend {reference.evaluate('aquamend')['expected_loss']}"]
    if not -1e-9 <= said["success"] <= 1 + 1e-9:
        return [f"{policy} has success {said['success']}"]
    return []
