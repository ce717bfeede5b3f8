"""What happened and what the monitors made known of it, learned together: records are there because an alarm rang.

Where records were kept of alarms alone, the chance of a record is not that of what happened, but

    p(s | a record) = θ(s) a(s) / Σ_s' θ(s') a(s'),

with θ the prior that follows from causes and a(s) the chance that any monitor rings under s. So the alarm is part of
the likelihood; so are the combinations that ``together`` leaves out. What is found is the posterior's mode in log-odds,
in which the file's own number counts as so many records. Where nothing is selected this is the posterior mean that
`shares` and `rate` give, to the digit. Intervals come from draws around the mode, weighted by importance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from aquamend.arrays import Bools, Floats, Indices
from aquamend.learning.estimates import Estimate

DRAWS = 800
DEGREES = 5.0
"""Of the multivariate t distribution that draws come from: heavier tails than the posterior has."""
FEWEST_EFFECTIVE = 100.0
"""Draws that must count after weighting; with fewer, the normal approximation stands."""
FARTHEST_LOGIT = 30.0
SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Block:
    """Probabilities that sum to one: whether a cause is present, and how, under one of its rules."""

    prior: Floats
    """Shape ``(n_options,)``, the first that it is absent: what was thought before."""
    option: Indices
    """Shape ``(n_hypotheses,)``; which option a hypothesis has; -1 where the rule does not decide about it."""


@dataclass(frozen=True, eq=False)
class Rate:
    """A cause that comes at a rate: each record has an age, and what is older is likelier overtaken."""

    prior: Floats
    """Shape ``(n_states,)``; the rates thought of before, above 0."""
    option: Indices
    """Shape ``(n_hypotheses,)``; 0 where it has not come, else the state, counted from 1."""
    ages: Floats
    """Shape ``(n_groups,)``; how old what it makes wrong was, in each group of records."""


@dataclass(frozen=True, eq=False)
class Monitor:
    """How likely a monitor rings: one number for each rule, or one for each cause that brings it about by itself."""

    prior: Floats
    """Shape ``(n_numbers,)``."""
    of: Floats
    """Shape ``(n_hypotheses, n_numbers)``; one where the number has a part in what happens under the hypothesis."""
    noisy_or: bool = False
    held: Bools | None = None
    """Numbers that stay as they are; None: none of them."""
    rung: Floats = field(default_factory=lambda: np.zeros(0))
    """Shape ``(n_groups, n_hypotheses)``; records in which it rang, by what was found."""
    silent: Floats = field(default_factory=lambda: np.zeros(0))
    """The same where it was watching and did not ring."""

    def likelihood(self, numbers: Floats) -> Floats:
        """Return how likely it rings under each hypothesis."""
        if self.noisy_or:
            return np.asarray(-np.expm1(self.of @ np.log1p(-np.minimum(numbers, 1.0 - SMALLEST))))
        return np.asarray(self.of @ numbers)

    def slopes(self, numbers: Floats, likelihood: Floats) -> Floats:
        """Return the derivative of the likelihood by the log-odds of each number, ``(n_hypotheses, n_numbers)``."""
        if self.noisy_or:
            return np.asarray(self.of * (1.0 - likelihood)[:, None] * numbers)
        return np.asarray(self.of * (numbers * (1.0 - numbers)))


@dataclass(frozen=True, eq=False)
class Happened:
    """All that decides which records there are."""

    counts: Floats
    """Shape ``(n_groups, n_hypotheses)``; records by what was found, in groups of the same ages."""
    share: Floats
    """Shape ``(n_hypotheses,)``; of what a spread stands for, the share of each value; else one."""
    blocks: Sequence[Block]
    rates: Sequence[Rate] = ()
    monitors: Sequence[Monitor] = ()
    selected: bool = False
    """Whether there are records of alarms alone."""
    strength: float = 2.0

    def fitted(self, *, intervals: bool = True) -> Found:
        """Return the mode and, for intervals, draws around it."""
        from scipy.optimize import minimize

        start = self._start()
        found = minimize(
            self._minus_both, start, jac=True, method="L-BFGS-B",
            bounds=[(-FARTHEST_LOGIT, FARTHEST_LOGIT)] * len(start),
            options={"maxiter": 3000, "maxfun": 6000, "ftol": 1e-13, "gtol": 1e-7},
        )  # fmt: skip
        mode = np.asarray(found.x)
        return Found(self, mode, self._draws(mode) if intervals else (mode[None, :], np.ones(1)))

    def numbers(self, point: Floats) -> Numbers:
        """Return what a point in log-odds stands for."""
        at, blocks, rates, monitors = 0, list[Floats](), list[Floats](), list[Floats]()
        for block in self.blocks:
            size = len(block.prior) - 1
            logits = np.concatenate([[0.0], point[at : at + size]])
            weight: Floats = np.exp(logits - logits.max())
            blocks.append(weight / weight.sum())
            at += size
        for rate in self.rates:
            rates.append(np.exp(point[at : at + len(rate.prior)]))
            at += len(rate.prior)
        for monitor in self.monitors:
            free = _free(monitor)
            own = np.clip(monitor.prior.astype(float), SMALLEST, 1.0 - SMALLEST)
            own[free] = 1.0 / (1.0 + np.exp(-point[at : at + int(free.sum())]))
            if monitor.held is not None:
                own[monitor.held] = monitor.prior[monitor.held]
            monitors.append(own)
            at += int(free.sum())
        return Numbers(blocks, rates, monitors)

    def joint(self, numbers: Numbers) -> Floats:
        """Return θ(s), ``(n_groups, n_hypotheses)``, what is left out not made up for."""
        log = np.zeros(len(self.share))
        for block, own in zip(self.blocks, numbers.blocks, strict=True):
            log += np.where(block.option >= 0, np.log(np.maximum(own, 1e-300))[np.maximum(block.option, 0)], 0.0)
        table = np.tile(np.exp(log) * self.share, (len(self.counts), 1))
        for rate, rates in zip(self.rates, numbers.rates, strict=True):
            table *= _came(rates, rate.ages)[:, rate.option]
        return table

    def recorded(self, numbers: Numbers) -> Floats:
        """Return how likely there is a record of each hypothesis, should it be so, ``(n_hypotheses,)``."""
        if not self.selected or not self.monitors:
            return np.ones(len(self.share))
        silent = [1.0 - m.likelihood(own) for m, own in zip(self.monitors, numbers.monitors, strict=True)]
        return np.asarray(1.0 - np.prod(silent, axis=0))

    def shares(self, numbers: Numbers) -> Floats:
        """Return p(s | a record), averaged over the records, ``(n_hypotheses,)``."""
        table = self.joint(numbers) * self.recorded(numbers)
        per_group = self.counts.sum(axis=1)
        weight = per_group / max(float(per_group.sum()), 1.0)
        return np.asarray(weight @ (table / table.sum(axis=1, keepdims=True)))

    def _start(self) -> Floats:
        parts = [np.log(np.maximum(b.prior, 1e-9)[1:] / max(b.prior[0], 1e-9)) for b in self.blocks]
        parts += [np.log(rate.prior) for rate in self.rates]
        for monitor in self.monitors:
            own = np.clip(monitor.prior, 1e-6, 1.0 - 1e-6)[_free(monitor)]
            parts.append(np.log(own / (1.0 - own)))
        return np.asarray(np.clip(np.concatenate([np.zeros(0), *parts]), -FARTHEST_LOGIT, FARTHEST_LOGIT))

    def _minus_both(self, point: Floats) -> tuple[float, Floats]:
        value, slope = self.log_posterior(point)
        return -value, -slope

    def log_posterior(self, point: Floats) -> tuple[float, Floats]:
        """Return the logarithm of the posterior density in log-odds up to a constant, and its slope."""
        numbers = self.numbers(point)
        joint = self.joint(numbers)
        rings = [m.likelihood(own) for m, own in zip(self.monitors, numbers.monitors, strict=True)]
        recorded = self.recorded(numbers)
        table = joint * recorded
        total = table.sum(axis=1)
        n = self.counts.sum(axis=1)
        value = float((self.counts * np.log(np.maximum(joint, 1e-300))).sum() - n @ np.log(np.maximum(total, 1e-300)))
        log_joint = self.counts - (n / np.maximum(total, 1e-300))[:, None] * table  # slope by log θ(s), by group
        slopes: list[Floats] = []
        for block, own in zip(self.blocks, numbers.blocks, strict=True):
            value += float(self.strength * block.prior @ np.log(np.maximum(own, 1e-300)))
            by = self.strength * block.prior.astype(float)
            decided = block.option >= 0
            by = by + np.bincount(block.option[decided], log_joint.sum(axis=0)[decided], minlength=len(own))
            slopes.append((by - own * by.sum())[1:])
        for rate, rates in zip(self.rates, numbers.rates, strict=True):
            more, slope = _rate_terms(rate, rates, log_joint, self.strength, n)
            value += more
            slopes.append(slope)
        unselected = n / np.maximum(total, 1e-300) @ joint if self.selected else np.zeros(len(self.share))
        for m, monitor in enumerate(self.monitors):
            own, rang = numbers.monitors[m], np.clip(rings[m], 1e-300, 1.0 - 1e-15)
            rung, silent = monitor.rung.sum(axis=0), monitor.silent.sum(axis=0)
            value += float(rung @ np.log(rang) + silent @ np.log1p(-rang))
            others = np.prod([1.0 - r for k, r in enumerate(rings) if k != m], axis=0) if len(rings) > 1 else 1.0
            by_rings = rung / rang - silent / (1.0 - rang) - unselected * others
            free = _free(monitor)
            thought = monitor.prior[free]
            value += float(self.strength * (thought @ np.log(own[free]) + (1.0 - thought) @ np.log1p(-own[free])))
            slopes.append((by_rings @ monitor.slopes(own, rings[m]))[free] + self.strength * (thought - own[free]))
        return value, np.concatenate([np.zeros(0), *slopes])

    def _draws(self, mode: Floats) -> tuple[Floats, Floats]:
        """Return points around the mode, and their weights."""
        if not len(mode):
            return mode[None, :], np.ones(1)
        rng = np.random.default_rng(0)
        step, curvature = 1e-4, np.zeros((len(mode), len(mode)))
        for k in range(len(mode)):
            shift = np.zeros(len(mode))
            shift[k] = step
            curvature[k] = (self.log_posterior(mode - shift)[1] - self.log_posterior(mode + shift)[1]) / (2.0 * step)
        values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        spread = vectors / np.sqrt(np.maximum(values, 1e-3))
        z = rng.standard_normal((DRAWS, len(mode)))
        tails = np.sqrt(rng.chisquare(DEGREES, DRAWS) / DEGREES)
        points = np.clip(mode + (z / tails[:, None]) @ spread.T, -FARTHEST_LOGIT, FARTHEST_LOGIT)
        if len(mode) * self.counts.size * DRAWS > 2e10:
            return mode + z @ spread.T, np.ones(DRAWS)
        proposed = -0.5 * (DEGREES + len(mode)) * np.log1p(((z / tails[:, None]) ** 2).sum(axis=1) / DEGREES)
        log = np.array([self.log_posterior(point)[0] for point in points]) - proposed
        weight = np.exp(log - log.max())
        if weight.sum() ** 2 / (weight**2).sum() < FEWEST_EFFECTIVE:
            return mode + z @ spread.T, np.ones(DRAWS)
        return points, weight


@dataclass(frozen=True, eq=False)
class Numbers:
    """Probabilities and rates: of every block, of every cause with a rate, of every monitor."""

    blocks: Sequence[Floats]
    rates: Sequence[Floats]
    monitors: Sequence[Floats]


@dataclass(frozen=True, eq=False)
class Found:
    """The mode, and what else is credible."""

    of: Happened
    mode: Floats
    drawn: tuple[Floats, Floats]

    @cached_property
    def numbers(self) -> Numbers:
        """What the mode stands for."""
        return self.of.numbers(self.mode)

    @cached_property
    def _others(self) -> Sequence[Numbers]:
        points, weight = self.drawn
        order = np.random.default_rng(1).choice(len(points), min(len(points), 600), p=weight / weight.sum())
        return [self.of.numbers(points[i]) for i in order]

    def block(self, b: int, k: int, records: int) -> Estimate:
        """Return one option of a block."""
        return self._estimate(lambda numbers: numbers.blocks[b][k], records)

    def rate(self, r: int, k: int, records: int) -> Estimate:
        """Return one rate."""
        return self._estimate(lambda numbers: numbers.rates[r][k], records)

    def monitor(self, m: int, k: int, records: int) -> Estimate:
        """Return one number of a monitor."""
        return self._estimate(lambda numbers: numbers.monitors[m][k], records)

    def share(self, where: Bools) -> Estimate:
        """Return how many of the records have found any of these hypotheses, by the model."""
        records = round(float(self.of.counts.sum()))
        return self._estimate(lambda numbers: float(self.of.shares(numbers)[where].sum()), records, most=300)

    def _estimate(self, of: Callable[[Numbers], float], records: int, *, most: int | None = None) -> Estimate:
        """Return what follows from the numbers, with its interval by so many draws at most."""
        value = float(of(self.numbers))
        low, high = np.quantile(np.array([of(drawn) for drawn in self._others[:most]], dtype=float), [0.025, 0.975])
        return Estimate(value, min(float(low), value), max(float(high), value), records)


def identified(blocks: Sequence[Block], monitor: Monitor, counts: Floats) -> Bools:
    """Return which numbers of a monitor records of its alarms alone can tell, the largest rule's being taken as known.

    The records tell θ(s) a(s) up to a common factor. A rule's number can be told apart from the causes' priors only
    where these cannot take its place: where causes are independent and several are found together.
    """
    columns = [np.ones(len(counts))]
    for block in blocks:
        columns += [(block.option == k).astype(float) for k in range(len(block.prior))]
    found = np.zeros(len(monitor.prior), dtype=bool)
    kept = np.array(columns).T
    own = counts @ monitor.of
    order = np.argsort(-own, kind="stable")
    rank = int(np.linalg.matrix_rank(kept))
    for k in order[1:]:
        wider = np.column_stack([kept, monitor.of[:, k]])
        if (now := int(np.linalg.matrix_rank(wider))) > rank:
            found[k], kept, rank = True, wider, now
    return found


def with_room(happened: Happened, fit: Found, monitor: int) -> Happened | None:
    """Return the same with the alarm's numbers halved where one of them ran into 1; None where none did.

    Only their ratios can be learned from alarms alone, so that all may be halved.
    """
    own, free = fit.numbers.monitors[monitor], _free(happened.monitors[monitor])
    if not (own[free] > 0.97).any():
        return None
    changed = replace(happened.monitors[monitor], prior=0.5 * happened.monitors[monitor].prior)
    monitors = [changed if m == monitor else one for m, one in enumerate(happened.monitors)]
    return replace(happened, monitors=monitors)


def _free(monitor: Monitor) -> Bools:
    return np.ones(len(monitor.prior), dtype=bool) if monitor.held is None else ~monitor.held


def _came(rates: Floats, ages: Floats) -> Floats:
    """Return the probability of having not come, and of each state, at each age, ``(n_ages, 1 + n_states)``."""
    total = float(rates.sum())
    within = -np.expm1(-total * ages)
    return np.column_stack([np.exp(-total * ages), *(within * rate / total for rate in rates)])


def _rate_terms(
    rate: Rate, rates: Floats, log_joint: Floats, strength: float, n: Floats
) -> tuple[float, Floats]:  # fmt: skip
    """Return what was thought of the rates, as so many records of the mean age, and the slope by their logarithms."""
    mean = float(n @ rate.ages / max(float(n.sum()), 1.0))
    thought, now = _came(rate.prior, np.array([mean]))[0], _came(rates, np.array([mean]))[0]
    value = float(strength * thought @ np.log(np.maximum(now, 1e-300)))
    slope = _by_log_rates(rates, np.array([mean]), strength * thought[None, :])
    by_option = np.array([np.bincount(rate.option, row, minlength=1 + len(rates)) for row in log_joint])
    return value, slope + _by_log_rates(rates, rate.ages, by_option)


def _by_log_rates(rates: Floats, ages: Floats, by_log: Floats) -> Floats:
    """Return slopes by the logarithms of the rates from those by the log probabilities of `_came`."""
    total = float(rates.sum())
    came = by_log[:, 1:].sum(axis=1)
    ratio = np.divide(
        ages * np.exp(-total * ages), -np.expm1(-total * ages), out=np.full_like(ages, 1.0 / total), where=ages > 0
    )
    by_total = -ages * by_log[:, 0] + came * (ratio - 1.0 / total)
    return np.asarray(rates * by_total.sum() + by_log[:, 1:].sum(axis=0))
