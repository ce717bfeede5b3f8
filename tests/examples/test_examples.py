"""What the examples promise, in their comments and in their README, holds."""

import json
import math
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from tests.waiting import PATIENCE_S

from aquamend import (
    Continue,
    Escalate,
    Exact,
    InformationState,
    Observation,
    Problem,
    Reprobe,
    Restart,
    RollBack,
    best_terminal,
    evaluate,
    load_problem,
    policy_named,
)
from aquamend.decision import NewDeclaration, probe_values
from aquamend.errors import NotStructured
from aquamend.files import parse_problem, problem_to_data
from aquamend.policies import POLICIES, AquaMend
from aquamend.testing import check_policy

EXAMPLES = Path(__file__).parents[2] / "examples"
README = (EXAMPLES / "README.md").read_text(encoding="utf-8")
PROGRAM = Path(sysconfig.get_path("scripts")) / "aquamend"

FIRST_STEP = {
    "assembly.yaml": Reprobe("listen"),
    "deep_evidence.json": Continue(),
    "delivery_robot.yaml": Reprobe("read_badge"),
    "force_sensor_drift.yaml": Reprobe("measure_height"),
    "kitting_swapped_tote.yaml": Reprobe("weigh_one_screw"),
    "least_full_cup.yaml": Reprobe("weigh_A"),
    "pipettor.yaml": Reprobe("dye_camera"),
    "pouring.yaml": Reprobe("look"),
    "stale_map.yaml": Reprobe("wait_and_scan"),
    "structured.yaml": Reprobe("read_label_2"),
}
PLANNED_STEP = FIRST_STEP | {
    "assembly.yaml": Reprobe("spin_by_hand"),
    "deep_evidence.json": Reprobe("tug_1"),
    "pipettor.yaml": Reprobe("weigh_plate"),
    "stale_map.yaml": Reprobe("check_odometry"),
}
"""What the default policy begins with, which looks further ahead."""
KEY_LINE = {
    "benchmark_my_policy.py": "aquamend loses 1.84 less on average; 16 of 100 scenarios tie",
    "certified_planning.py": "planning saves 0.282 s",
    "linear_chain.py": "by causes",
    "own_policy.py": "every step legal and repeatable",
    "posterior_sensitivity.py": "original          0.444  Reprobe(probe='look')",
    "pouring_robot.py": "aquamend: recovered for ",
    "quickstart.py": "after:  RollBack(correct=('A is least full',), undo=('pour into A',)",
    "recovery_loop.py": "2000 simulated recoveries: mean loss",
    "robot_that_dies.py": "finished for 6.3 s; times that move_to_A was undone: 1",
}
FILES = sorted(FIRST_STEP)
DISCRETE = [n for n in FILES if n not in ("force_sensor_drift.yaml", "least_full_cup.yaml", "pouring.yaml")]
NAMES = [*POLICIES, "lookahead-1", "lookahead-2", "lookahead-3"]


def alarmed(name: str, *answers: tuple[str, str | float]) -> InformationState:
    state = InformationState.alarmed(load_problem(EXAMPLES / name))
    for probe, outcome in answers:
        state = state.after(Observation(probe, outcome))
    return state


def loss(policy: str, name: str) -> float:
    return evaluate(policy_named(policy), alarmed(name)).expected_loss


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, cwd=EXAMPLES.parent, timeout=PATIENCE_S, check=False)


# The set of files


def test_every_problem_file_and_script_is_tested_here():
    assert sorted(p.name for p in EXAMPLES.iterdir() if p.suffix in (".yaml", ".yml", ".json")) == FILES
    assert sorted(p.name for p in EXAMPLES.glob("*.py")) == sorted(KEY_LINE)


def test_the_readme_names_every_example():
    linked = set(re.findall(r"\]\(([\w.]+)\)", README))
    assert linked == {*FILES, *KEY_LINE}


