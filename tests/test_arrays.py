"""Small things done to arrays."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from aquamend.arrays import distinct


@given(st.lists(st.integers(-3, 3)))
def test_distinct_values_are_those_of_a_set_in_order(values):
    assert distinct(np.array(values, dtype=np.intp)).tolist() == sorted({*values})


@given(st.lists(st.floats(allow_nan=False)))
def test_distinct_numbers_are_those_that_numpy_finds(values):
    np.testing.assert_array_equal(distinct(np.array(values)), np.unique(np.array(values)))
