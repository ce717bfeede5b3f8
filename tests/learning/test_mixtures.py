"""Mixtures and samples are learned from readings, and the kind of kernel is the one that readings held back favour."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend.files import parse_problem
from aquamend.learning import Law, Part, Record, calibration, learned, mixtures
from aquamend.learning.readings import FEWEST_TO_CHOOSE, FEWEST_TO_SPLIT, MOST_SAMPLES, channel_of, learned_readings

RNG = np.random.default_rng(5)
TWO_HUMPS = np.where(RNG.random(400) < 0.3, RNG.normal(-8.0, 1.0, 400), RNG.normal(8.0, 1.0, 400))
NORMAL = RNG.normal(3.0, 2.0, 400)
SKEWED = RNG.exponential(4.0, 400)
FIVE_HUMPS = RNG.normal(RNG.choice([-9.0, -4.0, 0.0, 5.0, 11.0], 400), 0.5)
THOUGHT = {"gaussian": {"default": [0.0, 6.0]}}


def test_a_mixture_is_found_from_a_rough_guess():
    (parts,), outliers = mixtures([TWO_HUMPS], [[Part(0.5, 5.0, 3.0), Part(0.5, -5.0, 3.0)]])
    assert [p.weight.value for p in parts] == pytest.approx([0.7, 0.3], abs=0.05)
    assert [p.mean.value for p in parts] == pytest.approx([8.0, -8.0], abs=0.3)
    assert [p.sd.value for p in parts] == pytest.approx([1.0, 1.0], abs=0.2)
    assert all(p.weight.low < p.weight.value < p.weight.high for p in parts)
    assert outliers.value < 0.01


def test_a_part_without_readings_stays_as_it_was_thought():
    (parts,), _ = mixtures([np.array([8.1, 7.9, 8.3])], [[Part(0.5, 8.0, 1.0), Part(0.5, -8.0, 3.0)]])
    assert (parts[1].mean.value, parts[1].sd.value) == (pytest.approx(-8.0), pytest.approx(3.0))
    assert parts[1].weight.value == pytest.approx(1.0 / 5.0, abs=1e-4), "half of the strength, of five readings in all"


def test_no_readings_leave_everything_as_it_was():
    for kernel in (
        {"gaussian": {"default": [1.0, 2.0]}},
        {"mixture": {"default": [[0.25, 1.0, 2.0], [0.75, 4.0, 1.0]]}, "outliers": 0.02},
    ):
        found = learned_readings(kernel, {"default": np.zeros(0)}, law=Law.AS_WRITTEN, strength=2.0)
        assert found.kernel == kernel


def test_a_mixture_that_is_to_be_one_normal_keeps_its_mean_and_its_variance():
    kernel = {"mixture": {"default": [[0.25, 1.0, 2.0], [0.75, 4.0, 1.0]]}}
    found = learned_readings(kernel, {"default": np.zeros(0)}, law=Law.GAUSSIAN, strength=2.0)
    mean, sd = found.kernel["gaussian"]["default"]
    assert mean == pytest.approx(3.25)
    assert sd**2 == pytest.approx(0.25 * (2.0**2 + 2.25**2) + 0.75 * (1.0**2 + 0.75**2))


def test_a_normal_becomes_two_only_with_readings_enough_that_differ():
    readings = np.linspace(-9.0, 9.0, FEWEST_TO_SPLIT)
    for given_readings, parts in ((readings, 2), (readings[1:], 1), (np.full(FEWEST_TO_SPLIT, 3.0), 1)):
        found = learned_readings(THOUGHT, {"default": given_readings}, law=Law.MIXTURE, strength=2.0)
        assert len(found.kernel["mixture"]["default"]) == parts


@pytest.mark.parametrize(("readings", "kind"), [(NORMAL, "gaussian"), (TWO_HUMPS, "mixture"), (FIVE_HUMPS, "samples")])
def test_the_kind_is_chosen_by_readings_held_back(readings, kind):
    thought = {"samples": {"default": [0.0, 10.0]}, "bandwidth": 0.5} if kind == "samples" else THOUGHT
    found = learned_readings(thought, {"default": readings}, law=Law.BEST, strength=2.0)
    assert next(iter(found.kernel)) == kind, found.scores
    assert set(found.scores) == {"gaussian", "mixture", "samples"}
    fresh = np.random.default_rng(6).permutation(readings)[:100]
    density = channel_of(found.kernel, ["default"]).density(fresh)[:, 0]
    plain = channel_of(
        learned_readings(THOUGHT, {"default": readings}, law=Law.GAUSSIAN, strength=2.0).kernel, ["default"]
    ).density(fresh)[:, 0]
    assert np.log(density).mean() >= np.log(plain).mean() - 1e-9


@pytest.mark.parametrize(("count", "kinds"), [(FEWEST_TO_CHOOSE - 1, 0), (FEWEST_TO_CHOOSE, 3)])
def test_the_kind_is_chosen_from_so_many_readings_on(count, kinds):
    found = learned_readings(THOUGHT, {"default": NORMAL[:count]}, law=Law.BEST, strength=2.0)
    assert len(found.scores) == kinds


def test_a_few_readings_choose_nothing():
    few = {"default": TWO_HUMPS[: FEWEST_TO_CHOOSE - 1]}
    found = learned_readings(THOUGHT, few, law=Law.BEST, strength=2.0)
    assert (next(iter(found.kernel)), found.scores) == ("gaussian", {})


def test_samples_without_a_bandwidth_get_a_spread_only_where_readings_have_none():
    thought = {"samples": {"default": [2.0, 4.0]}}
    alike, apart = (
        learned_readings(thought, {"default": np.array(own)}, law=Law.SAMPLES, strength=2.0).kernel["samples"][
            "default"
        ]
        for own in ([3.0] * 5_000, [3.0, 5.0])
    )
    assert apart == [2.5, 3.0, 3.5, 5.0]
    assert len(alike) == MOST_SAMPLES + 2
    assert min(alike) < 3.0 < max(alike)


def test_samples_are_the_readings_beside_what_was_thought():
    kernel = {"samples": {"default": [0.0, 1.0, 2.0, 3.0, 4.0]}, "bandwidth": 0.5}
    found = learned_readings(kernel, {"default": np.array([9.0, 8.0])}, law=Law.AS_WRITTEN, strength=2.0)
    assert found.kernel == {"samples": {"default": [1.0, 3.0, 8.0, 9.0]}, "bandwidth": 0.5}
    many = learned_readings(kernel, {"default": SKEWED}, law=Law.SAMPLES, strength=2.0).kernel["samples"]["default"]
    assert len(many) == MOST_SAMPLES
    assert np.median(many) == pytest.approx(np.median(SKEWED), rel=0.1)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-1e6, 1e6), max_size=30),
    st.sampled_from(list(Law)),
    st.floats(1e-6, 50.0),
    st.sampled_from([THOUGHT, {"mixture": {"default": [[1.0, 0.0, 1.0]]}}, {"samples": {"default": [0.0, 1.0]}}]),
)
def test_whatever_was_read_gives_a_sound_kernel(readings, law, strength, kernel):
    found = learned_readings(kernel, {"default": np.array(readings)}, law=law, strength=strength)
    data = {
        "format": "aquamend-problem/1", "beliefs": [{"name": "b"}], "probes": [{"name": "p", "cost": 1}],
        "hypotheses": [{"name": "h", "prior": 1}], "kernels": {"p": json.loads(json.dumps(found.kernel))},
    }  # fmt: skip
    assert parse_problem(data).model.channels["p"].n_labels == 1


@pytest.mark.parametrize("law", list(Law))
def test_what_is_learned_covers_as_much_as_it_says(law):
    template = {
        "format": "aquamend-problem/1", "beliefs": [{"name": "b", "residual": 1}], "probes": [{"name": "p", "cost": 1}],
        "hypotheses": [{"name": "on", "prior": 0.5}, {"name": "off", "prior": 0.5, "failed": ["b"]}],
        "kernels": {"p": {"gaussian": {"on": [0, 5], "off": [0, 5]}}},
    }  # fmt: skip
    records = [Record("on", {"p": (y,)}) for y in TWO_HUMPS] + [Record("off", {"p": (y,)}) for y in NORMAL]
    found = calibration(learned(template, records[::2], law=law).problem, records[1::2])
    assert found.readings == 400
    if law in (Law.MIXTURE, Law.SAMPLES, Law.BEST):
        assert found.coverage["50 %"] == pytest.approx(0.5, abs=0.1)
        assert found.coverage["95 %"] == pytest.approx(0.95, abs=0.04)
    assert found.log_score <= 0.0
