"""A file to begin with, standard input, and the schema for editors."""

import json
import re
from pathlib import Path

import pytest

from aquamend import load_problem

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))


def test_the_template_is_sound_and_decides(run, tmp_path):
    path = tmp_path / "mine.yaml"
    assert run("new", str(path)).exit_code == 0
    assert run("decide", str(path)).exit_code == 0
    assert load_problem(path).model.names[0] == "nothing"


def test_names_of_ones_own_are_used_whatever_they_are(run, tmp_path):
    path = tmp_path / "mine.yaml"
    odd = ["the map: old", "true", "17", "Ünïcode"]
    result = run(
        "new", str(path), "--name", "a: b", "--unit", "€", "--beliefs", ",".join(odd), "--actions", "a b, c",
        "--probes", "look [x]", "--causes", "one, two, three, four, five",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    problem = load_problem(path)
    assert [belief.name for belief in problem.graph.beliefs] == odd
    assert (problem.name, problem.unit) == ("a: b", "€")


def test_an_existing_file_is_kept_unless_forced(run, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text("dear to me")
    result = run("new", str(path))
    assert (result.exit_code, path.read_text()) == (2, "dear to me")
    assert run("new", str(path), "--force").exit_code == 0


@pytest.mark.parametrize(
    "args", [["--beliefs", "a,a"], ["--beliefs", ","], ["--causes", "a & b"], ["--beliefs", "x", "--probes", "x"]]
)
def test_names_that_cannot_be_are_refused_before_anything_is_written(run, tmp_path, args):
    path = tmp_path / "mine.yaml"
    result = run("new", str(path), *args)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert not path.exists()


def test_a_file_that_cannot_be_written_is_reported(run, tmp_path):
    (tmp_path / "no").write_text("a file, no folder")
    result = run("new", str(tmp_path / "no" / "folder.yaml"))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


@pytest.mark.parametrize("command", ["validate", "decide", "evaluate", "graph"])
def test_a_dash_is_standard_input(run_on, problem, command):
    assert run_on(json.dumps(problem), command, "-").exit_code == 0


def test_what_is_wrong_on_standard_input_has_a_line(run_on):
    result = run_on("format: aquamend-problem/1\nbeliefs: 3\n", "validate", "-")
    assert result.exit_code == 2
    assert "-: beliefs: 3 is not a list; give a list, [] if empty (line 2, column 10)" in result.stderr


def test_the_schema_is_printed(run):
    assert json.loads(run("schema").stdout)["title"] == "AquaMend problem"
    assert json.loads(run("schema", "session").stdout)["title"] == "AquaMend session"
    assert json.loads(run("schema", "story").stdout)["title"] == "AquaMend story"
    assert run("schema", "robot").exit_code == 2


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_editors_find_the_schema_of_every_example(path):
    first = path.read_text(encoding="utf-8").splitlines()[0]
    named = first.removeprefix("# yaml-language-server: $schema=")
    assert named != first
    assert (path.parent / named).resolve().is_file()


def test_what_is_left_out_is_said_by_validate_and_decide(run, tmp_path):
    path = str(tmp_path / "mine.yaml")
    run("new", path, "--causes", "a,b,c,d")
    pattern = r"More causes at once are left out: 0\.4% before the alarm, at most [\d.]+% {}; that changes"
    for command, when in (
        (("validate", path), "after the alarm"),
        (("decide", path), "after the alarm"),
        (("decide", path, "--observe", "look_inside=otherwise"), "by now"),
    ):
        assert re.search(pattern.format(when), " ".join(run(*command).stdout.split()))
