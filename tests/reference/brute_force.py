"""The problem format read a second time, slowly and plainly, to check the production code against.

It imports nothing of aquamend and takes the problem as the dictionary a JSON file holds. Every correction set is
enumerated with every value that a corrected belief may be given, every outcome tree walked, every Gaussian integral
done by adaptive quadrature. Small problems only.

Readings the format leaves open are marked "Reading:" where they are made.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

TIE = 1e-9
HALF = 0.5 - TIE
"""Reading: a probability counts as below one half only if it is so by more than 1e-9."""

FINE = {"xatol": 1e-12}
CAUSES = ("external", "self_error", "false_alarm", "unknown")

Problem = dict[str, Any]
Seen = tuple[tuple[str, Any], ...]
"""What has been observed: ``(probe, outcome)`` pairs, sorted; repeated uses are exchangeable, so order is no matter."""


def number(value: float | str) -> float:
    """Return the number a file holds; the string ``inf`` is infinity."""
    return float(value)


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """Return the entry of that name."""
    return next(entry for entry in entries if entry["name"] == name)


def executed(problem: Problem) -> list[dict[str, Any]]:
    """Return the executed actions, in file order."""
    return [action for action in problem["actions"] if action.get("status", "planned") == "executed"]


def downstream(problem: Problem, belief: str) -> set[str]:
    """Return D(b): executed actions reachable from the belief. A path may pass through planned actions."""
    reached, frontier = {belief}, [belief]
    while frontier:
        here = frontier.pop()
        for source, target, _kind in problem.get("edges", []):
            if source == here and target not in reached:
                reached.add(target)
                frontier.append(target)
    return {action["name"] for action in executed(problem) if action["name"] in reached}


def undo_cost(problem: Problem, actions: set[str]) -> float:
    """Return the cost of undoing these executed actions: every action or shared operation once."""
    total, operations = 0.0, set()
    for action in problem["actions"]:
        if action["name"] not in actions:
            continue
        if not action.get("reversible", True):
            return math.inf
        if "operations" in action:
            operations |= set(action["operations"])
        else:
            total += number(action["undo"])
    return total + sum(number(op["cost"]) for op in problem.get("operations", []) if op["name"] in operations)


def residual(belief: dict[str, Any]) -> float:
    """Return the loss of leaving the failed belief uncorrected."""
    return number(belief["residual"]) if belief.get("may_keep", True) else math.inf


def times(share: float, loss: float) -> float:
    """Return the product, where 0 * inf = 0."""
    return share * loss if share else 0.0


def differs(one: Any, other: Any, tolerance: float) -> bool:
    """Return whether two values of a belief differ; a distance equal to the tolerance does not count.

    Reading: equal means within 1e-9, so that 0.1 and 0.4 are not more than 0.3 apart.
    """
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) > tolerance + TIE
    return one != other


def truth(belief: dict[str, Any], hypothesis: dict[str, Any]) -> Any:
    """Return what would be true of a belief that has ``declared``: what the hypothesis says, or what is declared."""
    return hypothesis.get("truth", {}).get(belief["name"], belief["declared"])


def wrong_in(belief: dict[str, Any], value: Any, hypothesis: dict[str, Any]) -> bool:
    """Return whether this value of the belief would be wrong under the hypothesis."""
    return differs(truth(belief, hypothesis), value, number(belief.get("tolerance", 0.0)))


def has_failed(belief: dict[str, Any], hypothesis: dict[str, Any]) -> bool:
    """Return whether the belief, as the robot holds it now, is wrong under the hypothesis."""
    if "declared" in belief:
        return wrong_in(belief, belief["declared"], hypothesis)
    return belief["name"] in hypothesis.get("failed", [])


def accuracy(problem: Problem, probe: dict[str, Any], hypothesis: dict[str, Any]) -> float:
    """Return the probability that what the probe read is right under the hypothesis.

    Reading: a number of the hypothesis's own stands also where the source has failed; only a number for all
    hypotheses, and ``default``, give way to 0 there. Without ``accuracy`` it is such a number, 1.
    """
    given = probe.get("accuracy", 1.0)
    if isinstance(given, dict):
        if hypothesis["name"] in given:
            return number(given[hypothesis["name"]])
        given = given.get("default", 1.0)
    if "source" in probe and has_failed(named(problem["beliefs"], probe["source"]), hypothesis):
        return 0.0
    return number(given)


def evidence(problem: Problem, belief: str, answered: frozenset[str]) -> tuple[str, ...]:
    """Return the probes that are evidence on the belief: its declarations' support, and what has answered.

    Reading: a probe in the support counts whether it has answered since the alarm or not; an aggregation edge from
    a probe begins a path as a detection edge does; declarations by default have no support.
    """
    support = {
        probe
        for declared in problem.get("declarations", [])
        if declared["belief"] == belief
        for probe in declared.get("support", [])
    }
    return tuple(
        probe["name"]
        for probe in problem["probes"]
        if probe["name"] in support or (probe["name"] in answered and informs(problem, probe["name"], belief))
    )


def informs(problem: Problem, probe: str, belief: str) -> bool:
    """Return whether the belief is reachable from the probe through beliefs."""
    edges = problem.get("edges", [])
    reached = {target for source, target, kind in edges if source == probe and kind in ("detection", "aggregation")}
    frontier = list(reached)
    while frontier:
        here = frontier.pop()
        for source, target, kind in edges:
            if source == here and kind in ("inference", "aggregation") and target not in reached:
                reached.add(target)
                frontier.append(target)
    return belief in reached


def usable(problem: Problem, probe: str, mass: dict[str, float]) -> bool:
    """Return whether the probe's answers can be relied on: it has no source, or a source that probably holds."""
    source = named(problem["probes"], probe).get("source")
    if source is None:
        return True
    belief = named(problem["beliefs"], source)
    return math.fsum(mass[h["name"]] for h in problem["hypotheses"] if has_failed(belief, h)) < HALF


