"""Names and numbers as they read in a terminal."""

import math
from io import StringIO

import pytest
from rich.console import Console

from aquamend.text import Heading, bar, column, grid_of, listed, named, percent, percents_apart, quantity, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0 s"),
        (4.0, "4 s"),
        (0.5601, "0.56 s"),
        (1.3149, "1.31 s"),
        (0.01234, "0.0123 s"),
        (23456.789, "23456.79 s"),
        (1e-7, "1e-07 s"),
        (2.5e12, "2.5e+12 s"),
        (-0.25, "-0.25 s"),
        (math.inf, "infinite"),
    ],
)
def test_a_quantity_has_about_three_figures_and_its_unit(value, text):
    assert quantity(value, "s") == text


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.0, "0%"),
        (1.0, "100%"),
        (1e-9, "<0.1%"),
        (1 - 1e-9, ">99.9%"),
        (0.042, "4.2%"),
        (0.415, "42%"),
        (0.997, "99.7%"),
    ],
)
def test_only_certainty_reads_as_certain(probability, text):
    assert percent(probability) == text


def test_a_column_aligns_its_decimals_and_hides_no_small_number():
    assert column([12.5, 0.0, None, math.inf, 0.0001]) == ["12.50", "0", "–", "inf", "<0.01"]
    assert column([0.0123, 0.4]) == ["0.012", "0.400"]
    assert column([]) == []


@pytest.mark.parametrize(
    ("value", "text"),
    [("A", "A"), (30.0, "30"), (0.1, "0.1"), (1234567.0, "1234567"), (1234567, "1234567"), (1e-7, "1e-07")],
)
def test_numbers_that_are_names_keep_all_their_digits(value, text):
    assert named(value) == text


def test_a_bar_is_empty_or_full_only_for_certainty():
    assert [bar(p, width=4) for p in (0.0, 0.01, 0.5, 0.99, 1.0)] == ["····", "█···", "██··", "███·", "████"]


def test_long_lists_are_counted():
    assert listed(["a", "b", "c", "d"]) == "a, b, c, d"
    assert listed(["a", "b", "c", "d", "e"]) == "a, b, c and 2 more"


def test_control_characters_never_reach_the_terminal():
    assert shown("a\x1b[31mb\nc") == "a\ufffd[31mb\ufffdc"


def test_two_probabilities_that_differ_read_differently():
    assert percents_apart(0.42, 0.18) == ("42%", "18%")
    assert percents_apart(0.42001, 0.42) == ("42.00100%", "42.00000%")


def test_a_column_says_how_its_values_read():
    console = Console(file=StringIO(), width=40, color_system=None)
    console.print(grid_of(Heading("name"), Heading("chance", "right", percent), rows=[("a\x1b[1mb", 0.42)]))
    assert console.file.getvalue().split() == ["name", "chance", "a\N{REPLACEMENT CHARACTER}[1mb", "42%"]