@pytest.mark.parametrize("name", FILES)
def test_a_problem_file_survives_a_round_trip(name):
    problem = load_problem(EXAMPLES / name)
    again = parse_problem(json.loads(json.dumps(problem_to_data(problem))))
    assert AquaMend().next_step(InformationState.alarmed(again)) == FIRST_STEP[name]


# Decisions


@pytest.mark.parametrize("name", FILES)
def test_the_first_step_is_the_one_the_readme_names(name):
    state = alarmed(name)
    steps = policy_named("best").next_step(state), AquaMend().next_step(state)
    assert steps == (PLANNED_STEP[name], FIRST_STEP[name])
    said = [f"re-probe `{step.probe}`" if isinstance(step, Reprobe) else "continue" for step in steps]
    said[1] = "the same" if said[0] == said[1] else said[1]
    assert f"| [{name}]({name}) | {said[0]} | {said[1]} |" in README


@pytest.mark.parametrize("policy", NAMES)
@pytest.mark.parametrize("name", FILES)
def test_every_policy_gives_a_legal_first_step(name, policy):
    state = alarmed(name)
    if policy == "structured" and name != "structured.yaml":
        with pytest.raises(NotStructured):
            policy_named(policy).next_step(state)
        return
    assert_legal(policy_named(policy).next_step(state), state, undoes_more=policy == "veritrace")


def assert_legal(step: object, state: InformationState, *, undoes_more: bool = False) -> None:
    problem = state.problem
    match step:
        case Reprobe(probe):
            assert probe in state.legal_probes
        case RollBack(correct, undo):
            closure = problem.graph.closure(correct)
            assert set(closure) <= set(undo) if undoes_more else undo == closure
            assert math.isfinite(problem.graph.rollback_cost(undo))
        case Restart():
            assert problem.restart_plan is not None
        case _:
            assert step in (Continue(), Escalate())


@pytest.mark.parametrize("name", DISCRETE)
def test_aquamend_keeps_the_contract_all_the_way(name):
    check_policy(AquaMend(), [load_problem(EXAMPLES / name)])


@pytest.mark.parametrize("name", DISCRETE)
def test_no_policy_beats_exact_and_its_bounds(name):
    state = alarmed(name)
    exact = Exact()
    bounds = exact.bounds(state)
    optimum = evaluate(exact, state).expected_loss
    assert optimum == pytest.approx(bounds.lower, abs=1e-6)
    for policy in NAMES:
        if policy != "structured" or name == "structured.yaml":
            assert evaluate(policy_named(policy), state).expected_loss >= optimum - 1e-9


def test_pouring_looks_then_weighs_then_pours_back_what_glare_misled():
    name, looked = "pouring.yaml", ("look", "as_remembered")
    assert AquaMend().next_step(alarmed(name, looked)) == Reprobe("weigh_A")
    step = AquaMend().next_step(alarmed(name, looked, ("weigh_A", 41.0)))
    assert isinstance(step, RollBack)
    assert step.undo == ("arm_level_guard", "pour_into_A")


def test_pouring_carries_on_when_both_cups_weigh_as_before():
    step = AquaMend().next_step(
        alarmed("pouring.yaml", ("look", "as_remembered"), ("weigh_A", 26.4), ("weigh_B", 29.7))
    )
    assert step == Continue()


def test_pouring_back_costs_the_seconds_named_in_the_comment():
    problem = load_problem(EXAMPLES / "pouring.yaml")
    assert problem.graph.correction_cost(["target"]) == 38.5
    assert problem.restart == 72.6


def test_a_look_that_suspects_the_camera_leaves_nothing_to_declare_until_the_scale_answers():
    name, looked = "least_full_cup.yaml", ("look_A", 27.1)
    state = alarmed(name, looked)
    assert state.failure_probabilities[state.problem.graph.belief_index["camera"]] > 0.5
    assert best_terminal(state).decision == Restart(), "neither kept nor declared again"
    assert AquaMend().next_step(state) == Reprobe("weigh_A")
    assert math.isfinite(best_terminal(alarmed(name, looked, ("weigh_A", 18.2))).loss)
    assert best_terminal(alarmed(name, looked, ("weigh_A", 18.2))).decision == RollBack(
        ("camera",), (), (NewDeclaration("camera", "biased"),)
    )


