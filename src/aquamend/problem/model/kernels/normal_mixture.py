"""Probes that read a number: normally distributed, a mixture of normals, or given by samples.

All three compile to one channel: under every hypothesis a mixture of normal distributions, and beside it one broad law
of outliers that all hypotheses share. A sensor has glitches; without that part a single one would rule out for good
whatever does not explain it. Because the part is common, a reading far from every hypothesis speaks for none of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Self

import numpy as np

from aquamend.arrays import Floats, Indices
from aquamend.codec import Key, Number, by_condition
from aquamend.codec.forms import NUMBER, list_of, row, row_with_name, whole
from aquamend.deadline import check_deadline
from aquamend.errors import Fault
from aquamend.problem.model.kernels.kernel import (
    Answer,
    Rows,
    frozen,
    labels_of,
    named_rows,
    row_name_faults,
    stacked,
)  # fmt: skip

DEFAULT_OUTLIERS = 1e-12
"""Share of readings that are glitches, where a kernel does not say.

Small enough to leave every expected loss as it is to about eleven digits, and large enough that a reading more than
some eight standard deviations from every hypothesis is taken for a glitch. A sensor's own rate is usually far higher:
write it down where it is known.
"""
REACH_SD = 7.5
"""Standard deviations from its mean up to which a component is looked at closely."""
POINTS_PER_COMPONENT = 37
SKETCH_SD = np.linspace(-3.2, 3.2, 9)
"""Where a component is looked at for a first impression, in its standard deviations from its mean."""
SMALLEST_SD = 1e-100
FEW_PAIRS = 1_000_000
"""Labels times hypotheses up to which a table says which has which."""
DENSITIES_AT_ONCE, READINGS_AT_ONCE = 500_000, 20_000
"""Computed before it is asked whether there is time for more."""
BETWEEN, NUMBERS = 8, 50_000
"""Parts of what is between two sampled readings on the fine grid; fewer where that is too many numbers."""
NEAR = (
    (1.85777706184603153e-1, 3.16112374387056560, 1.13864154151050156e2, 3.77485237685302021e2, 3.20937758913846947e3),
    (2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3),
)
MIDDLE = (
    (2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594, 6.61191906371416295e1,
     2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
     1.23033935479799725e3),
    (1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
     3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3),
)  # fmt: skip
FAR = (
    (1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
     1.60837851487422766e-2, 6.58749161529837803e-4),
    (2.56852019228982242, 1.87295284992346047, 5.27905102951428412e-1, 6.05183413124413191e-2,
     2.33520497626869185e-3),
)  # fmt: skip
"""Cody's coefficients for the error function and its complement, the highest powers first."""
BEYOND = 28.0
"""Where the tail is below the smallest number there is."""
FARTHEST = 1e100
"""Widths from the centre beyond which one reading is like another; their squares would overflow."""


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A probe whose reading is normally distributed."""

    mean_sd: Annotated[Rows, Key("gaussian"), by_condition(row_with_name(0))]
    """For every hypothesis, the mean, or a belief that it follows, and the standard deviation."""
    outliers: Number = DEFAULT_OUTLIERS
    """Share of readings that are glitches, drawn from one broad law whatever is true."""

    table: ClassVar[str] = "mean_sd"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield rows that are missing and rows that are not a mean and a positive standard deviation."""
        faults, rows, place_of = named_rows(f"{where}.gaussian", self.mean_sd, names, 2)
        yield from faults
        sound = np.isfinite(rows).all(axis=1) & (rows[:, 1] > SMALLEST_SD)
        for i in np.flatnonzero(~sound).tolist():
            said = f"{rows[i].tolist()!r} is not a mean and a standard deviation"
            yield Fault(place_of(i), said, "give two finite numbers, sd > 0")
        yield from _outlier_faults(where, self.outliers)

    def channel(self, names: Sequence[str]) -> Readings:
        """Return one component for each distinct mean and standard deviation."""
        rows = stacked(self.mean_sd, names)
        of, first = labels_of(rows)
        mean, sd = rows[first].T
        return Readings.of_components(of, np.arange(len(first)), np.ones(len(first)), mean, sd, self.outliers)


