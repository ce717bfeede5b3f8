"""The public model of an alarm: valid, priced by what was fitted, and made from public things alone."""

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.lab.pouring.model.by_hand import DECLARED, FITTED, ORDER, REPORTS, SECONDS, configuration, model

from aquamend.belief import InformationState, Observation
from aquamend.decision import RollBack
from aquamend.decision.detection import PowerScreen
from aquamend.decision.terminal import best_terminal
from aquamend.policies import policy_named
from aquamend_lab.pouring.model.alarm_problem import PROBE_S, AtAlarm, Template
from aquamend_lab.pouring.model.configurations import CONFIGURATIONS, CameraState, Happening, Scales
from aquamend_lab.pouring.model.fitted import uncalibrated
from aquamend_lab.pouring.task import (
    FAULTY,
    IN_PLACE,
    ROUTINE,
    SAFE_STOP,
    SOUND,
    Report,
    Residuals,
    Signal,
    Stage,
    arrangements,
    decided,
)

S = SECONDS
RESIDUAL = Residuals()
STAGES = (Stage.DECIDED, Stage.LIFTED, Stage.BESIDE, Stage.POURED)


def poured(stage):
    return {"poured_g": 20.0} if stage is Stage.POURED else {}


def among(found, wanted):
    """Return where the hypotheses of configurations are that satisfy a condition."""
    return np.array([wanted(supposed.configuration) for supposed in found.supposed])


def likeliest(found, *parts):
    """Return the position of a configuration's likeliest hypothesis."""
    own = among(found, lambda c: c == configuration(*parts))
    return int(np.argmax(own * np.array(found.shares)))


def hypothesis(found, *parts):
    return found.problem().model.hypotheses[likeliest(found, *parts)]


def restart_loss(stage, *parts):
    found = model(stage=stage, restarts=True, **poured(stage))
    return found.problem().restart.loss[likeliest(found, *parts)]


def heard(found):
    return InformationState.alarmed(found.problem())


def share(found, state, wanted):
    """Return how probable configurations are that satisfy a condition."""
    return float(state.posterior[among(found, wanted)].sum())


def most_likely(found, state):
    return max(CONFIGURATIONS, key=lambda c: share(found, state, lambda own: own == c))


# What the problem is made of


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("located", [IN_PLACE, "A and B exchanged"])
def test_every_stage_makes_a_valid_problem_of_72_configurations_and_every_amount_added(stage, located):
    found = model(stage=stage, located=located, **poured(stage))
    problem = found.problem()
    assert len({h.part_of or h.name for h in problem.model.hypotheses}) == 72
    assert len({h.name for h in problem.model.hypotheses}) == len(found.supposed) == 12 * (1 + 2 + 5 + 6 + 6 + 1)
    assert InformationState.alarmed(problem).posterior.sum() == pytest.approx(1.0)
    assert tuple(action.name for action in problem.graph.executed) == stage.executed


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_every_report_can_be_heard_and_points_at_beliefs_of_its_cup(report):
    problem = model(report=report).problem()
    assert heard(model(report=report)).contradiction is None
    pointed_at = {f"quantity_{report.cup}", f"binding_{report.cup}"} if report.cup else {"camera"}
    assert set(problem.model.alarm.suspects) == pointed_at | {"target"}


def test_hypotheses_carry_the_names_of_the_cups():
    assert hypothesis(model()).name == "nothing happened"
    assert hypothesis(model(), Happening.SWAPPED).name == "B and A swapped"
    assert hypothesis(model(located="B and C exchanged"), Happening.SWAPPED).name == "B and C swapped"
    both = hypothesis(model(), Happening.LITTLE, CameraState.MISREADS_THIRD, Scales.OFF)
    assert both.name == "a little added to B + camera misreads C + a scale off (quantity_B=23)"


