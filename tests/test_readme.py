"""The README's example runs as it stands, and says what it says."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aquamend.cli.main import app
from aquamend.recovery import Ending
from aquamend.testing import FakeRobot, sample_problems

README = Path(__file__).parent.parent / "README.md"


@pytest.mark.parametrize("reading", ["120", "180"])
def test_the_ten_line_example_prints_what_its_comment_says(reading, monkeypatch, capsys):
    code = re.search(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    monkeypatch.setattr("builtins.input", lambda prompt: reading)
    exec(compile(code, "README.md", "exec"), {})
    promised = re.search(rf"{reading} -> (\w+\(.*?)[;,.]? *(?:\.\.\.\))?(?:;|$)", code, re.MULTILINE)[1]
    assert capsys.readouterr().out.strip().startswith(promised.rstrip(", )"))


def test_the_example_with_a_robot_runs_as_it_stands(tmp_path, monkeypatch):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    code = next(block for block in blocks if "my_robot" in block)
    monkeypatch.chdir(tmp_path)
    names = {"my_robot": FakeRobot(sample_problems()[0], truth="water added")}
    exec(compile(code, "README.md", "exec"), names)
    assert names["recovery"].ending is Ending.FINISHED
    assert (tmp_path / "aquamend.journal").exists()


def test_every_file_the_readme_links_to_exists():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert links
    for link in links:
        assert (README.parent / link).exists(), link


@pytest.mark.outer
def test_on_a_package_index_every_link_and_picture_is_absolute():
    asked = [sys.executable, "-m", "hatchling", "metadata"]
    printed = subprocess.run(asked, cwd=README.parent, capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(printed.stdout)
    links = re.findall(r"\]\(([^)]+)\)", found["readme"]["text"])
    assert links
    assert all(link.startswith(("https://", "#")) for link in links)
    assert {"Repository", "Documentation", "Changelog"} <= set(found["urls"])


def test_the_readme_calls_a_tie_with_troubleshooting_what_its_table_shows_as_one():
    text = README.read_text(encoding="utf-8")
    table, after = text.split("<!-- results:begin -->", 1)[1].split("<!-- results:end -->", 1)
    intervals = {}
    for policy in ("AquaMend", "Troubleshooting (DTT)"):
        row = next(line for line in table.splitlines() if line.startswith(f"| {policy} |"))
        intervals[policy] = [float(end) for end in re.search(r"\\\[([\d.]+), ([\d.]+)\\\]", row).groups()]
    ours, theirs = intervals.values()
    assert max(ours[0], theirs[0]) <= min(ours[1], theirs[1])
    assert "One-step AquaMend and troubleshooting tie" in " ".join(after.split())


@pytest.mark.outer
def test_every_evaluation_that_the_readmes_show_can_be_made(monkeypatch):
    monkeypatch.chdir(README.parent)
    pages = [README, README.parent / "examples" / "README.md", README.parent / "docs" / "worked-problems.md"]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    commands = re.findall(r"^(?:    |\$ )?aquamend (evaluate .*?)(?: +#.*)?$", text, re.MULTILINE)
    assert len(commands) > 5
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command))
        assert (done.exit_code, done.stderr) == (0, ""), command
