"""The problem format read a second time, slowly and plainly, to check the production code against.

It imports nothing of aquamend and takes the problem as the dictionary a JSON file holds. Every correction set is
enumerated, every outcome tree walked, every Gaussian integral done by adaptive quadrature. Small problems only.

Readings the format leaves open are marked "Reading:" where they are made.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.optimize import brentq, minimize_scalar
from scipy.special import ndtr

TIE = 1e-9
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


@dataclass(frozen=True)
class Terminal:
    """One way to stop, with its loss and its success in every hypothesis."""

    kind: str
    correct: tuple[str, ...]
    undo: tuple[str, ...]
    losses: dict[str, float]
    succeeds: dict[str, bool]

    def loss(self, posterior: dict[str, float]) -> float:
        """Return the expected loss; an impossible hypothesis adds nothing, so 0 * inf = 0."""
        return math.fsum(mass * self.losses[name] for name, mass in posterior.items() if mass > 0)


def correction(problem: Problem, beliefs: tuple[dict[str, Any], ...]) -> Terminal:
    """Return the terminal decision that corrects exactly these beliefs.

    Reading: the kind is ``continue`` only where nothing is corrected; a free correction is still a ``roll_back``.
    """
    correct = tuple(belief["name"] for belief in beliefs)
    undone = {action for name in correct for action in downstream(problem, name)}
    cost = undo_cost(problem, undone)
    losses, succeeds = {}, {}
    for hypothesis in problem["hypotheses"]:
        left = [b for b in problem["beliefs"] if b["name"] in hypothesis["failed"] and b["name"] not in correct]
        losses[hypothesis["name"]] = cost + sum(residual(belief) for belief in left)
        succeeds[hypothesis["name"]] = not left
    undo = tuple(action["name"] for action in problem["actions"] if action["name"] in undone)
    return Terminal("roll_back" if correct else "continue", correct, undo, losses, succeeds)


def flat(problem: Problem, kind: str, loss: float) -> Terminal:
    """Return restart or escalate: the same loss whatever is true.

    Reading: a restart undoes every executed action, an escalation none.
    """
    names = [hypothesis["name"] for hypothesis in problem["hypotheses"]]
    restart = kind == "restart"
    correct = tuple(belief["name"] for belief in problem["beliefs"]) if restart else ()
    undo = tuple(action["name"] for action in executed(problem)) if restart else ()
    return Terminal(kind, correct, undo, dict.fromkeys(names, loss), dict.fromkeys(names, restart))


def terminals(problem: Problem) -> list[Terminal]:
    """Return every terminal decision, in the order in which ties resolve.

    Correction sets by size and then in file order, then restart, then escalate.
    Reading: restart is infeasible if any executed action at all is irreversible.
    """
    beliefs = problem["beliefs"]
    found = [
        correction(problem, chosen)
        for size in range(len(beliefs) + 1)
        for chosen in itertools.combinations(beliefs, size)
    ]
    if "restart" in problem and all(action.get("reversible", True) for action in executed(problem)):
        found.append(flat(problem, "restart", number(problem["restart"])))
    if "escalate" in problem:
        found.append(flat(problem, "escalate", number(problem["escalate"])))
    return found


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
        return {declared["name"]: set(declared["invalid_in"]) for declared in problem["declarations"]}
    return {
        belief["name"]: {h["name"] for h in problem["hypotheses"] if belief["name"] in h["failed"]}
        for belief in problem["beliefs"]
    }


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


def gaussian_stop_loss(mass: dict[str, float], kernel: dict[str, Any], stops: list[Terminal]) -> float:
    """Return E[V_stop(x')], the integral over y of min over u of sum over s of p(s) f(y | s) loss(u, s).

    The quadrature is told where the best decision changes: an adaptive rule can overlook a kink.
    """
    alive = [name for name in mass if mass[name] > 0]
    table = np.array([[stop.losses[name] for name in alive] for stop in stops])
    table = table[np.isfinite(table).all(axis=1)]
    if not len(table):
        return math.inf
    weight = np.array([mass[name] for name in alive])
    mean, deviation = np.array([kernel["gaussian"][name] for name in alive]).T

    def losses(y: float) -> np.ndarray:
        density = np.exp(-0.5 * ((y - mean) / deviation) ** 2) / (deviation * math.sqrt(2 * math.pi))
        return table @ (weight * density)

    shapes = list(zip(mean, deviation, strict=True))
    cuts = set(splits(shapes, per_deviation=1))
    grid = splits(shapes, per_deviation=16)
    best = [int(losses(y).argmin()) for y in grid]
    for (low, high), (one, other) in zip(itertools.pairwise(grid), itertools.pairwise(best), strict=True):
        if one != other:
            cuts.add(brentq(lambda y, i=one, j=other: losses(y)[i] - losses(y)[j], low, high, xtol=1e-14))
    pieces = itertools.pairwise(sorted(cuts))
    return math.fsum(
        quad(lambda y: losses(y).min(), low, high, epsabs=1e-12, epsrel=1e-11, limit=200)[0] for low, high in pieces
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


class Reference:
    """One problem, its values and its policies; values are remembered by the evidence they depend on."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.stops = terminals(problem)
        self.declarations = declarations(problem)
        self._posteriors: dict[Seen, dict[str, float]] = {}
        self._stop: dict[Seen, tuple[Terminal, float]] = {}
        self._values: dict[tuple[Seen, float], float] = {}
        self._integrals: dict[tuple[str, Seen], float] = {}
        self._powers: dict[tuple[str, Seen, float], dict[str, float | None]] = {}

    def posterior(self, seen: Seen) -> dict[str, float]:
        """Return the posterior after these observations."""
        if seen not in self._posteriors:
            self._posteriors[seen] = posterior(self.problem, seen)
        return self._posteriors[seen]

    def best_stop(self, seen: Seen) -> tuple[Terminal, float]:
        """Return the best terminal decision and V_stop; ``escalate`` with loss ``inf`` where none is finite."""
        if seen not in self._stop:
            losses = [stop.loss(self.posterior(seen)) for stop in self.stops]
            least = min(losses)
            if least == math.inf:
                self._stop[seen] = flat(self.problem, "escalate", math.inf), math.inf
            else:
                first = next(i for i, loss in enumerate(losses) if loss <= least + TIE)
                self._stop[seen] = self.stops[first], losses[first]
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
            self._integrals[probe, seen] = gaussian_stop_loss(self.posterior(seen), kernel, self.stops)
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

        Where stopping costs ``inf`` a hypothesis still possible costs ``inf`` however it ends, and no probe helps.
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

    def evaluate(self, policy: str, seen: Seen = ()) -> dict[str, float]:
        """Return the expectations of following the policy from here to the end, over all outcomes."""
        step = self.next_step(policy, seen)
        if isinstance(step, Terminal):
            mass = self.posterior(seen)
            success = math.fsum(p for name, p in mass.items() if step.succeeds[name])
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
        failed = {hypothesis["name"]: hypothesis["failed"] for hypothesis in self.problem["hypotheses"]}
        return {
            belief["name"]: math.fsum(p for name, p in mass.items() if belief["name"] in failed[name])
            for belief in self.problem["beliefs"]
        }

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