def test_what_a_hypothesis_breaks_follows_from_what_it_supposes():
    found = model()
    assert (hypothesis(found).failed, dict(hypothesis(found).truth)) == ((), {})
    assert dict(hypothesis(found, Happening.LITTLE).truth) == {"quantity_B": 23.0}
    assert dict(hypothesis(found, Happening.MUCH).truth) == {"quantity_B": 33.0, "target": "A"}
    assert dict(hypothesis(found, CameraState.FROZEN).truth) == {"camera": FAULTY}
    assert dict(hypothesis(found, Scales.OFF).truth) == {"scales": FAULTY}
    misread = hypothesis(found, CameraState.MISREADS_TARGET)
    assert dict(misread.truth) == {"camera": FAULTY}, "what was declared before was right"


def test_a_target_that_does_not_follow_from_the_amounts_is_wrong_until_they_change():
    found = model(replace(DECLARED, target="A"))
    assert dict(hypothesis(found).truth) == {"target": "B"}
    assert dict(hypothesis(found, Happening.THIRD).truth) == {"quantity_C": 43.0, "target": "B"}
    assert dict(hypothesis(found, CameraState.FROZEN).truth) == {"target": "B", "camera": FAULTY}
    stopped = found.problem().plans[0].loss
    assert stopped[likeliest(found)] == pytest.approx(S["put back"] + RESIDUAL.target)
    assert stopped[likeliest(found, Happening.MUCH)] == pytest.approx(S["put back"] + RESIDUAL.quantity)


def test_a_swap_breaks_two_places_and_leaves_the_target_right_wherever_it_stands():
    swapped = hypothesis(model(located="A and C exchanged"), Happening.SWAPPED)
    assert swapped.failed == ()
    assert dict(swapped.truth) == {"binding_A": 220.0, "binding_C": -220.0}


def test_causes_tell_false_alarms_changes_and_own_errors_apart():
    found = model()
    assert hypothesis(found).cause == hypothesis(found, Scales.OFF).cause == "false_alarm"
    assert hypothesis(found, Happening.THIRD).cause == "external"
    assert hypothesis(found, CameraState.MIXED_UP).cause == "self_error"
    assert hypothesis(found, CameraState.FROZEN, Scales.OFF).cause == "self_error"
    assert hypothesis(found, Happening.THIRD, CameraState.FROZEN).cause == "unknown", "one of two things"


def test_every_declaration_has_its_value_and_what_it_rests_on():
    declarations = {d.name: d for d in model().problem().declarations}
    assert {name: d.value for name, d in declarations.items() if name.startswith("quantity")} == {
        "quantity_A": 28.0, "quantity_B": 18.0, "quantity_C": 35.0,
    }  # fmt: skip
    assert tuple(declarations["quantity_B"].support) == ("look_B",)
    assert tuple(declarations["target"].support) == ("look_A", "look_B", "look_C")
    assert tuple(declarations["binding_C"].support) == ("localise",)
    assert tuple(declarations["camera"].support) == ("check_camera",)
    assert "scales" not in declarations, "nobody ever said that they are sound"


def test_a_declared_amount_is_invalid_where_another_one_is_true():
    problem = model().problem()
    for declaration in problem.declarations:
        if declaration.name.startswith("quantity"):
            changed = {h.name for h in problem.model.hypotheses if declaration.name in h.truth}
            assert set(declaration.invalid_in) == changed


def test_an_amount_can_be_declared_to_be_whatever_water_added_may_have_made_of_it():
    problem = model().problem()
    values = {
        cup: [new.value for new in problem.new_values[problem.graph.belief_index[f"quantity_{cup}"]]] for cup in "ABC"
    }
    assert values == {
        "A": [32.0, 34.0, 36.0, 38.0, 40.0, 42.0],
        "B": [23.0, 25.0, 29.0, 31.0, 33.0, 35.0, 37.0],
        "C": [39.0, 41.0, 43.0, 45.0, 47.0, 49.0],
    }


