"""``aquamend report``: what it writes, where, and what it says about bad folders."""

import json
import re
import subprocess
import sys

import pytest
from tests.waiting import PATIENCE_S

from aquamend_lab.benchmarks.m1 import M1
from aquamend_lab.benchmarks.manifest import styles_of
from aquamend_lab.records import write_lines


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "m1"
    manifest = {"format": "aquamend-run/1", "suite": "m1-v2", "policies": ["aquamend", "exact"]}
    manifest |= {"scenarios": 2, "seeds": 1, "looks": styles_of(M1, manifest["policies"])}
    path.mkdir()
    (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    records = [
        {"suite": "m1-v2", "scenario": i, "seed": 0, "policy": name, "group": {}, "loss": loss, "success": 1.0}
        for name, losses in (("aquamend", [2.0, 4.0]), ("exact", [2.0, 3.0]))
        for i, loss in enumerate(losses)
    ]
    write_lines(path / "records.jsonl", records)
    return path


def test_one_run_is_reported_beside_its_records(run, folder):
    result = run("report", str(folder), columns=300)
    assert (result.exit_code, result.stderr) == (0, "")
    for name in ("report.html", "report.md"):
        assert (folder / "report" / name).is_file()
        assert str(folder / "report" / name) in result.stdout
    assert list((folder / "report" / "figures").glob("*.svg"))


@pytest.mark.usefixtures("undrawn")
def test_several_runs_are_reported_together_where_one_stands(run, folder, tmp_path, monkeypatch):
    other = folder.with_name("again")
    other.mkdir()
    for name in ("manifest.json", "records.jsonl"):
        (other / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    assert run("report", str(folder), str(other)).exit_code == 0
    assert (tmp_path / "report" / "report.html").is_file()
    assert not (folder / "report").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_run_named_twice_is_reported_once(run, folder):
    assert run("report", str(folder), f"{folder}/").stdout.count("m1-v2\n") == 1
    assert (folder / "report" / "report.html").is_file()


@pytest.mark.usefixtures("undrawn")
def test_out_says_where_to_write(run, folder, tmp_path):
    assert run("report", str(folder), "--out", str(tmp_path / "there")).exit_code == 0
    assert (tmp_path / "there" / "report.md").is_file()


@pytest.mark.usefixtures("undrawn")
def test_a_plain_table_sums_it_up(run, folder):
    lines = run("report", str(folder)).stdout.splitlines()
    assert lines[0] == "m1-v2"
    assert any(line.split() == ["AquaMend", "1.000", "3.000", "8.594"] for line in lines)


@pytest.mark.usefixtures("undrawn")
def test_an_incomplete_run_says_so_in_the_terminal(run, folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"seeds": 3}))
    assert "incomplete: 4 of 12 records" in run("report", str(folder)).stdout


