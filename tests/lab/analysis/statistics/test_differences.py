import math

import numpy as np
import pytest

from aquamend.learning.estimates import difference, rounded


def test_two_infinities_are_equal_and_what_is_missing_stays_missing():
    left, right = np.array([math.inf, math.inf, 1.0, math.nan]), np.array([math.inf, 1.0, math.inf, 1.0])
    assert difference(left, right).tolist() == pytest.approx([0.0, math.inf, -math.inf, math.nan], nan_ok=True)


def test_what_floating_point_leaves_is_no_difference():
    assert rounded(np.array([0.1 + 0.2 - 0.3, 1e-9])).tolist() == [0.0, 1e-9]
