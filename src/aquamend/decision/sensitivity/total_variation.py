"""The nearest posterior, in total variation, at which a step is no longer best.

A probe is the minimum over its decision rules ρ (which decision after which answer) of linear functions, so with
r_ρ(s) = c + Σ_y k(y|s) ℓ(ρ(y), s) the rule's loss under s, a flip from d to a needs one rule of a that is no worse than
every rule of d. Against one of them, Σ_s p'_s δ_s ≤ 0 with δ = r_a − r_d is met soonest by taking from the largest δ
and giving to the smallest: a closed form. Against all of them it is a linear program,

    min Σ_s out_s   subject to   out ≥ p − p',  out ≥ 0,  p' ≥ 0,  Σ p' = 1,  and the inequalities,

whose multipliers λ join them into one, Σ_j λ_j δ_j. The closed form of that one is a lower bound for any λ ≥ 0,
whatever the solver did: a result is certain where it meets the distance of a solution. Rules are searched by branch
and bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.decision.endings import TIE, endings_of
from aquamend.decision.probe_value import clairvoyant_losses
from aquamend.decision.sensitivity.one_step import (
    Rival,
    Rivals,
    admissible,
    best_alternative,
    step_loss,
    undominated,
)
from aquamend.decision.steps import Decision, Reprobe
from aquamend.decision.terminal import best_terminal

MEETS = 1e-8
"""Bounds this close count as equal."""
MOST_ENTRIES = 300_000
"""Rules times hypotheses that branch and bound may price for each probe."""
MOST_PROGRAMS = 60
MOST_CHECKS = 30
MOST_UNCERTAIN = 3
"""Linear programs, and posteriors at which both sides are priced in full, for each decision; and for each probe, rules
that are tried where such a price has to confirm them."""
MOST_ITERATIONS = 10
"""Of the simplex method, for each row and column: some programs with many ties would go round for ever."""
ROUNDING = 1e-12
"""Error of sums of losses, relative to the largest."""
STRICTLY = 2e-9
"""How far below one half a condition of support has to be met, for the decision to be admissible beyond rounding."""
BEYOND = (0.0, 1e-6, 1e-3, 0.03, 0.3, 2.0)
"""How far past a nearest point a flip is looked for where it is not certain at the point itself."""
TOLERANCE = 1e-10
"""Feasibility asked of the solver, relative to the largest coefficient; the least it takes."""


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """How far the nearest solution is: between ``lower`` and ``upper``, which ``witness`` attains."""

    lower: float
    upper: float
    """Infinite where no solution was found."""
    witness: Floats | None
    mixture: Floats | None = None
    """Shape ``(n,)``; the mixture of the right-hand sides that by itself gives the lower bound."""


NOWHERE = Shift(math.inf, math.inf, None)


def flip_distances(p: Floats, delta: Floats, floor: float) -> Floats:
    """Return, for every row δ, min TV(p, p') subject to Σ_s p'_s δ_s ≤ 0; infinite where no p' meets it.

    ``delta`` has shape ``(n_rows, n)``. +∞ forbids a hypothesis: its mass has to move. −∞ meets the inequality with
    any mass at all, however small. A row whose smallest entry is above ``floor`` counts as never met.
    """
    least = delta.min(axis=1)
    forbidden = np.isposinf(delta)
    forced = forbidden @ p
    bottom = np.where(np.isfinite(least), np.minimum(least, 0.0), 0.0)
    finite = np.where(np.isfinite(delta), delta, bottom[:, None])
    mass = np.where(forbidden, 0.0, p)
    excess = finite - bottom[:, None]
    due = (mass * finite).sum(axis=1) + forced * bottom
    order = np.argsort(-excess, axis=1)
    excess, mass = np.take_along_axis(excess, order, axis=1), np.take_along_axis(mass, order, axis=1)
    gain = np.cumsum(mass * excess, axis=1)
    at = np.minimum((gain < due[:, None]).sum(axis=1), delta.shape[1] - 1)
    rows = np.arange(len(delta))
    before = np.where(at > 0, gain[rows, at - 1], 0.0)
    moved = np.where(at > 0, np.cumsum(mass, axis=1)[rows, at - 1], 0.0)
    with np.errstate(over="ignore"):
        part = np.clip((due - before) / np.maximum(excess[rows, at], 1e-300), 0.0, mass[rows, at])
    distance = np.where(due <= 0.0, forced, forced + moved + part)
    return np.where(np.isneginf(least), forced, np.where(least > floor, math.inf, distance))


def shifted(p: Floats, delta: Floats, floor: float) -> Shift:
    """Return the nearest distribution that meets one inequality (see ``flip_distances``), exactly."""
    distance = float(flip_distances(p, delta[None, :], floor)[0])
    if math.isinf(distance):
        return NOWHERE
    order = np.argsort(-delta, kind="stable")
    taken = np.minimum(np.diff(np.minimum(np.cumsum(p[order]), distance), prepend=0.0), p[order])
    witness = p.copy()
    witness[order] -= taken
    witness[order[-1]] += taken.sum()
    return Shift(distance, distance, witness)


def nearest(p: Floats, rule: Floats, sides: Sequence[Floats], more: Floats) -> Shift:
    """Return the nearest p' with Σ p' r ≤ Σ_y min_j Σ p' t_yj and Σ p' g ≤ 0 for every row g of ``more``.

    ``sides`` has a table t_y of shape ``(n_j, n)`` for every term; without any, the first inequality is left out. An
    infinite r_s forbids s; a row t_yj with an infinite entry elsewhere does not count, and without any row that does
    the first inequality is met by any mass at all.
    """
    usable = np.isfinite(rule)
    if not usable.any():
        return NOWHERE
    kept = [np.flatnonzero(np.isfinite(table[:, usable]).all(axis=1)) for table in sides]
    if not all(len(rows) for rows in kept):
        sides, kept = [], []
    if not sides and not len(more):
        return shifted(p, np.where(usable, -math.inf, math.inf), 0.0)
    tables = [table[rows][:, usable] for table, rows in zip(sides, kept, strict=True)]
    solved = _program(p[usable], rule[usable], tables, more[:, usable])
    if solved.point is None:
        return Shift(0.0, math.inf, None) if solved.feasible else NOWHERE
    multiplier = solved.multiplier[usable.sum() :]
    witness, delta = np.zeros(len(p)), np.full(len(p), math.inf)
    witness[usable] = np.maximum(solved.point[: usable.sum()], 0.0)
    witness /= witness.sum()
    first, mixture = (float(multiplier[0]) if sides else 0.0), np.zeros(len(p))
    for table, rows in zip(sides, kept, strict=True):
        share, multiplier = multiplier[1 : 1 + len(rows)], multiplier[len(rows) :]
        share = share / share.sum() if share.sum() > 0 else np.full(len(rows), 1.0 / len(rows))
        mixture += share[share > 0] @ table[rows[share > 0]]
    delta[usable] = multiplier[bool(sides) :] @ more[:, usable]
    if first > 0:
        delta[usable] += first * (rule[usable] - mixture[usable]) / _scale(rule[usable], tables)
    lower, upper = float(flip_distances(p, delta[None, :], 0.0)[0]), 0.5 * float(np.abs(witness - p).sum())
    met = not sides or rule[usable] @ witness[usable] <= sum(float((t @ witness[usable]).min()) for t in tables) + TIE
    if lower > upper + MEETS or not met:
        return Shift(lower, math.inf, None, mixture if first > 0 else None)  # the solver's rounding shows
    return Shift(min(lower, upper), upper, witness, mixture if first > 0 else None)


def _scale(rule: Floats, tables: Sequence[Floats]) -> float:
    return max(float(np.abs(table).max()) for table in (rule, *tables)) or 1.0


@dataclass(frozen=True, eq=False, slots=True)
class _Solved:
    """What the solver found."""

    feasible: bool
    """False only where no point meets all inequalities."""
    point: Floats | None
    """None where it gave up."""
    multiplier: Floats
    """Of every inequality; not negative."""


def _program(p: Floats, rule: Floats, tables: Sequence[Floats], more: Floats) -> _Solved:
    """Return what the solver finds in the variables p', out and one for each term, the largest it may be."""
    n, k, scale = len(p), len(tables), _scale(rule, tables)
    rows = [np.hstack([-np.eye(n), -np.eye(n), np.zeros((n, k))])]
    if tables:
        rows.append(np.concatenate([rule / scale, np.zeros(n), -np.ones(k)])[None, :])
    for y, table in enumerate(tables):
        rows.append(np.hstack([-table / scale, np.zeros_like(table), np.tile(np.arange(k) == y, (len(table), 1))]))
    matrix = np.vstack([*rows, np.hstack([more, np.zeros((len(more), n + k))])])
    limit = np.concatenate([-p, np.zeros(len(matrix) - n)])
    cost = np.concatenate([np.zeros(n), np.ones(n), np.zeros(k)])
    together = np.concatenate([np.ones(n), np.zeros(n + k)])
    return _minimised(cost, np.vstack([matrix, together]), limit, free=k)


def _minimised(cost: Floats, matrix: Floats, limit: Floats, *, free: int) -> _Solved:
    """Return the least cost · x with the rows of the matrix times x at most the limit, and the last one equal to 1.

    All variables but the last ``free`` ones are at least 0. HiGHS by itself: SciPy has it too, but takes longer to
    import than all the rest of a decision.
    """
    import highspy

    infinite, n = highspy.kHighsInf, len(cost)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_, program.col_cost_ = n, len(matrix), cost
    program.col_lower_ = np.where(np.arange(n) < n - free, 0.0, -infinite)
    program.col_upper_ = np.full(n, infinite)
    program.row_lower_ = np.append(np.full(len(limit), -infinite), 1.0)
    program.row_upper_ = np.append(limit, 1.0)
    filled = matrix != 0.0
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = np.append(0, np.cumsum(filled.sum(axis=1)))
    program.a_matrix_.index_, program.a_matrix_.value_ = np.nonzero(filled)[1], matrix[filled]
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    for tolerance in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
        solver.setOptionValue(tolerance, TOLERANCE)
    solver.setOptionValue("simplex_iteration_limit", MOST_ITERATIONS * sum(matrix.shape))
    solver.passModel(program)
    solver.run()
    status, solution = solver.getModelStatus(), solver.getSolution()
    if status != highspy.HighsModelStatus.kOptimal:
        return _Solved(status != highspy.HighsModelStatus.kInfeasible, None, np.zeros(0))
    return _Solved(True, np.array(solution.col_value), np.maximum(-np.array(solution.row_dual)[:-1], 0.0))


@dataclass(eq=False)
class Search:
    """The nearest flip so far, and the least distance at which one has not been excluded."""

    options: Rivals
    distance: float = math.inf
    unresolved: float = math.inf
    challenger: str | None = None
    witness: Floats | None = None
    certain: bool = True
    """False where the nearest flip is known only from pricing it."""
    programs: int = 0
    checks: int = 0
    cuts: list[Floats] = field(default_factory=list)
    """Losses of the step under each hypothesis, by one of its rules or a mixture; each bounds every challenger."""
    slack: float = 0.0
    """What a tie may lack by rounding: a free probe ties with a decision at the very edge of the simplex."""

    @property
    def single(self) -> bool:
        """Whether the step counts as one rule: a terminal decision, or the rule of a probe that support allows now."""
        return self.options.decision is not None or self.options.ruled

    def run(self) -> None:
        """Look for the nearest flip to every other alternative."""
        options, p = self.options, self.options.posterior
        chosen: Indices | None = np.zeros(1, dtype=np.intp)
        if options.decision is None:
            chosen = options.own.choice(p, p > 0, conditions=options.ruled)
            self.slack = ROUNDING * max(1.0, float(np.abs(options.own.finite).max(initial=0.0)))
        if chosen is None:
            self.unresolved = 0.0
        else:
            self.cuts = [options.own.rule(chosen)]
            self._lost_support(chosen)
        for option in (options.stop, *sorted(options.probes, key=self._loss_now)):
            self._challenge(option)

    def _loss_now(self, option: Rival) -> float:
        p = self.options.posterior
        return float(option.branch_losses(p, p > 0).min(axis=1).sum()) + option.cost

    def _lost_support(self, chosen: Indices) -> None:
        """Look for the nearest posterior at which a clause of the step's decisions is violated: all its rows are."""
        options, p = self.options, self.options.posterior
        for weight, u in zip(options.own.kernel, chosen, strict=True):
            for clause in options.own.endings[u].support:
                rows = -clause * weight
                self.programs += len(rows) > 1
                shift = shifted(p, rows[0], 0.0) if len(rows) == 1 else nearest(p, np.zeros(len(p)), [], rows)
                self._judge(shift, None, certain=options.decision is not None)

    def _challenge(self, option: Rival) -> None:
        """Look for the nearest flip to one alternative: first by guessing rules, then among all of them."""
        options = self.options
        certain = options.own.exact and not options.ruled
        if option.probe is None and options.ruled and option.exact:
            self._supported_stops(option)
        elif option.probe is None:
            self._in_order(option, option.losses, self.bounds(option.losses), certain=certain)
        else:
            known = clairvoyant_losses(options.state)[options.inside]
            if option.exact:
                known = option.tables.min(axis=1).sum(axis=0)
            root = float(self.bounds((option.cost + known)[None, :])[0])
            if root >= self.distance - MEETS / 10:
                return
            for shift in self._guesses(option):
                self._judge(shift, option.probe, certain=certain and option.exact, bounds=False)
            if option.exact:
                self._in_order(option, *self._rules(option), certain=certain)
            else:
                self.unresolved = min(self.unresolved, root)

    def _in_order(self, option: Rival, rules: Floats, bounds: Floats, *, certain: bool) -> None:
        """Solve for these rules, nearest first, until no other can be nearer."""
        tried = 0
        for k in np.argsort(bounds, kind="stable"):
            bound = float(self.bounds(rules[[k]])[0])
            if bound >= self.distance - MEETS / 10:
                continue
            tried += 1
            if self.programs >= MOST_PROGRAMS or (tried > MOST_UNCERTAIN and not certain):
                self.unresolved = min(self.unresolved, bound)
                continue
            shift = self._nearest(rules[k])
            shift = replace(shift, lower=max(bound, shift.lower))
            self._judge(shift, option.probe or option.endings[k].decision, certain=certain)

    def bounds(self, rules: Floats) -> Floats:
        """Return, for every rule of a challenger, a distance below which it does not flip the decision."""
        bound = np.zeros(len(rules))
        for cut in (*self.cuts[:2], *self.cuts[2:][-6:]):
            bound = np.maximum(bound, flip_distances(self.options.posterior, self._difference(rules, cut), self._floor))
        return bound

    @property
    def _floor(self) -> float:
        # A tie commits: a decision gives way only to something better, a probe to something as good.
        return -TIE if self.options.decision is not None else TIE

    def _difference(self, rules: Floats, cut: Floats) -> Floats:
        """Return δ = r_a − r_d: infinite where the challenger is inadmissible, −∞ where only the step is."""
        with np.errstate(invalid="ignore"):
            return np.where(np.isinf(rules), math.inf, rules - cut - self.slack)

    def _nearest(self, rule: Floats) -> Shift:
        """Return the nearest flip to one rule of a challenger, conditions of support aside."""
        p, own = self.options.posterior, self.options.own
        if not self.cuts:
            return Shift(0.0, math.inf, None)
        if self.single:
            return shifted(p, self._difference(rule[None, :], self.cuts[0])[0], self._floor)
        self.programs += 1
        shift = nearest(p, rule - own.cost - self.slack, own.sides, np.zeros((0, len(p))))
        if shift.mixture is not None:
            self.cuts.append(own.cost + shift.mixture)
        return shift

    def _supported_stops(self, option: Rival) -> None:
        """Look for the nearest flip to each terminal decision, where one row of each of its clauses is met."""
        own, bounds = self.cuts[0] if self.cuts else np.zeros(0), self.bounds(option.losses)
        certain = self.options.decision is not None
        for u in np.argsort(bounds, kind="stable"):
            if bounds[u] >= self.distance - MEETS / 10:
                return
            ending, shift = option.endings[u], self._nearest(option.losses[u])
            if shift.witness is None or admissible(ending.support, shift.witness):
                self._judge(shift, ending.decision, certain=certain)
                continue
            ways = math.prod(len(clause) for clause in ending.support)
            if self.programs + ways > MOST_PROGRAMS:
                self.unresolved = min(self.unresolved, float(bounds[u]))
                continue
            self.programs += ways
            for rows in product(*ending.support):
                met = nearest(self.options.posterior, option.losses[u], [own[None, :]], np.array(rows) + STRICTLY)
                self._judge(met, ending.decision, certain=certain)

    def _guesses(self, option: Rival) -> Iterator[Shift]:
        """Yield flips to a probe, found by improving rule and posterior in turn, from p and towards some corners."""
        p = self.options.posterior
        known = option.tables.min(axis=1).sum(axis=0)
        lead = self._difference(known[None, :], self.cuts[0])[0] if self.cuts else known
        corners = np.argsort(lead, kind="stable")[: 4 if self.single else 0]
        for share, corner in ((0.0, 0), *((0.5, corner) for corner in corners)):
            x, reached = (1.0 - share) * p, math.inf
            x[corner] += share
            for _ in range(12):
                chosen = option.choice(x, x > 0)
                shift = None if chosen is None else self._nearest(option.rule(chosen))
                if shift is None or shift.witness is None or shift.upper >= reached - MEETS:
                    break
                yield shift
                reached, x = shift.upper, shift.witness

    def _rules(self, option: Rival) -> tuple[Floats, Floats]:
        """Return the rules of a probe that may flip nearer than known by now, and their bounds.

        Branches on the decision after each answer; answers still open are priced as if the truth were known.
        """
        known = option.tables.min(axis=1, keepdims=True)
        extra = np.where(np.isinf(option.tables), math.inf, option.tables - np.where(np.isinf(known), 0.0, known))
        rules = option.cost + known.sum(axis=0)
        bounds, entries = self.bounds(rules), 0
        # The answer that depends most on what is decided first: its choices part the bounds soonest.
        spread = np.where(np.isinf(extra), 0.0, extra).max(axis=1) @ self.options.posterior
        for y in np.argsort(-spread, kind="stable"):
            choices = undominated(extra[y])
            entries += rules.size * len(choices)
            if entries > MOST_ENTRIES:
                self.unresolved = min(self.unresolved, float(bounds.min(initial=math.inf)))
                return rules[:0], bounds[:0]
            rules = (rules[:, None, :] + choices).reshape(-1, rules.shape[1])
            bounds = self.bounds(rules)
            kept = bounds < self.distance - MEETS / 10
            rules, bounds = rules[kept], bounds[kept]
        return rules, bounds

    def _judge(self, shift: Shift, what: str | Decision | None, *, certain: bool, bounds: bool = True) -> None:
        """Take note of a flip to a probe or a decision, or (None) of the step's being no longer admissible."""
        options = self.options
        if bounds and not (certain and shift.upper - shift.lower <= MEETS):
            self.unresolved = min(self.unresolved, shift.lower)
        if shift.witness is None or shift.upper >= self.distance:
            return
        x, name = shift.witness, f"run probe {what}"
        if not certain:
            confirmed = self._confirmed(x)
            if confirmed is None:
                return
            x, name = confirmed
        elif what is None:
            name = best_alternative(options.at(_past(options.posterior, x, 1e-6)))[0]
        elif not isinstance(what, str):
            name = options.name(what, x)
        distance = 0.5 * float(np.abs(x - options.posterior).sum())
        if distance < self.distance:
            self.distance, self.witness, self.challenger, self.certain = distance, x, name, certain

    def _confirmed(self, x: Floats) -> tuple[Floats, str] | None:
        """Return the first posterior at x or past it at which both sides, priced in full, show a flip, and to what."""
        p, step = self.options.posterior, self.options.decision or Reprobe(str(self.options.own.probe))
        last = any(step == ending.decision for ending in endings_of(self.options.state.problem).others.last_resorts)
        for beyond in BEYOND[: max(0, MOST_CHECKS - self.checks)]:
            self.checks += 1
            y = _past(p, x, beyond)
            state = self.options.at(y)
            (best, loss), own = best_alternative(state, without=step), step_loss(state, step)
            if last and best_terminal(state).decision != step:
                own = math.inf  # a last resort gives way to whatever is admissible
            if math.isinf(own) or loss <= own + self._floor:
                return y, best
        return None


def _past(p: Floats, x: Floats, beyond: float) -> Floats:
    """Return the point beyond x, seen from p, as far as probabilities stay positive."""
    falling = x < p
    reach = float((p[falling] / (p[falling] - x[falling])).min()) - 1.0 if falling.any() else 0.0
    y = np.maximum(x + min(beyond, reach) * (x - p), 0.0)
    return np.asarray(y / y.sum())