@dataclass(frozen=True, eq=False)
class Mixture:
    """A probe whose reading follows a mixture of normal distributions: two ways of reading wrongly, say."""

    components: Annotated[
        Mapping[str, Sequence[Sequence[float]]], Key("mixture"), by_condition(whole(list_of(row_with_name(1))))
    ]
    """For every hypothesis, rows of weight, mean and standard deviation; the weights sum to one."""
    outliers: Number = DEFAULT_OUTLIERS
    """Share of readings that are glitches, drawn from one broad law whatever is true."""

    table: ClassVar[str] = "components"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield hypotheses without components, components that are none, and weights that do not sum to one."""
        where = f"{where}.mixture"
        yield from row_name_faults(where, self.components, names)
        for name, rows in self.components.items():
            if not rows or not all(len(r) == 3 and _sound(r[0], r[1], r[2]) for r in rows):
                problem = "it is empty, or has a row that is not a weight, a mean and a standard deviation"
                yield Fault(f"{where}.{name}", problem, "give rows of three finite numbers, weight and sd above 0")
            elif abs(math.fsum(r[0] for r in rows) - 1.0) > 1e-6:
                total = math.fsum(r[0] for r in rows)
                yield Fault(f"{where}.{name}", f"the weights sum to {total:.9g}", "make them sum to 1")
        yield from _outlier_faults(where.removesuffix(".mixture"), self.outliers)

    def channel(self, names: Sequence[str]) -> Readings:
        """Return the components of every hypothesis that differs from those before it."""
        return _compiled([self.components[name] for name in names], self.outliers)


@dataclass(frozen=True, eq=False)
class Samples:
    """A probe known by readings taken under every hypothesis; each stands for a normal distribution around it."""

    readings: Annotated[Mapping[str, Sequence[float]], Key("samples"), by_condition(row(NUMBER))]
    """For every hypothesis, at least two readings that were taken while it was true."""
    bandwidth: Number | None = None
    """Standard deviation around each reading; by Silverman's rule (Density Estimation, 1986) unless given."""
    outliers: Number = DEFAULT_OUTLIERS
    """Share of readings that are glitches, drawn from one broad law whatever is true."""

    table: ClassVar[str] = "readings"

    def faults(self, where: str, names: Sequence[str]) -> Iterator[Fault]:
        """Yield hypotheses with too few readings, readings that are none, and a bandwidth that is none."""
        yield from row_name_faults(f"{where}.samples", self.readings, names)
        for name, readings in self.readings.items():
            place = f"{where}.samples.{name}"
            if not all(map(math.isfinite, readings)):
                yield Fault(place, "it holds a reading that is not finite", "give finite numbers")
            elif not readings or (self.bandwidth is None and len(set(readings)) < 2):
                problem = f"{list(readings)!r} does not tell how far readings scatter"
                yield Fault(place, problem, "give at least two different readings, or a bandwidth")
        if self.bandwidth is not None and not (math.isfinite(self.bandwidth) and self.bandwidth > SMALLEST_SD):
            yield Fault(f"{where}.bandwidth", f"{self.bandwidth!r} is not a width", "give a finite number above 0")
        yield from _outlier_faults(where, self.outliers)

    def channel(self, names: Sequence[str]) -> Readings:
        """Return an even mixture of normals around the readings."""
        tables = []
        for name in names:
            readings = np.asarray(self.readings[name], dtype=float)
            width = self.bandwidth or silverman(readings)
            tables.append([(1.0 / len(readings), float(reading), width) for reading in readings])
        return _compiled(tables, self.outliers)


def silverman(readings: Floats) -> float:
    """Return Silverman's bandwidth, 0.9 min(sd, IQR/1.34) n^(-1/5); the sd alone where the quartiles coincide."""
    sd = float(readings.std(ddof=1))
    quartiles = np.percentile(readings, [25, 75])
    spread = float(quartiles[1] - quartiles[0]) / 1.34
    return float(0.9 * (min(sd, spread) if spread > 0 else sd) * len(readings) ** -0.2)


def _sound(weight: float, mean: float, sd: float) -> bool:
    return math.isfinite(mean) and math.isfinite(sd) and sd > SMALLEST_SD and 0.0 < weight <= 1.0 + 1e-6


def _outlier_faults(where: str, outliers: float) -> Iterator[Fault]:
    if not 0.0 <= outliers < 1.0:
        yield Fault(f"{where}.outliers", f"{outliers!r} is not a share", "give a number of at least 0 and below 1")


