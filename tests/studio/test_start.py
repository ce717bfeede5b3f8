"""What a studio opens with is the decision that `decide` makes, and an offline page holds the likeliest states."""

import hashlib
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aquamend import AquaMend, InformationState
from aquamend.belief import Observation
from aquamend.cli.main import app
from aquamend.files import read_problem
from aquamend.policies.decision_report import decision_report
from aquamend.story.of_decision import view_of
from aquamend.studio.start import Start, offline, opened, studio_html

LID = """format: aquamend-problem/1
name: is the lid on
unit: s
beliefs: [{name: lid, residual: 10}]
actions: [{name: lift, undo: 3, status: executed}]
probes: [{name: look, cost: 0.5}, {name: weigh, cost: 0.4}]
edges: [[look, lid, detection], [weigh, lid, detection], [lid, lift, belief_to_action]]
hypotheses: [{name: 'on', prior: 0.6, cause: false_alarm}, {name: 'off', prior: 0.4, failed: [lid], cause: external}]
kernels:
  look: {outcomes: ['yes', 'no'], likelihood: {'on': [0.9, 0.1], 'off': [0.2, 0.8]}}
  weigh: {gaussian: {'on': [2.0, 1.0], 'off': [0.0, 1.0]}}
"""


@pytest.fixture(scope="module")
def start():
    return offline(LID, file="lid.yaml", policy=AquaMend(), name="aquamend", most=50)


def test_it_opens_with_the_decision_that_decide_makes():
    state = InformationState.alarmed(read_problem(LID))
    wanted = view_of(decision_report(state, AquaMend(), name="aquamend"))
    assert opened(LID, file="lid.yaml", policy=AquaMend(), name="aquamend").view == wanted.to_data()


@pytest.mark.parametrize("turned", ["undo: 3", "reversible: false"])
@pytest.mark.parametrize("residual", ["10", "inf, may_keep: false"])
def test_it_opens_on_what_cannot_be_undone_or_kept_at_any_price(turned, residual):
    lid = LID.replace("undo: 3", turned).replace("residual: 10", f"residual: {residual}")
    opening = opened(lid, file="lid.yaml", policy=AquaMend(), name="aquamend")
    assert opening.view["corrections"][0]["cost"] == (3.0 if turned == "undo: 3" else "inf")
    studio_html(opening)
    studio_html(offline(lid, file="lid.yaml", policy=AquaMend(), name="aquamend", most=50))


def test_every_state_in_the_page_is_decided_as_if_it_were_asked_for(start):
    problem = read_problem(LID)
    for key, view in start.states.items():
        state = InformationState.alarmed(problem)
        for probe, outcome in json.loads(key):
            state = state.after(Observation(probe, outcome if isinstance(outcome, str) else float(outcome)))
        wanted = decision_report(state, AquaMend(), name="aquamend")
        assert view["choice"]["options"][0]["loss"] == pytest.approx(wanted.loss_of(wanted.least))
        assert view["doubts"]["lid"] == pytest.approx(float(state.failure_probabilities[0]))


def test_what_is_beyond_the_page_is_said(start):
    assert start.beyond == 0.0, "50 states hold all of this problem's plan"
    few = offline(LID, file="lid.yaml", policy=AquaMend(), name="aquamend", most=2)
    assert len(few.states) == 2
    assert 0.0 < few.beyond < 1.0
    assert set(few.grid) == {"weigh"}
    assert len(few.grid["weigh"]) == 9


def test_a_page_without_the_service_may_ask_for_nothing(start):
    policy = re.compile(r'Content-Security-Policy" content="([^"]*)"')
    assert "connect-src" not in policy.search(studio_html(start))[1]
    assert "connect-src 'self'" in policy.search(studio_html(Start()))[1].replace("&#39;", "'")


def test_the_built_scripts_belong_to_their_sources():
    viewer = Path(__file__).parents[2] / "viewer"
    if not viewer.is_dir():
        pytest.skip("the sources of the viewer are not here")
    sources = sorted((path for path in (viewer / "src").rglob("*") if path.is_file()), key=str)
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in (viewer / "package-lock.json", *sources)))
    assert studio_html(Start()).count(f"sources {digest.hexdigest()}") == 2, "run `make viewer`"


def test_the_first_decision_can_be_read_before_any_script_has_run():
    page = studio_html(opened(LID, file="lid.yaml", policy=AquaMend(), name="aquamend")).split("<script")[0]
    assert '<h2 class="step">run probe weigh</h2>' in page
    assert "Nearest flip." in page


def test_hostile_names_stay_data():
    text = LID.replace("is the lid on", '"</script><script>alert(1)</script>"')
    html = studio_html(opened(text, file="x</script>.yaml", policy=AquaMend(), name="aquamend"))
    assert html.count("<script") == 3, "the data, the studio, and its editor as text"
    assert "<script>alert" not in html


def test_the_command_writes_a_page_and_refuses_what_is_wrong(tmp_path):
    runner, file = CliRunner(), tmp_path / "lid.yaml"
    file.write_text(LID, encoding="utf-8")
    said = runner.invoke(app, ["studio", str(file), "--out", str(tmp_path / "lid.html"), "--policy", "aquamend"])
    assert said.exit_code == 0, said.output
    assert "states are in it; with 0.0 %" in said.output
    assert "is the lid on" in (tmp_path / "lid.html").read_text(encoding="utf-8")
    file.write_text("name: 3\n", encoding="utf-8")
    refused = runner.invoke(app, ["studio", str(file), "--out", str(tmp_path / "other.html")])
    assert refused.exit_code == 2
    assert not (tmp_path / "other.html").exists()


def test_a_folder_without_anything_to_show_is_refused_in_one_line(tmp_path):
    result = CliRunner().invoke(app, ["studio", str(tmp_path)])
    assert result.exit_code == 2
    assert result.stderr.strip() == (
        f"{tmp_path}: no journal and no benchmark's run is in this folder; name a problem file, a journal or a run"
    )
