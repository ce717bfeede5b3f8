"""Run folders: finished ones, unfinished ones, and what is no run at all."""

import gzip
import json

import pytest

from aquamend.errors import InvalidRun
from aquamend_lab.records import as_line, load_run

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


# Folders from elsewhere: nothing in them makes the program run out of memory, recurse or read what is not theirs.


def test_a_packed_file_is_not_unpacked_without_end(folder, monkeypatch):
    monkeypatch.setattr("aquamend_lab.records.lines.MOST_BYTES", 1 << 20)
    with gzip.open(folder / "records.jsonl.gz", "wb") as file:
        file.writelines(b" " * (1 << 20) for _ in range(64))
    with pytest.raises(InvalidRun, match="unpacks to more than 1 MB"):
        load_run(folder)


def test_a_packed_file_that_is_as_large_as_allowed_is_read(folder, monkeypatch):
    line = as_line(ONE).encode()
    monkeypatch.setattr("aquamend_lab.records.lines.MOST_BYTES", len(line))
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
    with pytest.raises(InvalidRun, match="for 'policies', which are not all text"):
        load_run(folder)
