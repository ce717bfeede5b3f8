"""Run folders: finished ones, unfinished ones, and what is no run at all."""

import gzip
import json
import math
import os

import pytest

from aquamend.errors import InvalidRun
from aquamend_lab.records import as_line, load_run, write_lines

MANIFEST = {"format": "aquamend-run/1", "suite": "toy-v1", "policies": ["a", "b"], "scenarios": 1, "seeds": 1}
ONE = {"suite": "toy-v1", "scenario": 0, "seed": 0, "policy": "a", "group": {}, "loss": 1.0}
TWO = ONE | {"policy": "b"}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps(MANIFEST))
    return tmp_path


def test_an_unfinished_run_is_its_files_and_its_parts(folder):
    (folder / "records.jsonl").write_text(as_line(ONE))
    (folder / "parts").mkdir()
    (folder / "parts" / "x.jsonl").write_text(as_line({"record": TWO}) + as_line({"timing": TWO | {"decision_ms": 1}}))
    run = load_run(folder)
    assert run.records == [ONE, TWO]
    assert [timing["decision_ms"] for timing in run.timings] == [1]
    assert run.suite == "toy-v1"


def test_a_record_told_twice_counts_once(folder):
    (folder / "records.jsonl").write_text(as_line(ONE) + as_line(TWO))
    (folder / "parts").mkdir()
    (folder / "parts" / "x.jsonl").write_text(as_line({"record": ONE}))
    assert load_run(folder).records == [ONE, TWO]


def test_half_a_temporary_file_is_not_read(folder):
    (folder / "parts").mkdir()
    (folder / "parts" / ".x.jsonl.abc.tmp").write_text('{"record": {"su')
    assert load_run(folder).records == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no manifest.json"),
        ("{", "cannot be read"),
        ("[]", "its format is"),
        ("{}", "its format is None"),
    ],
)
def test_what_is_no_run_is_reported(tmp_path, text, message):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InvalidRun, match=message):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"policy": None}, "has None for 'policy', which is no text"),
        ({"seed": "zero"}, "has 'zero' for 'seed', which is no whole number"),
        ({"group": "n"}, "has 'n' for 'group', which is no object"),
        ({"group": {"n": [1]}}, r"has \[1\] for 'group\.n', which is not plain"),
    ],
)
@pytest.mark.parametrize("file", ["records.jsonl", "timings.jsonl"])
def test_a_line_that_does_not_say_what_it_is_about_is_reported(folder, file, wrong, message):
    (folder / file).write_text(as_line(ONE) + as_line(TWO | wrong))
    with pytest.raises(InvalidRun, match=f"{file}: line 2 has.*{message}|{file}: line 2.*{message}"):
        load_run(folder)


def test_an_annotation_needs_no_policy_but_a_seed(folder):
    annotation = {name: value for name, value in ONE.items() if name != "policy"}
    (folder / "annotations.jsonl").write_text(as_line(annotation))
    assert load_run(folder).annotations == [annotation]
    (folder / "annotations.jsonl").write_text(as_line({"suite": "toy-v1", "scenario": 0, "group": {}}))
    with pytest.raises(InvalidRun, match=r"annotations\.jsonl: line 1 has None for 'seed'"):
        load_run(folder)


@pytest.mark.parametrize("field", ["suite", "policies", "scenarios", "seeds"])
def test_a_manifest_without_what_every_run_has_is_reported(tmp_path, field):
    (tmp_path / "manifest.json").write_text(json.dumps({k: v for k, v in MANIFEST.items() if k != field}))
    with pytest.raises(InvalidRun, match=f"it has None for '{field}'"):
        load_run(tmp_path)


# Folders from elsewhere: nothing in them makes the program run out of memory, recurse or read what is not theirs.


def test_a_packed_file_is_not_unpacked_without_end(folder, monkeypatch):
    monkeypatch.setattr("aquamend_lab.records.MOST_BYTES", 1 << 20)
    with gzip.open(folder / "records.jsonl.gz", "wb") as file:
        file.writelines(b" " * (1 << 20) for _ in range(64))
    with pytest.raises(InvalidRun, match=r"records\.jsonl\.gz: it brings the run to more than 1 MB"):
        load_run(folder)


