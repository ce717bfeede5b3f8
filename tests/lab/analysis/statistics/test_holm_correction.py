import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aquamend_lab.analysis.statistics import holm

RAW = {"troubleshooting": 0.465318, "no-reprobe": 0.116669, "restart": 0.0000202344, "linear-chain": 0.025822}


def test_the_paper_s_family_is_reproduced():
    # The raw values are printed rounded, so the adjusted ones agree to a unit in their last digit.
    assert holm(RAW) == {
        "troubleshooting": pytest.approx(0.465318, abs=1e-6),
        "no-reprobe": pytest.approx(0.233337, abs=1.01e-6),
        "restart": pytest.approx(0.0000809375, abs=1.01e-10),
        "linear-chain": pytest.approx(0.077465, abs=1.01e-6),
    }


def test_names_keep_their_order():
    assert list(holm(RAW)) == list(RAW)


def test_a_larger_p_value_never_gets_a_smaller_adjusted_one():
    assert holm({"a": 0.02, "b": 0.021, "c": 0.5}) == {"a": pytest.approx(0.06), "b": pytest.approx(0.06), "c": 0.5}


@settings(deadline=None)
@given(st.dictionaries(st.text(max_size=3), st.floats(0.0, 1.0), max_size=8))
def test_adjusting_never_lowers_and_stays_a_probability(raw):
    adjusted = holm(raw)
    assert all(raw[name] <= adjusted[name] <= 1.0 for name in raw)


def test_one_test_alone_is_left_as_it_is():
    assert holm({"only": 0.03}) == {"only": 0.03}


@pytest.mark.parametrize("bad", [-0.1, 1.5, float("nan")])
def test_what_is_no_probability_is_refused(bad):
    with pytest.raises(ValueError, match=r"the p-value of 'x' is .*; give probabilities"):
        holm({"x": bad})
