"""Records of alarms alone are a selection: what is learned from them gives back what they say, and no more."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from tests.tiers import cases

from aquamend.files import parse_problem
from aquamend.learning import Record, learned
from aquamend.learning.happened import Block, Happened, Monitor, Rate, identified

SITE = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": name, "residual": 20} for name in ("pose", "code", "grip")],
    "actions": [{"name": "drive", "undo": 8, "status": "executed"}],
    "probes": [{"name": "scan", "cost": 1}],
    "edges": [["scan", "pose", "detection"], ["pose", "drive", "belief_to_action"]],
    "causes": [
        {"name": "slip", "prior": 0.15, "failed": ["pose"]},
        {"name": "swap", "prior": 0.1, "failed": ["code"]},
        {"name": "worn", "prior": 0.08, "failed": ["grip"]},
    ],
    "kernels": {"scan": {"outcomes": ["ok", "bad"], "likelihood": {"default": [0.9, 0.1], "pose": [0.2, 0.8]}}},
    "alarm": {"likelihood": {"default": 0.9, "nothing": 0.03}},
}  # fmt: skip
GUESS = copy.deepcopy(SITE)
for _cause, _prior in zip(GUESS["causes"], (0.3, 0.3, 0.3), strict=True):
    _cause["prior"] = _prior
GUESS["alarm"] = {"likelihood": {"default": 0.9, "nothing": 0.3}}


def alarms(n, seed=0, data=SITE):
    """Return so many records of alarms, drawn from a problem's own model."""
    model, rng = parse_problem(data).model, np.random.default_rng(seed)
    after = model.prior * model.alarm_likelihood
    return [Record(model.names[s]) for s in rng.choice(len(after), n, p=after / after.sum())]


def after_alarm(problem):
    """Return how probable every hypothesis is after the alarm."""
    after = problem.model.prior * problem.model.alarm_likelihood
    return dict(zip(problem.model.names, after / after.sum(), strict=True))


def test_five_thousand_alarms_give_back_the_share_of_false_ones():
    records = alarms(5000)
    share = sum(record.found == "nothing" for record in records) / 5000
    found = learned(GUESS, records)
    assert after_alarm(found.problem)["nothing"] == pytest.approx(share, abs=0.002)
    recorded, estimate = found.after["nothing"]
    assert recorded == pytest.approx(share)
    assert estimate.low < share < estimate.high
    assert estimate.high - estimate.low < 0.03


def test_intervals_from_alarms_alone_hold_the_truth_about_as_often_as_they_say():
    truth, draws = parse_problem(SITE), cases(12, 100)
    after = after_alarm(truth)
    inside = {"nothing": 0, "slip": 0, "prior": 0, "alarm": 0}
    for seed in range(draws):
        found = learned(GUESS, alarms(400, seed))
        for word, probability in (
            ("nothing", after["nothing"]),
            ("slip", sum(p for n, p in after.items() if "slip" in n)),
        ):
            inside[word] += found.after[word][1].low < probability < found.after[word][1].high
        prior, alarm = found.estimates["causes[0].prior"], found.estimates["alarm.likelihood.nothing"]
        inside["prior"] += prior.low < 0.15 < prior.high
        inside["alarm"] += alarm.low < 0.03 < alarm.high
    assert all(count >= 0.8 * draws for count in inside.values()), inside


def test_what_alarms_alone_do_not_tell_stays_as_the_file_has_it_and_is_said():
    single = {**copy.deepcopy(GUESS), "together": 1}
    found = learned(single, alarms(800, data={**SITE, "together": 1}))
    assert found.data["alarm"] == single["alarm"], "one cause at a time: its prior and its alarm are one number"
    assert set(found.kept) >= {"alarm.likelihood.default", "alarm.likelihood.nothing"}
    assert any("only priors were learned" in said for said in found.said)
    truth = after_alarm(parse_problem({**SITE, "together": 1}))
    assert after_alarm(found.problem) == pytest.approx(truth, abs=0.05)


def test_listed_hypotheses_keep_the_alarm_and_get_the_shares():
    data = {
        "format": "aquamend-problem/1", "beliefs": [{"name": "b", "residual": 1}],
        "hypotheses": [{"name": "on", "prior": 0.5}, {"name": "off", "prior": 0.5, "failed": ["b"]}],
        "alarm": {"likelihood": {"on": 0.1, "off": 0.9}},
    }  # fmt: skip
    found = learned(data, [Record("on")] * 300 + [Record("off")] * 700)
    assert found.data["alarm"] == data["alarm"]
    assert after_alarm(found.problem) == pytest.approx({"on": 0.3, "off": 0.7}, abs=0.01)


def test_an_alarm_without_a_rule_for_nothing_gets_one_where_the_records_ask_for_it():
    plain = {**copy.deepcopy(GUESS), "alarm": {"likelihood": {"default": 0.9}}}
    records = alarms(2000)
    found = learned(plain, records)
    assert list(found.data["alarm"]["likelihood"]) == ["nothing", "default"]
    share = sum(record.found == "nothing" for record in records) / 2000
    assert after_alarm(found.problem)["nothing"] == pytest.approx(share, abs=0.005)
    assert any("has a rule for 'nothing' of its own now" in said for said in found.said)


def test_causes_that_go_together_more_often_than_the_file_can_say_are_reported():
    records = alarms(600) + [Record("slip + swap")] * 200
    assert any("'slip + swap' was found after" in warning for warning in learned(GUESS, records).warnings)


