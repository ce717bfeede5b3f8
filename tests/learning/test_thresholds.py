"""A monitor becomes an alarm: its likelihoods are the truth's, and the threshold is the one that costs least."""

import contextlib
import copy
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from tests.tiers import cases

from aquamend.errors import AquaMendError, BadArgument, UnknownName
from aquamend.files import parse_problem
from aquamend.learning import InvalidRecords, Record
from aquamend.learning.thresholds import ScoreMethod, alarm_from_scores

LID = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "lid", "residual": 20}],
    "actions": [{"name": "lift", "undo": 3, "status": "executed"}],
    "edges": [["lid", "lift", "belief_to_action"]],
    "causes": [{"name": "off", "prior": 0.1, "failed": ["lid"]}],
    "alarm": {"likelihood": {"off": 0.5, "default": 0.5}, "suspects": ["lid"]},
}  # fmt: skip
APART = 2.0
"""How much higher the score is, on average, where the lid is off."""


def history(n, seed=0, *, share=0.3, sign=1.0):
    """Return scores that are normal, higher where the lid is off; it is off more often than in the robot's work."""
    rng = np.random.default_rng(seed)
    off = rng.random(n) < share
    scores = sign * (rng.normal(size=n) + APART * off)
    return [
        Record("off" if wrong else "nothing", {"torque": (float(s),)}) for wrong, s in zip(off, scores, strict=True)
    ]


def true_loss(at):
    """Return what an occasion costs at a threshold: nobody looks; q above 3/20 is corrected."""
    rings, falsely = norm.sf(at - APART), norm.sf(at)
    chance = 0.1 * rings + 0.9 * falsely
    return min(20 * 0.1 * rings, 3 * chance) + 20 * 0.1 * (1 - rings)


@pytest.mark.parametrize("method", ScoreMethod)
def test_the_threshold_chosen_costs_hardly_more_than_the_best_there_is(method):
    found = alarm_from_scores(LID, history(1500), "torque", method=method)
    best = min(true_loss(at) for at in np.linspace(-3, 6, 400))
    assert true_loss(found.chosen.at) < 1.03 * best < 0.9 * min(true_loss(-9), true_loss(9))
    assert found.chosen.loss == pytest.approx(true_loss(found.chosen.at), rel=0.1)
    for one in found.thresholds:
        if math.isfinite(one.at):
            assert one.false_alarms == pytest.approx(norm.sf(one.at), abs=0.07)
            assert one.missed == pytest.approx(norm.cdf(one.at - APART), abs=0.07)


@pytest.mark.parametrize("method", ScoreMethod)
def test_intervals_hold_the_truth_about_as_often_as_they_say(method, monkeypatch):
    monkeypatch.setattr("aquamend.learning.thresholds.MOST_THRESHOLDS", 3)
    draws, inside = cases(10, 150), {"off": 0, "default": 0}
    for seed in range(draws):
        rings = alarm_from_scores(LID, history(200, seed), "torque", method=method, threshold=1.0).chosen.rings
        for rule, true in (("off", norm.sf(1.0 - APART)), ("default", norm.sf(1.0))):
            inside[rule] += rings[rule].low <= true <= rings[rule].high
    assert min(inside.values()) >= 0.8 * draws, inside


def test_ranks_alone_promise_no_more_false_alarms_than_they_say_whatever_the_law(monkeypatch):
    monkeypatch.setattr("aquamend.learning.thresholds.MOST_THRESHOLDS", 20)
    excess = []
    for seed in range(cases(40, 400)):
        rng = np.random.default_rng(seed)
        scores = rng.standard_cauchy(60)
        records = [Record("nothing", {"torque": (float(s),)}) for s in scores]
        records += [Record("off", {"torque": (float(s),)}) for s in rng.standard_cauchy(20) + 5.0]
        found = alarm_from_scores(LID, records, "torque", method=ScoreMethod.CONFORMAL, false_alarms=0.1)
        assert found.chosen.false_alarms <= 0.1
        at = found.chosen.at
        excess.append(0.5 - math.atan(at) / math.pi if math.isfinite(at) else 0.0)
    assert np.mean(excess) < 0.1 + 2 * np.std(excess) / math.sqrt(len(excess))


def test_the_loss_of_an_occasion_is_the_one_worked_out_by_hand():
    records = [Record("nothing", {"torque": (0.0,)})] * 30 + [Record("nothing", {"torque": (1.0,)})] * 9
    records += [Record("off", {"torque": (1.0,)})] * 49
    found = alarm_from_scores(LID, records, "torque", method=ScoreMethod.CONFORMAL, threshold=0.5)
    off, calm = 49 / 50, 10 / 40
    assert {rule: e.value for rule, e in found.chosen.rings.items()} == pytest.approx({"off": off, "default": calm})
    chance = 0.1 * off + 0.9 * calm
    assert found.chosen.chance == pytest.approx(chance)
    assert found.chosen.loss == pytest.approx(min(20 * 0.1 * off, 3 * chance) + 20 * 0.1 * (1 - off))
    always, never = found.thresholds[0], found.thresholds[-1]
    assert (always.loss, never.loss) == pytest.approx((2.0, 2.0))
    assert (always.missed, never.missed, always.false_alarms, never.false_alarms) == (0.0, 1.0, 1.0, 0.0)


def test_the_file_gets_the_alarm_and_keeps_the_rest():
    found = alarm_from_scores(LID, history(400), "torque")
    assert {key: value for key, value in found.data.items() if key != "alarm"} == {
        key: value for key, value in LID.items() if key != "alarm"
    }
    assert found.data["alarm"]["suspects"] == ["lid"]
    rings = parse_problem(found.data).model.alarm_likelihood
    assert rings == pytest.approx([found.chosen.rings[rule].value for rule in ("default", "off")], rel=1e-5)
    assert found.condition == f"torque >= {found.chosen.at:.6g}"