def _compiled(tables: Sequence[Sequence[Sequence[float]]], outliers: float) -> Readings:
    position: dict[tuple[tuple[float, ...], ...], int] = {}
    of = [position.setdefault(tuple(map(tuple, rows)), len(position)) for rows in tables]
    every = np.array([row for rows in position for row in rows], dtype=float) + 0.0  # a mean of -0 is one of 0
    owner = np.repeat(np.arange(len(position)), [len(rows) for rows in position])
    weight, mean, sd = every.T
    total = np.bincount(owner, weights=weight)
    return Readings.of_components(np.array(of, dtype=np.intp), owner, weight / total[owner], mean, sd, outliers)


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings in hypothesis order: mixtures of normal distributions, one for each label, and their common outliers."""

    of: Indices
    """Shape ``(n_hypotheses,)``; hypotheses with the same label read alike."""
    owner: Indices
    """Shape ``(n_components,)``; the label of each component, sorted."""
    weight: Floats
    """Shape ``(n_components,)``; sums to one over each label's components."""
    mean: Floats
    sd: Floats
    outliers: float
    centre: float
    """Where the outliers' law, a Cauchy distribution, has its middle, and half of them lie within ``width`` of it."""
    width: float

    @classmethod
    def of_components(
        cls, of: Indices, owner: Indices, weight: Floats, mean: Floats, sd: Floats, outliers: float
    ) -> Self:
        """Return the channel whose outliers spread as far as all components together reach."""
        low, high = float((mean - REACH_SD * sd).min()), float((mean + REACH_SD * sd).max())
        arrays = (frozen(of), frozen(owner), frozen(weight), frozen(mean.copy()), frozen(sd.copy()))
        return cls(*arrays, outliers, 0.5 * (low + high), 0.5 * (high - low))

    @property
    def n_labels(self) -> int:
        """How many different mixtures there are."""
        return int(self.owner[-1]) + 1

    @cached_property
    def alike(self) -> Floats:
        """Shape ``(n_labels, n_hypotheses)``; one where a hypothesis has the label."""
        return frozen((np.arange(self.n_labels)[:, None] == self.of).astype(float))

    def gathered(self, of_hypotheses: Floats) -> Floats:
        """Return the sums over each label's hypotheses, along the first axis."""
        if self.n_labels * len(self.of) <= FEW_PAIRS:
            return np.asarray(self.alike @ of_hypotheses)
        order, first = self._by_label
        return np.asarray(np.add.reduceat(of_hypotheses[order], first, axis=0))

    @cached_property
    def _by_label(self) -> tuple[Indices, Indices]:
        """The hypotheses in the order of their labels, and where each label's begin."""
        order = np.argsort(self.of, kind="stable")
        return order, np.searchsorted(self.of[order], np.arange(self.n_labels))

    @property
    def sharpest(self) -> float:
        """The smallest standard deviation."""
        return float(self.sd.min())

    @cached_property
    def _first(self) -> Indices:
        return np.searchsorted(self.owner, np.arange(self.n_labels))

    @cached_property
    def height(self) -> Floats:
        """Density of each component at its mean, outliers aside."""
        return (1.0 - self.outliers) * self.weight / (self.sd * math.sqrt(2.0 * math.pi))

    def by_label(self, of_components: Floats, axis: int) -> Floats:
        """Return the sums over each label's components."""
        if len(self.owner) == self.n_labels:
            return of_components
        return np.asarray(np.add.reduceat(of_components, self._first, axis=axis))

    def density(self, readings: Floats) -> Floats:
        """Return the density of each reading under each label, shape ``(n_readings, n_labels)``."""
        if len(readings) * len(self.mean) > 2 * DENSITIES_AT_ONCE:
            step = max(1, DENSITIES_AT_ONCE // len(self.mean))
            return np.concatenate([self.density(readings[k : k + step]) for k in range(0, len(readings), step)])
        check_deadline()
        with np.errstate(over="ignore"):  # farther away than there are numbers is density zero all the same
            z = (readings[:, None] - self.mean) / self.sd
            density = self.by_label(np.exp(-0.5 * z * z) * self.height, 1)
        if self.outliers == 0.0:
            return density
        far = (readings - self.centre) / self.width
        return np.asarray(density + (self.outliers / (math.pi * self.width)) / (1.0 + far * far)[:, None])

    def beneath(self, edges: Floats) -> Floats:
        """Return heights at these edges whose straight connections along a row nowhere exceed the density.

        ``edges`` is ``(n_rows, n_edges)``, sorted; the heights are ``(n_rows, n_edges, n_labels)``. A straight line
        between two points of a curve exceeds it by at most width² / 8 times its largest second derivative; and a
        component has a single hump, so between two readings it is nowhere below the smaller of its heights there.
        """
        z = (edges[:, :, None] - self.mean) / self.sd
        width = np.diff(edges, axis=1)[:, :, None]
        height = np.exp(-0.5 * z * z) * self.height
        size = np.abs(z)
        far = np.maximum(size[:, :-1], size[:, 1:])
        near = np.where(z[:, :-1] * z[:, 1:] > 0.0, np.minimum(size[:, :-1], size[:, 1:]), 0.0)
        bend = np.maximum(far * far - 1.0, 0.0) * np.exp(-0.5 * near * near) * self.height / self.sd**2
        of_components = _beneath(height, width * width / 8.0 * bend)
        glitch = (self.outliers / (math.pi * self.width)) / (1.0 + ((edges - self.centre) / self.width) ** 2)
        most_bend = 0.5 * self.outliers / (math.pi * self.width**3)  # where a Cauchy density bends most
        return self.by_label(of_components, 2) + _beneath(glitch[:, :, None], width * width / 8.0 * most_bend)

    def intervals(self, cuts: Floats) -> Floats:
        """Return the probability of every interval between the cuts, shape ``(n_labels, n_cuts + 1)``."""
        return interval_tables([self], [cuts])[0]

    @cached_property
    def _shapes(self) -> Floats:
        """Mean and standard deviation of every distinct component, sorted, ``(n, 2)``."""
        # Few of them, so a set is faster than sorting rows of an array.
        return np.array(sorted(set(zip(self.mean.tolist(), self.sd.tolist(), strict=True))))

    @cached_property
    def sampled(self) -> tuple[Floats, Floats]:
        """Readings at most half a standard deviation of the sharpest component nearby apart, and their densities."""
        shapes = self._shapes
        z = np.linspace(-REACH_SD, REACH_SD, POINTS_PER_COMPONENT)
        readings = (shapes[:, :1] + shapes[:, 1:] * z).ravel()
        apart = np.repeat(0.5 * (shapes[:, 1] * (z[1] - z[0])), len(z))
        order = np.argsort(readings, kind="stable")
        kept, last = list[float](), -math.inf
        for low in range(0, len(order), READINGS_AT_ONCE):
            check_deadline()
            some = order[low : low + READINGS_AT_ONCE]
            for reading, least in zip(readings[some].tolist(), apart[some].tolist(), strict=True):
                if reading - last >= least:  # others nearby serve where components overlap
                    kept.append(reading)
                    last = reading
        grid = frozen(np.array(kept))
        return grid, frozen(self.density(grid))

    @cached_property
    def sketched(self) -> tuple[Floats, Floats]:
        """The same for a first impression: a few readings for every component, wherever they fall."""
        shapes = self._shapes
        grid = frozen(np.sort((shapes[:, :1] + shapes[:, 1:] * SKETCH_SD).ravel()))
        return grid, frozen(self.density(grid))

    @cached_property
    def cells(self) -> Floats:
        """Probability of every interval between the sampled readings, shape ``(n_labels, n_sampled + 1)``."""
        return frozen(self.intervals(self.sampled[0]))

    @cached_property
    def fine_grid(self) -> Floats:
        """The sampled readings, and some between each two: where a plan may tell intervals apart."""
        sampled = self.sampled[0]
        parts = min(BETWEEN, max(1, NUMBERS // (len(sampled) * len(self.owner))))
        return frozen(np.interp(np.arange((len(sampled) - 1) * parts + 1) / parts, np.arange(len(sampled)), sampled))

    @cached_property
    def fine_cells(self) -> Floats:
        """Probability of every interval of that grid, shape ``(n_labels, n_fine + 1)``."""
        return self.cells if len(self.fine_grid) == len(self.sampled[0]) else frozen(self.intervals(self.fine_grid))

    def likelihood(self, answer: Answer) -> Floats:
        """Return the density of a reading under every hypothesis, the largest one."""
        reach = FARTHEST * self.width
        density = self.density(np.array([min(max(float(answer), self.centre - reach), self.centre + reach)]))[0]
        largest = density.max()
        return np.asarray((density / largest if largest > 0.0 else density)[self.of])

    def sample(self, hypothesis: int, rng: np.random.Generator) -> float:
        """Return a reading drawn under one hypothesis; a glitch as rarely as the kernel says."""
        if rng.random() < self.outliers:
            return float(self.centre + self.width * rng.standard_cauchy())
        own = np.flatnonzero(self.owner == self.of[hypothesis])
        which = own[0] if len(own) == 1 else rng.choice(own, p=self.weight[own])
        return float(rng.normal(self.mean[which], self.sd[which]))

    def parse(self, said: Answer) -> float | None:
        """Return the number that was said, or that a text writes."""
        try:
            reading = float(said)
        except (TypeError, ValueError):
            return None
        return reading if math.isfinite(reading) else None

    @property
    def expected(self) -> str:
        """Return what an answer looks like, in words."""
        return "a number"


def interval_tables(channels: Sequence[Readings], cuts: Sequence[Floats]) -> list[Floats]:
    """Return, for each channel, the probability of every interval between its cuts, ``(n_labels, n_cuts + 1)``."""
    edges = [np.concatenate([[-math.inf], own, [math.inf]]) for own in cuts]
    z = [(e - c.mean[:, None]) / c.sd[:, None] for c, e in zip(channels, edges, strict=True)]
    # All of them in one row, for the fixed cost of each operation; pairs across two rows of z come to nothing.
    inside = _between(np.concatenate([np.zeros(0), *(x.ravel() for x in z)]))
    tables, end = [], 0
    for channel, edge, x in zip(channels, edges, z, strict=True):
        own, end = inside[end : end + x.size].reshape(x.shape)[:, :-1], end + x.size
        likelihood = channel.by_label((1.0 - channel.outliers) * channel.weight[:, None] * own, 0)
        far = np.arctan((edge - channel.centre) / channel.width) * (channel.outliers / math.pi)
        likelihood = likelihood + (far[1:] - far[:-1])
        tables.append(likelihood / likelihood.sum(axis=1, keepdims=True))
    return tables


def _beneath(height: Floats, excess: Floats) -> Floats:
    """Return heights at the edges whose straight connections stay beneath the curve.

    Between two edges the ends may be as high as the curve less what a straight line exceeds, or as its smaller end,
    whichever is better there; an edge is as high as both sides allow.
    """
    low, high = height[:, :-1], height[:, 1:]
    least = np.minimum(low, high)
    bent = (least >= excess) & (low + high - 2.0 * excess > 2.0 * least)
    beneath = height.copy()
    np.minimum(beneath[:, :-1], np.where(bent, low - excess, least), out=beneath[:, :-1])
    np.minimum(beneath[:, 1:], np.where(bent, high - excess, least), out=beneath[:, 1:])
    return beneath


def _between(z: Floats) -> Floats:
    """Return the probability that a standard normal lies between each number and the next, if that is larger.

    Differences of tails keep their digits: on either side of the mean, or one from each where it lies between.
    """
    tail = normal_tail(np.abs(z))
    low, high = tail, np.append(tail[1:], 0.0)
    inside = np.where(np.append(z[1:], 0.0) < 0, high - low, np.where(z >= 0, low - high, 1.0 - low - high))
    return np.maximum(inside, 0.0)


def normal_tail(z: Floats) -> Floats:
    """Return the probability that a standard normal exceeds z ≥ 0, to the precision of a float even if tiny.

    Cody's rational approximations (Math. Comp. 23, 1969), twice as fast for arrays as ``math.erfc`` number by number;
    SciPy has this too, but takes longer to import than a decision takes.
    """
    tails = np.empty(len(z))
    for low in range(0, len(z), READINGS_AT_ONCE):
        check_deadline()
        x = np.minimum(z[low : low + READINGS_AT_ONCE] * math.sqrt(0.5), BEYOND)
        for inside, law in ((x <= 0.46875, _near), ((x > 0.46875) & (x <= 4.0), _middle), (x > 4.0, _far)):
            tails[low + np.flatnonzero(inside)] = 0.5 * law(x[inside])
    return tails


def _near(x: Floats) -> Floats:
    return np.asarray(1.0 - x * _ratio(x * x, NEAR))


def _middle(x: Floats) -> Floats:
    return _bell(x) * _ratio(x, MIDDLE)


def _far(x: Floats) -> Floats:
    inverse = 1.0 / (x * x)
    return np.asarray(_bell(x) * (1.0 / math.sqrt(math.pi) - inverse * _ratio(inverse, FAR)) / x)


def _bell(x: Floats) -> Floats:
    """Return exp(-x²) to all digits: the square of a large number is not."""
    round_x = np.trunc(16.0 * x) / 16.0
    return np.asarray(np.exp(-round_x * round_x) * np.exp(-(x - round_x) * (x + round_x)))


def _ratio(x: Floats, polynomials: tuple[Sequence[float], Sequence[float]]) -> Floats:
    """Return a polynomial over another, whose first coefficient is one and not written."""
    (first, *above), (start, *below) = polynomials
    top, bottom = first * x, x + start
    for coefficient in above[:-1]:
        top += coefficient
        top *= x
    for coefficient in below:
        bottom *= x
        bottom += coefficient
    return np.asarray((top + above[-1]) / bottom)
