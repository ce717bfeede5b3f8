"""The proxy study: what each estimate is, and where it is exact."""

import pytest

from aquamend.errors import UnknownName
from aquamend_lab.benchmarks.m1 import LARGE, SMALL, ProxySuite, posterior_state

SUITE = ProxySuite()


def test_small_supports_fit_the_beam_and_large_ones_do_not():
    for number in range(0, SMALL, 100):
        assert len(posterior_state(0, number)[0].posterior) <= 32
    for number in range(SMALL, SMALL + LARGE, 50):
        assert len(posterior_state(0, number)[0].posterior) > 32


def test_there_are_four_thousand_states_of_each_mode_and_base_rate_with_small_support():
    groups = [("independent", "correlated")[number % 2] for number in range(SMALL)]
    assert groups.count("independent") * SUITE.seeds == groups.count("correlated") * SUITE.seeds == 12_000
    failed = [posterior_state(0, number)[1]["failed"] for number in range(96)]
    assert [failed.count(mean) for mean in ("1.67", "0.8", "0.4")] == [32, 32, 32]
    assert posterior_state(0, 2)[1] == {"mode": "independent", "support": "small", "failed": "1.67"}
    assert posterior_state(0, SMALL + 1)[1] == {"mode": "correlated", "support": "large", "failed": "1.67"}


def test_independent_states_multiply_and_correlated_ones_do_not():
    for number, product in ((6, True), (7, False)):
        state, group = posterior_state(0, number)
        q = state.failure_probabilities
        joint = [
            abs(p - (q**z * (1 - q) ** (1 - z)).prod())
            for p, z in zip(state.posterior, state.problem.failed, strict=True)
        ]
        assert (max(joint) < 1e-12) == product, group


def test_the_beam_is_exact_where_it_holds_everything_and_the_product_where_nothing_is_shared():
    seen = 0
    for number in range(400):
        records = {r["policy"]: r for r in SUITE.play(0, number, SUITE.policies).records}
        assert records["beam-32"]["estimate"] == pytest.approx(records["beam-32"]["exact"])
        if records["independent"]["disjoint"]:
            seen += 1
            assert records["independent"]["estimate"] == pytest.approx(records["independent"]["exact"])
        assert records["independent"]["estimate"] >= records["independent"]["exact"] - 1e-9
    assert 4 < seen < 48, "the paper has 6 %"


def test_with_a_larger_support_the_beam_errs():
    errors = []
    for number in range(SMALL, SMALL + 5):
        record = SUITE.play(0, number, ("beam-32",)).records[0]
        errors.append(abs(record["estimate"] - record["exact"]))
    assert max(errors) > 0.01


def test_the_draws_are_the_same_every_time():
    assert SUITE.play(1, 9, ("monte-carlo-500",)).records == SUITE.play(1, 9, ("monte-carlo-500",)).records


def test_a_name_that_is_no_estimator_is_reported():
    with pytest.raises(UnknownName, match="unknown estimator 'aquamend'; valid names: 'independent'"):
        SUITE.check_policies(["aquamend"])