def test_two_instruments_that_read_one_unknown_amount_find_the_bias_of_one():
    state = alarmed("least_full_cup.yaml", ("look_A", 49.0), ("weigh_A", 40.0))
    assert state.failure_probabilities[state.problem.graph.belief_index["camera"]] > 0.99
    declared = {new.belief: new.value for new in best_terminal(state).decision.declare}
    assert declared == {"level_A": 40.0, "target": "B", "camera": "biased"}


def test_the_bar_code_alone_is_not_worth_its_cost():
    values = net_benefits(alarmed("kitting_swapped_tote.yaml"))
    assert values["scan_tote_3"] < 0 < values["weigh_one_screw"]


def test_the_wheels_log_is_worth_nothing_alone_and_comes_first_in_the_optimal_plan():
    state = alarmed("stale_map.yaml")
    assert net_benefits(state)["check_odometry"] == pytest.approx(-0.3)
    assert Exact().next_step(state) == Reprobe("check_odometry")
    assert loss("exact", "stale_map.yaml") == pytest.approx(23.67, abs=0.005)
    assert loss("aquamend", "stale_map.yaml") == pytest.approx(23.88, abs=0.005)


def test_how_far_back_the_delivery_robot_goes_depends_on_what_failed():
    graph = load_problem(EXAMPLES / "stale_map.yaml").graph
    assert graph.closure(["aisle_open"]) == ("leg_3",)
    assert graph.closure(["pose_after_leg_1"]) == ("leg_2", "leg_3")
    assert graph.closure(["map_is_current"]) == ("leg_1", "leg_2", "leg_3")


def test_only_ruling_the_failure_out_spares_the_technician():
    state = alarmed("pipettor.yaml")
    assert best_terminal(state).decision == Escalate()
    assert net_benefits(state)["replay_pressure"] == pytest.approx(-0.2)
    after_blue = alarmed("pipettor.yaml", ("dye_camera", "blue"))
    assert AquaMend().next_step(after_blue) == Reprobe("weigh_plate")
    assert best_terminal(alarmed("pipettor.yaml", ("dye_camera", "clear"))).decision == Escalate()
    assert AquaMend().next_step(alarmed("pipettor.yaml", ("dye_camera", "blue"), ("weigh_plate", "full"))) == Continue()


def test_a_drifting_sensor_cannot_vouch_for_itself():
    values = net_benefits(alarmed("force_sensor_drift.yaml"))
    assert values["press_again"] == pytest.approx(-1.0)
    assert values["measure_height"] > 0


def test_the_laser_decides_whether_the_peg_comes_out():
    name = "force_sensor_drift.yaml"
    seated, high = alarmed(name, ("measure_height", 0.05)), alarmed(name, ("measure_height", 1.2))
    assert AquaMend().next_step(seated) == RollBack(("wrist_zero",), ("tare_wrist",))
    assert best_terminal(high).decision.undo == ("tare_wrist", "press_peg", "drive_screw")


def test_the_correction_set_of_the_gearbox_is_the_best_of_all_by_an_integer_program():
    state = alarmed("assembly.yaml")
    assert len(state.problem.graph.beliefs) >= 24
    stop = best_terminal(state)
    assert isinstance(stop.decision, RollBack)
    assert stop.loss == pytest.approx(least_correction(state), abs=1e-6)


