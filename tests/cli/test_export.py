from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from aquamend.cli.export import export


@pytest.fixture
def run_export():
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(export)
    return lambda *args: CliRunner(env={"TERM": "dumb"}).invoke(app, list(args))


def test_the_file_is_printed_with_its_names_explained(run_export, lid):
    result = run_export(lid)
    assert result.exit_code == 0
    assert result.stdout.startswith("# is the lid on: ")
    assert "#   probe1_look: run probe look\n" in result.stdout
    assert "\ndiscount: 1.0\nvalues: reward\n" in result.stdout
    assert "\nR: stop1_continue : h2_off__0 : * : * -10.0\n" in result.stdout


def test_out_writes_what_would_be_printed(run_export, lid, tmp_path):
    path = tmp_path / "new" / "lid.pomdp"
    result = run_export(lid, "--format", "pomdp", "--out", str(path))
    assert (result.exit_code, result.stdout) == (0, "")
    assert path.read_text(encoding="ascii") == run_export(lid).stdout


def test_the_discount_is_written(run_export, lid):
    assert "\ndiscount: 0.999\n" in run_export(lid, "--discount", "0.999").stdout


def test_answers_move_the_start(run_export, problem, write):
    problem["probes"][0]["max_uses"] = 2
    text = run_export(write(problem), "--observe", "look=no").stdout
    start = next(line for line in text.split("\n") if line.startswith("start: "))
    assert [float(p) for p in start.split()[1:3]] == pytest.approx([0.06 / 0.38, 0.32 / 0.38])
    assert "h1_on__1" in text
    assert "h1_on__2" not in text


@pytest.mark.parametrize("discount", ["0", "1.5", "-1", "nan", "much"])
def test_a_discount_that_is_none_exits_2(run_export, lid, discount):
    result = run_export(lid, "--discount", discount)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "--discount" in result.stderr


def test_a_bad_problem_exits_2_and_leaves_no_file(run_export, problem, write, tmp_path):
    problem["hypotheses"][0]["prior"] = 0.9
    path = tmp_path / "lid.pomdp"
    result = run_export(write(problem), "--out", str(path))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "priors sum to" in result.stderr
    assert not path.exists()


@pytest.mark.parametrize("args", [("--observe", "look"), ("--observe", "look=maybe"), ("--format", "xml")])
def test_bad_options_exit_2(run_export, lid, args):
    result = run_export(lid, *args)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr


def test_a_place_that_cannot_be_written_exits_2_and_leaves_nothing_behind(run_export, lid, tmp_path):
    place = tmp_path / "folder"
    place.mkdir()
    before = sorted(p.name for p in tmp_path.iterdir())
    result = run_export(lid, "--out", str(place))
    assert result.exit_code == 2
    assert f"{place}: cannot be written" in result.stderr
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_too_large_a_problem_exits_2(run_export):
    example = Path(__file__).parents[2] / "examples" / "assembly.yaml"
    result = run_export(str(example))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "correction sets" in result.stderr


def test_a_lower_bound_is_announced_in_the_file_and_on_standard_error(run_export, cups, lid):
    result = run_export(cups)
    assert result.exit_code == 0
    assert "the optimum here is a lower bound" in result.stderr
    assert "lower bound" in result.stdout.split("discount:")[0]
    assert run_export(lid).stderr == ""
