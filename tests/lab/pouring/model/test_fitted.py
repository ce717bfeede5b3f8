"""The model file: what was written comes back, and what was tampered with does not."""

import json
from dataclasses import replace

import pytest
from tests.lab.pouring.model.by_hand import FITTED

from aquamend.errors import AquaMendError
from aquamend_lab.pouring.model.configurations import CAMERA_KINDS
from aquamend_lab.pouring.model.fitted import KINDS, TIMED, InvalidModel, load_fitted, save_fitted, uncalibrated
from aquamend_lab.pouring.task import Sense


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


@pytest.mark.parametrize("content", ["[]", "7", "{}", '{"format": "aquamend-pouring-model/2"}'])
def test_another_format_is_refused_with_the_one_that_is_wanted(tmp_path, content):
    (tmp_path / "other.json").write_text(content, encoding="utf-8")
    with pytest.raises(InvalidModel, match=r"format is not aquamend-pouring-model/3"):
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


def test_a_look_at_water_poured_since_scatters_as_such_and_other_senses_do_not_care():
    readings = FITTED.readings
    assert [readings.sd_g(Sense.LOOK, disturbed=new) for new in (False, True)] == [0.6, 1.0]
    assert [readings.sd_g(Sense.WEIGH, disturbed=new) for new in (False, True)] == [0.9, 0.9]


def test_before_calibration_every_report_is_alike_and_every_skill_has_some_duration(tmp_path):
    blank = uncalibrated()
    assert set(blank.alarms) == set(KINDS)
    assert all(len(set(shares.values())) == 1 for shares in blank.alarms.values())
    assert set(blank.readings.finds_faulty) == set(CAMERA_KINDS)
    assert all(blank.seconds(what) > 0 for what in TIMED)
    assert (blank.records, blank.groups) == (0, ())
    save_fitted(blank, tmp_path / "blank.json")
    assert load_fitted(tmp_path / "blank.json") == blank