def test_a_new_alarm_has_a_rule_for_what_is_right_and_one_for_the_rest():
    without = {key: value for key, value in LID.items() if key != "alarm"}
    assert list(alarm_from_scores(without, history(200), "torque").data["alarm"]["likelihood"]) == [
        "nothing",
        "default",
    ]
    several = {**without, "alarms": {"scale": {"likelihood": {"default": 0.5}}}}
    named = alarm_from_scores(several, history(200), "torque", name="torque").data["alarms"]
    assert named["scale"] == several["alarms"]["scale"]
    assert list(named["torque"]["likelihood"]) == ["nothing", "default"]
    with pytest.raises(AquaMendError, match="several alarms; name one, or a new one: 'scale'"):
        alarm_from_scores(several, history(200), "torque")
    with pytest.raises(AquaMendError, match="one alarm without a name"):
        alarm_from_scores(LID, history(200), "torque", name="torque")


def test_rules_in_a_list_stay_a_list():
    listed = copy.deepcopy(LID)
    listed["alarm"]["likelihood"] = [["off", 0.9], ["default", 0.1]]
    plain = alarm_from_scores(LID, history(300), "torque")
    found = alarm_from_scores(listed, history(300), "torque").data["alarm"]["likelihood"]
    assert [rule for rule, _ in found] == ["off", "default"]
    assert dict(found) == plain.data["alarm"]["likelihood"]


def test_an_alarm_by_noisy_or_becomes_one_by_rules_of_which_the_first_decides():
    several = copy.deepcopy(LID)
    several["beliefs"].append({"name": "jar", "residual": 9})
    several["causes"].append({"name": "cracked", "prior": 0.1, "failed": ["jar"]})
    several["alarm"] = {"noisy_or": {"leak": 0.02, "off": 0.9, "cracked": 0.5}}
    found = alarm_from_scores(several, [*history(300), Record("off + cracked", {"torque": (3.0,)})], "torque")
    assert [rule for rule, _ in found.data["alarm"]["likelihood"]] == ["off", "cracked", "default"]
    assert set(found.data["alarm"]) == {"likelihood"}
    assert dict(found.data["alarm"]["likelihood"])["off"] > 0.7


def test_a_score_that_is_low_where_something_is_wrong_rings_below():
    high = alarm_from_scores(LID, history(300), "torque")
    low = alarm_from_scores(LID, history(300, sign=-1.0), "torque", below=True)
    assert low.chosen.at == pytest.approx(-high.chosen.at)
    assert low.data == high.data
    assert low.condition.startswith("torque <= -")
    assert low.scores["off"] == pytest.approx(-high.scores["off"])


def test_what_is_held_back_tells_how_good_it_is():
    good = alarm_from_scores(LID, history(1000), "torque", method=ScoreMethod.LOGISTIC).checked
    assert good.records == 250
    assert good.brier < 0.15
    assert good.ece < 0.08
    assert good.covered == 1.0
    assert good.loss == pytest.approx(alarm_from_scores(LID, history(1000), "torque").chosen.loss, rel=0.25)
    noise = [Record(r.found, {"torque": (float(i % 17),)}) for i, r in enumerate(history(1000))]
    assert alarm_from_scores(LID, noise, "torque").checked.brier > 0.19, "it knows the share, and no more"


def test_scores_without_any_use_are_said_and_none_is_an_error():
    odd = [*history(100), Record("off"), Record("off", {"torque": ("nan",)}), Record("off", {"torque": ("inf", "3")})]
    found = alarm_from_scores(LID, odd, "torque")
    assert found.used == 101
    assert found.said == ("2 of 103 records have no finite torque; they are left out",)
    with pytest.raises(InvalidRecords, match=r"record 101, column 'torque': 'high' is no number"):
        alarm_from_scores(LID, [*history(100), Record("off", {"torque": ("high",)})], "torque")
    with pytest.raises(
        UnknownName, match="unknown column of scores 'torqe'; valid names: 'torque'; did you mean 'torque'"
    ):
        alarm_from_scores(LID, history(100), "torqe")
    calm = [record for record in history(100) if record.found == "nothing"]
    with pytest.raises(InvalidRecords, match="0 of others; at least 8 of each are needed"):
        alarm_from_scores(LID, calm, "torque")
    for wrong in ({"threshold": 1.0, "false_alarms": 0.1}, {"false_alarms": 1.5}, {"threshold": math.nan}):
        with pytest.raises(BadArgument):
            alarm_from_scores(LID, history(100), "torque", **wrong)


SCORES = st.floats(width=64) | st.integers(-3, 3) | st.sampled_from(["nan", "", "-", "1e400", "5", "high"])


@settings(max_examples=cases(25, 400), deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["off", "nothing"]), SCORES), max_size=40),
    st.sampled_from(ScoreMethod),
    st.booleans(),
)
def test_whatever_scores_there_are_they_make_a_sound_alarm_or_an_error_of_ours(said, method, below):
    records = [Record(found, {"torque": (score,)}) for found, score in said]
    calm = [Record("nothing", {"torque": (float(i),)}) for i in range(8)]
    records += [*calm, *(Record("off", {"torque": (float(i) + 0.5,)}) for i in range(8))] if len(said) % 2 else []
    with contextlib.suppress(AquaMendError):
        found = alarm_from_scores(LID, records, "torque", method=method, below=below)
        assert parse_problem(found.data).model.alarm_likelihood is not None
        assert math.isfinite(found.chosen.loss)
        assert all(e.low <= e.value <= e.high for one in found.thresholds for e in one.rings.values())