@dataclass(frozen=True)
class Choice:
    """One thing to do about one belief: keep it, or correct it in one particular way."""

    belief: str
    corrected: bool
    wrong: dict[str, float]
    """The probability in every hypothesis that the belief is wrong afterwards."""
    price: float
    """The loss where it is."""
    declare: dict[str, Any] | None = None
    """What is declared anew; ``None`` where nothing is, or where the correction is assured."""
    needs: tuple[str, ...] | None = None
    """The probes of which one must be usable, beside a wrongness below one half; ``None`` where no rule holds."""

    def risk(self, mass: dict[str, float]) -> float:
        """Return the probability that the belief is wrong afterwards."""
        return math.fsum(p * self.wrong[name] for name, p in mass.items() if p > 0)

    def admissible(self, problem: Problem, mass: dict[str, float]) -> bool:
        """Return whether the rule of support allows it."""
        if self.needs is None:
            return True
        return self.risk(mass) < HALF and any(usable(problem, probe, mass) for probe in self.needs)


def keeping(problem: Problem, belief: dict[str, Any], answered: frozenset[str]) -> Choice:
    """Return the choice to keep the belief as it is.

    Reading: ``may_keep: false`` forbids only this at any price.
    """
    wrong = {h["name"]: float(has_failed(belief, h)) for h in problem["hypotheses"]}
    needs = evidence(problem, belief["name"], answered) if belief.get("needs_support", False) else None
    return Choice(belief["name"], False, wrong, residual(belief), needs=needs)


