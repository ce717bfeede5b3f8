"""The public model of an alarm: valid, priced by what was fitted, and made from public things alone."""

from dataclasses import replace

import numpy as np
import pytest
from tests.worlds.pouring.episodes import DECLARED, FITTED, POURED, SECONDS, configuration

from aquamend.decision.detection import PowerScreen
from aquamend.inference import InformationState, Observation
from aquamend.policies import AquaMend, policy_named
from aquamend.worlds.pouring.configurations import CONFIGURATIONS, Physical, Sensing
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fitted import load_fitted
from aquamend.worlds.pouring.model import (
    AS_BELIEVED,
    SAFE_STOP_LOSS,
    alarm_model,
    localise_outcome,
    localise_outcomes,
    measured_g,
    named,
)
from aquamend.worlds.pouring.monitor import LEVEL, LOAD, POSITION, ROUTINE, Report
from aquamend.worlds.pouring.recovery_graph import RESIDUAL_LOSS

REPORT = Report(LEVEL, "B", 9.0)


def model(declared=DECLARED, stage=Stage.MOVED, report=REPORT, fitted=FITTED, **options):
    return alarm_model(declared, stage, report, fitted, **options)


def hypothesis(problem, physical=Physical.NOTHING, sensing=Sensing.SOUND):
    return problem.model.hypotheses[CONFIGURATIONS.index(configuration(physical, sensing))]


def restart_loss(stage, physical=Physical.NOTHING, sensing=Sensing.SOUND):
    problem = model(POURED if stage is Stage.POURED else DECLARED, stage).problem
    return problem.restart.loss[CONFIGURATIONS.index(configuration(physical, sensing))]


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("report", [REPORT, Report(POSITION, "C", 60.0), Report(LOAD, "A", -9.0), Report(ROUTINE)])
def test_every_stage_and_report_makes_a_valid_problem_of_72_hypotheses(stage, report):
    problem = model(POURED if stage is Stage.POURED else DECLARED, stage, report).problem
    assert len({h.name for h in problem.model.hypotheses}) == 72
    assert InformationState.alarmed(problem).posterior.sum() == pytest.approx(1.0)


def test_hypotheses_carry_the_names_of_the_cups():
    assert named(configuration(Physical.SWAP_RIVAL), DECLARED) == "B and A swapped, camera sound"
    assert named(configuration(sensing=Sensing.THIRD_HIGH), DECLARED) == "nothing happened, camera reads C high"


def test_what_a_hypothesis_breaks_follows_from_what_it_supposes():
    early, late = model().problem, model(POURED, Stage.POURED).problem
    assert hypothesis(early).failed == ()
    assert hypothesis(early, Physical.LITTLE).failed == ("quantity_B",)
    assert hypothesis(early, Physical.MUCH).failed == ("quantity_B", "rank_A", "target")
    assert hypothesis(early, Physical.SWAP_RIVAL).failed == ("binding_A", "binding_B", "target")
    assert hypothesis(early, Physical.SWAP_OTHERS).failed == ("binding_A", "binding_C")
    assert hypothesis(early, sensing=Sensing.FROZEN).failed == ("camera",)
    assert hypothesis(early, sensing=Sensing.THIRD_LOW).failed == ("quantity_C", "camera")
    assert set(hypothesis(late, Physical.SWAP_RIVAL).failed) == {
        "quantity_A", "quantity_B", "binding_A", "binding_B", "target",
    }  # fmt: skip


def test_causes_tell_false_alarms_changes_and_own_errors_apart():
    problem = model().problem
    assert hypothesis(problem).cause == "false_alarm"
    assert hypothesis(problem, Physical.ADD_THIRD).cause == "external"
    assert hypothesis(problem, sensing=Sensing.MIXED_UP).cause == "self_error"


def test_every_declaration_has_a_version_a_value_and_what_it_rests_on():
    declarations = {d.name: d for d in model(POURED, Stage.POURED).problem.declarations}
    assert set(declarations) == {belief.name for belief in model().problem.graph.beliefs}
    assert (declarations["quantity_B"].version, declarations["quantity_B"].value) == (2, "38.0 g")
    assert tuple(declarations["quantity_B"].support) == ("look_B", "weigh_B")
    assert (declarations["binding_C"].version, declarations["binding_C"].value) == (1, "place 3")
    assert all(d.support for name, d in declarations.items() if name != "camera")
    assert declarations["camera"].value == "sound"


def test_a_declaration_is_invalid_where_its_belief_has_failed():
    problem = model().problem
    for declaration in problem.declarations:
        broken = {h.name for h in problem.model.hypotheses if declaration.name in h.failed}
        assert set(declaration.invalid_in) == broken


def test_what_was_poured_is_no_part_of_what_was_measured():
    assert measured_g(POURED) == measured_g(DECLARED) == (18.0, 28.0, 35.0)


