"""The README's example runs as it stands, and says what it says."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_what_troubleshooting_loses_more_is_what_the_results_say():
    def losses(suite: str) -> tuple[float, float]:
        rows = results.split(f"**{suite}**", 1)[1].split("\n**", 1)[0].splitlines()
        cells = {row.split(" | ")[0].strip("| "): [cell.strip("*| ") for cell in row.split(" | ")] for row in rows}
        column = next(i for i, title in enumerate(cells["policy"]) if title in ("expected risk", "realised loss"))
        return float(cells["Troubleshooting (DTT)"][column]), float(cells["AquaMend"][column])

    results = (README.parent / "docs" / "results.md").read_text(encoding="utf-8")
    more = [
        f"{theirs / ours - 1:.0%}".replace("%", " %") for theirs, ours in map(losses, ("m1-v1", "pouring-v2", "t4-v2"))
    ]
    under_stress = "{:.1f} against {:.1f}".format(*losses("t4-stress-v2"))
    sentence = " ".join(
        README.read_text(encoding="utf-8").split("Classical\ntroubleshooting", 1)[1].split("[All", 1)[0].split()
    )
    assert re.findall(r"\d+ %", sentence) == more
    assert under_stress in sentence
