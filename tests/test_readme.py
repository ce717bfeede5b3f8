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
    told = subprocess.run(asked, cwd=README.parent, capture_output=True, text=True, check=True, timeout=60)
    found = json.loads(told.stdout)
    links = re.findall(r"\]\(([^)]+)\)", found["readme"]["text"])
    assert links
    assert all(link.startswith(("https://", "#")) for link in links)
    assert {"Repository", "Documentation", "Changelog"} <= set(found["urls"])


def test_nothing_is_claimed_against_a_troubleshooter_that_believes_in_one_failed_belief():
    """Until the comparison is made again with one that keeps the joint posterior."""
    after = README.read_text(encoding="utf-8").split("<!-- results:end -->", 1)[1].split("[All results]", 1)[0]
    paragraph = after.split("No claim against decision-theoretic troubleshooting", 1)[1]
    assert "single\nfailed belief" in paragraph
    assert not re.search(r"\d", paragraph)


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