def corrections(problem: Problem, belief: dict[str, Any], answered: frozenset[str]) -> list[Choice]:
    """Return the ways to correct the belief, in the order in which ties resolve.

    Reading: probes count in file order. Another value of the truth is one that is not the very value declared, even
    if it is within the tolerance of it; the hypotheses are taken in file order, impossible ones too. A belief whose
    correction is supported and that has no value to declare cannot be corrected. The old value of a belief without
    ``declared`` has no name; it is shown as ``None``.
    """
    name, loss, hypotheses = belief["name"], number(belief["residual"]), problem["hypotheses"]
    if belief.get("correction", "assured") == "assured":
        return [Choice(name, True, {h["name"]: 0.0 for h in hypotheses}, loss)]
    ruled = belief.get("needs_support", False)
    needs = evidence(problem, name, answered) if ruled else None
    found = []
    if belief.get("may_keep", True):
        wrong = {h["name"]: float(has_failed(belief, h)) for h in hypotheses}
        found.append(Choice(name, True, wrong, loss, {"value": belief.get("declared")}, needs))
    for probe in problem["probes"]:
        if probe["name"] in answered and [probe["name"], name, "detection"] in map(list, problem.get("edges", [])):
            wrong = {h["name"]: 1 - accuracy(problem, probe, h) for h in hypotheses}
            own = (probe["name"],) if ruled else None
            found.append(Choice(name, True, wrong, loss, {"from": probe["name"]}, own))
    if "declared" in belief:
        values: list[Any] = []
        for hypothesis in hypotheses:
            value = truth(belief, hypothesis)
            if value != belief["declared"] and value not in values:
                values.append(value)
        for value in values:
            wrong = {h["name"]: float(wrong_in(belief, value, h)) for h in hypotheses}
            found.append(Choice(name, True, wrong, loss, {"value": value}, needs))
    return found


def least_wrong(problem: Problem, options: list[Choice], mass: dict[str, float]) -> Choice | None:
    """Return the admissible choice with the smallest risk, the first among equals; ``None`` if there is none.

    Reading: a belief that needs support is given the best of the values it may be given, not the best of all.
    """
    allowed = [(option, option.risk(mass)) for option in options if option.admissible(problem, mass)]
    least = min((risk for _, risk in allowed), default=math.inf)
    return next((option for option, risk in allowed if risk <= least + TIE), None)


@dataclass(frozen=True)
class Terminal:
    """One way to stop, with its loss and its chance of success in every hypothesis."""

    kind: str
    correct: tuple[str, ...]
    undo: tuple[str, ...]
    losses: dict[str, float]
    succeeds: dict[str, float]
    declare: dict[str, dict[str, Any]] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()

    def loss(self, posterior: dict[str, float]) -> float:
        """Return the expected loss; an impossible hypothesis adds nothing, so 0 * inf = 0."""
        return math.fsum(mass * self.losses[name] for name, mass in posterior.items() if mass > 0)


Policy = Callable[[Seen], str | Terminal]
"""What to do next, a probe or a terminal decision, by what has been seen."""

Undoings = dict[tuple[str, ...], tuple[tuple[str, ...], float]]
"""The actions that correcting a set of beliefs undoes, in file order, and what that costs."""


def undoings(problem: Problem) -> Undoings:
    """Return what correcting every set of beliefs undoes; the sets by size and then in file order."""
    beliefs = [belief["name"] for belief in problem["beliefs"]]
    below = {name: downstream(problem, name) for name in beliefs}
    found: Undoings = {}
    for size in range(len(beliefs) + 1):
        for correct in itertools.combinations(beliefs, size):
            undone = {action for name in correct for action in below[name]}
            undo = tuple(action["name"] for action in problem["actions"] if action["name"] in undone)
            found[correct] = undo, undo_cost(problem, undone)
    return found


def correction(problem: Problem, choices: tuple[Choice, ...], undoing: Undoings) -> Terminal:
    """Return the terminal decision that does just this about every belief.

    Reading: the kind is ``continue`` only where nothing is corrected; a free correction is still a ``roll_back``.
    """
    correct = tuple(choice.belief for choice in choices if choice.corrected)
    undo, cost = undoing[correct]
    losses, succeeds = {}, {}
    for hypothesis in problem["hypotheses"]:
        name = hypothesis["name"]
        losses[name] = cost + sum(times(choice.wrong[name], choice.price) for choice in choices)
        succeeds[name] = math.prod(1 - choice.wrong[name] for choice in choices)
    declare = {choice.belief: choice.declare for choice in choices if choice.declare is not None}
    return Terminal("roll_back" if correct else "continue", correct, undo, losses, succeeds, declare, choices)


def flat(problem: Problem, kind: str, loss: float) -> Terminal:
    """Return restart or escalate: the same loss whatever is true.

    Reading: a restart undoes every executed action and leaves nothing wrong, an escalation undoes none.
    """
    names = [hypothesis["name"] for hypothesis in problem["hypotheses"]]
    restart = kind == "restart"
    correct = tuple(belief["name"] for belief in problem["beliefs"]) if restart else ()
    undo = tuple(action["name"] for action in executed(problem)) if restart else ()
    return Terminal(kind, correct, undo, dict.fromkeys(names, loss), dict.fromkeys(names, float(restart)))


