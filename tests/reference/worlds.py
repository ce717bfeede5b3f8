"""What a problem file says may be true: hypotheses, spreads, causes, effects, conditions, tables and kernels.

The first half of the reference. It imports nothing of aquamend and takes the problem as the dictionary a JSON file
holds. Every hypothesis that a file stands for is written out as one `World`.

Readings the format leaves open are marked "Reading:" where they are made.
"""

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

SLACK = 1e-9
"""Two numbers no further apart than this are at an equal distance, have an equal loss, fit a budget."""

Problem = dict[str, Any]
Value = str | float


def number(value: float | str) -> float:
    """Return the number a file holds; the string ``inf`` is infinity."""
    return float(value)


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the entry of that name."""
    return next(entry for entry in entries if entry["name"] == name)


def is_number(value: Any) -> bool:
    """Return whether a value of the file is a number."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def text_of(value: Value) -> str:
    """Return a value as tables and answers write it: 45.0 is ``45``."""
    if isinstance(value, str):
        return value
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def read_value(belief: dict[str, Any], raw: Any) -> Value:
    """Return a value as ``declared`` is read: as a number if that is one, else as text."""
    return float(raw) if is_number(belief["declared"]) else str(raw)


def declared(belief: dict[str, Any]) -> Value | None:
    """Return what the robot now believes; ``None`` where the belief has no value."""
    return read_value(belief, belief["declared"]) if "declared" in belief else None


def differs(belief: dict[str, Any], one: Value, other: Value) -> bool:
    """Return whether two values of a belief differ; a distance equal to the tolerance does not count."""
    if isinstance(one, float) and isinstance(other, float):
        return abs(one - other) > number(belief.get("tolerance", 0.0)) + SLACK
    return one != other


@dataclass(frozen=True)
class World:
    """One hypothesis, with a value for everything that nobody knows yet."""

    name: str
    names: frozenset[str]
    """What tables and conditions may call it: its own name, its hypothesis's, those of its causes and their states."""
    prior: float
    cause: str
    failed: frozenset[str] = frozenset()
    """The beliefs that failed without a value."""
    truth: dict[str, Value] = field(default_factory=dict)
    """What is true of beliefs with ``declared``, where the file says so."""
    widths: dict[str, float] = field(default_factory=dict)
    """The step that a value of ``normal`` or ``uniform`` stands for."""

    def value(self, belief: dict[str, Any]) -> Value | None:
        """Return what is true of a belief with ``declared``; ``None`` where it failed without a value."""
        if belief["name"] in self.failed:
            return None
        return self.truth.get(belief["name"], declared(belief))

    def fails(self, belief: dict[str, Any]) -> bool:
        """Return whether the belief, as the robot holds it now, has failed here."""
        if "declared" not in belief:
            return belief["name"] in self.failed
        return self.makes_wrong(belief, declared(belief))

    def makes_wrong(self, belief: dict[str, Any], value: Value | None) -> bool:
        """Return whether this value of the belief is wrong here."""
        true = self.value(belief)
        return true is None or value is None or differs(belief, true, value)


# Spreads.


@dataclass(frozen=True)
class Steps:
    """The values that a spread stands for, their shares, and how wide each of them is."""

    values: tuple[Value, ...]
    shares: tuple[float, ...]
    width: float = 0.0


def steps_of(belief: dict[str, Any], spread: dict[str, Any]) -> Steps:
    """Return what a spread stands for.

    Reading: a step that reaches 3 sd, or the upper end, within 1e-9 of a step is in. Values come in ascending order.
    """
    if "values" in spread:
        given = spread["values"]
        pairs = list(given.items()) if isinstance(given, dict) else [(value, 1.0) for value in given]
        return _shared([(read_value(belief, value), number(weight)) for value, weight in pairs], 0.0)
    step = number(spread.get("step", number(belief.get("tolerance", 0.0)) * 2 / 3))
    if "normal" in spread:
        mean, sd = map(number, spread["normal"])
        most = math.floor(3 * sd / step + SLACK)
        pairs = [(mean + k * step, math.exp(-0.5 * (k * step / sd) ** 2)) for k in range(-most, most + 1)]
    else:
        low, high = map(number, spread["uniform"])
        pairs = [(low + k * step, 1.0) for k in range(math.floor((high - low) / step + SLACK) + 1)]
    said = declared(belief)
    assert said is not None
    return _shared([(value, weight) for value, weight in pairs if differs(belief, value, said)], step)


