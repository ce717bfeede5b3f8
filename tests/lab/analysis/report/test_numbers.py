"""Numbers read as they are: unavailable is not zero, small is not nothing."""

import math

import pytest

from aquamend_lab.analysis.report.document import decimal, interval, share, signed


@pytest.mark.parametrize(
    ("value", "text"),
    [(1234.5678, "1,234.568"), (-0.0001, "0.000"), (-2.0, "−2.000"), (None, "–"), (math.inf, "infinite")],
)
def test_decimals(value, text):
    assert decimal(value) == text


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "+0.500"), (0.0, "0.000"), (1e-6, "0.000"), (-0.5, "−0.500"), (math.inf, "+infinite")]
)
def test_differences_have_signs(value, text):
    assert signed(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "100.0 %"), (0.9999, ">99.9 %"), (0.0001, "<0.1 %"), (0.0, "0.0 %"), (None, "–"), (-0.25, "−25.0 %"),
        (-1e-9, "0.0 %"), (-math.inf, "−infinite"), (12.5, "1,250.0 %"),
    ],
)  # fmt: skip
def test_only_certainty_is_a_hundred_percent(value, text):
    assert share(value) == text


def test_an_interval_that_is_not_there_is_empty():
    assert (interval(None, None), interval(1.0, 2.0)) == ("", "[1.000, 2.000]")