def flats(problem: Problem) -> list[Terminal]:
    """Return restart where feasible and escalate where given.

    Reading: restart is infeasible if any executed action at all is irreversible.
    """
    found = []
    if "restart" in problem and all(action.get("reversible", True) for action in executed(problem)):
        found.append(flat(problem, "restart", number(problem["restart"])))
    if "escalate" in problem:
        found.append(flat(problem, "escalate", number(problem["escalate"])))
    return found


def terminals(problem: Problem, undoing: Undoings, mass: dict[str, float], answered: frozenset[str]) -> list[Terminal]:
    """Return every admissible terminal decision, in the order in which ties resolve.

    Correction sets by size and then in file order, each with the best values for its beliefs; then restart, then
    escalate.
    """
    keep, correct = {}, {}
    for belief in problem["beliefs"]:
        keep[belief["name"]] = least_wrong(problem, [keeping(problem, belief, answered)], mass)
        correct[belief["name"]] = least_wrong(problem, corrections(problem, belief, answered), mass)
    found = []
    for chosen in undoing:
        choices = tuple(correct[name] if name in chosen else keep[name] for name in keep)
        if None not in choices:
            found.append(correction(problem, choices, undoing))
    return found + flats(problem)


def every_option(problem: Problem, undoing: Undoings, answered: frozenset[str]) -> list[Terminal]:
    """Return every terminal decision with every combination of values, admissible now or not."""
    each = [
        [keeping(problem, belief, answered), *corrections(problem, belief, answered)] for belief in problem["beliefs"]
    ]
    return [correction(problem, choices, undoing) for choices in itertools.product(*each)] + flats(problem)


def depends_on_evidence(problem: Problem) -> bool:
    """Return whether the terminal decisions and their losses change with the evidence."""
    return any(b.get("correction") == "supported" or b.get("needs_support", False) for b in problem["beliefs"])


def log_density(y: float, mean: float, deviation: float) -> float:
    """Return the logarithm of the Gaussian density, up to a constant that is the same for every hypothesis."""
    return -0.5 * ((y - mean) / deviation) ** 2 - math.log(deviation)


def posterior(problem: Problem, seen: Seen) -> dict[str, float]:
    """Return the probability of every hypothesis after the alarm (once) and the observations."""
    weights, exponents = {}, {}
    for hypothesis in problem["hypotheses"]:
        name = hypothesis["name"]
        weight, exponent = number(hypothesis["prior"]), 0.0
        if "alarm" in problem:
            weight *= problem["alarm"]["likelihood"][name]
        for probe, outcome in seen:
            kernel = problem["kernels"][probe]
            if "gaussian" in kernel:
                exponent += log_density(outcome, *kernel["gaussian"][name])
            else:
                weight *= kernel["likelihood"][name][kernel["outcomes"].index(outcome)]
        weights[name], exponents[name] = weight, exponent
    top = max(exponents[name] for name in weights if weights[name] > 0)
    weights = {name: weight * math.exp(exponents[name] - top) if weight else 0.0 for name, weight in weights.items()}
    total = math.fsum(weights.values())
    return {name: weight / total for name, weight in weights.items()}


def declarations(problem: Problem) -> dict[str, set[str]]:
    """Return the hypotheses in which every declaration is invalid.

    Reading: without the key, one declaration per belief, of the belief's name; with it, the listed ones only.
    """
    if "declarations" in problem:
        return {declared["name"]: invalid_in(problem, declared) for declared in problem["declarations"]}
    return {
        belief["name"]: {h["name"] for h in problem["hypotheses"] if has_failed(belief, h)}
        for belief in problem["beliefs"]
    }


def invalid_in(problem: Problem, declared: dict[str, Any]) -> set[str]:
    """Return the hypotheses in which a declaration of the file is invalid.

    Reading: where ``invalid_in`` is given it holds; without it, the declaration is invalid where its belief failed.
    """
    if "invalid_in" in declared:
        return set(declared["invalid_in"])
    belief = named(problem["beliefs"], declared["belief"])
    return {h["name"] for h in problem["hypotheses"] if has_failed(belief, h)}