def test_silent_times_tell_how_often_the_alarm_comes():
    model, rng = parse_problem(SITE).model, np.random.default_rng(3)
    states = rng.choice(len(model.names), 4000, p=model.prior)
    records = [Record(model.names[s], alarm=bool(rng.random() < model.alarm_likelihood[s])) for s in states]
    found = learned(GUESS, records)
    assert found.data["alarm"]["likelihood"] == pytest.approx({"default": 0.9, "nothing": 0.03}, abs=0.02)
    assert [cause["prior"] for cause in found.data["causes"]] == pytest.approx([0.15, 0.1, 0.08], abs=0.02)
    assert not any("every record is of an alarm" in warning for warning in found.warnings)


def test_what_together_leaves_out_is_no_bias():
    few = {**copy.deepcopy(SITE), "together": 1}
    few["causes"] = [{**cause, "prior": 0.3} for cause in few["causes"]]
    records = [Record(name) for name in ["nothing"] * 100 + ["slip"] * 300 + ["swap"] * 300 + ["worn"] * 300]
    del few["alarm"]
    prior = dict(zip(*(lambda m: (m.names, m.prior))(learned(few, records).problem.model), strict=True))
    assert prior == pytest.approx({"nothing": 0.1, "slip": 0.3, "swap": 0.3, "worn": 0.3}, abs=0.01)


def test_learning_again_and_again_from_the_same_alarms_stays_put():
    records = alarms(500)
    data, priors = GUESS, []
    for _ in range(5):
        data = learned(data, records, intervals=False).data
        priors.append([cause["prior"] for cause in data["causes"]])
    assert priors[-1] == pytest.approx(priors[-2], abs=0.002)
    assert priors[-1] == pytest.approx(priors[0], abs=0.02)


def test_several_monitors_are_learned_each_by_itself():
    data = copy.deepcopy(SITE)
    del data["alarm"]
    data["alarms"] = {
        "torque": {"likelihood": {"default": 0.05, "slip": 0.8}},
        "scale": {"likelihood": {"default": 0.1, "swap": 0.7}},
    }
    model, rng, records = parse_problem(data).model, np.random.default_rng(4), []
    while len(records) < 3000:
        s = int(rng.choice(len(model.names), p=model.prior))
        rung = {name: bool(rng.random() < row[s]) for name, row in model.rung.items()}
        if any(rung.values()):
            records.append(Record(model.names[s], rung=rung))
    guess = copy.deepcopy(data)
    for one in guess["alarms"].values():
        one["likelihood"] = dict.fromkeys(one["likelihood"], 0.5)
    found = learned(guess, records)
    assert found.data["alarms"]["torque"]["likelihood"] == pytest.approx({"default": 0.05, "slip": 0.8}, abs=0.06)
    assert found.data["alarms"]["scale"]["likelihood"] == pytest.approx({"default": 0.1, "swap": 0.7}, abs=0.06)
    assert found.data["causes"][0]["prior"] == pytest.approx(0.15, abs=0.05)


def test_slopes_are_those_of_the_logarithm_of_the_posterior():
    rng = np.random.default_rng(5)
    present = rng.integers(0, 2, (8, 2))
    counts = rng.integers(0, 9, (3, 8)).astype(float)
    blocks = [Block(np.array([0.6, 0.4]), present[:, k]) for k in range(2)]
    table = np.column_stack([present[:, 0], 1 - present[:, 0]]).astype(float)
    monitors = [
        Monitor(np.array([0.4, 0.7]), table, False, None, counts, counts * 0.5),
        Monitor(np.array([0.1, 0.6]), np.column_stack([np.ones(8), present[:, 1]]), True, None, counts, counts * 0.2),
    ]
    rates = [Rate(np.array([0.1, 0.3]), rng.integers(0, 3, 8), np.array([1.0, 3.0, 9.0]))]
    happened = Happened(counts, np.ones(8), blocks, rates, monitors, True)
    at = happened._start() + rng.normal(0, 0.3, 8)
    steps = 1e-5 * np.eye(8)
    numeric = [(happened.log_posterior(at + e)[0] - happened.log_posterior(at - e)[0]) / 2e-5 for e in steps]
    assert happened.log_posterior(at)[1] == pytest.approx(numeric, rel=1e-5, abs=1e-4)


def test_without_a_selection_the_mode_is_the_mean_that_counting_gives():
    counts = np.array([[30.0, 12.0]])
    fit = Happened(counts, np.ones(2), [Block(np.array([0.5, 0.5]), np.array([0, 1]))]).fitted()
    assert fit.numbers.blocks[0][1] == pytest.approx((12 + 1) / (42 + 2), abs=1e-7)
    low, high = fit.block(0, 1, 42).low, fit.block(0, 1, 42).high
    assert (low, high) == pytest.approx((0.175, 0.444), abs=0.03), "as the Beta distribution has it"


def test_a_ratio_can_be_told_only_where_causes_come_together():
    option = [np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])]
    of = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    monitor = Monitor(np.array([0.9, 0.1]), of)
    blocks = [Block(np.array([0.5, 0.5]), own) for own in option]
    assert identified(blocks, monitor, np.array([1.0, 5, 5, 2])).tolist() == [False, True]
    single = [replace(block, option=block.option[:3]) for block in blocks]
    assert not identified(single, Monitor(monitor.prior, of[:3]), np.array([1.0, 5, 5])).any()
