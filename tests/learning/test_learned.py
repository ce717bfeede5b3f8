"""From records to a problem: what the records say is learned, and it is as well calibrated as the truth."""

import contextlib
import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aquamend.errors import AquaMendError, InvalidData
from aquamend.files import parse_problem
from aquamend.learning import (
    Record,
    calibration,
    calibration_of,
    checked,
    drifts,
    held_back,
    journal_records,
    learned,
    read_records,
)
from aquamend.recovery import Journal, recover
from aquamend.testing import FakeRobot

TRUE = {
    "format": "aquamend-problem/1",
    "beliefs": [{"name": "pose", "residual": 30}, {"name": "code", "residual": 50}, {"name": "lamp", "residual": 1}],
    "actions": [{"name": "drive", "undo": 8, "status": "executed"}],
    "probes": [{"name": "scan", "cost": 1, "source": "lamp"}, {"name": "range", "cost": 0.5}],
    "edges": [["scan", "code", "detection"], ["range", "pose", "detection"], ["pose", "drive", "belief_to_action"]],
    "causes": [
        {"name": "slip", "prior": 0.3, "failed": ["pose"]},
        {
            "name": "label",
            "states": {"old": {"prior": 0.2, "failed": ["code"]}, "torn": {"prior": 0.1, "failed": ["code"]}},
        },
        {"name": "dark", "prior": {"default": 0.05, "slip": 0.4}, "failed": ["lamp"]},
    ],
    "kernels": {
        "scan": {
            "outcomes": ["ok", "bad"],
            "likelihood": {"default": [0.9, 0.1], "code": [0.2, 0.8], "lamp": [0.5, 0.5], "code & lamp": [0.5, 0.5]},
        },
        "range": {"gaussian": {"default": [1.0, 0.1], "pose": [1.6, 0.3]}},
    },
    "alarm": {"likelihood": {"default": 0.8, "nothing": 0.2}},
    "escalate": 90,
}  # fmt: skip
GUESS = copy.deepcopy(TRUE)
GUESS["causes"][0]["prior"] = 0.5
GUESS["causes"][1]["states"] = {"old": {"prior": 0.4, "failed": ["code"]}, "torn": {"prior": 0.4, "failed": ["code"]}}
GUESS["causes"][2]["prior"] = {"default": 0.5, "slip": 0.5}
GUESS["kernels"]["scan"]["likelihood"] = {
    "default": [0.6, 0.4],
    "code": [0.4, 0.6],
    "lamp": [0.5, 0.5],
    "code & lamp": [0.5, 0.5],
}
GUESS["kernels"]["range"]["gaussian"] = {"default": [1.2, 0.5], "pose": [1.4, 0.5]}
GUESS["alarm"]["likelihood"] = {"default": 0.5, "nothing": 0.5}
GUESS["actions"][0]["undo"] = 3


def drawn(n, seed=0, data=TRUE):
    """Return records of a problem's own model, times without an alarm included."""
    problem, rng, found = parse_problem(data), np.random.default_rng(seed), []
    model = problem.model
    for i in range(n):
        s = int(rng.choice(len(model.names), p=model.prior))
        readings = {probe: (channel.sample(s, rng),) for probe, channel in model.channels.items()}

        alarm = bool(rng.random() < model.alarm_likelihood[s])
        found.append(Record(model.names[s], readings, {"drive": float(rng.normal(8, 0.5))}, alarm, float(i)))
    return found


@pytest.fixture(scope="module")
def records():
    return drawn(1600)


def test_a_wrong_guess_becomes_the_truth(records):
    data = learned(GUESS, records).data
    assert data["causes"][0]["prior"] == pytest.approx(0.3, abs=0.04)
    assert data["causes"][1]["states"]["old"]["prior"] == pytest.approx(0.2, abs=0.04)
    assert data["causes"][2]["prior"] == pytest.approx({"default": 0.05, "slip": 0.4}, abs=0.05)
    assert data["kernels"]["scan"]["likelihood"]["default"] == pytest.approx([0.9, 0.1], abs=0.04)
    assert data["kernels"]["range"]["gaussian"]["default"] == pytest.approx([1.0, 0.1], abs=0.02)
    assert data["kernels"]["range"]["gaussian"]["pose"] == pytest.approx([1.6, 0.3], abs=0.05)
    assert data["alarm"]["likelihood"] == pytest.approx({"default": 0.8, "nothing": 0.2}, abs=0.05)
    assert data["actions"][0]["undo"] == pytest.approx(8.0, abs=0.1)
    assert "together" not in data


