"""The documentation's Python examples run, and its links lead somewhere."""

import ast
import re
import textwrap
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import typer

from aquamend.cli.main import app
from tests.pages import BLOCK, blocks, run_page

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))


def test_the_pouring_example_recovers_and_pays(capsys):
    text = (ROOT / "docs" / "pouring-task.md").read_text(encoding="utf-8")
    exec(compile(re.search(r"```python\n(.*?)```", text, re.DOTALL)[1], "pouring-task.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "sensing" in printed
    assert re.search(r"rollback +undo: move +2\.5", printed)


def test_the_numbers_on_two_instruments_that_read_one_amount_are_what_the_page_says(capsys):
    text = (ROOT / "docs" / "maths.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)[1]
    exec(compile(code, "maths.md", "exec"), {})
    printed = capsys.readouterr().out.split()
    assert printed == re.findall(r"# (\d+\.\d+%)$", code, re.MULTILINE)
    rows = re.findall(r"^\|.*\| ([\d.]+) % \|$", text, re.MULTILINE)
    assert [float(row) for row in rows] == [pytest.approx(float(said.rstrip("%")), abs=0.05) for said in printed]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_a_page_links_to_exists(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert "://" in link or (page.parent / link).exists(), link


@pytest.mark.outer
def test_a_robot_in_an_afternoon_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page("your-robot.md")


def test_stopping_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    screw = next(text for kind, text in blocks("your-robot.md") if kind == "yaml" and text.startswith("# screw.yaml"))
    Path("screw.yaml").write_text(screw, encoding="utf-8")
    run_page("stopping.md")


def test_the_picture_of_a_decision_is_what_the_program_shows():
    spec = spec_from_file_location("make_pictures", ROOT / "docs" / "make_pictures.py")
    pictures = module_from_spec(spec)
    spec.loader.exec_module(pictures)
    assert pictures.DECIDE.read_text(encoding="utf-8") == pictures.decide(), "run docs/make_pictures.py"


def test_use_it_on_a_problem_runs_from_top_to_bottom(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page("on-a-problem.md")


def test_write_a_policy_runs_from_top_to_bottom(monkeypatch):
    monkeypatch.chdir(ROOT / "examples")
    run_page("write-a-policy.md")


EVERY_PAGE = [*PAGES, *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md"))]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_code_on_a_page_compiles_and_imports_what_there_is(page):
    for kind, text in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            tree = ast.parse(textwrap.dedent(text))
            imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
            own = [node for node in imports if "aquamend" in ast.unparse(node) and not optional(node)]
            exec(compile(ast.Module(own, []), str(page), "exec"), {})


def optional(node):
    """Whether an import is of an adapter, which needs a library of its own: those pages are run as a whole."""
    return "adapters" in ast.unparse(node)


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_every_command_and_option_that_a_page_shows_exists(page):
    commands = typer.main.get_command(app).commands
    for line in re.findall(r"(?:^|[$`] ?)aquamend ((?!-)[^`\n#]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        words = line.split()
        if not re.fullmatch(r"[a-z]+", words[0]):
            continue
        command = commands.get(words[0])
        assert command, line
        if len(words) > 1 and words[1] in getattr(command, "commands", ()):
            command = command.commands[words[1]]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        asked = {re.split(r"[=\]|,.)…]", word)[0] for word in words if re.match(r"--[a-z]", word)}
        assert asked <= known | {"--help"}, line