def test_two_instruments_that_read_the_same_unknown_amount_agree_on_it():
    """A camera that reads 9 g more than the scale is biased, whatever the amount: they read the same water."""
    found = model()
    for grams in (30.0, 34.0):
        state = heard(found).after(Observation("look_B", grams + 8.0)).after(Observation("weigh_B", grams))
        assert share(found, state, lambda c: c.camera is CameraState.MISREADS_TARGET or c.scales is Scales.OFF) > 0.95


def test_the_nearest_hypothesis_has_the_configuration_and_the_amount():
    found = model()
    held = {"A": 28.0, "B": 34.6, "C": 35.0}
    nearest = found.problem().model.hypotheses[found.nearest(configuration(Happening.MUCH), held)]
    assert dict(nearest.truth) == {"quantity_B": 35.0, "target": "A"}
    assert found.problem().model.hypotheses[found.nearest(configuration(), held)].name == "nothing happened"


def test_cups_that_tie_are_ordered_by_name():
    assert model(decided("ABC", (20.0, 18.0, 18.0), (-220.0, 0.0, 220.0))).order == ("B", "C", "A")
    assert model().order == ORDER


# Who stands where, and what can be weighed


def test_finding_the_cups_tells_swaps_by_the_cups_names():
    assert arrangements("ABC") == {
        IN_PLACE: None,
        "A and B exchanged": ("A", "B"),
        "A and C exchanged": ("A", "C"),
        "B and C exchanged": ("B", "C"),
    }


def test_a_cup_can_be_weighed_in_place_where_it_was_seen_on_a_scale():
    def uses(**said):
        probes = model(scale_at={"A": True, "B": False, "C": False}, **said).problem().graph.probes
        return {p.name for p in probes if p.max_uses and p.name.startswith("weigh")}

    assert uses() == {"weigh_A"}
    assert uses(located="A and B exchanged") == {"weigh_B"}
    assert uses(located="B and C exchanged") == {"weigh_A"}


def test_what_stands_on_no_scale_cannot_be_weighed():
    legal = heard(model(scale_at=dict.fromkeys("ABC", False))).legal_probes
    assert not any(name.startswith("weigh") for name in legal)


def test_starting_over_is_an_ending_only_where_it_is_asked_for():
    assert model().problem().restart is None
    assert model(restarts=True).problem().restart is not None


def test_on_the_chain_every_correction_that_an_action_rests_on_undoes_all_that_was_executed():
    fine, chain = (
        replace(model(stage=Stage.BESIDE), linear_chain=chained).problem().graph for chained in (False, True)
    )
    assert (fine.closure(["quantity_B"]), chain.closure(["quantity_B"])) == (("move",), ("lift", "move"))
    assert fine.closure(["camera"]) == chain.closure(["camera"]) == ()


def test_what_was_measured_for_the_alarm_is_where_the_cups_stand_and_one_look():
    own = AtAlarm(located=IN_PLACE, looked={"B": 21.5})
    assert own.measured == (Observation("localise", IN_PLACE), Observation("look_B", 21.5))


def test_a_camera_that_is_rejected_takes_the_support_of_all_that_it_read_until_something_else_speaks():
    found = model()
    state = heard(found)
    for probe, reading in (("look_B", 27.0), ("weigh_B", 18.0), ("check_camera", FAULTY)):
        state = state.after(Observation(probe, reading))
    assert best_terminal(state).decision == RollBack((), plan=SAFE_STOP)
    for probe, reading in (("weigh_A", 28.0), ("weigh_C", 35.0)):
        state = state.after(Observation(probe, reading))
    assert best_terminal(state).decision.correct == ("camera",)


# What answers do


def test_a_sighting_of_a_swap_is_believed():
    located = "A and B exchanged"
    found = model(located=located)
    state = heard(found).after(Observation("localise", located))
    assert most_likely(found, state) == configuration(Happening.SWAPPED)
    assert share(found, state, lambda c: c.happened is Happening.SWAPPED) > 0.9