def test_json_prints_a_line_a_policy_and_writes_nothing(run, folder):
    result = run("report", str(folder), "--json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["policy"], line["mean_loss"]) for line in lines] == [("aquamend", 3.0), ("exact", 2.5)]
    assert sorted(path.name for path in folder.iterdir()) == ["manifest.json", "records.jsonl"]


@pytest.mark.parametrize("as_json", [True, False])
def test_a_bad_folder_exits_2_and_nothing_is_written(run, folder, tmp_path, as_json):
    result = run("report", str(folder), str(tmp_path / "nowhere"), *(["--json"] if as_json else []))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "nowhere: there is no manifest.json in it; give a folder that `aquamend bench` wrote" in result.stderr
    assert not (folder / "report").exists()


@pytest.mark.parametrize("as_json", [True, False])
def test_a_record_that_is_unsound_exits_2_and_nothing_is_printed(run, folder, as_json):
    lines = (folder / "records.jsonl").read_text()
    (folder / "records.jsonl").write_text(lines.replace('"loss":3.0', '"loss":"much"'))
    result = run("report", str(folder), *(["--json"] if as_json else []))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'loss' is 'much'" in result.stderr
    assert not (folder / "report").exists()


@pytest.mark.usefixtures("undrawn")
def test_a_place_that_cannot_be_written_exits_2(run, folder, tmp_path):
    (tmp_path / "file").write_text("")
    result = run("report", str(folder), "--out", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


@pytest.mark.usefixtures("undrawn")
def test_a_report_is_not_left_half_written(run, folder, tmp_path):
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    result = run("report", str(folder), "--out", str(tmp_path / "out"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert "report.html is a folder" in result.stderr
    assert not (tmp_path / "out" / "report.md").exists()


def test_without_matplotlib_it_says_what_to_install(run, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = run("report", str(folder))
    assert result.exit_code == 2
    assert "pip install 'aquamend-lab[report]'" in result.stderr
    assert not (folder / "report").exists()
    assert run("report", str(folder), "--json").exit_code == 0


def test_kinds_of_scenarios_have_a_line_over_all_of_them(run, folder):
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text(encoding="utf-8").splitlines()]
    grouped = [record | {"group": {"factor": "ab"[record["scenario"]]}} for record in records]
    write_lines(folder / "records.jsonl", grouped)
    lines = [json.loads(line) for line in run("report", str(folder), "--json").stdout.splitlines()]
    assert [(line["group"], line["policy"], line["mean_loss"]) for line in lines][:3] == [
        (None, "aquamend", 3.0), (None, "exact", 2.5), ({"factor": "a"}, "aquamend", 2.0),
    ]  # fmt: skip


def with_policy(folder, name, policy, **manifest):
    """Write a run of the same suite with another policy; return its folder."""
    other = folder.with_name(name)
    other.mkdir()
    before = json.loads((folder / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(before | {"policies": [policy]} | manifest), encoding="utf-8")
    label = {"suite": "m1-v2", "seed": 0, "policy": policy, "group": {}, "success": 1.0}
    write_lines(other / "records.jsonl", [label | {"scenario": i, "loss": 1.0 + i} for i in range(2)])
    return other


@pytest.mark.usefixtures("undrawn")
def test_runs_of_one_suite_make_one_table(run, folder, tmp_path):
    mine = with_policy(folder, "mine", "my:Policy")
    result = run("report", str(folder), str(mine), "--out", str(tmp_path / "report"), columns=120)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line for line in result.stdout.splitlines() if line.startswith("m1-v2")] == ["m1-v2"]
    assert any(line.split()[:3] == ["my:Policy", "1.000", "1.500"] for line in result.stdout.splitlines())
    page = (tmp_path / "report" / "report.md").read_text()
    assert "m1-v2 (mine)" in page, "where each number comes from"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("look", "message"),
    [
        ({"title": "Careful (floor=0.2)", "colour": "#123456", "marker": "8"}, "Careful (floor=0.2)"),
        ({"title": "Careful", "colour": "red; x", "marker": "8"}, "my:Policy(floor=0.2)"),
        ({"title": "Careful", "colour": "#123456", "marker": "$x$"}, "my:Policy(floor=0.2)"),
        ([1], "my:Policy(floor=0.2)"),
    ],
)
def test_a_users_own_policy_has_the_title_that_its_run_has_kept(run, folder, look, message):
    name = "my:Policy(floor=0.2)"
    mine = with_policy(folder, "mine", name, looks={name: look})
    assert message in run("report", str(mine), columns=120).stdout


@pytest.mark.usefixtures("undrawn")
def test_a_manifest_with_forged_looks_and_units_is_no_trouble(run, folder, tmp_path):
    for k, forged in enumerate(({"looks": [1], "unit": [1]}, {"looks": "x", "unit": {"n": 3}})):
        mine = with_policy(folder, f"mine{k}", "my:Policy", **forged)
        assert run("report", str(mine)).exit_code == 0
        assert run("report", str(folder), str(mine), "--out", str(tmp_path / "both")).exit_code == 0


def test_a_report_loads_no_robot_and_no_suite(folder):
    code = (
        "import sys; from aquamend_lab.records import load_run; from aquamend_lab.analysis.report.build import *\n"
        "from aquamend_lab.analysis.charts import described_by, styles_in\n"
        f"run = load_run({str(folder)!r})\n"
        "with described_by(styles_in([run.manifest])):\n"
        "    assert 'AquaMend' in as_html(report_of(analysed_runs([run])))\n"
        "heavy = ('aquamend_lab.pouring', 'aquamend_lab.benchmarks', 'mujoco')\n"
        "print([name for name in sys.modules if name.startswith(heavy)])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    assert done.stdout.strip() == "[]"


@pytest.mark.usefixtures("undrawn")
def test_a_scenario_leads_to_its_story_where_there_is_one(run, folder, tmp_path):
    told = folder / "stories" / "0-1"
    told.mkdir(parents=True)
    (told / "index.html").write_text("what happened", encoding="utf-8")
    (folder / "stories" / "0-0").mkdir()  # its page is not there
    out = tmp_path / "other place" / "report"
    for place, link in ((folder / "report", "../stories/0-1/index.html"), (out, "../../m1/stories/0-1/index.html")):
        assert run("report", str(folder), "--out", str(place)).exit_code == 0
        page, text = ((place / name).read_text(encoding="utf-8") for name in ("report.html", "report.md"))
        assert re.findall(r'<a href="([^#"]*)">(.*?)</a>', page) == [(link, "seed 0, no. 1")]
        assert f"[seed 0, no. 1]({link})" in text
        assert re.findall(r'"story":"([^"]*)"', page) == [link]
        assert (place / link).is_file()


@pytest.mark.usefixtures("undrawn")
def test_stories_beyond_a_link_in_somebody_elses_folder_are_refused(run, folder, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (folder / "stories").symlink_to(tmp_path / "elsewhere")
    result = run("report", str(folder))
    assert (result.exit_code, "a link that leads out of the run" in result.stderr) == (2, True)


@pytest.mark.usefixtures("undrawn")
def test_a_report_is_not_written_through_a_link_in_somebody_elses_folder(run, folder, tmp_path):
    (tmp_path / "mine").mkdir()
    (folder / "report").symlink_to(tmp_path / "mine")
    result = run("report", str(folder))
    assert result.exit_code == 2
    assert "a link that leads out of the run" in result.stderr
    assert not list((tmp_path / "mine").iterdir())
    assert run("report", str(folder), "--out", str(folder / "report")).exit_code == 0, "whoever names it means it"