def test_a_packed_file_that_is_as_large_as_allowed_is_read(folder, monkeypatch):
    line = as_line(ONE).encode()
    monkeypatch.setattr("aquamend_lab.records.MOST_BYTES", len(line))
    (folder / "records.jsonl.gz").write_bytes(gzip.compress(line))
    assert load_run(folder).records == [ONE]


@pytest.mark.parametrize("depth", [60, 200, 100_000])
@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}")])
def test_nothing_nested_without_end_is_read(folder, depth, open_, close):
    nested = open_ * depth + "1" + close * depth
    (folder / "records.jsonl").write_text(as_line(ONE)[:-2] + f',"steps":{nested}}}\n')
    with pytest.raises(InvalidRun, match=r"line 1 is not JSON \(it is nested more than 50 deep"):
        load_run(folder)
    (folder / "manifest.json").write_text(json.dumps(MANIFEST)[:-1] + f',"groups":{nested}}}')
    with pytest.raises(InvalidRun, match=r"manifest\.json: cannot be read \(it is nested more than 50 deep"):
        load_run(folder)


@pytest.mark.parametrize("name", ["manifest.json", "records.jsonl", "annotations.jsonl.gz", "timings.jsonl", "parts"])
def test_no_link_is_followed_out_of_the_folder(folder, tmp_path_factory, name):
    outside = tmp_path_factory.mktemp("outside") / name
    if name == "parts":
        outside.mkdir()
    else:
        outside.write_text(json.dumps(MANIFEST) if name == "manifest.json" else "")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(outside)
    with pytest.raises(InvalidRun, match="a link that leads out of the run; copy the file"):
        load_run(folder)