def test_what_is_learned_is_as_well_calibrated_as_the_truth(records):
    fresh = drawn(800, seed=9)
    true, guess = calibration(parse_problem(TRUE), fresh), calibration(parse_problem(GUESS), fresh)
    found = calibration(learned(GUESS, records).problem, fresh)
    assert found.brier == pytest.approx(true.brier, abs=0.01)
    assert found.ece < true.ece + 0.02
    assert guess.brier > found.brier + 0.02, "or there would have been nothing to learn"
    assert found.coverage["95 %"] == pytest.approx(0.95, abs=0.03)


def test_each_belief_is_scored_by_itself_and_by_kind_where_kinds_are_given(records):
    problem = parse_problem(TRUE)
    found = calibration(problem, records)
    assert list(found.beliefs) == [belief.name for belief in problem.graph.beliefs]
    assert found.brier == pytest.approx(np.mean([own.brier for own in found.beliefs.values()]))
    pooled = calibration_of([(problem, record) for record in records], kind=lambda belief: "any")
    assert (pooled.beliefs["any"].brier, pooled.brier) == (found.brier, found.brier)


def test_a_record_that_no_hypothesis_allows_counts_as_wholly_unexpected():
    data = {
        **TRUE,
        "kernels": {
            **TRUE["kernels"],
            "scan": {"outcomes": ["fits", "differs"], "likelihood": {"default": [1.0, 0.0]}},
        },
    }
    found = calibration(parse_problem(data), [Record("nothing", {"scan": ("differs",)}, alarm=True)])
    assert (found.records, found.contradicted, found.truth) == (1, 1, 0.0)
    assert found.brier == 1.0, "every belief is taken for failed, and none had"


def test_records_are_held_back_to_check(records):
    held = checked(GUESS, records[:400], strength=2.0)
    assert held.records == pytest.approx(50, abs=25), "a quarter, less those without an alarm"
    assert held.brier < 0.15


def test_records_that_come_in_turns_are_held_back_in_turn():
    used, back = held_back([Record(name) for _ in range(8) for name in ("a", "b", "c", "d")])
    assert (len(used), len(back)) == (24, 8)
    assert {record.found for record in back} == {"a", "b", "c", "d"}


def test_few_records_are_warned_of_and_change_little():
    found = learned(GUESS, drawn(3))
    assert any("rests on" in warning for warning in found.warnings)
    assert abs(found.data["causes"][0]["prior"] - 0.5) < 0.4


def test_records_of_alarms_alone_give_back_what_is_found_after_an_alarm(records):
    alarms = [record for record in records if record.alarm]
    found = learned(GUESS, alarms)
    assert any("every record is of an alarm" in warning for warning in found.warnings)
    model, truth = found.problem.model, parse_problem(TRUE).model
    after = model.prior * model.alarm_likelihood
    shares = np.array([sum(r.found == name for r in alarms) for name in model.names]) / len(alarms)
    assert after / after.sum() == pytest.approx(shares, abs=0.03)
    assert after[0] / after.sum() == pytest.approx(shares[0], abs=0.004)
    assert found.data["alarm"]["likelihood"]["default"] == 0.5, "only its ratio to that under nothing can be told"
    assert found.data["alarm"]["likelihood"]["nothing"] == pytest.approx(0.125, abs=0.05)
    assert model.prior == pytest.approx(truth.prior, abs=0.05), "since causes are independent, as both files have it"


def test_drift_is_reported_and_its_absence_too(records):
    assert list(drifts(records)) == []
    later = [replace(r, readings={**r.readings, "range": (r.readings["range"][0] + 0.3,)}) for r in records[800:]]
    assert any("what 'range' reads under 'nothing' has changed" in said for said in drifts([*records[:800], *later]))


def test_what_was_found_may_be_in_any_order_and_must_be_known():
    assert learned(TRUE, [Record("label=old + slip")]).used == 1
    with pytest.raises(InvalidData, match="which the problem does not know; did you mean 'slip'"):
        learned(TRUE, [Record("slop")])
    limited = {**TRUE, "together": 1}
    found = learned(limited, [Record("slip + label=old"), Record("slip")])
    assert found.used == 1
    assert any("more causes at once" in warning for warning in found.warnings)


def test_an_outcome_that_is_none_is_refused():
    with pytest.raises(InvalidData, match="'okk' is none of its outcomes; did you mean 'ok'"):
        learned(TRUE, [Record("slip", {"scan": ("okk",)})])
    with pytest.raises(InvalidData, match="it reads numbers"):
        learned(TRUE, [Record("slip", {"range": ("far",)})])


