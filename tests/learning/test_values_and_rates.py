"""What records of true values, of ages and of several causes tell: spreads, instruments, rates, noisy-or."""

import copy
import math
import re

import numpy as np
import pytest

from aquamend.decision.steps import NewDeclaration, RollBack
from aquamend.files import parse_problem
from aquamend.learning import InvalidRecords, Record, calibration, learned, lost
from aquamend.learning.checking import lost_by
from aquamend.problem import Ages

POUR = {
    "format": "aquamend-problem/1",
    "beliefs": [
        {"name": "level", "residual": 9, "declared": 18, "tolerance": 3},
        {"name": "floor", "residual": 9, "declared": 4},
        {"name": "target", "residual": 9, "declared": "A"},
        {"name": "camera", "residual": 4},
    ],
    "actions": [{"name": "pour", "undo": 2, "status": "executed"}],
    "probes": [{"name": name, "cost": 1} for name in ("weigh", "look", "read_tag")],
    "edges": [["weigh", "level", "detection"], ["level", "pour", "belief_to_action"]],
    "causes": [
        {"name": "added", "prior": 0.3, "truth": {"level": {"normal": [35, 5]}}},
        {"name": "lift", "prior": 0.2, "truth": {"floor": {"values": {2: 1, 3: 1}}}},
        {"name": "swapped", "prior": 0.2, "truth": {"target": "B"}},
        {"name": "off", "prior": 0.2, "failed": ["camera"]},
    ],
    "together": 2,
    "kernels": {
        "weigh": {"gaussian": {"default": ["level", 2.0]}},
        "look": {"gaussian": {"default": ["level", 2.0], "off": ["level + 5", 2.0]}},
        "read_tag": {"of": "target", "right": 0.7, "none": 0.1},
    },
}  # fmt: skip