def test_a_failed_self_test_points_at_a_frozen_or_mixed_up_camera():
    before = heard(model())
    after = before.after(Observation("check_camera", FAULTY))
    found = among(model(), lambda c: c.camera in (CameraState.FROZEN, CameraState.MIXED_UP))
    assert after.posterior[found].sum() > 2 * before.posterior[found].sum()


def test_a_weight_that_agrees_with_a_far_fuller_look_clears_the_camera():
    state = heard(model()).after(Observation("look_B", 33.0)).after(Observation("weigh_B", 33.0))
    assert most_likely(model(), state) == configuration(Happening.MUCH)
    assert share(model(), state, lambda c: c.camera is CameraState.SOUND) > 0.9


def test_camera_and_scale_that_disagree_leave_it_open_which_of_them_is_wrong():
    state = heard(model()).after(Observation("look_A", 28.0)).after(Observation("weigh_A", 36.5))
    off = share(model(), state, lambda c: c.scales is Scales.OFF)
    added = share(model(), state, lambda c: c.happened is Happening.RIVAL)
    assert 0.02 < off < 0.999
    assert off + added > 0.9


# What rests on what, and what it costs


def graph(stage=Stage.BESIDE):
    return model(stage=stage, **poured(stage)).problem().graph


def test_a_wrong_target_undoes_the_move_and_not_the_lift():
    assert graph().closure(["target"]) == ("move",)
    assert graph(Stage.POURED).closure(["target"]) == ("move", "pour")


def test_where_another_cup_stands_is_no_reason_to_move():
    assert graph().closure(["binding_C"]) == ()
    assert graph().closure(["binding_B"]) == ("move",)


def test_undoing_late_costs_pouring_back_and_pouring_again():
    early, late = (graph(stage).correction_cost(["target"]) for stage in (Stage.BESIDE, Stage.POURED))
    assert early == pytest.approx(S["draw back"] + S["move"])
    assert late == pytest.approx(early + S["pour back"] + S["pour"])


def test_restarting_costs_what_is_undone_and_done_again_and_four_measurements():
    lifted, beside = S["put back"] + S["fetch"], S["draw back"] + S["move"]
    costs = {
        Stage.DECIDED: 0.0,
        Stage.LIFTED: lifted,
        Stage.BESIDE: lifted + beside,
        Stage.POURED: lifted + beside + S["pour back"] + S["pour"],
    }
    for stage, cost in costs.items():
        assert restart_loss(stage) == pytest.approx(cost + 4 * PROBE_S, abs=0.5)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("happened", Happening)
def test_restarting_with_a_sound_camera_leaves_next_to_nothing_wrong(stage, happened):
    assert restart_loss(stage, happened) == pytest.approx(restart_loss(stage), abs=0.5)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("camera", [c for c in CameraState if c is not CameraState.SOUND])
def test_restarting_leaves_every_error_of_the_camera_uncorrected(stage, camera):
    assert restart_loss(stage, camera) > restart_loss(stage) + RESIDUAL.camera - 0.5


def test_restarting_with_a_misread_cup_leaves_its_amount_wrong_and_half_the_time_the_target():
    extra = restart_loss(Stage.DECIDED, CameraState.MISREADS_THIRD) - restart_loss(Stage.DECIDED)
    assert extra == pytest.approx(RESIDUAL.camera + RESIDUAL.quantity, abs=0.2)
    mixed = restart_loss(Stage.DECIDED, CameraState.MIXED_UP) - restart_loss(Stage.DECIDED)
    assert mixed == pytest.approx(RESIDUAL.camera + 2 * RESIDUAL.quantity + RESIDUAL.target, abs=0.2)


def test_restarting_with_a_frozen_camera_finds_no_swap():
    extra = restart_loss(Stage.DECIDED, CameraState.FROZEN, Happening.SWAPPED) - restart_loss(Stage.DECIDED)
    assert extra == pytest.approx(RESIDUAL.camera + 2 * RESIDUAL.binding, abs=0.2)