def test_listed_hypotheses_are_learned_too():
    data = {
        "format": "aquamend-problem/1", "beliefs": [{"name": "b", "residual": 1}], "probes": [{"name": "p", "cost": 1}],
        "hypotheses": [{"name": "on", "prior": 0.5}, {"name": "off", "prior": 0.5, "failed": ["b"]}],
        "kernels": {"p": {"outcomes": [0, 1], "likelihood": {"on": [0.5, 0.5], "off": [0.5, 0.5]}}},
    }  # fmt: skip
    found = learned(data, [Record("on", {"p": (1.0,)}), Record("on", {"p": ("1",)}), Record("off", {"p": ("0",)})])
    assert [h["prior"] for h in found.data["hypotheses"]] == pytest.approx([0.6, 0.4])
    assert found.data["kernels"]["p"]["likelihood"]["on"] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_files_of_records_are_read(tmp_path, suffix):
    path = tmp_path / f"past{suffix}"
    if suffix == ".csv":
        path.write_text("found,alarm,when,scan,range,cost:drive\nslip,true,3,ok,1.5,8\nnothing,0,4,,,\n")
    else:
        row = {"found": "slip", "when": 3, "scan": ["ok"], "range": [1.5, 1.25], "cost:drive": 8}
        path.write_text(json.dumps(row) + "\n\n" + json.dumps({"found": "nothing", "alarm": False, "scan": None}))
    first, second = read_records(path).records
    assert (first.found, first.alarm, first.when, first.costs) == (
        "slip",
        True,
        3.0,
        {"drive": 8.0},
    )
    assert (second.alarm, second.readings) == (False, {})


def test_parquet_is_read_or_the_library_is_named(tmp_path):
    path = tmp_path / "past.parquet"
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"found": ["slip", "nothing"], "range": [1.5, None]}), path)
    assert [r.readings for r in read_records(path).records] == [{"range": (1.5,)}, {}]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "x\n1\n", "column 'found' is missing"),
        ("a.csv", "found,found\na,b\n", "given twice"),
        ("a.csv", "found\na,b\n", "more cells"),
        ("a.csv", "", "no record"),
        ("a.csv", "found,cost:x\na,-1\n", "is not a cost"),
        ("a.csv", "found,when\na,soon\n", "is not a number"),
        ("a.csv", "found,alarm\na,perhaps\n", "neither true nor false"),
        ("a.jsonl", "{", "no JSON"),
        ("a.jsonl", "[1]", "no mapping"),
        ("a.txt", "x", "records are .csv"),
    ],
)
def test_records_that_are_none_are_refused(tmp_path, name, content, said):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InvalidData) as caught:
        read_records(path)
    assert said in str(caught.value)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.text(max_size=60) | st.text('found,ala r\n"10.{}[]:sliptrue', max_size=60), st.sampled_from([".csv", ".jsonl"])
)
def test_any_text_is_records_or_an_error_of_ours(tmp_path, text, suffix):
    path = tmp_path / f"junk{suffix}"
    path.write_text(text, encoding="utf-8", newline="")
    with contextlib.suppress(AquaMendError):
        learned(TRUE, read_records(path).records)


def test_a_journal_tells_readings_and_costs_and_people_what_was_found(tmp_path):
    problem = parse_problem(TRUE)
    path = tmp_path / "robot.journal"
    with Journal(path) as journal:
        for seed in range(3):
            recover("aquamend", FakeRobot(problem, seed=seed), journal=journal, session=f"s{seed}")
    given_ = journal_records(path, {"s0": "slip", "s1": "nothing"})
    assert [record.found for record in given_.records] == ["slip", "nothing", None]
    assert any(record.readings for record in given_.records)
    assert learned(TRUE, given_.records).used == 2
    assert given_.digest is None
    with pytest.raises(InvalidData, match="no session 'nobody'"):
        journal_records(path, {"nobody": "slip"})


def test_a_journal_without_measured_costs_leaves_costs_as_they_are_with_delay_or_without(tmp_path):
    data = {**copy.deepcopy(TRUE), "delay": 0.5}
    data["actions"][0] |= {"takes": 40, "undo": 40}
    problem, path = parse_problem(data), tmp_path / "robot.journal"
    with Journal(path) as journal:
        for seed in range(3):
            recover("aquamend", FakeRobot(problem, seed=seed), journal=journal, session=f"s{seed}")
    records = journal_records(path, {"s0": "slip", "s1": "nothing"}).records
    assert all(not record.costs for record in records)
    for _ in range(3):
        found = learned(data, records)
        assert found.data["actions"] == data["actions"]
        data = found.data


