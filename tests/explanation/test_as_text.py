import io

import pytest
from rich.console import Console

from aquamend.explanation.as_text import print_decision
from aquamend.explanation.report import decision_report
from aquamend.policies import policy_named
from aquamend.text.layout import end_of


def text_of(state, *, name="aquamend", width=80, file="file.yaml"):
    console = Console(file=io.StringIO(), width=width, markup=False, highlight=False, emoji=False)
    print_decision(decision_report(state, policy_named(name), name=name), console, file=file)
    return console.file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_large_problem_fits_and_says_how_much_is_left_out(many_state, width):
    text = text_of(many_state, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert len(text.splitlines()) < 110
    assert "… and 28 more beliefs under suspicion" in " ".join(text.split())
    assert "more probes" in text


def test_readings_are_told_apart_by_what_follows_from_them(gaussian_state):
    text = " ".join(text_of(gaussian_state).split())
    assert "below 0.8" in text
    assert "above 0.8" in text


def test_a_policy_that_plans_ahead_says_so(lid_state):
    text = " ".join(text_of(lid_state(), name="lookahead-2").split())
    assert "Policy lookahead-2 plans further ahead than the table below" in text


def test_nothing_finite_is_said_plainly(lid_state):
    text = " ".join(text_of(lid_state(may_keep=False, reversible=False)).split())
    assert "No decision has a finite loss" in text
    assert "No finite loss can be guaranteed." in text


def test_a_long_path_keeps_its_end(lid_state):
    assert end_of("/a/long/way/to/lid.yaml", 10) == "…/lid.yaml"
    assert "…" in text_of(lid_state(), file="/x" * 100 + "/lid.yaml").splitlines()[1]
    assert text_of(lid_state(), file="/x" * 100 + "/lid.yaml").splitlines()[1].endswith("lid.yaml")
