"""Small things done to arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aquamend.arrays import any_in, distinct, least_in


@given(st.lists(st.integers(-3, 3)))
def test_distinct_values_are_those_of_a_set_in_order(values):
    assert distinct(np.array(values, dtype=np.intp)).tolist() == sorted({*values})


@given(st.lists(st.floats(allow_nan=False)))
def test_distinct_numbers_are_those_that_numpy_finds(values):
    np.testing.assert_array_equal(distinct(np.array(values)), np.unique(np.array(values)))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(0, 40), st.integers(0, 2**32 - 1))
def test_groups_of_rows_are_reduced_as_numpy_does_it(sizes, n, seed):
    first = np.cumsum([0, *sizes[:-1]])
    rows = np.random.default_rng(seed).integers(0, 3, (sum(sizes), n)).astype(float)
    np.testing.assert_array_equal(least_in(rows, first), np.minimum.reduceat(rows, first, axis=0))
    np.testing.assert_array_equal(any_in(rows > 1.0, first), np.logical_or.reduceat(rows > 1.0, first, axis=0))
    np.testing.assert_array_equal(any_in((rows.T.copy() > 1.0).T, first), any_in(rows > 1.0, first))