def _shared(pairs: list[tuple[Value, float]], width: float) -> Steps:
    if not pairs:
        raise ValueError("a spread is left empty")
    total = math.fsum(weight for _, weight in pairs)
    return Steps(tuple(value for value, _ in pairs), tuple(weight / total for _, weight in pairs), width)


def _spread_out(problem: Problem, world: World, truths: dict[str, Any]) -> Iterator[World]:
    """Yield one world for every combination of the values that these truths leave open."""
    fixed: dict[str, Value] = {}
    open_: dict[str, Steps] = {}
    for name, raw in truths.items():
        belief = named(problem["beliefs"], name)
        if isinstance(raw, dict):
            open_[name] = steps_of(belief, raw)
        else:
            fixed[name] = read_value(belief, raw)
    for chosen in itertools.product(*(range(len(steps.values)) for steps in open_.values())):
        picked = {name: steps.values[k] for (name, steps), k in zip(open_.items(), chosen, strict=True)}
        share = math.prod(steps.shares[k] for steps, k in zip(open_.values(), chosen, strict=True))
        said = ", ".join(f"{name}={text_of(value)}" for name, value in picked.items())
        name = f"{world.name} ({said})" if picked else world.name
        yield replace(
            world,
            name=name,
            names=world.names | {name},
            prior=world.prior * share,
            truth=fixed | picked,
            widths={name: steps.width for name, steps in open_.items() if steps.width},
        )


# Where worlds come from.


def worlds_of(problem: Problem) -> list[World]:
    """Return every hypothesis that the file stands for, spread out and with its effects, in file order."""
    plain = _caused(problem) if "causes" in problem else _listed(problem)
    return [_with_effects(problem, world) for world in plain]


def _listed(problem: Problem) -> list[World]:
    found: list[World] = []
    for entry in problem["hypotheses"]:
        name = entry["name"]
        cause = entry.get("cause", "unknown")
        failed = frozenset(entry.get("failed", []))
        world = World(name, frozenset({name}), number(entry["prior"]), cause, failed)
        found += _spread_out(problem, world, entry.get("truth", {}))
    return found


