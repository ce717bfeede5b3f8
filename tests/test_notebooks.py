"""What a person sees who prints things, or ends a notebook cell with them."""

from dataclasses import replace

from aquamend import InformationState
from aquamend.decision.steps import Wording
from aquamend.policies import AquaMend
from aquamend.policies.decision_report import alternatives, decision_report
from aquamend.story.decision_in_terminal import print_decision
from aquamend.testing import sample_problems


def test_states_problems_reports_and_recoveries_fit_a_screen():
    for problem in sample_problems():
        state = InformationState.alarmed(problem)
        report = decision_report(state, AquaMend(), name="aquamend")
        for shown in (problem, state, report):
            assert len(repr(shown)) < 500


def test_a_notebook_shows_a_table_with_every_name_escaped(lid_state):
    state = lid_state()
    assert "<table>" in state._repr_html_()
    assert "lid" in state._repr_html_()
    hostile = InformationState.alarmed(replace(state.problem, name="<script>alert(1)</script>"))
    assert "<script>" not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()


def test_a_decision_is_shown_with_every_alternative(lid_state):
    report = decision_report(lid_state(), AquaMend(), name="aquamend")
    page = report._repr_html_()
    rows = alternatives(report).rows
    assert page.count("<tr>") == 1 + len(rows)
    assert f"aquamend: {Wording(report.state).full(report.step)}" in page


def test_a_decision_is_printed_with_its_reasons_where_no_console_is_given(lid_state, capsys):
    print_decision(decision_report(lid_state(), AquaMend(), name="aquamend"))
    assert "Next step" in capsys.readouterr().out
