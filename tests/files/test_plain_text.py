"""Whatever a file holds, reading it ends soon, in a problem or in faults that say where."""

from __future__ import annotations

import os
import sys

import pytest

from aquamend.codec import plain_text
from aquamend.errors import InvalidProblem
from aquamend.files import load_problem

HEAD = "format: aquamend-problem/1\n"


def refused(path) -> str:
    with pytest.raises(InvalidProblem) as caught:
        load_problem(path)
    (fault,) = caught.value.faults
    return str(fault)


def test_a_missing_file_is_a_fault(tmp_path):
    assert refused(tmp_path / "none.yaml").endswith("none.yaml' does not exist; check the path")


def test_a_directory_is_a_fault(tmp_path):
    assert "is a directory" in refused(tmp_path)


def test_a_path_with_a_null_byte_is_a_fault():
    assert "cannot be read" in refused("a\0b")


def test_a_path_through_a_file_is_a_fault(tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot be read" in refused(tmp_path / "file" / "problem.yaml")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_a_fault(tmp_path):
    path = tmp_path / "secret.yaml"
    path.write_text(HEAD)
    path.chmod(0)
    assert "may not be read" in refused(path)


def test_a_giant_file_is_refused_unread(tmp_path):
    path = tmp_path / "giant.json"
    with path.open("wb") as file:
        file.truncate(plain_text.MAX_BYTES + 1)
    assert "larger than 256 MB" in refused(path)


@pytest.mark.parametrize("suffix", [".json", ".yaml", ""])
@pytest.mark.parametrize("content", ["", " \n", "\ufeff"])
def test_an_empty_file_is_a_fault(faults_in, content, suffix):
    assert faults_in(content, suffix) == ["file: the file is empty; describe a problem in it"]


@pytest.mark.parametrize("content", ["# nothing yet\n", "---\n", "--- ~\n", "null"])
def test_a_file_without_content_is_a_fault(faults_in, content):
    (fault,) = faults_in(content)
    assert fault == "file: null is not a mapping; give keys and values"


def test_bytes_that_are_not_utf8_are_a_fault(faults_in):
    assert faults_in(b"a: 1\nb: \xff\n") == ["line 2: byte 0xff at 8 is not UTF-8; save the file as UTF-8"]


def test_a_byte_order_mark_is_no_fault(faults_in, sound_text):
    assert faults_in("\ufeff" + sound_text, ".json") == []
    assert faults_in("\ufeff" + sound_text, ".yaml") == []


@pytest.mark.parametrize("suffix", [".json", ".yaml", ".yml", ".txt", ""])
def test_json_is_read_under_any_name(faults_in, sound_text, suffix):
    assert faults_in(sound_text, suffix) == []


def test_yaml_is_not_read_as_json(faults_in):
    (fault,) = faults_in(HEAD, ".json")
    assert fault.startswith("line 1, column 1: this is not JSON")


@pytest.mark.parametrize(
    ("content", "suffix", "place"),
    [
        ('{"a": 1,\n "b" 2}', ".json", "line 2, column 6"),
        ('{"a": 1,\n "b" 2}', "", "line 2, column 6"),
        ("a: 1\nb: [1, 2\nc: 3\n", ".yaml", "line 3, column"),
        ("a: 1\n\tb: 2\n", "", "line 2, column 1"),
        ("a: 'x\n", ".yaml", "line 2, column 1"),
        ("a: 1\nb: \x00\n", ".yaml", "line 2, column 4"),
        ("a: 1\nb: \x1b[31m\n", ".yaml", "line 2, column 4"),
    ],
)  # fmt: skip
def test_a_syntax_error_names_line_and_column(faults_in, content, suffix, place):
    (fault,) = faults_in(content, suffix)
    assert fault.startswith(place)


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return HEAD + "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "fragment"),
    [
        (laughs(10), "aliases repeat more than 1,000,000 values"),
        (HEAD + "a: &a [*a]\n", "alias *a stands inside what it repeats"),
        (HEAD + "a: &a {b: [{c: *a}]}\n", "alias *a stands inside what it repeats"),
        (HEAD + "a: *b\n", "alias"),
        (HEAD + "a: " + "[" * 100_000, "nested more than 50 levels"),
        (HEAD + "a: " + "{a: " * 100_000, "nested more than 50 levels"),
        ("- " * 100_000, "nested more than 50 levels"),
        ("? " * 100_000, "where a key is due"),
        (HEAD + "a: !!python/object/apply:os.system ['true']\n", "python/object/apply:os.system' is not read"),
        (HEAD + "a: !!python/name:os.system\n", "python/name:os.system' is not read"),
        (HEAD + "a: !mine 3\n", "the tag '!mine' is not read"),
        (HEAD + "a: !!binary aGk=\n", "is not read"),
        (HEAD + "---\n" + HEAD, "a second document"),
        (HEAD + "a: {<<: {b: 1}}\n", "merge keys"),
        (HEAD + "? [a]\n: 1\n", "where a key is due"),
        (HEAD + "a: &a [1]\n*a : 1\n", "where a key is due"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("c_parser", [True, False])
def test_hostile_yaml_is_one_fault_with_its_line(faults_in, monkeypatch, content, fragment, c_parser):
    if not c_parser:
        monkeypatch.delattr("yaml.CLoader", raising=False)
    (fault,) = faults_in(content)
    assert fragment in fault
    assert fault.startswith("line ")


@pytest.mark.parametrize("opening", ["[", '{"a":'])
@pytest.mark.parametrize("depth", [60, 5_000, 500_000])
def test_deeply_nested_json_is_refused(faults_in, opening, depth):
    closing = "]" if opening == "[" else "}"
    content = '{"beliefs": ' + opening * depth + "1" + closing * depth + "}"
    assert faults_in(content, ".json")


def test_deeply_nested_data_is_refused(faults_of):
    nested: list = []
    for _ in range(10 * sys.getrecursionlimit()):
        nested = [nested]
    assert "beliefs[0]: […] is not a mapping; give keys and values" in [
        fault.replace("[[…]]", "[…]") for fault in faults_of({"beliefs": nested})
    ]


def test_data_that_contains_itself_is_refused(faults_of):
    looped: list = []
    looped.append(looped)
    assert faults_of({"beliefs": looped, "hypotheses": looped})


def test_aliases_repeat_what_they_stand_for(tmp_path):
    path = tmp_path / "problem.yaml"
    path.write_text(
        HEAD + "beliefs: [{name: b, residual: &r 5}]\nprobes: [{name: p, cost: *r}, {name: q, cost: 1}]\n"
        "hypotheses: [{name: h, prior: 1}]\n"
        "kernels: {p: &k {outcomes: [yes, no], likelihood: {h: [1, 0]}}, q: *k}\n"
    )
    problem = load_problem(path)
    assert problem.graph.probes[0].cost == 5.0
    assert list(problem.model.kernels["q"].outcomes) == ["yes", "no"]


def test_quoted_and_tagged_text_stays_text():
    data = plain_text.yaml_data("a: '1'\nb: \"true\"\nc: !!str 2\nd: ! 3\n'<<': |\n  4\n")
    assert data == {"a": "1", "b": "true", "c": "2", "d": "3", "<<": "4\n"}


def test_an_alias_bomb_within_the_limit_still_ends(faults_in):
    bomb = laughs(6).replace(HEAD, HEAD + "hypotheses: [{name: h, prior: 1}]\n") + "\nbeliefs: *a5\nedges: *a5\n"
    assert faults_in(bomb)