def splits(components: list[tuple[float, float]], *, per_deviation: int) -> list[float]:
    """Return sorted points that resolve every ``(mean, deviation)`` component out to twelve deviations."""
    steps = range(-12 * per_deviation, 12 * per_deviation + 1)
    return sorted({mean + deviation * k / per_deviation for mean, deviation in components for k in steps})


def crossings(function: Callable[[float], float], grid: list[float]) -> list[float]:
    """Return where the function crosses zero, also where it only dips through zero between two grid points."""
    heights = [function(y) for y in grid]
    points = dict(zip(grid, heights, strict=True))
    for i in range(1, len(grid) - 1):
        sign = 1 if heights[i] >= 0 else -1
        before, here, after = (sign * height for height in heights[i - 1 : i + 2])
        if 0 < before >= here < after:
            ends = (grid[i - 1], grid[i + 1])
            y = minimize_scalar(lambda y, s=sign: s * function(y), bounds=ends, method="bounded", options=FINE).x
            points[float(y)] = function(float(y))
    pairs = itertools.pairwise(sorted(points.items()))
    return [brentq(function, a, b, xtol=1e-14) for (a, left), (b, right) in pairs if (left >= 0) != (right >= 0)]


def gaussian_stop_loss(
    problem: Problem, mass: dict[str, float], kernel: dict[str, Any], options: list[Terminal]
) -> float:
    """Return E[V_stop(x')], the integral over y of min over u of sum over s of p(s) f(y | s) loss(u, s).

    The minimum is over the options that are admissible at y. Between two answers at which a probability of the
    support rule crosses one half these are always the same. The quadrature is told where the best decision changes:
    an adaptive rule can overlook a kink.
    """
    alive = [name for name in mass if mass[name] > 0]
    weight = np.array([mass[name] for name in alive])
    mean, deviation = np.array([kernel["gaussian"][name] for name in alive]).T
    shapes = list(zip(mean, deviation, strict=True))
    grid = splits(shapes, per_deviation=16)

    def joint(y: float) -> np.ndarray:
        return weight * np.exp(-0.5 * ((y - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))

    def refreshed(y: float) -> np.ndarray:
        logs = np.log(weight) - np.log(deviation) - 0.5 * ((y - mean) / deviation) ** 2
        odds = np.exp(logs - logs.max())
        return odds / odds.sum()

    ends = {grid[0], grid[-1]}
    for limit in limits(problem, options):
        row = np.array([limit[name] for name in alive])
        ends |= set(crossings(lambda y, row=row: float(row @ refreshed(y)) - HALF, grid))
    total = []
    for low, high in itertools.pairwise(sorted(ends)):
        now = dict(zip(alive, map(float, refreshed((low + high) / 2)), strict=True))
        now = dict.fromkeys(mass, 0.0) | now
        fine: dict[int, bool] = {}
        rows = set()
        for option in options:
            for choice in option.choices:
                if id(choice) not in fine:
                    fine[id(choice)] = choice.admissible(problem, now)
            losses = tuple(option.losses[name] for name in alive)
            if max(losses) < math.inf and all(fine[id(choice)] for choice in option.choices):
                rows.add(losses)
        if not rows:
            return math.inf
        cuts = [low, *(cut for cut in splits(shapes, per_deviation=1) if low < cut < high), high]
        points = [low, *(y for y in grid if low < y < high), high]
        total.append(integral_of_least(np.array(sorted(rows)), joint, cuts, points))
    return math.fsum(total)


def limits(problem: Problem, options: list[Terminal]) -> list[dict[str, float]]:
    """Return the probabilities, each by its value in every hypothesis, that the support rule compares with a half."""
    found: list[dict[str, float]] = []
    for choice in {id(choice): choice for option in options for choice in option.choices}.values():
        if choice.needs is None:
            continue
        found.append(choice.wrong)
        for probe in choice.needs:
            source = named(problem["probes"], probe).get("source")
            if source is not None:
                belief = named(problem["beliefs"], source)
                found.append({h["name"]: float(has_failed(belief, h)) for h in problem["hypotheses"]})
    return [limit for i, limit in enumerate(found) if limit not in found[:i]]


def integral_of_least(
    table: np.ndarray, joint: Callable[[float], np.ndarray], cuts: list[float], grid: list[float]
) -> float:
    """Return the integral of the least of the table's rows, each weighted by ``joint``, cut also where it changes."""

    def losses(y: float) -> np.ndarray:
        return table @ joint(y)

    pieces = set(cuts)
    best = [int(losses(y).argmin()) for y in grid]
    for (low, high), (one, other) in zip(itertools.pairwise(grid), itertools.pairwise(best), strict=True):
        if one != other:
            pieces.add(brentq(lambda y, i=one, j=other: losses(y)[i] - losses(y)[j], low, high, xtol=1e-14))
    return math.fsum(
        quad(lambda y: losses(y).min(), low, high, epsabs=1e-12, epsrel=1e-11, limit=200)[0]
        for low, high in itertools.pairwise(sorted(pieces))
    )


def gaussian_power(mass: dict[str, float], kernel: dict[str, Any], invalid: set[str], threshold: float) -> float:
    """Return the probability, given invalidity, that the answer lifts the invalidity probability to the threshold."""
    alive = {name: kernel["gaussian"][name] for name in mass if mass[name] > 0}

    mean, deviation = np.array(list(alive.values())).T
    prior = np.log([mass[name] for name in alive]) - np.log(deviation)
    broken = np.array([name in invalid for name in alive])

    def excess(y: float) -> float:
        logs = prior - 0.5 * ((y - mean) / deviation) ** 2
        odds = np.exp(logs - logs.max())
        return float(odds[broken].sum() / odds.sum() - threshold)

    grid = splits(list(map(tuple, alive.values())), per_deviation=6)
    edges = [-math.inf, *crossings(excess, grid), math.inf]
    detected, inside = 0.0, excess(grid[0]) >= 0
    for low, high in itertools.pairwise(edges):
        if inside:
            share = ndtr((high - mean) / deviation) - ndtr((low - mean) / deviation)
            detected += sum(mass[name] * part for name, part in zip(alive, share, strict=True) if name in invalid)
        inside = not inside
    return detected / sum(mass[name] for name in alive if name in invalid)


def answered(seen: Seen) -> frozenset[str]:
    """Return the probes that have answered since the alarm."""
    return frozenset(probe for probe, _ in seen)


class Reference:
    """One problem, its values and its policies; values are remembered by the evidence they depend on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.undoing = undoings(problem)
        self.declarations = declarations(problem)
        self._stops: dict[Seen, list[Terminal]] = {}
        self._posteriors: dict[Seen, dict[str, float]] = {}
        self._stop: dict[Seen, tuple[Terminal, float]] = {}
        self._values: dict[tuple[Seen, float], float] = {}
        self._integrals: dict[tuple[str, Seen], float] = {}
        self._powers: dict[tuple[str, Seen, float], dict[str, float | None]] = {}

    @property
    def beliefs(self) -> list[dict[str, Any]]:
        """Return the beliefs of the file."""
        return self.problem["beliefs"]

    def posterior(self, seen: Seen) -> dict[str, float]:
        """Return the posterior after these observations."""
        if seen not in self._posteriors:
            self._posteriors[seen] = posterior(self.problem, seen)
        return self._posteriors[seen]

    @property
    def stops(self) -> list[Terminal]:
        """Return the terminal decisions that are admissible at first."""
        return self.stops_at(())

    def stops_at(self, seen: Seen) -> list[Terminal]:
        """Return the terminal decisions that are admissible now, in the order in which ties resolve."""
        key = seen if depends_on_evidence(self.problem) else ()
        if key not in self._stops:
            self._stops[key] = terminals(self.problem, self.undoing, self.posterior(key), answered(key))
        return self._stops[key]

    def best_stop(self, seen: Seen) -> tuple[Terminal, float]:
        """Return the best terminal decision and V_stop; ``escalate`` with loss ``inf`` where none is finite."""
        if seen not in self._stop:
            stops = self.stops_at(seen)
            losses = [stop.loss(self.posterior(seen)) for stop in stops]
            least = min(losses, default=math.inf)
            if least == math.inf:
                self._stop[seen] = flat(self.problem, "escalate", math.inf), math.inf
            else:
                first = next(i for i, loss in enumerate(losses) if loss <= least + TIE)
                self._stop[seen] = stops[first], losses[first]
        return self._stop[seen]

    def legal(self, seen: Seen) -> list[str]:
        """Return the probes with a use and the money left, in file order.

        Reading: a budget met within 1e-9 is met, so that 0.1 + 0.2 fits into 0.3.
        """
        probes = self.problem["probes"]
        budget = number(self.problem.get("sensing_budget", math.inf))
        spent = math.fsum(number(named(probes, used)["cost"]) for used, _ in seen)
        used = [name for name, _ in seen]
        return [
            probe["name"]
            for probe in probes
            if used.count(probe["name"]) < probe.get("max_uses", 1) and spent + number(probe["cost"]) <= budget + TIE
        ]

    def outcomes(self, probe: str, seen: Seen) -> list[tuple[float, Seen]]:
        """Return every possible answer as its predictive probability and the evidence with it."""
        kernel = self.problem["kernels"][probe]
        found = []
        for column, outcome in enumerate(kernel["outcomes"]):
            chance = math.fsum(p * kernel["likelihood"][name][column] for name, p in self.posterior(seen).items())
            if chance > 0:
                found.append((chance, tuple(sorted((*seen, (probe, outcome))))))
        return found

    def probe_loss(self, probe: str, seen: Seen, depth: float = 1) -> float:
        """Return the expected loss of this probe now and at most ``depth - 1`` more, then the best stop."""
        cost = number(named(self.problem["probes"], probe)["cost"])
        kernel = self.problem["kernels"][probe]
        if "gaussian" not in kernel:
            return cost + math.fsum(p * self.value(after, depth - 1) for p, after in self.outcomes(probe, seen))
        if depth > 1 and self.legal((*seen, (probe, 0.0))):
            raise ValueError(f"no exact value is known here for a probe after the Gaussian probe {probe!r}")
        if (probe, seen) not in self._integrals:
            options = every_option(self.problem, self.undoing, answered(seen) | {probe})
            self._integrals[probe, seen] = gaussian_stop_loss(self.problem, self.posterior(seen), kernel, options)
        return cost + self._integrals[probe, seen]

    def value(self, seen: Seen, depth: float) -> float:
        """Return the least expected loss with at most ``depth`` more probes; ``inf`` is the complete adaptive tree."""
        if (seen, depth) not in self._values:
            losses = [self.best_stop(seen)[1]]
            if depth > 0:
                losses += [self.probe_loss(probe, seen, depth) for probe in self.legal(seen)]
            self._values[seen, depth] = min(losses)
        return self._values[seen, depth]

    def optimum(self, seen: Seen = ()) -> float:
        """Return the expected loss of the best complete adaptive policy."""
        return self.value(seen, math.inf)

    def next_step(self, policy: str, seen: Seen = ()) -> str | Terminal:
        """Return the name of the probe to run, or the terminal decision.

        Where the probes cost ``inf`` as stopping does, none of them helps. Where one of them costs less, because its
        answer is evidence or a value to declare, it has an infinite net benefit.
        """
        stop, stop_loss = self.best_stop(seen)
        if policy == "no-reprobe":
            return stop
        if policy == "restart":
            options = {terminal.kind: terminal for terminal in self.stops}
            return options.get("restart") or options.get("escalate") or flat(self.problem, "escalate", math.inf)
        losses = {probe: self.probe_loss(probe, seen, depth_of(policy)) for probe in self.legal(seen)}
        least = min(losses.values(), default=math.inf)
        if least == math.inf or stop_loss - least <= TIE:
            return stop
        return next(probe for probe, loss in losses.items() if loss <= least + TIE)

    def evaluate(self, policy: str | Policy, seen: Seen = ()) -> dict[str, float]:
        """Return the expectations of following the policy from here to the end, over all outcomes.

        The policy is a name, or a function that returns the next step for what has been seen.
        """
        step = self.next_step(policy, seen) if isinstance(policy, str) else policy(seen)
        if isinstance(step, Terminal):
            mass = self.posterior(seen)
            success = math.fsum(p * step.succeeds[name] for name, p in mass.items())
            totals = (step.loss(mass), 0.0, float(len(step.undo)), success)
        else:
            cost = number(named(self.problem["probes"], step)["cost"])
            totals = (cost, 1.0, 0.0, 0.0)
            for chance, after in self.outcomes(step, seen):
                later = self.evaluate(policy, after).values()
                totals = tuple(total + chance * more for total, more in zip(totals, later, strict=True))
        return dict(zip(("expected_loss", "expected_probes", "expected_undone", "success"), totals, strict=True))

    def power(self, probe: str, seen: Seen = (), *, threshold: float = 0.5 - TIE) -> dict[str, float | None]:
        """Return C_s of the probe for every declaration; ``None`` where the declaration cannot be invalid.

        Reading: a declaration within 1e-9 of the threshold is rejected.
        """
        key = probe, seen, threshold
        if key in self._powers:
            return self._powers[key]
        mass, kernel = self.posterior(seen), self.problem["kernels"][probe]
        found: dict[str, float | None] = {}
        for name, invalid in self.declarations.items():
            suspicion = math.fsum(p for hypothesis, p in mass.items() if hypothesis in invalid)
            if suspicion == 0:
                found[name] = None
            elif "gaussian" in kernel:
                found[name] = gaussian_power(mass, kernel, invalid, threshold)
            else:
                found[name] = 0.0
                for chance, after in self.outcomes(probe, seen):
                    refreshed = math.fsum(p for hyp, p in self.posterior(after).items() if hyp in invalid)
                    if refreshed >= threshold:
                        found[name] += chance * refreshed / suspicion
        self._powers[key] = found
        return found

    def marginals(self, seen: Seen = ()) -> dict[str, float]:
        """Return the failure probability of every belief."""
        mass = self.posterior(seen)
        return {
            belief["name"]: math.fsum(mass[h["name"]] for h in self.problem["hypotheses"] if has_failed(belief, h))
            for belief in self.problem["beliefs"]
        }

    def in_force(self, seen: Seen = ()) -> list[dict[str, Any]]:
        """Return the declarations in force, each with its probability of being invalid and whether it is usable.

        Reading: a declaration is usable while some evidence on its belief is, whether the belief needs it or not.
        The version is 1 unless given; the value is what the belief declares, ``None`` if it declares nothing.
        """
        mass, found = self.posterior(seen), []
        given = self.problem.get("declarations", [{"name": b["name"], "belief": b["name"]} for b in self.beliefs])
        for declared in given:
            proof = evidence(self.problem, declared["belief"], answered(seen))
            found.append(
                {
                    "name": declared["name"],
                    "belief": declared["belief"],
                    "version": declared.get("version", 1),
                    "value": named(self.beliefs, declared["belief"]).get("declared"),
                    "support": list(declared.get("support", [])),
                    "invalid": math.fsum(mass[name] for name in sorted(self.declarations[declared["name"]])),
                    "usable": any(usable(self.problem, probe, mass) for probe in proof),
                }
            )
        return found

    def values(self, belief: str, seen: Seen = ()) -> list[tuple[dict[str, Any], float]]:
        """Return what a belief of supported correction may be given now, with the probability that it is wrong."""
        mass = self.posterior(seen)
        options = corrections(self.problem, named(self.beliefs, belief), answered(seen))
        return [
            (option.declare, option.risk(mass))
            for option in options
            if option.declare is not None and option.admissible(self.problem, mass)
        ]

    def attribution(self, seen: Seen = ()) -> dict[str, float]:
        """Return the probability of every cause."""
        mass = self.posterior(seen)
        return {
            cause: math.fsum(mass[h["name"]] for h in self.problem["hypotheses"] if h.get("cause", "unknown") == cause)
            for cause in CAUSES
        }


def depth_of(policy: str) -> float:
    """Return how many probes ahead the policy plans."""
    if policy in ("aquamend", "all-candidates"):
        return 1
    if policy == "exact":
        return math.inf
    kind, _, depth = policy.partition("-")
    if kind != "lookahead":
        raise ValueError(f"policy {policy!r} has no reference here")
    return int(depth)