def test_a_part_may_not_be_a_link_out_of_the_folder_either(folder, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "x.jsonl"
    outside.write_text(as_line({"record": ONE}))
    (folder / "parts").mkdir()
    (folder / "parts" / "x.jsonl").symlink_to(outside)
    with pytest.raises(InvalidRun, match=r"x\.jsonl: it is a link"):
        load_run(folder)


def test_links_within_the_folder_and_to_it_are_followed(folder, tmp_path_factory):
    (folder / "kept.jsonl").write_text(as_line(ONE))
    (folder / "records.jsonl").symlink_to(folder / "kept.jsonl")
    link = tmp_path_factory.mktemp("elsewhere") / "run"
    link.symlink_to(folder)
    assert load_run(link).records == [ONE]


def test_policies_are_texts(folder):
    (folder / "manifest.json").write_text(json.dumps(MANIFEST | {"policies": ["a", {"b": 1}]}))
    with pytest.raises(InvalidRun, match=r"has \{'b': 1\} for 'policies', which is no text"):
        load_run(folder)


def test_the_files_of_a_run_together_hold_no_more_than_one_run_may(folder, monkeypatch):
    parts = folder / "parts"
    parts.mkdir()
    for k in range(3):
        (parts / f"{k}.jsonl").write_text(as_line({"record": ONE | {"scenario": k}}))
    assert len(load_run(folder).records) == 3
    monkeypatch.setattr("aquamend_lab.records.MOST_BYTES", 2 * len(as_line({"record": ONE})))
    with pytest.raises(InvalidRun, match=r"2\.jsonl: it brings the run to more than"):
        load_run(folder)


def test_many_small_values_count_for_what_they_take_in_memory(folder, monkeypatch):
    monkeypatch.setattr("aquamend_lab.records.MOST_VALUES", 1000)
    (folder / "records.jsonl").write_text(as_line(ONE | {"steps": [[]] * 1000}))
    with pytest.raises(InvalidRun, match="more than 1,000 values"):
        load_run(folder)


def test_a_line_without_an_end_is_not_read_to_its_end(folder, monkeypatch):
    monkeypatch.setattr("aquamend_lab.records.LONGEST_LINE", 1 << 10)
    (folder / "records.jsonl").write_text(as_line(ONE) + " " * 5000)
    with pytest.raises(InvalidRun, match="a line of more than"):
        load_run(folder)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_not_waited_for(folder):
    os.mkfifo(folder / "records.jsonl")
    with pytest.raises(InvalidRun, match="no ordinary file"):
        load_run(folder)
    (folder / "manifest.json").unlink()
    os.mkfifo(folder / "manifest.json")
    with pytest.raises(InvalidRun, match="no ordinary file"):
        load_run(folder)


def test_not_a_number_is_no_number_of_a_run(folder):
    (folder / "records.jsonl").write_text(as_line(ONE).replace("1.0", "NaN"))
    with pytest.raises(InvalidRun, match="NaN is no number of JSON"):
        load_run(folder)


# The data frame that a run is.


def test_a_run_is_a_data_frame_with_a_line_for_each_recovery(folder):
    more = {"group": {"n": 3}, "ending": "restart", "steps": ["look", "restart"], "loss": "inf", "false_alarm": False}
    write_lines(folder / "records.jsonl", [ONE, TWO | more])
    write_lines(folder / "timings.jsonl", [TWO | {"decision_ms": 2}])
    frame = load_run(folder).frame()
    assert list(frame["policy"]) == ["a", "b"]
    assert frame["loss"].tolist() == [1.0, math.inf]
    assert frame["group.n"].tolist()[1] == 3.0
    assert frame["decision_ms"].isna().tolist() == [True, False]
    assert frame["steps"][1] == ["look", "restart"]
    assert frame["false_alarm"].isna().tolist() == [True, False]
    assert frame["error"].isna().all()
    assert frame.groupby("policy")["loss"].mean()["b"] == math.inf


def test_what_is_no_number_stays_as_it_was_written(folder):
    write_lines(folder / "records.jsonl", [ONE | {"loss": "much"}, TWO | {"loss": 10**400}])
    assert load_run(folder).frame()["loss"].tolist() == ["much", 10**400]


def test_an_empty_run_is_an_empty_frame(folder):
    frame = load_run(folder).frame()
    assert (len(frame), list(frame)[:4]) == (0, ["suite", "seed", "scenario", "policy"])


# What readers go by is as it should be, or the line is named.


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ending": ["restart"]}, "for 'ending', which is not plain"),
        ({"left": "b1"}, "for 'left', which is no list"),
        ({"declarations": [{"event": [1], "when": "old", "so": True, "q": 0.5}]}, "for 'declarations.event'"),
        ({"declarations": [{"event": "x", "when": "old", "so": 1, "q": 0.5}]}, "for 'declarations.so'"),
        ({"posterior": {"beliefs": ["b"], "at": [["inf"]]}}, "for 'posterior.at'"),
        ({"posterior": {"beliefs": ["b"], "at": [[0.5], None, [0.1, 0.9]]}}, "more or fewer probabilities"),
        ({"scenario": 10**30}, "for 'scenario', which is no whole number"),
        ({"seed": True}, "for 'seed', which is no whole number"),
    ],
)
def test_a_record_that_its_readers_would_stumble_over_is_refused(folder, wrong, message):
    (folder / "records.jsonl").write_text(as_line(ONE) + as_line(TWO | wrong))
    with pytest.raises(InvalidRun, match=f"line 2 has .*{message}"):
        load_run(folder)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"truths": [{"failed": "b1"}]}, "for 'truths.failed', which is no list"),
        ({"truths": {"failed": []}}, "for 'truths', which is no list"),
        ({"features": {"first_commands": {"original": {}}}}, "None for 'features.first_commands.original.command'"),
    ],
)
def test_an_annotation_that_its_readers_would_stumble_over_is_refused(folder, wrong, message):
    annotation = {name: value for name, value in ONE.items() if name != "policy"}
    (folder / "annotations.jsonl").write_text(as_line(annotation | wrong))
    with pytest.raises(InvalidRun, match=f"line 1 has .*{message}"):
        load_run(folder)