def records(n, seed=0):
    """Return records in which everything is otherwise than the file has it."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(n):
        causes = [
            name for name, p in (("added", 0.4), ("lift", 0.3), ("swapped", 0.3), ("off", 0.4)) if rng.random() < p
        ]
        causes = causes[:2]
        level = float(rng.normal(45, 12)) if "added" in causes else 18.0
        while "added" in causes and abs(level - 18.0) <= 3.0:
            level = float(rng.normal(45, 12))
        bias = 9.0 if "off" in causes else 0.0
        tag = rng.choice(["right", "none", "wrong"], p=[0.9, 0.06, 0.04])
        target = "B" if "swapped" in causes else "A"
        said = {"right": target, "none": "none", "wrong": "AB".replace(target, "")}[str(tag)]
        read = {"weigh": (level + float(rng.normal(0, 0.7)),), "look": (level + bias + float(rng.normal(0, 3)),)}
        truth = {"level": level} | ({"floor": float(rng.choice([2, 3], p=[0.1, 0.9]))} if "lift" in causes else {})
        found.append(Record(" + ".join(causes) or "nothing", {**read, "read_tag": (said,)}, truth=truth))
    return found


@pytest.fixture(scope="module")
def found():
    return learned(POUR, records(600))


def inside(found, where, true):
    estimate = found.estimates[where]
    return estimate.low <= true <= estimate.high


def test_a_spread_becomes_what_was_really_there(found):
    mean, sd = found.data["causes"][0]["truth"]["level"]["normal"]
    assert (mean, sd) == (pytest.approx(45, abs=2.5), pytest.approx(12, abs=1.5))
    assert inside(found, "causes[0].truth.level.normal[0]", 45)
    weights = found.data["causes"][1]["truth"]["floor"]["values"]
    assert weights == pytest.approx({"2": 0.1, "3": 0.9}, abs=0.06)
    assert inside(found, "causes[1].truth.floor.values.2", 0.1)


def test_an_instrument_is_learned_by_its_error_and_its_bias_where_its_source_has_failed(found):
    kernels = found.data["kernels"]
    for probe, rule, mean, sd in (
        ("weigh", "default", 0.0, 0.7),
        ("look", "default", 0.0, 3.0),
        ("look", "off", 9.0, 3.0),
    ):
        follows, learned_sd = kernels[probe]["gaussian"][rule]
        sign, number = re.fullmatch(r"level ([+-]) ([\d.]+)", follows).groups()
        assert float(sign + number) == pytest.approx(mean, abs=0.2 * sd)
        assert learned_sd == pytest.approx(sd, rel=0.15)
        assert inside(found, f"kernels.{probe}.gaussian.{rule}[0]", mean)


def test_how_often_a_probe_answers_the_true_value_is_learned(found):
    tag = found.data["kernels"]["read_tag"]
    assert (tag["right"], tag["none"]) == (pytest.approx(0.9, abs=0.03), pytest.approx(0.06, abs=0.03))
    assert inside(found, "kernels.read_tag.right", 0.9)
    assert inside(found, "kernels.read_tag.none", 0.06)


def test_what_was_true_and_the_file_does_not_list_is_a_hypothesis_that_is_missing():
    odd = [*records(100), Record("lift", truth={"floor": 1.0})]
    assert any("records found 1, which the file does not list" in said for said in learned(POUR, odd).warnings)
    late = [Record("added", {"weigh": (19.0,)}, truth={"level": 19.0})] * 6
    assert any(
        "within 3 of what is declared, so that nothing had failed" in said for said in learned(POUR, late).warnings
    )
    with pytest.raises(InvalidRecords, match=r"record 1, column 'truth:level': 'much' is no number"):
        learned(POUR, [Record("added", truth={"level": "much"})])


def test_a_reading_that_the_file_hardly_allows_asks_for_a_rule():
    fine, far = Record("nothing", {"weigh": (18.5,)}), Record("off", {"weigh": (60.0,)}, place="row 7")
    asked = [said for said in learned(POUR, [fine, far]).warnings if "is a rule missing" in said]
    assert len(asked) == 1
    assert "'weigh' read 60 where 'off' was found (row 7)" in asked[0]
    assert "under 'default'" in asked[0]
    assert not any("is a rule missing" in said for said in learned(POUR, [fine, fine]).warnings)
    assert not any("is a rule missing" in said for said in learned(POUR, [far] * 5).warnings), "then it is learned"


@pytest.mark.parametrize("other", [0.0, "heat", "2 * level"])
def test_a_row_of_which_parts_follow_different_things_stays_as_it_was(other):
    mixed = {"mixture": {"default": [[0.8, "level", 2.0], [0.2, other, 2.0]]}}
    beliefs = [*POUR["beliefs"], {"name": "heat", "residual": 1, "declared": 7, "tolerance": 1}]
    template = {**POUR, "beliefs": beliefs, "kernels": {**POUR["kernels"], "weigh": mixed}}
    found = learned(template, [Record("nothing", {"weigh": (18.0,)})] * 20)
    assert found.data["kernels"]["weigh"] == mixed
    assert "follow different things" in found.kept["kernels.weigh"]


def test_without_true_values_spreads_stay_as_they_are_and_that_is_said():
    plain = [Record(r.found, r.readings) for r in records(60)]
    found = learned(POUR, plain)
    assert found.data["causes"][0]["truth"] == POUR["causes"][0]["truth"]
    assert "add a column truth:level" in found.kept["causes[0].truth.level"]


# Rates.

MAP = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "map", "residual": 20}, {"name": "shift", "residual": 30}],
    "actions": [{"name": "drive", "undo": 5, "status": "executed"}],
    "edges": [["map", "drive", "belief_to_action"]],
    "causes": [
        {"name": "moved", "rate": 0.001, "failed": ["map"]},
        {
            "name": "changed",
            "states": {
                "early": {"rate": 0.001, "failed": ["shift"]},
                "late": {"rate": 0.001, "failed": ["shift"]},
            },
        },
    ],
    "age": 60,
    "alarm": {"likelihood": {"default": 0.9, "nothing": 0.1}},
}  # fmt: skip
RATES = {"moved": 0.01, "early": 0.002, "late": 0.006}


def aged(n, seed=0, *, alarms=False):
    rng, found = np.random.default_rng(seed), []
    while len(found) < n:
        age = float(rng.choice([10, 60, 240]))
        causes = ["moved"] if rng.random() < -math.expm1(-RATES["moved"] * age) else []
        total = RATES["early"] + RATES["late"]
        if rng.random() < -math.expm1(-total * age):
            causes.append("changed=early" if rng.random() < RATES["early"] / total else "changed=late")
        rang = rng.random() < (0.9 if causes else 0.1)
        if rang or not alarms:
            found.append(Record(" + ".join(causes) or "nothing", alarm=bool(rang), ages={"": age}))
    return found


@pytest.mark.parametrize("alarms", [False, True])
def test_rates_follow_from_ages_from_alarms_alone_too(alarms):
    found = learned(MAP, aged(1500, seed=1, alarms=alarms))
    assert found.data["causes"][0]["rate"] == pytest.approx(0.01, rel=0.2)
    states = found.data["causes"][1]["states"]
    assert states["early"]["rate"] == pytest.approx(0.002, rel=0.35)
    assert states["late"]["rate"] == pytest.approx(0.006, rel=0.25)
    assert inside(found, "causes[0].rate", 0.01)
    assert inside(found, "causes[1].states.late.rate", 0.006)
    prior = dict(zip(found.problem.model.names, found.problem.ageing.problem(Ages(240)).model.prior, strict=True))
    moved = sum(p for name, p in prior.items() if "moved" in name)
    assert moved == pytest.approx(-math.expm1(-0.01 * 240), abs=0.03)


def test_where_no_record_tells_ages_rates_stay_and_the_column_is_named():
    found = learned(MAP, [Record(r.found) for r in aged(50)])
    assert found.data["causes"] == MAP["causes"]
    assert any("add a column age, or age:BELIEF" in said for said in found.warnings)


# Noisy-or, and where the data cannot tell.


def test_numbers_of_a_noisy_or_are_told_apart_only_where_causes_came_apart():
    data = copy.deepcopy(POUR)
    data["kernels"]["look"] = {"outcomes": ["fits", "differs"], "noisy_or": {"leak": 0.1, "added": 0.5, "off": 0.5}}
    rng, apart, together = np.random.default_rng(3), [], []
    for _ in range(500):
        added, off = rng.random() < 0.5, rng.random() < 0.5
        differs = rng.random() < 1 - 0.95 * (1 - 0.8 * added) * (1 - 0.3 * off)
        names = [name for name, so in (("added", added), ("off", off)) if so]
        record = Record(" + ".join(names) or "nothing", {"look": ("differs" if differs else "fits",)})
        apart.append(record)
        if added == off:
            together.append(record)
    found = learned(data, apart)
    assert found.data["kernels"]["look"]["noisy_or"] == pytest.approx(
        {"leak": 0.05, "added": 0.8, "off": 0.3}, abs=0.09
    )
    narrow = found.estimates["kernels.look.noisy_or.off"]
    wide = learned(data, together).estimates["kernels.look.noisy_or.off"]
    assert wide.high - wide.low > 3 * (narrow.high - narrow.low)


# What decisions lose.


def test_what_decisions_lose_is_worked_out_by_hand():
    data = {
        "format": "aquamend-problem/1",
        "beliefs": [{"name": "lid", "residual": 20}],
        "actions": [{"name": "lift", "undo": 3, "status": "executed"}],
        "edges": [["lid", "lift", "belief_to_action"]],
        "hypotheses": [{"name": "on", "prior": 0.5}, {"name": "off", "prior": 0.5, "failed": ["lid"]}],
        "alarm": {"likelihood": {"on": 0.5, "off": 0.5}},
    }  # fmt: skip
    seldom = {**data, "hypotheses": [{"name": "on", "prior": 0.9}, {"name": "off", "prior": 0.1, "failed": ["lid"]}]}
    past = [Record("on")] * 7 + [Record("off")] * 3 + [Record("on", alarm=False)]
    found = lost(parse_problem(data), parse_problem(seldom), past)
    assert (found.learned, found.before, found.least) == pytest.approx((3.0, 0.3 * 20, 0.3 * 3))
    assert lost(parse_problem(data), parse_problem(seldom), past[-1:]) is None


def test_a_value_that_the_learned_file_does_not_list_is_right_where_it_is_near_enough():
    """What the file said before may lie between the values that were learned; that is no infinite loss."""
    data = {**POUR, "together": 1, "restart": 50}
    before, after = copy.deepcopy(data), copy.deepcopy(data)
    after["causes"][0]["truth"]["level"] = {"values": {35.5: 1, 40.5: 1}}
    problem = parse_problem(after)
    seen = {"weigh": (40.0,), "look": (40.0,)}
    found = lost(problem, parse_problem(before), [Record("added", seen, truth={"level": "40.2"})])
    assert (found.learned, found.before, found.least) == (2.0, 2.0, 2.0), "pour is undone, and 39 or 41 is near 40.5"
    so = np.array([name == "added (level=35.5)" for name in problem.model.names], dtype=float)
    declared = {
        value: RollBack(("level",), ("pour",), (NewDeclaration("level", value),)) for value in (33.0, 35.5, 60.0)
    }
    assert [lost_by(problem, so, one) for one in declared.values()] == [2.0, 2.0, 11.0]


def test_monitors_and_ages_count_in_what_is_checked():
    data = copy.deepcopy(MAP)
    del data["alarm"]
    seen = {"scan": "map", "clock": "shift"}
    data["alarms"] = {name: {"likelihood": {belief: 0.9, "default": 0.1}} for name, belief in seen.items()}
    problem = parse_problem(data)
    heard = [Record("moved", rung={"scan": True, "clock": False}, ages={"": 500.0})]
    deaf = [Record("moved", ages={"": 500.0})]
    assert calibration(problem, heard).truth > 0.7 > 0.2 > calibration(problem, deaf).truth
    young = [Record("moved", rung={"scan": True, "clock": False}, ages={"": 1.0})]
    assert calibration(problem, young).truth < 0.05