def _states(cause: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the ways in which a cause can be present, each with what it is called."""
    if "stretches" in cause:
        return [(f"{cause['name']}={state}" if state else cause["name"], entry) for state, entry in cause["stretches"]]
    if "states" in cause:
        return [(f"{cause['name']}={state}", entry) for state, entry in cause["states"].items()]
    return [(cause["name"], cause)]


def _caused(problem: Problem) -> list[World]:
    """Return the combinations of causes: ``nothing``, one cause, two causes, and so on up to ``together``.

    Reading: causes are independent; a combination of probability 0 is no hypothesis; the priors of what is left
    by ``together`` are made to sum to one. What comes of causes of different kinds is ``unknown``.
    """
    causes = problem["causes"]
    combinations: list[tuple[float, World, dict[str, Any]]] = []
    for size in range(min(problem.get("together", len(causes)), len(causes)) + 1):
        for present in itertools.combinations(causes, size):
            for chosen in itertools.product(*map(_states, present)):
                combinations.append(_combination(causes, present, chosen))
    total = math.fsum(prior for prior, _, _ in combinations)
    found: list[World] = []
    for prior, world, truths in combinations:
        if prior > 0:
            found += _spread_out(problem, replace(world, prior=prior / total), truths)
    return found


def _combination(
    causes: list[dict[str, Any]], present: tuple[dict[str, Any], ...], chosen: tuple[tuple[str, dict[str, Any]], ...]
) -> tuple[float, World, dict[str, Any]]:
    prior, earlier = 1.0, set[str]()
    states_of = {cause["name"]: own for cause, own in zip(present, chosen, strict=True)}
    for cause in causes:
        if cause in present:
            label, state = states_of[cause["name"]]
            prior *= _prior(state["prior"], frozenset(earlier))
            earlier |= {cause["name"], label}
        elif "absent" in cause:
            prior *= cause["absent"]
        else:
            prior *= 1 - math.fsum(_prior(state["prior"], frozenset(earlier)) for _, state in _states(cause))
    truths: dict[str, Any] = {}
    failed: set[str] = set()
    for _, state in chosen:
        truths |= state.get("truth", {})
        failed |= set(state.get("failed", []))
    if failed & truths.keys():
        raise ValueError("two causes contradict each other; the reference does not take that")
    labels = [label for label, _ in chosen]
    kinds = {cause.get("kind", "unknown") for cause in present} or {"false_alarm"}
    kind = kinds.pop() if len(kinds) == 1 else "unknown"
    said = [f"{label} since {entry['since']}" if entry.get("since") else label for label, entry in chosen]
    name = " + ".join(said) or "nothing"
    names = frozenset({name, *labels, *(cause["name"] for cause in present)})
    return prior, World(name, names, prior, kind, frozenset(failed)), truths


def _prior(given: Any, present: frozenset[str]) -> float:
    """Return the prior of a cause, which rules may make depend on causes before it: those that are present."""
    return number(row_of({"beliefs": []}, given, World("", present, 0.0, "unknown", frozenset())))


def noisy_or(problem: Problem, numbers: dict[str, Any], world: World) -> float:
    """Return how probable something is that each cause, hypothesis or failed belief brings about by itself.

    Reading: a cause that is present in a state counts by its own name, and by that of the state.
    """
    stays_away = 1 - number(numbers.get("leak", 0.0))
    for name, p in numbers.items():
        if name != "leak" and _atom_holds(problem, name, world):
            stays_away *= 1 - number(p)
    return 1 - stays_away


def _with_effects(problem: Problem, world: World) -> World:
    """Return the world with what follows from it: in file order, the last effect that holds decides.

    Reading: a value that an effect sets is exact, also where it replaces a step.
    """
    for effect in problem.get("effects", []):
        if not holds(problem, effect["when"], world):
            continue
        truth = {
            name: read_value(named(problem["beliefs"], name), raw) for name, raw in effect.get("truth", {}).items()
        }
        broken = set(effect.get("failed", []))
        kept = {name: value for name, value in world.truth.items() if name not in broken}
        widths = {name: width for name, width in world.widths.items() if name not in broken | truth.keys()}
        failed = (world.failed - truth.keys()) | broken
        world = replace(world, truth=kept | truth, failed=failed, widths=widths)
    return world


# Conditions and tables.

_COMPARISON = re.compile(r"^(.+?)\s*(<=|>=|<|>|=)\s*(.+)$")


def holds(problem: Problem, condition: str, world: World) -> bool:
    """Return whether a condition holds: ``|`` of ``&`` of names and comparisons, each perhaps with ``not``."""
    if condition in world.names:
        return True
    return any(
        all(_atom_holds(problem, atom.strip(), world) for atom in part.split("&")) for part in condition.split("|")
    )


def _atom_holds(problem: Problem, atom: str, world: World) -> bool:
    """Return whether a name or a comparison holds.

    Reading: the bare name of a belief holds where the belief has failed.
    """
    if atom.startswith("not "):
        return not _atom_holds(problem, atom[4:].strip(), world)
    if atom in world.names:
        return True
    found = _COMPARISON.match(atom)
    if found is None:
        return any(belief["name"] == atom and world.fails(belief) for belief in problem["beliefs"])
    left, sign, right = found.groups()
    if any(cause["name"] == left for cause in problem.get("causes", [])):
        return f"{left}={right}" in world.names
    return _compares(problem, left, sign, right, world)


def _compares(problem: Problem, left: str, sign: str, right: str, world: World) -> bool:
    """Return whether a comparison of truths holds; with a belief that failed without a value it does not.

    Reading: ``=`` means exactly equal, whatever the tolerance.
    """
    beliefs = {belief["name"]: belief for belief in problem["beliefs"]}
    owner = beliefs.get(left) or beliefs.get(right)
    if owner is None or "declared" not in owner:
        return False
    one, other = (world.value(beliefs[side]) if side in beliefs else read_value(owner, side) for side in (left, right))
    if one is None or other is None:
        return False
    if sign == "=":
        return one == other
    if not isinstance(one, float) or not isinstance(other, float):
        raise ValueError(f"{left} {sign} {right}: only numbers have an order")
    return {"<": one < other, "<=": one <= other, ">": one > other, ">=": one >= other}[sign]


def row_of(problem: Problem, table: Any, world: World) -> Any:
    """Return what a table by conditions says of a world; ``None`` where it says nothing.

    Only the unambiguous part of "the most specific decides" is here: the world's own name, else the single row that
    holds, else ``default``. In a list of pairs the first that holds decides. A bare number says the same of all.
    """
    if isinstance(table, list):
        return next(
            (row for condition, row in table if condition == "default" or holds(problem, condition, world)), None
        )
    if not isinstance(table, dict):
        return table
    if world.name in table:
        return table[world.name]
    rows = [row for condition, row in table.items() if condition != "default" and holds(problem, condition, world)]
    if any(row != rows[0] for row in rows):
        raise ValueError(f"{len(rows)} rows hold of {world.name!r}, and the reference does not choose between them")
    return rows[0] if rows else table.get("default")


# Kernels.


@dataclass(frozen=True, eq=False)
class Listed:
    """A probe with a list of outcomes."""

    outcomes: tuple[str, ...]
    table: np.ndarray
    """Shape ``(n_worlds, n_outcomes)``."""

    def likelihood(self, outcome: str) -> np.ndarray:
        """Return the probability of the outcome in every world."""
        return self.table[:, self.outcomes.index(outcome)]

    def logs(self, outcome: str) -> np.ndarray:
        """Return its logarithm, ``-inf`` for 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.likelihood(outcome))