@pytest.mark.parametrize(("stage", "down"), [(Stage.DECIDED, 0.0), (Stage.LIFTED, S["put back"])])
def test_a_safe_stop_costs_putting_down_and_all_that_is_wrong(stage, down):
    found = model(stage=stage)
    (stop,) = [plan for plan in found.problem().plans if plan.name == SAFE_STOP]

    def loss(*parts):
        (only,) = {float(x) for x in stop.loss[among(found, lambda c: c == configuration(*parts))]}
        return only

    assert loss() == loss(Scales.OFF) == down
    assert loss(Happening.MUCH) == down + RESIDUAL.quantity + RESIDUAL.target
    assert loss(Happening.SWAPPED) == down + 2 * RESIDUAL.binding
    unsupported = 3 * RESIDUAL.quantity + RESIDUAL.target
    assert loss(CameraState.FROZEN) == loss(CameraState.FROZEN, Happening.THIRD) == down + RESIDUAL.camera + unsupported


# Screening


OFFSETS = {"offset_mm": {"A": 5.0, "B": 4.0, "C": 6.0}}


def test_tables_like_those_of_calibration_are_covered_early():
    covered = model(**OFFSETS).problem().coverage
    assert all(covered.covers(probe) for probe in heard(model(**OFFSETS)).legal_probes)


def test_probes_of_a_group_are_named_after_the_cups_that_have_the_roles():
    only = replace(FITTED.groups[0], probes=("weigh_rival", "localise"))
    covered = model(fitted=replace(FITTED, groups=(only, only)), **OFFSETS).problem().coverage
    assert [probe for probe in ("weigh_A", "weigh_B", "localise") if covered.covers(probe)] == ["weigh_A", "localise"]


def test_a_table_unlike_any_of_calibration_is_not_covered():
    assert not model(offset_mm=dict.fromkeys("ABC", 80.0)).problem().coverage.covers("look_A")


@pytest.mark.parametrize("stage", [Stage.DECIDED, Stage.BESIDE, Stage.POURED])
def test_other_stages_are_never_covered(stage):
    covered = model(stage=stage, **OFFSETS, **poured(stage)).problem().coverage
    assert not any(covered.covers(probe.name) for probe in graph(stage).probes)


def test_the_power_screen_keeps_some_probes_and_drops_others_where_it_covers():
    state, screen = heard(model(**OFFSETS)), PowerScreen()
    assert screen.covers(state)
    kept = screen.keep(state)
    assert 0 < len(kept) < len(state.legal_probes)
    assert policy_named("aquamend").candidates(state) == kept
    assert policy_named("all-candidates").candidates(state) == state.legal_probes


# The template that a tracker asks


def test_a_template_is_the_problem_of_whatever_is_declared():
    template = Template(DECLARED, FITTED, heard=AtAlarm(Stage.LIFTED, Report(Signal.LEVEL, "B", 9.0)))
    assert template.statement({}) == DECLARED
    changed = template.statement({"quantity_C": 12.5, "target": "C"})
    assert (changed.quantity_g, changed.target, changed.camera) == ((28.0, 18.0, 12.5), "C", SOUND)
    assert template.model({"quantity_C": 12.5}).order == ("C", "B", "A")
    same, direct = template({}), model().problem()
    assert [h.name for h in same.model.hypotheses] == [h.name for h in direct.model.hypotheses]
    assert (InformationState.alarmed(same).posterior == heard(model()).posterior).all()


def test_before_any_alarm_a_template_has_heard_a_routine_check_with_everything_in_place():
    assert AtAlarm() == AtAlarm(Stage.DECIDED, ROUTINE, IN_PLACE, {}, 0.0, {}, {})
    assert not Template(DECLARED, uncalibrated())({}).graph.executed


def test_readings_that_fit_nothing_do_not_rule_everything_out():
    state = heard(model()).after(Observation("weigh_A", 400.0))
    assert state.contradiction is None
    assert math.isclose(state.posterior.sum(), 1.0)
