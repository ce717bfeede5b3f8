"""docs/problem-format.md shows sound problems and leaves no key out."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import aquamend.lint
from aquamend.belief import InformationState, Observation
from aquamend.codec.annotations import entries
from aquamend.codec.plain_text import data_at, yaml_data
from aquamend.decision import Continue, Reprobe, best_terminal, price
from aquamend.decision.probe_value import probe_values
from aquamend.decision.terminal import correction, may_be_kept
from aquamend.errors import InvalidProblem
from aquamend.files import format as file_format
from aquamend.files import parse_problem
from aquamend.files.decision_format import decision_json
from aquamend.policies import AquaMend, evaluate
from aquamend.policies.decision_report import decision_report
from aquamend.policies.registry import NAMES
from aquamend.problem.building import CauseState, Effect
from aquamend.problem.building.compensations import before_action
from aquamend.problem.graph import Belief
from aquamend.problem.model import Alarm, Coverage, Declaration, FitGroup, Hypothesis, Normal, OneOf, Uniform
from aquamend.problem.model.kernels import KERNELS

EXAMPLES = Path(__file__).parents[2] / "examples"
PAGE = (Path(__file__).parents[2] / "docs" / "problem-format.md").read_text(encoding="utf-8")
YAML = [yaml_data(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
BOXES, CUPS, CAUSES, *_ = (parse_problem(data) for data in YAML if "format" in data)
PIECES = [data for data in YAML if "format" not in data]
SHOWN = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
LINT = Path(aquamend.lint.__file__).read_text(encoding="utf-8")
EVALUATED = [json.loads(line) for line in re.findall(r"^\{.*\}$", PAGE, re.MULTILINE) if "left_wrong" in line]
SECTIONS = [
    file_format.ProblemFile, Belief, file_format.TimedAction, file_format.TimedOperation, file_format.TimedProbe,
    Hypothesis, *KERNELS, Alarm, Declaration, file_format.WrittenPlan, Coverage, FitGroup, file_format.WrittenCause,
    CauseState, Effect, file_format.TimedCompensation, Normal, Uniform, OneOf,
]  # fmt: skip


def decided(state: InformationState, file: str) -> dict[str, Any]:
    return decision_json(decision_report(state, AquaMend(), name="aquamend"), file=file)


def is_shown(shown: Any, real: Any) -> bool:
    """Whether the page shows what is real: every key of it, and numbers to about three digits after the point."""
    if isinstance(shown, dict):
        return all(is_shown(value, real[key]) for key, value in shown.items())
    if isinstance(shown, list):
        return len(shown) == len(real) and all(map(is_shown, shown, real))
    return real == pytest.approx(shown, abs=6e-4) if isinstance(shown, float) else real == shown


def test_the_losses_of_the_first_example_are_those_of_the_page():
    state = InformationState.alarmed(BOXES)
    assert price(state, Continue()).loss == pytest.approx(21.0)
    assert correction(state, ["lightest", "grip"]).loss == pytest.approx(29.8)
    assert float(probe_values(state).expected_loss[0]) == pytest.approx(8.548)
    assert all(number in PAGE for number in ("29.8", "8.548"))


def test_the_decision_shown_is_the_one_made_of_the_first_example():
    assert is_shown(SHOWN[0], decided(InformationState.alarmed(BOXES), "box.yaml"))


def test_the_evaluations_shown_are_those_of_the_first_example():
    assert [shown["policy"] for shown in EVALUATED] == ["aquamend", "no-reprobe"]
    for shown in EVALUATED:
        real = asdict(evaluate(shown["policy"], BOXES))
        assert is_shown({key: value for key, value in shown.items() if key not in ("file", "policy")}, real)


def test_the_example_with_cups_has_as_many_hypotheses_and_doubts_as_the_page_says():
    state = InformationState.alarmed(CUPS)
    assert f"are {len(CUPS.model.hypotheses)} in full" in PAGE
    doubts = dict(zip(CUPS.graph.belief_index, state.failure_probabilities, strict=True))
    written = re.search(
        r"`level_A` has failed with probability (.*?), `target` with (.*?), `camera` with (.*?)\. ", PAGE
    )
    for belief, said in zip(("level_A", "target", "camera"), written.groups(), strict=True):
        assert f"{doubts[belief]:.2f}" == said
    assert AquaMend().next_step(state) == Reprobe("weigh_A")


def test_a_look_that_makes_the_camera_doubtful_takes_away_the_right_to_carry_on():
    state = InformationState.alarmed(CUPS).after(Observation("look_A", 24.0))
    assert f"{state.failure_probabilities[CUPS.graph.belief_index['camera']]:.2f}" == "0.65"
    assert state.failure_probabilities[CUPS.graph.belief_index["target"]] < 0.001
    assert not may_be_kept(state, CUPS.graph.belief_index["target"])
    assert AquaMend().next_step(state) == Reprobe("weigh_A")


def test_what_two_instruments_read_of_one_amount_is_decided_as_the_page_shows():
    state = InformationState.alarmed(CUPS).after(Observation("look_A", 49.0)).after(Observation("weigh_A", 40.0))
    real = decided(state, "pour.yaml")
    assert f"{real['marginals']['camera']:.3f}" == "0.999"
    new = [one for one in real["declarations"] if one["name"] == "level of A" and not one["in_force"]]
    assert is_shown(SHOWN[1], real | {"declarations": new})


def test_the_example_with_causes_is_sound_and_means_what_the_page_says():
    model = CAUSES.model
    assert len(model.names) == 10
    assert model.names[:6] == ("nothing", "slipped", "shelf=moved", "shelf=gone", "misread", "slipped + shelf=moved")
    assert model.left_out == pytest.approx(0.1 * 0.05 * 0.2 + 0.1 * 0.01 * 0.02)
    assert f"{1 - model.left_out:.4f}" in PAGE


def page_section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_delivery_robot_of_the_page_is_the_example_and_does_what_the_page_says():
    (text,) = re.findall(r"```yaml\n(.*?)```", page_section("A delivery robot, on one screen"), re.DOTALL)
    assert yaml_data(text) == data_at(EXAMPLES / "delivery_robot.yaml")
    assert len(text.splitlines()) <= 64
    problem = parse_problem(yaml_data(text))
    assert len(problem.model.names) == 15
    assert AquaMend().next_step(InformationState.alarmed(before_action(problem, "hand_over"), ())) == Reprobe(
        "read_badge"
    )
    state = InformationState.alarmed(problem, "barometer")
    assert AquaMend().next_step(state) == Reprobe("read_floor_sign")
    assert state.why_illegal("look_around") == "possible once open_drawer is undone"
    after = state.after(Observation("read_floor_sign", "3")).after(Observation("read_badge", "nurse_12"))
    stop = best_terminal(after).decision
    assert {new.belief: new.value for new in stop.declare} == {"floor": 3.0}
    assert stop.undo == ("ride_lift", "drive_to_ward", "open_drawer")


def test_a_table_in_a_list_says_what_the_page_says():
    (rules,) = [piece["likelihood"] for piece in PIECES if "likelihood" in piece]
    causes = [data for data in YAML if "format" in data][2]
    listed = {"outcomes": ["fits", "differs"], "likelihood": rules}
    model = parse_problem({**causes, "kernels": {**causes["kernels"], "scan_code": listed}}).model
    assert model.channels["scan_code"].table[model.hypothesis_index["slipped + shelf=moved"]].tolist() == [0.05, 0.95]
    clashing = {**causes["kernels"], "scan_code": {"outcomes": ["fits", "differs"], "likelihood": dict(rules)}}
    with pytest.raises(InvalidProblem, match="'shelf' and 'slipped"):
        parse_problem({**causes, "kernels": clashing})


def test_a_noisy_or_has_the_numbers_of_the_page():
    (numbers,) = [piece for piece in PIECES if "noisy_or" in piece]
    causes = [data for data in YAML if "format" in data][2]
    model = parse_problem({**causes, "alarm": numbers}).model
    likelihood = dict(zip(model.names, model.alarm_likelihood, strict=True))
    assert likelihood["nothing"] == pytest.approx(0.01)
    assert likelihood["slipped + shelf=moved"] == pytest.approx(0.9604)
    assert "0.9604" in PAGE


@pytest.mark.parametrize("code", sorted(re.findall(r'Finding\(\s*"([a-z-]+)"', LINT)))
def test_every_finding_of_lint_stands_in_a_table(code):
    assert re.search(rf"^\| `{code}` \|", PAGE, re.MULTILINE)


def test_every_policy_stands_in_a_table():
    for name in NAMES:
        assert re.search(rf"^\| `{name}` \|", PAGE, re.MULTILINE), name


@pytest.mark.parametrize("key", sorted({key for section in SECTIONS for key in entries(section)}))
def test_every_key_stands_in_a_table(key):
    assert re.search(rf"^\|[^|]*`{key}`", PAGE, re.MULTILINE)