def test_finding_the_cups_tells_swaps_by_the_cups_names():
    assert localise_outcomes(DECLARED) == (AS_BELIEVED, "A and B exchanged", "B and C exchanged", "A and C exchanged")
    assert localise_outcome((1, 0, 2), DECLARED) == "A and B exchanged"
    assert localise_outcome((0, 1, 2), DECLARED) == AS_BELIEVED


def test_a_sighting_of_a_swap_is_believed():
    state = InformationState.alarmed(model().problem).after(Observation("localise", "A and B exchanged"))
    most = CONFIGURATIONS[int(np.argmax(state.posterior))]
    assert most == configuration(Physical.SWAP_RIVAL)


def test_a_stale_stamp_points_at_a_frozen_camera():
    heard = InformationState.alarmed(model().problem)
    frozen = [c.sensing is Sensing.FROZEN for c in CONFIGURATIONS]
    assert heard.after(Observation("stamp", "stale")).posterior[frozen].sum() > 2 * heard.posterior[frozen].sum()


def test_a_scale_that_agrees_with_a_far_fuller_look_clears_the_camera():
    state = InformationState.alarmed(model().problem)
    state = state.after(Observation("look_B", 33.0)).after(Observation("weigh_B", 33.0))
    assert CONFIGURATIONS[int(np.argmax(state.posterior))] == configuration(Physical.MUCH)
    sound = [c.sensing is Sensing.SOUND for c in CONFIGURATIONS]
    assert state.posterior[sound].sum() > 0.9


def test_restarting_costs_what_is_undone_and_done_again_where_the_camera_is_sound():
    measuring = 4 * 1.0  # carefully, as for any new declaration
    again = SECONDS["put back"] + SECONDS["fetch"] + SECONDS["move"]
    late = SECONDS["pour back"] + 1.0 + SECONDS["fetch"] + SECONDS["move"] + SECONDS["pour"]
    for physical in Physical:
        assert restart_loss(Stage.DECIDED, physical) == pytest.approx(measuring)
        assert restart_loss(Stage.MOVED, physical) == pytest.approx(measuring + again)
        assert restart_loss(Stage.POURED, physical) == pytest.approx(measuring + late)


@pytest.mark.parametrize("stage", Stage)
@pytest.mark.parametrize("sensing", [s for s in Sensing if s is not Sensing.SOUND])
def test_restarting_leaves_every_error_of_the_camera_uncorrected(stage, sensing):
    assert restart_loss(stage, sensing=sensing) >= restart_loss(stage) + RESIDUAL_LOSS["camera"]


def test_restarting_with_a_camera_that_reads_low_leaves_the_quantity_wrong_too():
    extra = restart_loss(Stage.MOVED, sensing=Sensing.THIRD_LOW) - restart_loss(Stage.MOVED)
    assert extra == pytest.approx(RESIDUAL_LOSS["camera"] + RESIDUAL_LOSS["quantity"])


def test_a_safe_stop_saves_what_finishing_takes():
    early, late = model(), model(POURED, Stage.POURED)
    assert early.finishing_s == pytest.approx(SECONDS["pour"] + SECONDS["put back"])
    assert late.finishing_s == pytest.approx(SECONDS["put back"])
    for found in (early, late):
        assert found.problem.escalate_loss + found.finishing_s == pytest.approx(SAFE_STOP_LOSS)


def test_tables_like_those_of_calibration_are_covered():
    covered = model(offsets_mm=(5.0, 4.0, 6.0)).problem.coverage
    assert all(covered.covers(probe.name) for probe in model().problem.graph.probes)


def test_a_table_unlike_any_of_calibration_is_not_covered():
    assert not model(offsets_mm=(80.0, 80.0, 80.0)).problem.coverage.covers("look_A")


@pytest.mark.parametrize("stage", [Stage.MOVED, Stage.POURED])
def test_the_late_stage_is_never_covered(stage):
    fitted = replace(FITTED, groups=tuple(replace(group, stage=stage.value) for group in FITTED.groups))
    covered = model(POURED, Stage.POURED, fitted=fitted, offsets_mm=(5.0, 5.0, 5.0)).problem.coverage
    assert not any(covered.covers(probe.name) for probe in model().problem.graph.probes)


def test_the_model_that_ships_covers_a_common_table():
    covered = model(fitted=load_fitted(), offsets_mm=(4.0, 4.0, 4.0)).problem.coverage
    assert all(covered.covers(probe.name) for probe in model().problem.graph.probes)


def test_the_power_screen_keeps_some_probes_and_drops_others_where_it_covers():
    found = model(offsets_mm=(5.0, 5.0, 5.0))
    state, screen = InformationState.alarmed(found.problem), PowerScreen()
    assert screen.covers(state)
    kept = screen.keep(state)
    assert 0 < len(kept) < len(state.legal_probes)
    assert policy_named("aquamend").candidates(state) == kept
    assert policy_named("all-candidates").candidates(state) == state.legal_probes
    step = AquaMend().next_step(state)
    assert getattr(step, "probe", kept[0]) in kept
