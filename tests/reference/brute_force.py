"""The problem format read a second time, slowly and plainly, to check the production code against.

It imports nothing of aquamend and takes the problem as the dictionary a JSON file holds. Every correction set is
enumerated with every value that a corrected belief may be given, every outcome tree walked, every integral over a
continuous answer done by adaptive quadrature. Small problems only. What may be true is written out in `worlds`.

Readings the format leaves open are marked "Reading:" where they are made.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tests.reference.continuous import crossings, integral_of_least, points, share_above
from tests.reference.moments import aged, before, heard, rung_unless_said
from tests.reference.worlds import (
    SLACK,
    Continuous,
    Listed,
    Problem,
    Value,
    declared,
    holds,
    kernel_of,
    named,
    number,
    row_of,
    values_of,
    worlds_of,
)

TIE = SLACK
HALF = 0.5 - TIE
"""Below one half means below this."""

CAUSES = ("external", "self_error", "false_alarm", "unknown")

Seen = tuple[tuple[str, Any], ...]
"""What has been observed: ``(probe, outcome)`` pairs, sorted; repeated uses are exchangeable, so order is no matter."""


# The graph.


def executed(problem: Problem) -> list[dict[str, Any]]:
    """Return the executed actions, in file order."""
    return [action for action in problem.get("actions", []) if action.get("status", "planned") == "executed"]


def downstream(problem: Problem, belief: str) -> set[str]:
    """Return D(b): executed actions reachable from the belief. A path may pass through planned actions."""
    reached = reachable({belief}, [(source, target) for source, target, _ in problem.get("edges", [])])
    return {action["name"] for action in executed(problem) if action["name"] in reached}


def reachable(start: set[str], edges: Iterable[tuple[str, str]]) -> set[str]:
    """Return everything that can be reached from these, themselves included."""
    reached, frontier, edges = set(start), sorted(start), list(edges)
    while frontier:
        here = frontier.pop()
        for source, target in edges:
            if source == here and target not in reached:
                reached.add(target)
                frontier.append(target)
    return reached


def informs(problem: Problem, probe: str, belief: str) -> bool:
    """Return whether the belief is reachable from the probe through beliefs."""
    edges = problem.get("edges", [])
    first = {target for source, target, kind in edges if source == probe and kind in ("detection", "aggregation")}
    beliefs = [(source, target) for source, target, kind in edges if kind in ("inference", "aggregation")]
    return belief in reachable(first, beliefs)


def undo_cost(problem: Problem, actions: set[str]) -> float:
    """Return the cost of undoing these executed actions, and of doing them again: each action or operation once."""
    total, operations = 0.0, set()
    for action in problem.get("actions", []):
        if action["name"] not in actions:
            continue
        if not action.get("reversible", True):
            return math.inf
        total += number(action.get("redo", 0.0))
        if "operations" in action:
            operations |= set(action["operations"])
        else:
            total += number(action["undo"])
    return total + sum(number(op["cost"]) for op in problem.get("operations", []) if op["name"] in operations)


def times(share: float, loss: float) -> float:
    """Return the product, where 0 * inf = 0."""
    return share * loss if share else 0.0


def expectation(mass: np.ndarray, row: np.ndarray) -> float:
    """Return the mean of a row; what is impossible adds nothing, so 0 * inf = 0. Correctly rounded, in any order."""
    return math.fsum(p * x for p, x in zip(mass.tolist(), row.tolist(), strict=True) if p > 0)


# What can be done about one belief, and how everything ends.


@dataclass(frozen=True, eq=False)
class Choice:
    """One thing to do about one belief: keep it, repair it, or declare a particular value of it."""

    belief: str
    corrected: bool
    wrong: np.ndarray
    """The probability in every world that the belief is wrong afterwards; undoing that may fail is counted."""
    value_wrong: np.ndarray
    """1 where the value kept or declared is wrong, else 0, if undoing succeeds."""
    price: float
    """The loss where it is wrong."""
    value: Value | None = None
    """What is declared; ``None`` where the belief is kept or repaired."""
    ruled: bool = False
    """Whether the rule of support applies."""


@dataclass(frozen=True)
class Cut:
    """A set of beliefs to correct by undoing, beside compensations that are paid for."""

    correct: tuple[str, ...]
    undo: tuple[str, ...]
    cost: float
    left: dict[str, float] = field(default_factory=dict)
    """For every belief that is compensated, the chance that this fails."""
    plan: str | None = None


@dataclass(frozen=True, eq=False)
class Ending:
    """One way to stop, with its expected loss in one information state."""

    kind: str
    loss: float
    correct: tuple[str, ...] = ()
    undo: tuple[str, ...] = ()
    declare: dict[str, dict[str, Any]] = field(default_factory=dict)
    plan: str | None = None
    cut: Cut | None = None
    choices: tuple[Choice, ...] = ()


Policy = Callable[[Seen], str | Ending]
"""What to do next, a probe or an ending, by what has been seen."""


def cuts_of(problem: Problem) -> list[Cut]:
    """Return every correction set, by size and then in file order; then each set of compensations with every set.

    Reading: a belief that is compensated is corrected, as one whose undoing may fail is. Where there are no
    corrections, compensations are left, without any undoing.
    """
    beliefs = [belief["name"] for belief in problem["beliefs"] if not belief.get("fixed")]
    below = {name: downstream(problem, name) for name in beliefs}
    given, found = problem.get("compensations", []), []
    for used in itertools.chain.from_iterable(itertools.combinations(given, k) for k in range(len(given) + 1)):
        if not used and not problem.get("corrections", True):
            continue
        most = len(beliefs) if problem.get("corrections", True) else 0
        left: dict[str, float] = {}
        for entry in used:
            for name in entry["correct"]:
                left[name] = left.get(name, 1.0) * (1 - number(entry.get("succeeds", 1.0)))
        paid = math.fsum(number(entry["cost"]) for entry in used)
        plan = " and ".join(entry["name"] for entry in used) or None
        for size in range(most + 1):
            for correct in itertools.combinations(beliefs, size):
                undone = {action for name in correct for action in below[name]}
                undo = tuple(action["name"] for action in executed(problem) if action["name"] in undone)
                found.append(Cut(correct, undo, paid + undo_cost(problem, undone), left, plan))
    return found


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


class Reference:
    """One problem, its values and its policies; values are kept by the evidence they depend on."""

    def __init__(
        self,
        problem: Problem,
        *,
        rung: Sequence[str] | None = None,
        silent: Sequence[str] = (),
        ages: float | dict[str, float] | None = None,
        guarded: str | None = None,
    ) -> None:
        problem = aged(problem, ages)
        if guarded is not None:
            problem, rung = before(problem, guarded), rung or ()
        self.problem = problem
        self.worlds = worlds_of(problem)
        self.heard = heard(problem, self.worlds, rung_unless_said(problem) if rung is None else rung, silent)
        self.names = [world.name for world in self.worlds]
        self.kernels = {
            probe["name"]: kernel_of(problem, self.worlds, probe["name"]) for probe in problem.get("probes", [])
        }
        self.failed = {b["name"]: np.array([float(w.fails(b)) for w in self.worlds]) for b in self.beliefs}
        self.chance = {
            b["name"]: math.prod(
                number(action.get("undo_succeeds", 1.0))
                for action in executed(problem)
                if action["name"] in downstream(problem, b["name"])
            )
            for b in self.beliefs
        }
        self.keep = {b["name"]: self._keeping(b) for b in self.beliefs}
        self.corrections = {b["name"]: self._corrections(b) for b in self.beliefs}
        self.cuts = cuts_of(problem)
        self.declarations = self._declarations()
        self.informs = {
            (probe, b["name"]): informs(problem, probe, b["name"]) for probe in self.kernels for b in self.beliefs
        }
        self._masses: dict[Seen, np.ndarray] = {}
        self._speaking: dict[tuple[int, str, Seen], bool] = {}
        self._endings: dict[Seen, list[Ending]] = {}
        self._values: dict[tuple[Seen, float], float] = {}
        self._integrals: dict[tuple[str, Seen], float] = {}
        self._powers: dict[tuple[str, Seen, float], dict[str, float | None]] = {}

    @property
    def beliefs(self) -> list[dict[str, Any]]:
        """Return the beliefs of the file."""
        return self.problem["beliefs"]

    # What is probable.

    def mass(self, seen: Seen) -> np.ndarray:
        """Return the probability of every world after the alarms and the observations, shape (n_worlds,)."""
        if seen not in self._masses:
            weights = np.array([world.prior for world in self.worlds])
            weights = weights * self.heard
            for probe, outcome in seen:
                kernel = self.kernels[probe]
                if isinstance(kernel, Listed):
                    weights = weights * kernel.likelihood(outcome)
            logs = np.zeros(len(self.worlds))
            for probe, outcome in seen:
                kernel = self.kernels[probe]
                if isinstance(kernel, Continuous):
                    logs += kernel.logs(outcome)
            if not (weights > 0).any():
                raise ValueError(f"no hypothesis allows {seen}")
            likely = np.exp(np.where(weights > 0, logs - logs[weights > 0].max(), 0.0))
            # A continuous answer rules nothing out, however far off: what is tiny must not become 0.
            weights = np.where(weights > 0, np.maximum(weights * likely, 1e-290), 0.0)
            self._masses[seen] = weights / math.fsum(weights.tolist())
        return self._masses[seen]

    def posterior(self, seen: Seen = ()) -> dict[str, float]:
        """Return the probability of every world by its name."""
        return dict(zip(self.names, self.mass(seen).tolist(), strict=True))

    def marginals(self, seen: Seen = ()) -> dict[str, float]:
        """Return the failure probability of every belief."""
        return {name: expectation(self.mass(seen), row) for name, row in self.failed.items()}

    def attribution(self, seen: Seen = ()) -> dict[str, float]:
        """Return the probability of every cause."""
        mass = self.mass(seen)
        return {
            cause: expectation(mass, np.array([float(world.cause == cause) for world in self.worlds]))
            for cause in CAUSES
        }

    # What can be done about a belief.

    def _keeping(self, belief: dict[str, Any]) -> Choice:
        """Return the choice to keep the belief; ``may_keep: false`` makes that cost ``inf`` where it failed."""
        wrong = self.failed[belief["name"]]
        price = number(belief.get("residual", 0.0)) if belief.get("may_keep", True) else math.inf
        return Choice(belief["name"], False, wrong, wrong, price, ruled=belief.get("needs_support", False))

    def _corrections(self, belief: dict[str, Any]) -> list[Choice]:
        """Return the ways to correct the belief: repair it, or declare another value that is true in some world.

        Reading: another value is one that is not the very value declared, even if it is within the tolerance of it.
        """
        name, loss = belief["name"], number(belief.get("residual", 0.0))
        failed, chance = self.failed[name], self.chance[name]
        if "declared" not in belief:
            nothing = np.zeros(len(self.worlds))
            return [Choice(name, True, (1 - chance) * failed, nothing, loss)]
        found = []
        for value in values_of(self.worlds, belief)[1:]:
            e = np.array([float(world.makes_wrong(belief, value)) for world in self.worlds])
            wrong = chance * e + (1 - chance) * failed
            found.append(Choice(name, True, wrong, e, loss, value, belief.get("needs_support", False)))
        return found

    # The rule of support.

    def support(self, belief: str) -> list[str]:
        """Return the probes in the support of the newest declaration of a belief.

        Reading: of equal versions the last in the file is the newest; declarations by default have no support.
        """
        own = [entry for entry in self.problem.get("declarations", []) if entry["belief"] == belief]
        newest = max(enumerate(own), key=lambda pair: (pair[1].get("version", 1), pair[0]), default=(0, {}))[1]
        return list(newest.get("support", []))

    def usable(self, probe: str, mass: np.ndarray) -> bool:
        """Return whether the probe has no source, or a source that probably holds."""
        source = named(self.problem["probes"], probe).get("source")
        return source is None or expectation(mass, self.failed[source]) < HALF

    def speaks_for(self, probe: str, choice: Choice, seen: Seen) -> bool:
        """Return whether the probe's answers since the alarm are twice as likely where the value is right.

        Reading: of a value that was never wrong at the alarm any answer speaks, of one never right none does.
        """
        answers = tuple(pair for pair in seen if pair[0] == probe)
        key = id(choice), probe, answers
        if key not in self._speaking:
            logs = sum(self.kernels[probe].logs(outcome) for _, outcome in answers)
            right, wrong = self._likelihoods(choice, logs)
            self._speaking[key] = right > 0 and right >= 2 * wrong * (1 - TIE)
        return self._speaking[key]

    def _likelihoods(self, choice: Choice, logs: np.ndarray) -> tuple[float, float]:
        """Return how likely something was, up to a constant, where the value is right and where it is wrong."""
        first = self.mass(())
        possible = first > 0
        scale = logs[possible].max()
        likely = np.exp(np.where(possible, logs - scale, -math.inf)) if scale > -math.inf else np.zeros(len(first))
        found = []
        for where in (1 - choice.value_wrong, choice.value_wrong):
            total = expectation(first, where)
            found.append(expectation(first, where * likely) / total if total > 0 else 0.0)
        return found[0], found[1]

    def evidence(self, choice: Choice, seen: Seen) -> list[str]:
        """Return the usable evidence for keeping the belief or for declaring the value."""
        support = self.support(choice.belief)
        answered = {probe for probe, _ in seen}
        return [
            probe
            for probe in self.kernels
            if self.usable(probe, self.mass(seen))
            and (
                probe in support
                or (probe in answered and self.informs[probe, choice.belief] and self.speaks_for(probe, choice, seen))
            )
        ]

    def admissible(self, choice: Choice, seen: Seen) -> bool:
        """Return whether the rule of support allows the choice.

        Reading: what cannot be wrong needs no evidence, for keeping as for declaring.
        """
        if not choice.ruled:
            return True
        risk = expectation(self.mass(seen), choice.wrong)
        return risk == 0 or (risk < HALF and bool(self.evidence(choice, seen)))

    def least_wrong(self, options: list[Choice], seen: Seen) -> tuple[Choice, float] | None:
        """Return the admissible choice with the smallest risk, the first of equal ones; ``None`` if there is none.

        Reading: a belief that needs support is given the best of the values it may be given, not the best of all.
        """
        mass = self.mass(seen)
        allowed = [(option, expectation(mass, option.wrong)) for option in options if self.admissible(option, seen)]
        return min(allowed, key=lambda pair: pair[1], default=None)

    # Stopping.

    def endings(self, seen: Seen = ()) -> list[Ending]:
        """Return every admissible ending, in the order in which ties resolve.

        Correction sets by size and then in file order, each with the best values for its beliefs; then restart,
        escalate, plans, and what compensations make possible.
        """
        if seen not in self._endings:
            keep = {name: self.least_wrong([choice], seen) for name, choice in self.keep.items()}
            correct = {name: self.least_wrong(options, seen) for name, options in self.corrections.items()}
            plain, compensated = [], []
            for cut in self.cuts:
                ending = self._corrected(cut, keep, correct, seen)
                if ending is not None:
                    (compensated if cut.plan else plain).append(ending)
            self._endings[seen] = plain + self._flat() + self._plans(seen) + compensated
        return self._endings[seen]

    def _corrected(self, cut: Cut, keep: dict[str, Any], correct: dict[str, Any], seen: Seen) -> Ending | None:
        """Return the ending that corrects just these beliefs; ``None`` where it is not admissible.

        Reading: the kind is ``continue`` only where nothing is corrected; a free correction is still a
        ``roll_back``. A compensated belief may be kept without support, and costs its residual as given.
        """
        losses, choices, declare = [cut.cost], [], {}
        for belief in self.beliefs:
            name, left = belief["name"], cut.left.get(belief["name"])
            found = correct[name] if name in cut.correct else keep[name]
            if name not in cut.correct and left is not None:
                found = self.keep[name], expectation(self.mass(seen), self.failed[name])
            if found is None:
                return None
            choice, risk = found
            price = choice.price if left is None else number(belief.get("residual", 0.0))
            losses.append(times(risk if left is None else left * risk, price))
            choices.append(choice)
            if choice.value is not None:
                declare[name] = {"value": choice.value}
        names = tuple(b["name"] for b in self.beliefs if b["name"] in cut.correct or b["name"] in cut.left)
        kind = "roll_back" if names else "continue"
        return Ending(kind, math.fsum(losses), names, cut.undo, declare, cut.plan, cut, tuple(choices))

    def _flat(self) -> list[Ending]:
        """Return restart where feasible and escalate where given.

        Reading: restart is infeasible if any executed action at all is irreversible. It undoes every executed action
        and leaves nothing wrong; an escalation undoes none.
        """
        found, done = [], executed(self.problem)
        if "restart" in self.problem and all(action.get("reversible", True) for action in done):
            every, undo = tuple(b["name"] for b in self.beliefs), tuple(action["name"] for action in done)
            found.append(Ending("restart", number(self.problem["restart"]), every, undo))
        if "escalate" in self.problem:
            found.append(Ending("escalate", number(self.problem["escalate"])))
        return found

    def plan_losses(self, plan: dict[str, Any]) -> np.ndarray:
        """Return what a plan costs, all included, in every world."""
        return np.array([number(row_of(self.problem, plan["loss"], world)) for world in self.worlds])

    def _plans(self, seen: Seen) -> list[Ending]:
        return [
            Ending(
                "roll_back",
                expectation(self.mass(seen), self.plan_losses(plan)),
                tuple(plan.get("correct", [])),
                tuple(plan.get("undo", [])),
                plan=plan["name"],
            )
            for plan in self.problem.get("plans", [])
        ]

    def best_stop(self, seen: Seen = ()) -> tuple[Ending, float]:
        """Return the best ending and V_stop; ``escalate`` with loss ``inf`` where none is finite."""
        endings = self.endings(seen)
        least = min((ending.loss for ending in endings), default=math.inf)
        if least == math.inf:
            return Ending("escalate", math.inf), math.inf
        best = next(ending for ending in endings if ending.loss <= least + TIE)
        return best, best.loss

    def success(self, ending: Ending, seen: Seen) -> float:
        """Return the probability that nothing wrong is left and nothing was escalated.

        Reading: an undo that fails does so for every belief that rests on it; all else is independent given the
        world.
        """
        if ending.kind in ("restart", "escalate"):
            return float(ending.kind == "restart")
        mass = self.mass(seen)
        if ending.cut is None:
            rest = [row for name, row in self.failed.items() if name not in ending.correct]
            return expectation(mass, np.prod([1 - row for row in rest], axis=0) if rest else np.ones(len(mass)))
        total = 0.0
        for chance, undone in self._undoings(ending.undo):
            right = np.ones(len(mass))
            for choice in ending.choices:
                wrong = self.failed[choice.belief]
                if choice.corrected and downstream(self.problem, choice.belief) <= undone:
                    wrong = choice.value_wrong
                right = right * (1 - ending.cut.left.get(choice.belief, 1.0) * wrong)
            total += chance * expectation(mass, right)
        return total

    def _undoings(self, actions: tuple[str, ...]) -> Iterator[tuple[float, set[str]]]:
        """Yield what may come of undoing these actions: the probability, and those really undone."""
        chances = [number(named(self.problem["actions"], name).get("undo_succeeds", 1.0)) for name in actions]
        for done in itertools.product([True, False], repeat=len(actions)):
            chance = math.prod(p if well else 1 - p for p, well in zip(chances, done, strict=True))
            if chance > 0:
                yield chance, set(itertools.compress(actions, done))

    # Probing.

    def legal(self, seen: Seen = ()) -> list[str]:
        """Return the probes that are possible, with a use and the money left, in file order.

        Reading: a budget met within 1e-9 is met, so that 0.1 + 0.2 fits into 0.3.
        """
        probes = self.problem.get("probes", [])
        budget = number(self.problem.get("sensing_budget", math.inf))
        spent = math.fsum(number(named(probes, used)["cost"]) for used, _ in seen)
        used = [name for name, _ in seen]
        done = {action["name"] for action in executed(self.problem)}
        return [
            probe["name"]
            for probe in probes
            if done.issuperset(probe.get("requires", ())) and done.isdisjoint(probe.get("forbids", ()))
            if used.count(probe["name"]) < probe.get("max_uses", 1) and spent + number(probe["cost"]) <= budget + TIE
        ]

    def outcomes(self, probe: str, seen: Seen) -> list[tuple[float, Seen]]:
        """Return every possible answer as its predictive probability and the evidence with it."""
        kernel = self.kernels[probe]
        assert isinstance(kernel, Listed)
        found = []
        for outcome in kernel.outcomes:
            chance = expectation(self.mass(seen), kernel.likelihood(outcome))
            if chance > 0:
                found.append((chance, tuple(sorted((*seen, (probe, outcome))))))
        return found

    def cost(self, probe: str) -> float:
        """Return what one use of the probe costs."""
        return number(named(self.problem["probes"], probe)["cost"])

    def probe_loss(self, probe: str, seen: Seen = (), depth: float = 1) -> float:
        """Return the expected loss of this probe now and at most ``depth - 1`` more, then the best stop."""
        if isinstance(self.kernels[probe], Listed):
            later = [times(p, self.value(after, depth - 1)) for p, after in self.outcomes(probe, seen)]
            return self.cost(probe) + math.fsum(later)
        if depth > 1 and self.legal((*seen, (probe, 0.0))):
            raise ValueError(f"no exact value is known here for a probe after the continuous probe {probe!r}")
        if (probe, seen) not in self._integrals:
            self._integrals[probe, seen] = self._continuous_stop_loss(probe, seen)
        return self.cost(probe) + self._integrals[probe, seen]

    def value(self, seen: Seen = (), depth: float = math.inf) -> float:
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

    # Integrals over a continuous answer.

    def _continuous_stop_loss(self, probe: str, seen: Seen) -> float:
        """Return E[V_stop(x')], the integral over y of min over endings of sum over worlds of p f(y) loss.

        The minimum is over the endings that are admissible at y. Between two answers at which a comparison of the
        support rule changes these are always the same.
        """
        kernel, mass = self.kernels[probe], self.mass(seen)
        assert isinstance(kernel, Continuous)
        alive = np.flatnonzero(mass > 0)
        weight, mean, sd = mass[alive], kernel.mean[alive], kernel.sd[alive]
        grid = points(mean, sd, per_deviation=8)

        def joint(y: np.ndarray) -> np.ndarray:
            scaled = np.exp(-0.5 * ((y[None, :] - mean[:, None]) / sd[:, None]) ** 2)
            return (weight / (sd * math.sqrt(2 * math.pi)))[:, None] * scaled

        ends = {float(grid[0]), float(grid[-1])}
        for curve in self._limits(probe, seen):
            ends |= {y for y in crossings(curve, grid) if grid[0] < y < grid[-1]}
        cuts, total = points(mean, sd, per_deviation=0.5), []
        for low, high in itertools.pairwise(sorted(ends)):
            if high - low < 1e-13:
                continue
            rows = self._rows(tuple(sorted((*seen, (probe, (low + high) / 2)))), alive)
            if not len(rows):
                return math.inf
            inner = [np.concatenate([[low], some[(some > low) & (some < high)], [high]]) for some in (cuts, grid)]
            total.append(integral_of_least(rows, joint, *inner))
        return math.fsum(total)

    def _limits(self, probe: str, seen: Seen) -> list[Callable[[np.ndarray], np.ndarray]]:
        """Return the curves over the answer that the support rule compares with zero."""
        ruled = [c for name in self.keep for c in (self.keep[name], *self.corrections[name]) if c.ruled]
        rows = [choice.wrong for choice in ruled]
        if ruled:
            sources = {entry["source"] for entry in self.problem["probes"] if "source" in entry}
            rows += [self.failed[source] for source in sorted(sources)]
        found = [self._probability_curve(probe, seen, row, HALF) for row in rows if row.max() > 0 and row.min() < 1]
        speaking = [choice for choice in ruled if self.informs[probe, choice.belief]]
        return found + [self._speaking_curve(probe, seen, choice) for choice in speaking]

    def _probability_curve(
        self, probe: str, seen: Seen, row: np.ndarray, threshold: float
    ) -> Callable[[np.ndarray], np.ndarray]:
        kernel, mass = self.kernels[probe], self.mass(seen)
        assert isinstance(kernel, Continuous)
        alive = np.flatnonzero(mass > 0)
        mean, sd, prior, row = kernel.mean[alive], kernel.sd[alive], np.log(mass[alive]), row[alive]

        def excess(y: np.ndarray) -> np.ndarray:
            logs = (prior - np.log(sd))[:, None] - 0.5 * ((y[None, :] - mean[:, None]) / sd[:, None]) ** 2
            odds = np.exp(logs - logs.max(axis=0))
            return (row @ odds) / odds.sum(axis=0) - threshold

        return excess

    def _speaking_curve(self, probe: str, seen: Seen, choice: Choice) -> Callable[[np.ndarray], np.ndarray]:
        """Return the logarithm of how much more than twice as likely the answers are where the value is right."""
        kernel, first = self.kernels[probe], self.mass(())
        assert isinstance(kernel, Continuous)
        before = sum(kernel.logs(outcome) for name, outcome in seen if name == probe) + np.zeros(len(first))
        sides = [
            np.flatnonzero((first > 0) & (choice.value_wrong == 0)),
            np.flatnonzero((first > 0) & (choice.value_wrong == 1)),
        ]

        def side(y: np.ndarray, where: np.ndarray) -> np.ndarray:
            prior = np.log(first[where] / first[where].sum()) + before[where]
            shape = -0.5 * ((y[None, :] - kernel.mean[where, None]) / kernel.sd[where, None]) ** 2
            logs = (prior - np.log(kernel.sd[where]))[:, None] + shape
            top = logs.max(axis=0)
            return top + np.log(np.exp(logs - top).sum(axis=0))

        def excess(y: np.ndarray) -> np.ndarray:
            if not (len(sides[0]) and len(sides[1])):
                return np.ones(len(y))
            return side(y, sides[0]) - side(y, sides[1]) - math.log(2 * (1 - TIE))

        return excess

    def _rows(self, seen: Seen, alive: np.ndarray) -> np.ndarray:
        """Return the loss in every possible world of every ending with every combination of values that is
        admissible here, each once; endings that cost ``inf`` in a possible world are left out."""
        found: set[tuple[float, ...]] = set()
        fine = {id(c): self.admissible(c, seen) for n in self.keep for c in (self.keep[n], *self.corrections[n])}
        for cut in self.cuts:
            if cut.cost == math.inf:
                continue
            each = []
            for belief in self.beliefs:
                name, left = belief["name"], cut.left.get(belief["name"])
                options = self.corrections[name] if name in cut.correct else [self.keep[name]]
                free = left is not None and name not in cut.correct
                given = None if left is None else number(belief.get("residual", 0.0))
                rows = {
                    tuple(times((1 if left is None else left) * w, c.price if given is None else given) for w in wrong)
                    for c in options
                    if free or fine[id(c)]
                    for wrong in [c.wrong[alive].tolist()]
                }
                each.append([row for row in rows if max(row) < math.inf])
            for chosen in itertools.product(*each):
                found.add(tuple(cut.cost + math.fsum(parts) for parts in zip(*chosen, strict=True)))
        for ending in self._flat():
            found.add((ending.loss,) * len(alive))
        found |= {tuple(self.plan_losses(plan)[alive].tolist()) for plan in self.problem.get("plans", [])}
        return np.array(sorted(row for row in found if max(row) < math.inf))

    # Policies.

    def next_step(self, policy: str, seen: Seen = ()) -> str | Ending:
        """Return the name of the probe to run, or the ending.

        Where the probes cost ``inf`` as stopping does, none of them helps. Where one of them costs less, because its
        answer is evidence, it has an infinite net benefit.
        """
        stop, stop_loss = self.best_stop(seen)
        if policy == "no-reprobe":
            return stop
        if policy == "restart":
            options = {ending.kind: ending for ending in self._flat()}
            return options.get("restart") or options.get("escalate") or Ending("escalate", math.inf)
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
        if isinstance(step, Ending):
            totals = (step.loss, 0.0, float(len(step.undo)), self.success(step, seen))
        else:
            totals = (self.cost(step), 1.0, 0.0, 0.0)
            for chance, after in self.outcomes(step, seen):
                later = self.evaluate(policy, after).values()
                totals = tuple(total + times(chance, more) for total, more in zip(totals, later, strict=True))
        return dict(zip(("expected_loss", "expected_probes", "expected_undone", "success"), totals, strict=True))

    # Declarations.

    def _declarations(self) -> dict[str, np.ndarray]:
        """Return where every declaration is invalid: 1 there, else 0.

        Reading: without the key, one declaration per belief, of the belief's name; with it, the listed ones only.
        Where ``invalid_in`` is given it holds; without it, the declaration is invalid where its belief failed.
        """
        if "declarations" not in self.problem:
            return dict(self.failed)
        found = {}
        for entry in self.problem["declarations"]:
            found[entry["name"]] = self.failed[entry["belief"]]
            if "invalid_in" in entry:
                where = [any(holds(self.problem, name, w) for name in entry["invalid_in"]) for w in self.worlds]
                found[entry["name"]] = np.array(where, dtype=float)
        return found

    def power(self, probe: str, seen: Seen = (), *, threshold: float = HALF) -> dict[str, float | None]:
        """Return C_s of the probe for every declaration; ``None`` where the declaration cannot be invalid.

        Reading: a declaration within 1e-9 of the threshold is rejected.
        """
        key = probe, seen, threshold
        if key not in self._powers:
            found: dict[str, float | None] = {}
            for name, invalid in self.declarations.items():
                suspicion = expectation(self.mass(seen), invalid)
                found[name] = self._power(probe, seen, invalid, threshold) / suspicion if suspicion else None
            self._powers[key] = found
        return self._powers[key]

    def _power(self, probe: str, seen: Seen, invalid: np.ndarray, threshold: float) -> float:
        """Return the probability of invalidity together with an answer that makes it reach the threshold."""
        kernel, mass = self.kernels[probe], self.mass(seen)
        if isinstance(kernel, Continuous):
            alive = np.flatnonzero(mass > 0)
            curve = self._probability_curve(probe, seen, invalid, threshold)
            shares = share_above(curve, kernel.mean[alive], kernel.sd[alive])
            return expectation(mass[alive], invalid[alive] * shares)
        total = 0.0
        for chance, after in self.outcomes(probe, seen):
            refreshed = expectation(self.mass(after), invalid)
            total += chance * refreshed if refreshed >= threshold else 0.0
        return total

    def in_force(self, seen: Seen = ()) -> list[dict[str, Any]]:
        """Return the declarations in force, each with its probability of being invalid and whether it is usable.

        Reading: a declaration is usable while some evidence for keeping its belief is, whether the belief needs it
        or not. The version is 1 unless given; the value is what the belief declares, ``None`` if it has none.
        """
        given = self.problem.get("declarations", [{"name": b["name"], "belief": b["name"]} for b in self.beliefs])
        return [
            {
                "name": entry["name"],
                "belief": entry["belief"],
                "version": entry.get("version", 1),
                "value": declared(named(self.beliefs, entry["belief"])),
                "support": list(entry.get("support", [])),
                "invalid": expectation(self.mass(seen), self.declarations[entry["name"]]),
                "usable": bool(self.evidence(self.keep[entry["belief"]], seen)),
            }
            for entry in given
        ]

    def values(self, belief: str, seen: Seen = ()) -> list[tuple[dict[str, Any], float]]:
        """Return what a belief may be declared as now, each with the probability that it is wrong."""
        return [
            ({"value": choice.value}, expectation(self.mass(seen), choice.wrong))
            for choice in self.corrections[belief]
            if choice.value is not None and self.admissible(choice, seen)
        ]