def least_correction(state: InformationState) -> float:
    """Return min over correction sets: pay charge c (x_c) for each corrected belief (y_i) that needs it, else q·L."""
    graph = state.problem.graph
    charges = [charge.cost for charge in graph.charges]
    risk = state.failure_probabilities * np.array([belief.residual for belief in graph.beliefs])
    n, rows = len(charges), []
    for i, mask in enumerate(graph.belief_charges):
        for c in range(n):
            if mask >> c & 1:
                row = np.zeros(n + len(risk))
                row[c], row[n + i] = 1.0, -1.0
                rows.append(row)
    found = milp(
        np.array([*charges, *-risk]),
        integrality=np.ones(n + len(risk)),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(rows), 0.0, np.inf),
    )
    assert found.success
    return float(found.fun + risk.sum())


def test_opening_the_gearbox_is_paid_once():
    graph = load_problem(EXAMPLES / "assembly.yaml").graph
    one, three = graph.correction_cost(["shim_1"]), graph.correction_cost(["shim_1", "shim_2", "shim_3"])
    assert one == three == 48


@pytest.mark.parametrize("policy", ["aquamend", "lookahead-2", "lookahead-3", "lookahead-4"])
def test_a_short_horizon_gives_the_loose_connector_up(policy):
    assert loss(policy, "deep_evidence.json") == pytest.approx(4.0)


def test_exact_planning_finds_the_loose_connector():
    assert loss("exact", "deep_evidence.json") == pytest.approx(3.72, abs=0.005)
    assert evaluate(Exact(), alarmed("deep_evidence.json")).success == pytest.approx(1.0)


def test_the_closed_form_is_optimal_for_independent_pallets():
    assert loss("structured", "structured.yaml") == pytest.approx(120.0)
    assert loss("exact", "structured.yaml") == pytest.approx(120.0)
    state = alarmed("structured.yaml", ("read_label_2", "wrong"))
    assert policy_named("structured").next_step(state) == best_terminal(state).decision
    assert best_terminal(state).decision == RollBack(("pallet_2", "pallet_3"), ("put_away_2", "put_away_3"))


def net_benefits(state: InformationState) -> dict[str, float]:
    values = probe_values(state)
    return dict(zip(values.branches.probes, values.net_benefit.tolist(), strict=True))


# Sense


@pytest.mark.parametrize("name", FILES)
def test_costs_are_in_seconds_and_every_probe_can_answer_differently(name):
    problem = load_problem(EXAMPLES / name)
    assert problem.unit == "s"
    same = [probe for probe, kernel in problem.model.kernels.items() if not tells(problem, probe, kernel)]
    assert same == (["press_again"] if name == "force_sensor_drift.yaml" else [])


def tells(problem: Problem, probe: str, kernel: Any) -> bool:
    return problem.model.channels[probe].n_labels > 1


# Programs


@pytest.mark.parametrize("name", sorted(KEY_LINE))
def test_a_script_runs_and_prints_its_key_line(name):
    done = run(sys.executable, "-W", "error::RuntimeWarning", EXAMPLES / name)
    assert done.returncode == 0, done.stderr
    assert KEY_LINE[name] in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("name", sorted(KEY_LINE))
def test_a_script_is_short(name):
    assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= 60


def test_the_program_decides_all_files_as_python_does():
    files = [f"examples/{name}" for name in FILES]
    done = run(PROGRAM, "decide", *files, "--json")
    assert done.returncode == 0, done.stderr
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["file"] for answer in answers] == files
    for name, answer in zip(FILES, answers, strict=True):
        assert answer["step"] == {"kind": "reprobe", "probe": PLANNED_STEP[name].probe}
        assert answer["bounds"]["lower"] <= answer["bounds"]["upper"] + 1e-9


def test_the_program_finds_all_files_valid():
    done = run(PROGRAM, "validate", *(f"examples/{name}" for name in FILES))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(": valid (") == len(FILES)


COMMANDS = re.findall(r"^(?:\$|   ) (aquamend [^#\n]+)", README, flags=re.MULTILINE)


def test_the_readme_has_a_command_for_every_file():
    assert {name for name in FILES if any(name in command for command in COMMANDS)} == set(FILES)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_runs(command):
    done = run(PROGRAM, *shlex.split(command)[1:])
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout
