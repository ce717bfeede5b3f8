"""How robust a decision is: the smallest change of the posterior that makes another alternative as good.

The change is measured in total variation, TV(p, p') = ½ Σ_s |p_s − p'_s|, over every hypothesis of positive prior: the
probability that would have to move. With d the step taken, and f_a, f_d the one-step expected losses,

    distance = inf { TV(p, p') : f_a(p') < f_d(p') for some other alternative a }.

A probe is the minimum over its decision rules ρ (which decision after which answer) of linear functions, so with
r_ρ(s) = c + Σ_y k(y|s) ℓ(ρ(y), s) the rule's loss under s, a flip to a needs one rule of a that beats every rule of d.
Against one rule of d that is one inequality Σ_s p'_s δ_s ≤ 0 with δ = r_a − r_d, and its nearest p' has a closed form;
against all of them it is a linear program, solved by cutting planes. The rules of a are searched by branch and bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import product

import numpy as np
from numpy.typing import NDArray

from aquamend.decision.belief_thresholds import BeliefThreshold, belief_thresholds
from aquamend.decision.one_step import Alternatives, Floats, ProbeOption, alternatives
from aquamend.decision.probe_value import clairvoyant_losses, probe_values
from aquamend.decision.steps import Reprobe, Step
from aquamend.decision.terminal import TIE, best_terminal
from aquamend.decision.total_variation import Shift, flip_distances, nearest_over_cuts, shifted
from aquamend.inference import InformationState

__all__ = ["BeliefThreshold", "Robustness", "robustness"]

MEETS = 1e-9
"""Bounds this close count as equal."""
MOST_ENTRIES = 150_000
"""Rules times hypotheses that branch and bound may price per probe."""
MOST_PROGRAMS = 30
MOST_TRIES = 300
MOST_WORK = 100_000_000
"""Linear programs, rules tried, and rules tried times branches, decisions and hypotheses, per decision."""


@dataclass(frozen=True, slots=True, eq=False)
class Robustness:
    """How far the posterior is from one at which another alternative is at least as good."""

    distance: float | None
    """Smallest total variation found at which the challenger ties; None if none was found (if ``exact``, none exists).

    At ``witness``, the posterior it belongs to, the challenger ties with the step, and beyond it the challenger wins.
    Where the step is admissible only because the evidence ruled a hypothesis out, any change that readmits it
    forbids the step: the distance is then 0, approached but not attained.
    """
    distance_at_least: float
    """Certified: no posterior nearer than this flips the decision; the distance itself where ``exact``, 1 if none."""
    exact: bool
    challenger: str | None
    thresholds: tuple[BeliefThreshold, ...]
    witness: NDArray[np.float64] | None = None
    """Shape ``(n_hypotheses,)``."""


def robustness(state: InformationState, step: Step) -> Robustness:
    """Return how robust a step is among the one-step alternatives: all legal probes and all terminal decisions.

    0 where another one-step alternative is better already (a policy that looks further may choose so). A contradicted
    state has no posterior to move. Not exact, but bracketed by ``distance_at_least`` and ``distance``: with more
    decision rules than can be searched; with more terminal decisions than can be listed, where the lower end may be 0,
    belief thresholds are left out, and nothing is said of a probe;
    with Gaussian probes, whose readings are cut into fixed intervals. Where the step itself is a Gaussian probe, that
    overprices it away from the current posterior, and ``distance`` may be a little too small.
    """
    if state.contradiction is not None:
        return Robustness(None, 0.0, True, None, ())
    options = alternatives(state, step)
    better = _better_now(state, step, options)
    if better is not None:
        return Robustness(0.0, 0.0, True, better, (), state.posterior)
    if isinstance(step, Reprobe) and not options.complete:
        # Without all decisions listed, a probe looks worse than it is, and would seem to flip at once.
        return Robustness(None, 0.0, False, None, ())
    search = _Search(options)
    search.run()
    lower = min(1.0, search.distance, search.unresolved)
    certain = search.distance - search.unresolved <= MEETS or search.unresolved > 1.0
    witness = None
    if search.witness is not None:
        witness = np.zeros(len(state.posterior))
        witness[options.inside] = search.witness
    return Robustness(
        distance=None if math.isinf(search.distance) else search.distance,
        distance_at_least=lower,
        exact=certain and options.complete and not any(probe.gaussian for probe in options.probes),
        challenger=search.challenger,
        thresholds=belief_thresholds(options) if options.complete else (),
        witness=witness,
    )


def _better_now(state: InformationState, step: Step, options: Alternatives) -> str | None:
    """Return the alternative that is better than the step at the posterior itself, if one is."""
    stop, values = best_terminal(state), probe_values(state)
    if isinstance(step, Reprobe):
        own = float(probe_values(state, [step.probe]).expected_loss[0])
    else:
        row, possible = options.losses[options.decision or 0], options.posterior > 0
        own = float(row[possible] @ options.posterior[possible])
    best = int(values.expected_loss.argmin()) if len(values.expected_loss) else None
    if best is not None and values.expected_loss[best] < stop.loss - TIE:
        better = float(values.expected_loss[best]) < own - TIE
        return f"re-probe {values.branches.probes[best]}" if better else None
    if not stop.loss < own - TIE:
        return None
    other = alternatives(state, stop.decision)
    return other.name(other.decision or 0, other.posterior)


@dataclass(eq=False)
class _Search:
    """The nearest flip so far, and the least distance at which one has not been excluded."""

    options: Alternatives
    distance: float = math.inf
    unresolved: float = math.inf
    challenger: str | None = None
    witness: Floats | None = None
    programs: int = 0
    tries: int = 0
    cuts: list[Floats] = field(default_factory=list)
    """Rules of the step; each alone bounds every challenger's distance from below."""

    def run(self) -> None:
        """Look for the nearest flip to every other alternative."""
        options = self.options
        everywhere = np.ones(len(options.posterior), dtype=bool)
        for possible in (everywhere, options.posterior > 0):
            rule = self.step_rule(options.posterior, possible)
            if rule is not None and not any(np.array_equal(rule, cut) for cut in self.cuts):
                self.cuts.append(rule)
        rough = options.any_barred and any(probe.gaussian for probe in options.probes)
        # A better correction set is better in some group of beliefs alone, so that neighbours suffice between them.
        listed = options.complete or (options.neighbours and not options.any_barred)
        if rough or not listed:
            self.unresolved = 0.0
        self._decisions()
        others = [probe for i, probe in enumerate(options.probes) if i != options.probe and not self._is_twin(probe)]
        for probe in sorted(others, key=self._loss_now):
            self._probe(probe)

    def _loss_now(self, probe: ProbeOption) -> float:
        p = self.options.posterior
        rule = self.options.rule(probe, p, p > 0)
        return math.inf if rule is None else float(rule[p > 0] @ p[p > 0])

    def step_rule(self, x: Floats, possible: NDArray[np.bool_]) -> Floats | None:
        """Return the step's own loss under every hypothesis, by its best rule at x; None where it is inadmissible."""
        options = self.options
        if options.probe is not None:
            return options.rule(options.probes[options.probe], x, possible)
        row = options.losses[options.decision or 0]
        return None if np.isinf(row[possible]).any() else row

    def bounds(self, rules: Floats) -> Floats:
        """Return, for every rule of a challenger, a distance below which it does not flip the decision."""
        bound = np.full(len(rules), 0.0)
        for cut in (*self.cuts[:2], *self.cuts[2:][-4:]):
            bound = np.maximum(bound, flip_distances(self.options.posterior, _difference(rules, cut), self._floor))
        return bound

    @property
    def _floor(self) -> float:
        # A tie commits: a decision gives way only to something better, a probe to something as good.
        return -TIE if self.options.probe is None else TIE

    def _is_twin(self, probe: ProbeOption) -> bool:
        if self.options.probe is None:
            return False
        own = self.options.probes[self.options.probe]
        same = own.cost == probe.cost and own.kernel.shape == probe.kernel.shape
        return same and bool(np.allclose(own.kernel, probe.kernel, rtol=0.0, atol=1e-12))

    def _decisions(self) -> None:
        options = self.options
        bounds = self.bounds(options.losses)
        if options.decision is not None:
            own = options.decision
            same = (options.barred == options.barred[own]) & (np.abs(options.finite - options.finite[own]) <= TIE)
            bounds[same.all(axis=1)] = math.inf
        for u in np.argsort(bounds, kind="stable"):
            if bounds[u] >= self.distance - MEETS / 10:
                break
            shift = self._try(options.losses[u], float(bounds[u]))
            if shift.witness is not None and shift.upper < self.distance:
                self._record(shift, options.name(int(u), shift.witness))

    def _probe(self, probe: ProbeOption) -> None:
        """Look for the nearest flip to a probe: improve rule and posterior in turn, then search all rules."""
        options = self.options
        known = clairvoyant_losses(options.state.problem)[options.inside]
        root = float(self.bounds((probe.cost + known)[None, :])[0])
        if root >= self.distance - MEETS / 10:
            return
        self._alternate(probe, known)
        if probe.gaussian or not options.complete:
            self.unresolved = min(self.unresolved, root)
            return
        slowest = self._slowest(probe)
        if slowest < self.distance - MEETS / 10:
            self._branch(probe, slowest)

    def _alternate(self, probe: ProbeOption, known: Floats) -> None:
        options = self.options
        lead = _difference((probe.cost + known)[None, :], self.cuts[0])[0] if self.cuts else known
        # With too many rules to search them all, start from more places; against a probe each start is a program.
        broad = len(probe.kernel) > 6 and options.probe is None
        corners = np.argsort(lead, kind="stable")[: 12 if broad else 4]
        shares = (0.5, 0.2) if broad else (0.5,)
        for share, corner in ((0.0, 0), *product(shares, corners)):
            x, reached = (1.0 - share) * options.posterior, math.inf
            x[corner] += share
            for _ in range(12):
                if self.tries > min(MOST_TRIES, MOST_WORK // (probe.kernel.size * len(options.losses))):
                    return
                self.tries += 1
                rule = options.rule(probe, x, x > 0)
                if rule is None:
                    break
                shift = self._try(rule, 0.0, certify=False)
                if shift.witness is None or shift.upper >= reached - MEETS / 10:
                    break
                reached, x = shift.upper, shift.witness
                if reached < self.distance:
                    self._record(shift, f"re-probe {probe.name}")

    def _branch(self, probe: ProbeOption, at_least: float) -> None:
        """Branch on the decision after each answer; answers still open are priced as if the truth were known."""
        options = self.options
        with np.errstate(invalid="ignore"):
            tables = np.where(probe.kernel[:, None, :] > 0, probe.kernel[:, None, :] * options.losses, 0.0)
        known = tables.min(axis=1, keepdims=True)
        extra = np.where(np.isinf(tables), math.inf, tables - np.where(np.isinf(known), 0.0, known))
        rules = probe.cost + known.sum(axis=0)
        bounds, entries = self.bounds(rules), 0
        # The answer that depends most on what is decided first: its choices part the bounds soonest.
        order = np.argsort(-(np.where(np.isinf(extra), 0.0, extra).max(axis=1) @ options.posterior), kind="stable")
        for y in order:
            choices = _undominated(extra[y])
            entries += rules.size * len(choices)
            if entries > MOST_ENTRIES:
                bound = max(at_least, float(bounds.min(initial=math.inf)))
                self.unresolved = min(self.unresolved, bound)
                return
            rules = (rules[:, None, :] + choices).reshape(-1, rules.shape[1])
            bounds = self.bounds(rules)
            kept = bounds < self.distance - MEETS / 10
            rules, bounds = rules[kept], bounds[kept]
        for k in np.argsort(bounds, kind="stable"):
            if bounds[k] >= self.distance - MEETS / 10:
                break
            shift = self._try(rules[k], float(bounds[k]))
            if shift.witness is not None and shift.upper < self.distance:
                self._record(shift, f"re-probe {probe.name}")

    def _slowest(self, probe: ProbeOption) -> float:
        """Return a distance that no rule of a probe can make up for, by how fast any rule can gain on the step.

        Moving t from s to s' changes Σ p δ_ρ by at least −t g(s, s') for every rule ρ at once, where
        g(s, s') = Σ_y max_u (k(y|s) ℓ(u, s) − k(y|s') ℓ(u, s')) − r_d(s) + r_d(s'). The lead at p has to be made up
        from the hypotheses that lose most, each up to its probability.
        """
        options, p = self.options, self.options.posterior
        sources = np.flatnonzero(p > 0)
        size = len(sources) * probe.kernel.size * len(options.losses)
        rule = options.rule(probe, p, p > 0)
        if options.any_barred or rule is None or not self.cuts or size > MOST_WORK:
            return 0.0
        table = _undominated(options.losses).T[None, :, :] * probe.kernel[:, :, None]
        own = self.cuts[0]
        gain = [float(((table[:, [s]] - table).max(axis=2).sum(axis=0) - own[s] + own).max()) for s in sources]
        order = np.argsort(-np.array(gain), kind="stable")
        mass, rate = p[sources][order], np.maximum(np.array(gain)[order], 1e-300)
        made = np.cumsum(mass * rate)
        lead = float(p @ (rule - own))
        k = int(np.searchsorted(made, lead))
        if k == len(made):
            return math.inf
        return float(mass[:k].sum() + (lead - (made[k - 1] if k else 0.0)) / rate[k]) if lead > 0 else 0.0

    def _try(self, rule: Floats, bound: float, *, certify: bool = True) -> Shift:
        """Return the nearest flip to one rule of a challenger; ``certify`` notes what stays unresolved of it."""
        options = self.options
        if options.probe is None:
            row = options.losses[options.decision or 0]
            return shifted(options.posterior, _difference(rule[None, :], row)[0], self._floor)
        self.programs += 1
        if self.programs > MOST_PROGRAMS:
            shift = Shift(bound, math.inf, None)
        else:
            shift = nearest_over_cuts(options.posterior, rule, self.step_rule, self.cuts, below=self.distance)
        if certify and shift.lower < min(shift.upper, self.distance) - MEETS:
            self.unresolved = min(self.unresolved, max(shift.lower, bound))
        return shift

    def _record(self, shift: Shift, challenger: str) -> None:
        self.distance, self.challenger, self.witness = max(shift.upper, 0.0), challenger, shift.witness


def _difference(rules: Floats, cut: Floats) -> Floats:
    """Return δ = r_a − r_d: infinite where the challenger is inadmissible, minus infinity where only the step is."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(rules), math.inf, rules - cut)


def _undominated(choices: Floats) -> Floats:
    """Return the rows that no other row beats everywhere, one of each; as they are where comparing costs too much."""
    choices = np.unique(choices, axis=0)
    if len(choices) ** 2 * choices.shape[1] > 500_000:
        return choices
    beaten: NDArray[np.bool_] = np.all(choices[:, None, :] >= choices[None, :, :], axis=2)
    np.fill_diagonal(beaten, False)
    return np.asarray(choices[~beaten.any(axis=1)])
