"""The suites of the pouring robot: balanced scenes, drawn from seeds of their own, played by hand."""

from collections import Counter

import numpy as np
import pytest

pytest.importorskip("mujoco")

from aquamend.errors import AquaMendError
from aquamend_lab.benchmarks import pouring_suites
from aquamend_lab.benchmarks import suite as suites
from aquamend_lab.benchmarks.catalogue import SUITES
from aquamend_lab.benchmarks.play import COUNTS
from aquamend_lab.benchmarks.pouring_suites import (
    POURING_SUITES,
    Family,
    family_of_trouble,
    main_design,
    pre_commit_design,
    validation_design,
)
from aquamend_lab.pouring.model.alarm_problem import PosteriorSetting
from aquamend_lab.pouring.mujoco.trouble import AddWater, BiasedCamera, Mishap, MishapSize, SwapCups
from aquamend_lab.pouring.task import Stage


class Drawn(Exception):
    """Raised with the episode of a scene in place of simulating it."""


@pytest.fixture(scope="module")
def episodes():
    """Return the episodes of the main batch, none of them simulated, by number."""

    def drawn(episode):
        raise Drawn(episode)

    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pouring_suites, "until_alarm", drawn)
        for number in range(32):
            with pytest.raises(Drawn) as caught:
                SUITES["pouring-v3"].make(0, number)
            found.append(caught.value.args[0])
    return found


@pytest.fixture(scope="module")
def played():
    """Return a swap late in T1, played by two policies."""
    return SUITES["pouring-v3"].play(0, 6, ("aquamend", "restart"))


def by_amount(episode):
    return [vessel.name for vessel in sorted(episode.scene.vessels[:3], key=lambda vessel: vessel.grams)]


def test_the_suites_are_in_the_catalogue_and_everybody_in_them_is_known():
    for suite in POURING_SUITES:
        assert SUITES[suite.name] is suite
        suite.check_policies(list(suite.policies))
    assert [suite.scenarios * suite.seeds for suite in POURING_SUITES] == [32, 96, 40, 80, 40]


