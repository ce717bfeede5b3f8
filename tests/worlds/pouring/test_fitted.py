"""The model file: what was written comes back, and what was tampered with does not."""

import json
from dataclasses import replace

import pytest
from tests.worlds.pouring.episodes import FITTED

from aquamend.errors import AquaMendError
from aquamend.worlds.pouring.alarms import cells
from aquamend.worlds.pouring.configurations import Physical, Sensing
from aquamend.worlds.pouring.drawing import KINDS
from aquamend.worlds.pouring.episode import Stage
from aquamend.worlds.pouring.fit.fitting import TIMED
from aquamend.worlds.pouring.fitted import SHIPPED, InvalidModel, load_fitted, save_fitted


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "model.json"
    save_fitted(FITTED, path)
    return path


def edited(path, change):
    data = json.loads(path.read_text(encoding="utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def test_a_model_comes_back_from_its_file_as_it_was(file):
    assert load_fitted(file) == FITTED


def test_the_fingerprint_is_of_what_decisions_depend_on():
    checked = replace(FITTED, calibration={"records": 7})
    refitted = replace(FITTED, readings=replace(FITTED.readings, weigh_sd_g=0.51))
    assert checked.hash == FITTED.hash
    assert refitted.hash != FITTED.hash


def test_a_model_edited_by_hand_is_refused(file):
    edited(file, lambda data: data["readings"].update(weigh_sd_g=0.4))
    with pytest.raises(InvalidModel, match="it was edited") as caught:
        load_fitted(file)
    assert FITTED.hash in str(caught.value)


def test_a_file_that_is_not_there_is_named_with_how_to_make_one(tmp_path):
    with pytest.raises(InvalidModel, match=r"nowhere\.json: No such file.*aquamend fit pouring"):
        load_fitted(tmp_path / "nowhere.json")


@pytest.mark.parametrize("content", [b"garbage", b"", b"\xff\xfe\x00", b'{"format": '])
def test_garbage_is_refused_as_no_model_file(tmp_path, content):
    (tmp_path / "garbage.json").write_bytes(content)
    with pytest.raises(InvalidModel, match=r"garbage\.json: not a model file"):
        load_fitted(tmp_path / "garbage.json")


@pytest.mark.parametrize("content", ["[]", "7", "{}", '{"format": "aquamend-pouring-model/0"}'])
def test_another_format_is_refused_with_the_one_that_is_wanted(tmp_path, content):
    (tmp_path / "other.json").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidModel, match=r"format is not aquamend-pouring-model/1"):
        load_fitted(tmp_path / "other.json")


@pytest.mark.parametrize(
    "part", ["readings", "shifts", "alarms", "durations", "groups", "records", "calibration", "hash"]
)
def test_a_model_with_a_part_missing_is_refused(file, part):
    edited(file, lambda data: data.pop(part))
    with pytest.raises(InvalidModel, match=part):
        load_fitted(file)


@pytest.mark.parametrize("part", ["readings", "shifts", "alarms", "durations", "groups"])
@pytest.mark.parametrize("instead", [7, "seven", [1, 2], None])
def test_a_model_with_a_part_of_another_kind_is_refused(file, part, instead):
    edited(file, lambda data: data.update({part: instead}))
    with pytest.raises(InvalidModel):
        load_fitted(file)


def test_a_duration_that_nobody_measured_is_named():
    with pytest.raises(InvalidModel, match=r"'juggle'.*fetch"):
        FITTED.seconds("juggle")


def test_a_bad_model_is_a_failure_of_the_domain():
    assert issubclass(InvalidModel, AquaMendError)


def test_the_model_that_ships_has_a_group_for_every_kind_of_trouble():
    groups = load_fitted(SHIPPED).groups
    assert [group.name for group in groups] == list(KINDS)
    assert len(groups) == 12
    assert {group.stage for group in groups} == {Stage.MOVED.value}
    assert min(group.records for group in groups) >= 5


def test_the_model_that_ships_rests_on_enough_records_and_was_checked_on_others():
    fitted = load_fitted()
    assert 140 <= fitted.records <= 170
    assert fitted.calibration["records"] >= 40
    assert fitted.calibration["contradicted"] == 0


def test_the_model_that_ships_knows_how_every_kind_is_noticed_and_every_skill_takes():
    fitted = load_fitted()
    for kind in KINDS:
        assert set(fitted.alarms[kind]) == set(cells(some_affected=kind not in (Physical.NOTHING, Sensing.FROZEN)))
        assert sum(fitted.alarms[kind].values()) == pytest.approx(1.0, abs=1e-4)
    assert all(fitted.seconds(what) > 0 for what in TIMED)


def test_the_model_that_ships_is_calibrated_on_what_was_held_back():
    held = load_fitted().calibration
    probed, heard = held["declarations"]["after every probe"], held["declarations"]["after the alarm"]
    assert set(probed) == {"quantity", "rank", "binding", "target", "camera"}
    assert all(scores["brier"] < 0.1 for scores in probed.values())
    assert all(scores["brier"] <= 0.25 for scores in heard.values()), "no worse than saying one half"
    assert 0.55 < held["readings within"]["1 sd"] < 0.85
    assert held["readings within"]["2 sd"] > 0.88
    told = held["probability of what was so"]
    assert told["after every probe"] > 0.75 > told["after the alarm"]