@dataclass(frozen=True, eq=False)
class Continuous:
    """A probe that answers a number, normally distributed; shapes ``(n_worlds,)``."""

    mean: np.ndarray
    sd: np.ndarray

    def logs(self, outcome: float) -> np.ndarray:
        """Return the logarithm of the density in every world, up to a constant that is the same for all."""
        return -0.5 * ((outcome - self.mean) / self.sd) ** 2 - np.log(self.sd)


def kernel_of(problem: Problem, worlds: list[World], probe: str) -> Listed | Continuous:
    """Return how the probe answers in every world."""
    kernel = problem["kernels"][probe]
    if "gaussian" in kernel:
        rows = [_normal(problem, kernel["gaussian"], world) for world in worlds]
        return Continuous(*map(np.array, zip(*rows, strict=True)))
    if "of" in kernel:
        return _answers(problem, worlds, kernel)
    if "noisy_or" in kernel:
        seconds = [noisy_or(problem, kernel["noisy_or"], world) for world in worlds]
        return Listed(tuple(map(str, kernel["outcomes"])), np.array([[1 - p, p] for p in seconds]))
    rows = [list(map(number, row_of(problem, kernel["likelihood"], world))) for world in worlds]
    return Listed(tuple(map(str, kernel["outcomes"])), np.array(rows))


_FOLLOWING = re.compile(r"^(?:(?P<factor>[^*\s]+)\s*\*\s*)?(?P<belief>\S+)(?:\s*(?P<sign>[+-])\s*(?P<shift>\S+))?$")


def _normal(problem: Problem, table: Any, world: World) -> tuple[float, float]:
    """Return the mean and deviation in one world; a mean that follows a step is as wide as the step, times a factor."""
    mean, sd = row_of(problem, table, world)
    if not isinstance(mean, str):
        return number(mean), number(sd)
    found = _FOLLOWING.match(mean.strip())
    assert found is not None, mean
    belief = named(problem["beliefs"], found["belief"])
    factor = float(found["factor"] or 1.0)
    shift = float(found["shift"] or 0.0) * (-1 if found["sign"] == "-" else 1)
    true = world.value(belief)
    if not isinstance(true, float):
        raise ValueError(f"{mean!r} follows nothing under {world.name!r}")
    width = abs(factor) * world.widths.get(belief["name"], 0.0)
    return factor * true + shift, math.sqrt(number(sd) ** 2 + width**2 / 12)


def values_of(worlds: list[World], belief: dict[str, Any]) -> list[Value]:
    """Return the values of a belief: the declared one first, then those true in some world, in file order."""
    said = declared(belief)
    assert said is not None
    found = [said]
    for world in worlds:
        true = world.value(belief)
        if true is not None and true not in found:
            found.append(true)
    return found


def _answers(problem: Problem, worlds: list[World], kernel: dict[str, Any]) -> Listed:
    """Return the kernel of a probe that answers a belief's value, and errs evenly."""
    belief = named(problem["beliefs"], kernel["of"])
    values = values_of(worlds, belief)
    none, right = number(kernel.get("none", 0.0)), number(kernel["right"])
    table = []
    for world in worlds:
        own = row_of(problem, kernel.get("likelihood", {}), world)
        true = world.value(belief)
        if own is not None:
            row = list(map(number, own))
        elif true is None or len(values) == 1:
            row = [(1 - none) / len(values)] * len(values)
        else:
            other = (1 - right - none) / (len(values) - 1)
            row = [right if value == true else other for value in values]
        table.append(row if own is not None or "none" not in kernel else [*row, none])
    outcomes = [text_of(value) for value in values] + (["none"] if "none" in kernel else [])
    return Listed(tuple(outcomes), np.array(table))