def test_what_receipts_charge_for_delay_is_taken_off_once():
    data = {**copy.deepcopy(TRUE), "delay": 0.5}
    data["actions"][0] |= {"takes": 40, "undo": 40}
    charged = [Record("slip", costs={"drive": 61.0}, with_delay=True), Record("slip", costs={"drive": 41.0})]
    for record in charged:
        assert learned(data, [record] * 50).data["actions"][0]["undo"] == pytest.approx(41.0, abs=0.1)


def test_a_finding_counts_as_a_whole_where_errors_persist():
    template = copy.deepcopy(TRUE)
    template["probes"][1] |= {"max_uses": 2, "persistent": 0.5}
    records = [replace(r, readings={**r.readings, "range": r.readings["range"] * 2}) for r in drawn(12) if r.alarm]
    found = calibration(parse_problem(template), records)
    assert found.records == len(records)
    assert found.log_score > -6.0
    assert found.readings == 2 * len(records)


def test_rates_and_alarms_by_name_stay_as_they_were_where_no_record_tells_them_and_that_is_said():
    data = copy.deepcopy(TRUE)
    data["causes"].append({"name": "aged", "rate": 0.01, "failed": ["pose"]})
    data |= {"age": 5, "alarms": {"bell": data.pop("alarm")}}
    found = learned(data, [Record("slip"), Record("nothing", alarm=False), Record("aged")])
    assert found.data["causes"][-1] == data["causes"][-1]
    assert found.data["alarms"] == data["alarms"]
    said = " ".join(found.warnings)
    assert "the rate of cause 'aged' stays as it was: no record tells how old beliefs were" in said
    assert "the alarm 'bell' stays as it was: no record tells whether it rang" in said


def test_rules_in_a_list_are_learned_as_the_same_rules_in_a_mapping(records):
    listed = copy.deepcopy(GUESS)
    rows = listed["kernels"]["scan"]["likelihood"]
    listed["kernels"]["scan"]["likelihood"] = [
        [rule, rows[rule]] for rule in ("code & lamp", "code", "lamp", "default")
    ]
    listed["kernels"]["range"]["gaussian"] = [["pose", [1.4, 0.5]], ["default", [1.2, 0.5]]]
    listed["causes"][2]["prior"] = [["slip", 0.5], ["default", 0.5]]
    listed["alarm"]["likelihood"] = [["nothing", 0.5], ["default", 0.5]]
    found, same = learned(listed, records).data, learned(GUESS, records).data
    assert dict(found["kernels"]["scan"]["likelihood"]) == same["kernels"]["scan"]["likelihood"]
    assert [rule for rule, _ in found["kernels"]["scan"]["likelihood"]] == ["code & lamp", "code", "lamp", "default"]
    assert dict(found["kernels"]["range"]["gaussian"]) == same["kernels"]["range"]["gaussian"]
    assert dict(found["causes"][2]["prior"]) == same["causes"][2]["prior"]
    assert dict(found["alarm"]["likelihood"]) == same["alarm"]["likelihood"]


def test_a_noisy_or_is_learned_with_intervals():
    data = copy.deepcopy(TRUE)
    data["kernels"]["scan"] = {"outcomes": ["ok", "bad"], "noisy_or": {"leak": 0.1, "code": 0.7, "lamp": 0.4}}
    data["alarm"] = {"noisy_or": {"leak": 0.2, "slip": 0.8, "label": 0.6}}
    given_ = copy.deepcopy(data)
    given_["kernels"]["scan"]["noisy_or"] = {"leak": 0.3, "code": 0.5, "lamp": 0.5}
    given_["alarm"]["noisy_or"] = {"leak": 0.5, "slip": 0.5, "label": 0.5}
    for records in (everything := drawn(2000, data=data), [record for record in everything if record.alarm]):
        found = learned(given_, records)
        assert found.data["kernels"]["scan"]["noisy_or"] == pytest.approx(data["kernels"]["scan"]["noisy_or"], abs=0.1)
        own = found.estimates["kernels.scan.noisy_or.code"]
        assert own.low < 0.7 < own.high
    found = learned(given_, everything)
    assert found.data["alarm"]["noisy_or"] == pytest.approx(data["alarm"]["noisy_or"], abs=0.08)