@pytest.mark.parametrize(
    ("design", "scenes", "cells"),
    [(main_design, 32, 8), (validation_design, 16, 16)],
)
def test_every_cell_of_a_design_comes_equally_often(design, scenes, cells):
    counted = Counter((d.family, d.stage, d.severity) for d in map(design, range(scenes)))
    assert len(counted) == cells
    assert set(counted.values()) == {scenes // cells}


def test_families_and_stages_take_turns_so_that_a_part_of_the_batch_is_balanced_too():
    for first in range(0, 32, 8):
        part = [main_design(number) for number in range(first, first + 8)]
        assert len({(d.family, d.stage) for d in part}) == 8


def test_the_validation_has_both_severities_at_t0_and_early():
    designs = [validation_design(number) for number in range(16)]
    assert {d.stage for d in designs} == {Stage.DECIDED, Stage.LIFTED}
    assert {d.severity for d in designs} == set(MishapSize)


def test_before_the_commitment_every_kind_of_trouble_comes():
    designs = [pre_commit_design(number) for number in range(40)]
    assert {d.kind for d in designs} == set(Mishap)
    assert {d.stage for d in designs} == {Stage.COMMITTING}
    assert all(d.family is family_of_trouble(d.kind) for d in designs)


def test_water_is_added_to_the_emptiest_cup_and_changes_the_order_half_the_time(episodes):
    crossed = []
    for episode in (e for e in episodes if isinstance(e.trouble, AddWater)):
        held = {vessel.name: vessel.grams for vessel in episode.scene.vessels}
        target, rival, _ = by_amount(episode)
        assert episode.trouble.cup == target
        assert episode.trouble.grams <= episode.scene.reserve_g
        crossed.append(held[target] + episode.trouble.grams > held[rival])
    assert sorted(crossed) == [False] * 4 + [True] * 4


def test_the_emptiest_cup_and_its_rival_are_swapped(episodes):
    swaps = [e for e in episodes if isinstance(e.trouble, SwapCups)]
    assert len(swaps) == 8
    assert all({e.trouble.one, e.trouble.other} == set(by_amount(e)[:2]) for e in swaps)


def test_the_camera_misreads_the_emptiest_cup_early_and_the_next_one_late(episodes):
    drifts = [e for e in episodes if isinstance(e.trouble, BiasedCamera)]
    assert len(drifts) == 8
    assert all(e.trouble.cup == by_amount(e)[e.stage is Stage.BESIDE] for e in drifts)


def test_no_two_scenes_are_alike_and_other_suites_have_others(episodes):
    assert len({episode.scene for episode in episodes}) == len({episode.seed for episode in episodes}) == 32


def test_on_some_tables_one_cup_cannot_be_weighed(episodes):
    assert Counter(sum(e.scene.scales[:3]) for e in episodes).keys() == {2, 3}


@pytest.mark.slow
def test_every_second_and_every_primitive_of_a_played_scene_is_accounted_for(played):
    assert [record["policy"] for record in played.records] == ["aquamend", "restart"]
    for record in played.records:
        assert "error" not in record
        assert record["group"] == {"stage": "late", "family": "swap"}
        parts = record["sensing"] + record["rollback"] + record["continuation"] + record["residual"]
        assert record["loss"] == pytest.approx(parts)
        # What was measured for the alarm itself is charged, and no primitive since then.
        assert parts - record["residual"] == pytest.approx(0.4 + sum(cost for _, _, cost, _ in record["primitives"]))
        undone = [what for charge, what, _, _ in record["primitives"] if charge == "rollback"]
        assert len(undone) == record["rollbacks"] > 0
        assert record["cause"] == "external"


@pytest.mark.slow
def test_a_record_tells_what_was_looked_at_and_how_doubtful_declarations_were(played):
    aquamend, restart = played.records
    assert aquamend["decisions"] >= 1
    assert all(aquamend[count] >= 0 for count in COUNTS)
    assert aquamend["uncovered"] > 0  # late in T1 screening is not covered
    assert restart["evaluated"] == 0
    old = {d["event"]: d for d in aquamend["declarations"] if d["when"] == "old"}
    assert {name for name, d in old.items() if d["so"] and name.startswith("binding of")} == {
        "binding of the target", "binding of the next",
    }  # fmt: skip
    assert old["any binding"]["so"]
    assert not old["target"]["so"]


@pytest.mark.slow
def test_decisions_are_timed_from_the_alarm_on_by_turns(played):
    assert {t["policy"] for t in played.timings} == {"aquamend", "all-candidates", "lossless"}
    assert all(t["decision_ms"] > 0 for t in played.timings)


@pytest.mark.slow
def test_the_first_commands_of_all_settings_are_annotated(played):
    commands = played.annotation["features"]["first_commands"]
    assert set(commands) == {str(setting) for setting in PosteriorSetting}
    assert commands["original"]["total_variation"] == 0.0
    assert all(0.0 < c["total_variation"] < 1.0 for s, c in commands.items() if s != "original")


@pytest.mark.slow
def test_who_starts_over_and_who_goes_by_the_chain_face_problems_of_their_own():
    scenario = SUITES["pouring-v3"].make(0, 6)
    again, chained = (scenario.versions[name].state for name in (pouring_suites.STARTING_OVER, pouring_suites.CHAIN))
    assert (scenario.state.problem.restart, chained.problem.restart) == (None, None)
    assert again.problem.restart is not None
    assert (chained.posterior == scenario.state.posterior).all()
    for belief in ("quantity_A", "target"):
        assert chained.problem.graph.closure([belief]) == ("lift", "move")
    assert chained.problem.graph.closure(["camera"]) == ()


@pytest.mark.parametrize(("number", "seed"), [(32, 0), (0, 1)])
def test_a_scene_that_a_suite_does_not_have_is_refused(number, seed):
    with pytest.raises(AquaMendError, match="from 0 to 31 and a seed from 0 to 0"):
        pouring_suites.episode_of("pouring-v3", seed, number)


@pytest.mark.slow
def test_q1_has_the_same_eight_scenes_under_five_posteriors(monkeypatch):
    q1 = SUITES["q1-v3"]
    alarms = {}

    def alarmed(suite, seed, number, design):
        assert (suite, seed, number) not in alarms or number in range(8)
        return alarms.setdefault(number, real(suite, seed, number, design))

    real = pouring_suites.alarmed_scene
    monkeypatch.setattr(pouring_suites, "alarmed_scene", alarmed)
    original, concentrated = q1.make(0, 2), q1.make(0, 10)
    assert original.group == {"setting": "original"}
    assert (original.features["stage"], original.features["family"]) == ("early", Family.SWAP)
    assert concentrated.group == {"setting": "concentrated"}
    p, q = original.state.posterior, concentrated.state.posterior
    np.testing.assert_allclose(q, p**2 / (p**2).sum())
    np.testing.assert_allclose(concentrated.truths[0].enter().alarm().posterior, q)


def test_cold_decisions_use_nothing_remembered(monkeypatch):
    """What has been worked out for a problem before is worked out again inside the clock, and everybody takes turns."""
    scenario = SUITES["m1-v2"].make(0, 0)
    asked = []

    class Spy:
        def __init__(self, name):
            self.name = name

        def next_step(self, state):
            asked.append((self.name, state.problem))

    monkeypatch.setattr(suites, "policy_named", Spy)
    suites.timed_cold(scenario, ["one", "other"], start=1)
    assert [name for name, _ in asked] == ["other", "one", "one", "other"] * 2
    problems = [problem for _, problem in asked]
    assert len({id(p) for p in problems}) == 8
    assert not any(p is scenario.state.problem or p.graph is scenario.state.problem.graph for p in problems)
