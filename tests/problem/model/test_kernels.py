"""How probes answer: what each kind of kernel says, draws, understands and refuses."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.stats import norm

from aquamend.codec import load, write
from aquamend.codec.annotations import documented, entries
from aquamend.problem.model import Discrete, Gaussian, Mixture, Samples
from aquamend.problem.model.kernels import DEFAULT_OUTLIERS, KERNELS, interval_tables, rows_by_name
from aquamend.problem.model.kernels.normal_mixture import normal_tail, silverman

NAMES = ("ok", "bad", "worse")
LOOK = Discrete(("y", "n"), {"ok": [0.9, 0.1], "bad": [0.2, 0.8], "worse": [0.9, 0.1]})
GAUSSIAN = Gaussian({"ok": [0.0, 1.0], "bad": [4.0, 0.5], "worse": [0.0, 1.0]})
MIXTURE = Mixture(
    {
        "ok": [[1.0, 0.0, 1.0]],
        "bad": [[0.3, -3.0, 0.7], [0.7, 4.0, 0.2]],
        "worse": [[0.5, 0.0, 1.0], [0.5, 1.0, 2.0]],
    },
    outliers=0.02,
)
SAMPLES = Samples({"ok": [0.1, -0.4, 0.6, 0.3], "bad": [3.9, 4.4, 4.2], "worse": [0.0, 9.0]}, outliers=1e-4)
NARROW = Samples({"ok": [1.0], "bad": [2.0, 2.0], "worse": [3.0, 4.0]}, bandwidth=0.25)
READING = {"gaussian": GAUSSIAN, "mixture": MIXTURE, "samples": SAMPLES, "bandwidth": NARROW}


@pytest.fixture(params=READING.values(), ids=READING.keys())
def channel(request):
    return request.param.channel(NAMES)


# What is written.


def written(kernel, names=NAMES):
    return write(rows_by_name(kernel, names))


@pytest.mark.parametrize("kernel", [LOOK, *READING.values()])
def test_what_a_kernel_writes_it_reads_back(kernel):
    again = load(type(kernel), written(kernel), complete=False)
    assert written(again) == written(kernel)
    before, after = kernel.channel(NAMES), again.channel(NAMES)
    answer = "y" if kernel is LOOK else 1.25
    np.testing.assert_array_equal(before.likelihood(answer), after.likelihood(answer))
    np.testing.assert_array_equal(before.of, after.of)


def test_arrays_are_written_by_name():
    assert written(Discrete(["y", "n"], np.array([[1.0, 0.0], [0.5, 0.5]])), ["a", "b"]) == {
        "outcomes": ["y", "n"],
        "likelihood": {"a": [1.0, 0.0], "b": [0.5, 0.5]},
    }
    assert written(Gaussian(np.array([[0.0, 1.0]])), ["a"]) == {"gaussian": {"a": [0.0, 1.0]}}


def test_the_share_of_outliers_is_written_only_where_it_is_not_the_usual_one():
    assert "outliers" not in written(GAUSSIAN)
    assert written(MIXTURE)["outliers"] == 0.02
    assert load(Gaussian, {"gaussian": {"h": [0.0, 1.0]}}, complete=False).outliers == DEFAULT_OUTLIERS


def test_the_first_key_tells_the_kinds_apart_and_every_attribute_is_explained():
    assert len({next(iter(entries(kind))) for kind in KERNELS}) == len(KERNELS)
    for kind in KERNELS:
        assert {name for entry in entries(kind).values() for name in entry.attributes} <= documented(kind).keys()


@pytest.mark.parametrize("kernel", [LOOK, *READING.values()])
def test_a_sound_kernel_has_no_faults_and_a_missing_row_is_one(kernel):
    assert list(kernel.faults("kernels.p", NAMES)) == []
    (fault,) = kernel.faults("kernels.p", [*NAMES, "absent"])
    assert fault.where == f"kernels.p.{'likelihood' if kernel is LOOK else next(iter(entries(type(kernel))))}"
    assert "'absent' has no row" in fault.problem


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([], "empty"),
        ([[1.0, 0.0]], "not a weight, a mean and a standard deviation"),
        ([[1.0, 0.0, 0.0]], "not a weight"),
        ([[1.0, math.inf, 1.0]], "not a weight"),
        ([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]], "not a weight"),
        ([[0.5, 0.0, 1.0], [0.4, 0.0, 1.0]], "the weights sum to 0.9"),
    ],
)
def test_a_mixture_is_made_of_normals_whose_weights_sum_to_one(rows, problem):
    (fault,) = Mixture({"h": rows}).faults("kernels.p", ["h"])
    assert fault.where == "kernels.p.mixture.h"
    assert problem in fault.problem


@pytest.mark.parametrize(
    ("readings", "width", "places"),
    [
        ([1.0], None, ["kernels.p.samples.h"]),
        ([1.0, 1.0], None, ["kernels.p.samples.h"]),
        ([], 0.5, ["kernels.p.samples.h"]),
        ([1.0, math.nan], None, ["kernels.p.samples.h"]),
        ([1.0, 2.0], 0.0, ["kernels.p.bandwidth"]),
        ([1.0, 2.0], math.inf, ["kernels.p.bandwidth"]),
        ([1.0], 0.5, []),
        ([1.0, 2.0], None, []),
    ],
)
def test_samples_tell_how_far_readings_scatter_or_a_bandwidth_does(readings, width, places):
    assert [fault.where for fault in Samples({"h": readings}, width).faults("kernels.p", ["h"])] == places


@pytest.mark.parametrize("outliers", [-0.1, 1.0, math.nan])
@pytest.mark.parametrize(
    "kernel",
    [
        lambda share: Gaussian({"h": [0.0, 1.0]}, share),
        lambda share: Mixture({"h": [[1.0, 0.0, 1.0]]}, share),
        lambda share: Samples({"h": [0.0, 1.0]}, outliers=share),
    ],
)
def test_outliers_are_a_share_below_one(kernel, outliers):
    (fault,) = kernel(outliers).faults("kernels.p", ["h"])
    assert fault.where == "kernels.p.outliers"
    assert repr(outliers) in fault.problem


# What is said.


def test_an_outcome_is_understood_by_its_name_alone():
    look = LOOK.channel(NAMES)
    assert look.parse("y") == "y"
    assert [look.parse(said) for said in ("Y", "", "maybe", 1.0, 0)] == [None] * 5
    assert look.expected == "one of 'y', 'n'"
    np.testing.assert_array_equal(look.likelihood("n"), [0.1, 0.8, 0.1])


def test_a_reading_is_understood_as_a_number_or_as_text_that_writes_one(channel):
    assert channel.parse(1.5) == channel.parse("1.5") == channel.parse(" 15e-1 ") == 1.5
    assert [channel.parse(said) for said in ("heavy", "", math.nan, math.inf, "inf", None)] == [None] * 6
    assert channel.expected == "a number"


def test_hypotheses_that_answer_alike_share_a_label():
    for kernel in (LOOK, GAUSSIAN):
        of = kernel.channel(NAMES).of
        assert of[0] == of[2] != of[1]
        assert kernel.channel(NAMES).n_labels == 2


def test_outcomes_are_drawn_as_often_as_the_row_says():
    look, rng = LOOK.channel(NAMES), np.random.default_rng(0)
    share = np.mean([look.sample(1, rng) == "n" for _ in range(4000)])
    assert share == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / 4000))
    certain = Discrete(["a", "b", "c"], {"h": [0.0, 1.0, 0.0]}).channel(["h"])
    assert {certain.sample(0, rng) for _ in range(50)} == {"b"}


def test_readings_are_drawn_from_their_own_density(channel):
    rng = np.random.default_rng(1)
    for hypothesis in range(len(NAMES)):
        drawn = np.array([channel.sample(hypothesis, rng) for _ in range(3000)])
        cuts = np.quantile(drawn, [0.1, 0.3, 0.5, 0.7, 0.9])
        expected = channel.intervals(cuts)[channel.of[hypothesis]]
        np.testing.assert_allclose(expected, [0.1, 0.2, 0.2, 0.2, 0.2, 0.1], atol=4 * math.sqrt(0.16 / 3000))


def test_the_same_source_of_randomness_draws_the_same_answers(channel):
    one, other = (
        [channel.sample(1, rng) for _ in range(5)] for rng in (np.random.default_rng(3), np.random.default_rng(3))
    )
    assert one == other


def test_glitches_are_as_frequent_as_the_kernel_says():
    """Under the one law that all share: half of the glitches lie within ``width`` of ``centre``."""
    channel = Gaussian({"h": [0.0, 1e-6]}, outliers=0.25).channel(["h"])
    rng = np.random.default_rng(2)
    far = [abs(reading) > 7.5e-6 for reading in (channel.sample(0, rng) for _ in range(4000))]
    assert np.mean(far) == pytest.approx(0.125, abs=0.03)


# What a density is.


def _over_all_readings(channel, function):
    """Integrate over the whole line: under y = centre + width·tan θ the law of outliers is flat."""
    theta = np.linspace(-math.pi / 2, math.pi / 2, 40_001)[1:-1]
    readings = channel.centre + channel.width * np.tan(theta)
    return trapezoid(function(readings) * (channel.width / np.cos(theta) ** 2)[:, None], theta, axis=0)


def test_a_density_integrates_to_one_under_every_label(channel):
    np.testing.assert_allclose(_over_all_readings(channel, channel.density), 1.0, atol=1e-3 * channel.outliers + 1e-9)


def test_the_likelihood_of_a_reading_is_its_density_up_to_a_common_factor(channel):
    for reading in (-4.0, 0.2, 1.7, 4.1, 60.0):
        density = channel.density(np.array([reading]))[0][channel.of]
        np.testing.assert_allclose(channel.likelihood(reading), density / density.max(), rtol=1e-12)


def test_a_density_is_the_mixture_of_its_normals_and_the_common_glitches():
    channel = MIXTURE.channel(NAMES)
    y = np.array([-3.3, 0.4, 3.9, 50.0])
    outlying = 0.02 / (math.pi * channel.width) / (1 + ((y - channel.centre) / channel.width) ** 2)
    bad = 0.98 * (0.3 * norm.pdf(y, -3.0, 0.7) + 0.7 * norm.pdf(y, 4.0, 0.2)) + outlying
    np.testing.assert_allclose(channel.density(y)[:, channel.of[1]], bad, rtol=1e-12)


def test_intervals_sum_to_one_and_hold_the_integral_of_the_density(channel):
    cuts = np.array([-5.0, -2.9, -0.3, 0.0, 0.01, 3.9, 4.3, 12.0])
    table = channel.intervals(cuts)
    assert table.shape == (channel.n_labels, len(cuts) + 1)
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-14)
    for label in range(channel.n_labels):
        for (low, high), share in zip(pairwise(cuts), table[label, 1:-1], strict=True):
            own = channel.mean[channel.owner == label]
            inside = sorted(float(m) for m in own if low < m < high)
            area, _ = quad(
                lambda y, k=label: channel.density(np.array([y]))[0, k], low, high, points=inside or None, limit=200
            )
            assert share == pytest.approx(area, abs=1e-8)


def test_no_cuts_leave_one_interval(channel):
    np.testing.assert_allclose(channel.intervals(np.zeros(0)), 1.0, atol=1e-15)


def test_several_channels_are_cut_as_each_one_alone():
    channels = [kernel.channel(NAMES) for kernel in READING.values()]
    cuts = [np.array([0.0]), np.zeros(0), np.array([-1.0, 2.0, 3.0]), np.array([1.0, 1.0])]
    together = interval_tables(channels, cuts)
    for channel, own, table in zip(channels, cuts, together, strict=True):
        np.testing.assert_array_equal(table, channel.intervals(own))
    assert interval_tables([], []) == []


def test_intervals_keep_their_digits_in_both_tails():
    channel = Gaussian({"h": [0.0, 1.0]}, outliers=0.0).channel(["h"])
    (row,) = channel.intervals(np.array([-12.0, -10.0, 10.0, 12.0]))
    assert row.sum() == pytest.approx(1, abs=1e-15)
    assert row[0] == pytest.approx(norm.cdf(-12), rel=1e-12)
    assert row[1] == pytest.approx(norm.cdf(-10), rel=1e-12)
    assert row[3] == pytest.approx(norm.sf(10), rel=1e-12)
    assert row[4] == pytest.approx(norm.sf(12), rel=1e-12)


@pytest.mark.parametrize("n", [2, 9, 60])
def test_straight_lines_beneath_the_densities_nowhere_exceed_them(channel, n):
    rows = np.sort(np.random.default_rng(n).uniform(-12, 12, (40, n)), axis=1)
    beneath, share = channel.beneath(rows), np.linspace(0.0, 1.0, 50)[:, None]
    assert beneath.min() >= 0.0
    for edges, heights in zip(rows, beneath, strict=True):
        for (low, high), (a, b) in zip(pairwise(edges), pairwise(heights), strict=True):
            inside = channel.density((low + (high - low) * share).ravel())
            assert (a + (b - a) * share <= inside * (1 + 1e-12) + 1e-300).all()


def test_straight_lines_beneath_the_densities_come_near_them(channel):
    cuts = np.linspace(-12, 12, 126)
    edges = np.linspace(cuts[:-1], cuts[1:], 17, axis=1)
    covered = trapezoid(channel.beneath(edges), edges[:, :, None], axis=1).sum(axis=0)
    np.testing.assert_allclose(covered, channel.intervals(cuts[[0, -1]])[:, 1], atol=2e-3)


def test_straight_lines_come_near_a_density_also_in_a_row_that_begins_where_there_is_next_to_none():
    channel = Gaussian({"h": [0.0, 1.0]}).channel(["h"])
    edges = np.linspace(-12.0, 12.0, 65)[None, :]
    covered = trapezoid(channel.beneath(edges), edges[:, :, None], axis=1)
    assert covered.item() == pytest.approx(1.0, abs=0.03)


def test_the_sampled_readings_are_sorted_and_reach_as_far_as_every_component(channel):
    readings, density = channel.sampled
    assert (np.diff(readings) > 0).all()
    np.testing.assert_allclose(density, channel.density(readings))
    assert readings[0] == pytest.approx((channel.mean - 7.5 * channel.sd).min())
    assert channel.intervals(readings[[0, -1]])[:, 1].min() > 1 - channel.outliers - 1e-12


@pytest.mark.parametrize("reading", [40.0, -35.0, 1e3, -1e8, 1e200])
def test_a_reading_far_from_every_hypothesis_speaks_for_none_of_them(reading):
    for kernel in READING.values():
        likelihood = kernel.channel(NAMES).likelihood(reading)
        assert np.isfinite(likelihood).all()
        np.testing.assert_allclose(likelihood, 1.0, atol=1e-3)


def test_without_outliers_a_far_reading_is_impossible():
    channel = Gaussian({"ok": [0.0, 1.0], "bad": [4.0, 0.5]}, outliers=0.0).channel(["ok", "bad"])
    assert channel.likelihood(-37.0).tolist() == [1.0, 0.0]
    assert channel.likelihood(100.0).tolist() == [0.0, 0.0]
    assert channel.likelihood(1e300).tolist() == [0.0, 0.0]


def test_the_tail_of_the_normal_distribution_is_exact_to_twelve_digits():
    z = np.concatenate([np.linspace(0, 37, 4001), [0.46875 * math.sqrt(2), 4 * math.sqrt(2), 1e-12]])
    exact = [0.5 * math.erfc(x / math.sqrt(2)) for x in z]
    np.testing.assert_allclose(normal_tail(z), exact, rtol=1e-12)
    assert normal_tail(np.array([math.inf]))[0] == pytest.approx(0.0, abs=1e-300)


def test_the_bandwidth_of_samples_follows_silverman():
    """Of 0, 1, 2, 3, 10: sd √(318/20), quartiles 1 and 3, n^(−1/5) of five."""
    readings = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    assert silverman(readings) == pytest.approx(0.9 * (2 / 1.34) * 5**-0.2)
    assert silverman(np.array([1.0, 1.0, 1.0, 1.0, 6.0])) == pytest.approx(0.9 * math.sqrt(5.0) * 5**-0.2)
    given = Samples({"h": readings}).channel(["h"])
    np.testing.assert_allclose(given.sd, silverman(readings))
    np.testing.assert_allclose(given.weight, 0.2)
