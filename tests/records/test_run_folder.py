"""Run folders: finished ones, unfinished ones, and what is no run at all."""

import json

import pytest

from aquamend.errors import InvalidRun
from aquamend.records import as_line, load_run

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
    ("text", "told"),
    [
        (None, "there is no manifest.json"),
        ("{", "cannot be read"),
        ("[]", "its format is"),
        ("{}", "its format is None"),
    ],
)
def test_what_is_no_run_is_told(tmp_path, text, told):
    if text is not None:
        (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(InvalidRun, match=told):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"policy": None}, "has None for 'policy', which is no text"),
        ({"seed": "zero"}, "has 'zero' for 'seed', which is no whole number"),
        ({"group": "n"}, "has 'n' for 'group', which is no object"),
        ({"group": {"n": [1]}}, "whose values are not plain"),
    ],
)
@pytest.mark.parametrize("file", ["records.jsonl", "timings.jsonl"])
def test_a_line_that_does_not_say_what_it_is_about_is_told(folder, file, wrong, told):
    (folder / file).write_text(as_line(ONE) + as_line(TWO | wrong))
    with pytest.raises(InvalidRun, match=f"{file}: line 2 has.*{told}|{file}: line 2.*{told}"):
        load_run(folder)


def test_an_annotation_needs_no_policy_but_a_seed(folder):
    annotation = {name: value for name, value in ONE.items() if name != "policy"}
    (folder / "annotations.jsonl").write_text(as_line(annotation))
    assert load_run(folder).annotations == [annotation]
    (folder / "annotations.jsonl").write_text(as_line({"suite": "toy-v1", "scenario": 0, "group": {}}))
    with pytest.raises(InvalidRun, match=r"annotations\.jsonl: line 1 has None for 'seed'"):
        load_run(folder)


@pytest.mark.parametrize("field", ["suite", "policies", "scenarios", "seeds"])
def test_a_manifest_without_what_every_run_has_is_told(tmp_path, field):
    (tmp_path / "manifest.json").write_text(json.dumps({k: v for k, v in MANIFEST.items() if k != field}))
    with pytest.raises(InvalidRun, match=f"it has None for '{field}'"):
        load_run(tmp_path)
