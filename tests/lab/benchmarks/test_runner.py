"""The runner: one record for everything asked, the same bytes whoever does the work and however often it stops."""

import json
import re

import pytest

from aquamend.errors import InvalidRun, UnknownName, Unreachable
from aquamend_lab.benchmarks import runner
from aquamend_lab.benchmarks.catalogue import PUBLISHED, SUITES
from aquamend_lab.benchmarks.runner import Wanted, run_suite
from aquamend_lab.records import load_run, record_key

SMALL = Wanted(("aquamend", "restart"), scenarios=6, seeds=2)


def records_of(folder):
    return (folder / "records.jsonl").read_bytes(), (folder / "annotations.jsonl").read_bytes()


def test_there_is_one_record_for_every_scenario_seed_and_policy_in_order(tmp_path):
    run = run_suite("m1-v2", tmp_path / "run", asked=SMALL, jobs=1)
    assert [record_key(r) for r in run.records] == [
        (seed, number, policy) for seed in range(2) for number in range(6) for policy in ("aquamend", "restart")
    ]
    assert len(run.annotations) == 12


def test_the_manifest_says_what_was_run_by_what(tmp_path):
    manifest = run_suite("m1-v2", tmp_path / "run", asked=SMALL, jobs=1).manifest
    assert (manifest["suite"], manifest["scenarios"], manifest["seeds"]) == ("m1-v2", 6, 2)
    assert manifest["policies"] == ["aquamend", "restart"]
    assert manifest["libraries"]["numpy"]
    assert manifest["started"] <= manifest["finished"]
    assert len(manifest["code"]) == 16


def test_processes_write_the_same_bytes_as_one(tmp_path):
    run_suite("m1-v2", tmp_path / "one", asked=SMALL, jobs=1)
    run_suite("m1-v2", tmp_path / "two", asked=SMALL, jobs=2)
    assert records_of(tmp_path / "one") == records_of(tmp_path / "two")


class Killed(Exception):
    pass


def test_a_run_that_stops_midway_goes_on_without_loss_or_repetition(tmp_path, monkeypatch):
    straight = tmp_path / "straight"
    run_suite("m1-v2", straight, asked=SMALL, jobs=1)
    broken = tmp_path / "broken"

    def dies_after_three(done, total):
        if done >= 3:
            raise Killed

    with pytest.raises(Killed):
        run_suite("m1-v2", broken, asked=SMALL, jobs=1, progress=dies_after_three)
    kept = {record_key(r) for r in load_run(broken).records}
    assert 0 < len(kept) < 24
    done_again = []
    cut = runner.cut
    monkeypatch.setattr(
        runner, "cut", lambda suite, units, size: done_again.extend(units) or cut(suite, units, size=size)
    )
    run_suite("m1-v2", broken, jobs=1, resume=True)
    assert len(done_again) == 12 - len(kept) // 2
    assert records_of(broken) == records_of(straight)
    assert not (broken / "parts").exists()


def test_a_run_killed_while_it_was_put_together_is_put_together_again(tmp_path, monkeypatch):
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    run_suite("m1-v2", straight, asked=SMALL, jobs=1)

    def dies(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runner.Path, "unlink", dies)
        with pytest.raises(Killed):
            run_suite("m1-v2", broken, asked=SMALL, jobs=1)
    assert (broken / "parts").exists()
    run = run_suite("m1-v2", broken, jobs=1, resume=True)
    assert records_of(broken) == records_of(straight)
    assert run.manifest["finished"]


def test_a_run_can_be_extended_by_policies_scenarios_and_seeds(tmp_path):
    folder = tmp_path / "run"
    run_suite("m1-v2", folder, asked=Wanted(("aquamend",), 3, 1), jobs=1)
    run_suite("m1-v2", folder, asked=Wanted(("aquamend", "restart"), 6, 2), jobs=1, resume=True)
    run_suite("m1-v2", tmp_path / "straight", asked=SMALL, jobs=1)
    assert records_of(folder) == records_of(tmp_path / "straight")
    assert json.loads((folder / "manifest.json").read_text())["policies"] == ["aquamend", "restart"]


def test_two_policies_asked_for_one_after_the_other_before_the_end_are_both_kept(tmp_path):
    """The parts of the first must not be overwritten by those of the second."""
    folder = tmp_path / "run"

    def dies_at_the_end(done, total):
        if done == total:
            raise Killed

    with pytest.raises(Killed):
        run_suite("m1-v2", folder, asked=Wanted(("aquamend",), 4, 1), jobs=1, progress=dies_at_the_end)
    run = run_suite("m1-v2", folder, asked=Wanted(("restart",)), jobs=1, resume=True)
    assert [r["policy"] for r in run.records] == ["aquamend", "restart"] * 4


def test_a_packed_run_holds_the_same_and_can_be_extended(tmp_path):
    plain = run_suite("m1-v2", tmp_path / "plain", asked=SMALL, jobs=1)
    packed = run_suite("m1-v2", tmp_path / "packed", asked=Wanted(("aquamend",), 6, 2), jobs=1, compress=True)
    assert not (tmp_path / "packed" / "records.jsonl").exists()
    assert len(packed.records) == 12
    extended = run_suite("m1-v2", tmp_path / "packed", asked=SMALL, jobs=1, resume=True, compress=True)
    assert extended.records == plain.records
    assert sorted(p.name for p in (tmp_path / "packed").iterdir()) == [
        "annotations.jsonl.gz", "manifest.json", "records.jsonl.gz",
    ]  # fmt: skip


def test_an_existing_run_is_not_touched_without_being_asked_to(tmp_path):
    run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1)
    before = records_of(tmp_path)
    with pytest.raises(InvalidRun, match="already holds a run of m1-v2; continue it with --resume"):
        run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1)
    with pytest.raises(InvalidRun, match="holds a run of m1-v2, not of m1-depth-v1"):
        run_suite("m1-depth-v1", tmp_path, asked=SMALL, jobs=1, resume=True)
    assert records_of(tmp_path) == before


def test_results_of_two_programs_are_not_mixed(tmp_path):
    run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"code": "0123456789abcdef"}))
    with pytest.raises(InvalidRun, match="made with code 0123456789abcdef, and this is"):
        run_suite("m1-v2", tmp_path, jobs=1, resume=True)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InvalidRun, match="not empty"):
        run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("suite", "policies", "message"),
    [
        ("m1-v2", ("psychic",), "unknown policy 'psychic'.*'oracle'"),
        ("m2", None, "unknown suite 'm2'; valid names: 'm1-v2'"),
        ("m1-v2", ("no_such_module:Policy",), "no_such_module"),
        ("m1-v2", ("json:dumps",), "it has no next_step"),
        ("m1-v2", ("fractions:Fraction.nothing",), "AttributeError"),
        ("m1-v2", ("datetime:date",), "TypeError"),
        ("m1-v2", ("..:X",), "TypeError"),
    ],
)
def test_unknown_names_are_reported_before_anything_is_written(tmp_path, suite, policies, message):
    with pytest.raises(UnknownName, match=message):
        run_suite(suite, tmp_path / "run", asked=Wanted(policies, 1, 1), jobs=1)
    assert not (tmp_path / "run").exists()


def test_a_refusal_is_a_record_that_says_why(tmp_path):
    run = run_suite("m1-v2", tmp_path, asked=Wanted(("structured", "aquamend"), 8, 1), jobs=1)
    refusals = [r for r in run.records if "error" in r]
    assert refusals
    assert {r["policy"] for r in refusals} == {"structured"}
    assert all(r["error"].startswith("NotStructured: ") and r["loss"] is None for r in refusals)
    assert len(run.records) == 16


def test_a_policy_of_ones_own_takes_part_and_its_crash_is_kept(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(
        "from aquamend import Continue\n"
        "class Optimist:\n    def next_step(self, state):\n        return Continue()\n"
        "class Broken:\n    def next_step(self, state):\n        return 1 / 0\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run = run_suite("m1-v2", tmp_path / "run", asked=Wanted(("mine:Optimist", "mine:Broken"), 4, 1), jobs=1)
    by_policy = {name: [r for r in run.records if r["policy"] == name] for name in ("mine:Optimist", "mine:Broken")}
    assert all(r["ending"] == "continue" for r in by_policy["mine:Optimist"])
    assert all(r["error"] == "ZeroDivisionError: division by zero" for r in by_policy["mine:Broken"])


def test_policies_of_ones_own_take_part_with_settings_and_keep_their_titles(tmp_path, monkeypatch):
    (tmp_path / "settled.py").write_text(
        "from dataclasses import dataclass\n"
        "from aquamend import Continue, Restart\n"
        "from aquamend.policies import Description\n"
        "@dataclass(frozen=True)\n"
        "class Settled:\n    over: bool = False\n"
        "    description = Description('Settled', 'Has one answer.', '#123456', 'o')\n"
        "    def next_step(self, state):\n        return Restart() if self.over else Continue()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    names = ("settled:Settled", "settled:Settled(over=True)")
    run = run_suite("m1-v2", tmp_path / "run", asked=Wanted(names, 2, 1), jobs=1)
    assert {(r["policy"], r["ending"]) for r in run.records} == {(names[0], "continue"), (names[1], "restart")}
    assert [look["title"] for look in run.manifest["looks"].values()] == ["Settled", "Settled (over=True)"]


def test_no_policy_ever_beats_exact_in_expectation_and_the_oracle_is_below_it(tmp_path):
    run = run_suite("m1-v2", tmp_path, asked=Wanted(None, 48, 1), jobs=2)
    risk = {(r["scenario"], r["policy"]): r["expected_risk"] for r in run.records}
    for scenario in range(48):
        best = risk[scenario, "exact"]
        for policy in run.manifest["policies"]:
            assert risk[scenario, policy] >= best - 1e-9 or policy == "oracle"
        assert risk[scenario, "oracle"] <= best + 1e-9


def test_a_run_that_is_being_extended_is_not_called_finished(tmp_path):
    run_suite("m1-v2", tmp_path, asked=Wanted(("aquamend",), 2, 1), jobs=1)

    def dies_at_once(done, total):
        raise Killed

    with pytest.raises(Killed):
        run_suite("m1-v2", tmp_path, asked=Wanted(None, 50), jobs=1, resume=True, progress=dies_at_once)
    manifest = load_run(tmp_path).manifest
    assert (manifest["scenarios"], manifest["finished"]) == (50, None)


def test_a_run_resumed_with_nothing_left_keeps_its_date(tmp_path):
    before = run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1).manifest
    (tmp_path / "manifest.json").write_text(json.dumps(before | {"finished": "2001-01-01T00:00:00+00:00"}))
    after = run_suite("m1-v2", tmp_path, jobs=1, resume=True).manifest
    assert after["finished"] == "2001-01-01T00:00:00+00:00"
    assert len(after["resumed"]) == 1


def test_two_runs_do_not_work_in_one_folder(tmp_path):
    def second(done, total):
        with pytest.raises(InvalidRun, match="another run is at work in it"):
            run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1, resume=True)

    run = run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1, progress=second)
    assert len(run.records) == 24
    assert not (tmp_path / ".lock").exists()


def test_what_a_killed_process_had_begun_to_write_is_swept_away(tmp_path):
    (tmp_path / ".manifest.json.abc.tmp").write_text('{"form')
    run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1)
    assert not list(tmp_path.glob(".*"))


def test_records_are_not_taken_to_be_there_when_they_are_gone(tmp_path):
    """Somebody empties the folder of parts while the run goes on."""

    def vandal(done, total):
        for part in (tmp_path / "parts").glob("*.jsonl") if done == 6 else ():
            part.unlink()

    with pytest.raises(InvalidRun, match="records that were finished are gone"):
        run_suite("m1-v2", tmp_path, asked=SMALL, jobs=1, progress=vandal)
    assert load_run(tmp_path).manifest["finished"] is None


@pytest.mark.parametrize("place", ["file", "file/run"])
def test_a_place_where_no_folder_can_be_is_reported(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(InvalidRun, match=r"it is not a folder|nothing can be written there"):
        run_suite("m1-v2", tmp_path / place, asked=SMALL, jobs=1)


def test_a_policy_of_ones_own_that_changed_is_not_mixed_with_what_it_was(tmp_path, monkeypatch):
    module = tmp_path / "changing.py"
    module.write_text(
        "from aquamend import Continue\nclass P:\n    def next_step(self, state):\n        return Continue()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run_suite("m1-v2", tmp_path / "run", asked=Wanted(("changing:P",), 2, 1), jobs=1)
    module.write_text(module.read_text() + "# better now\n")
    with pytest.raises(InvalidRun, match="the module of changing:P has changed since"):
        run_suite("m1-v2", tmp_path / "run", asked=Wanted(None, 4), jobs=1, resume=True)


def test_a_policy_that_ends_the_program_or_returns_nothing_leaves_a_record(tmp_path, monkeypatch):
    (tmp_path / "rude.py").write_text(
        "class Exits:\n    def next_step(self, state):\n        raise SystemExit(5)\n"
        "class Silent:\n    def next_step(self, state):\n        pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    run = run_suite("m1-v2", tmp_path / "run", asked=Wanted(("rude:Exits", "rude:Silent"), 1, 1), jobs=1)
    assert [r["error"] for r in run.records] == [
        "SystemExit: 5",
        "BadStep: the policy returned None, which is not a step; return one of the five in aquamend.decision",
    ]


@pytest.mark.slow
def test_a_worker_that_dies_is_reported_and_the_run_can_go_on(tmp_path, monkeypatch):
    (tmp_path / "deadly.py").write_text(
        "import os\nclass Dies:\n    def next_step(self, state):\n        os._exit(3)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unreachable, match=r"a worker process: it died.*go on with --resume"):
        run_suite("m1-v2", tmp_path / "run", asked=Wanted(("deadly:Dies",), 40, 1), jobs=2)
    assert (tmp_path / "run" / "manifest.json").exists()


@pytest.mark.parametrize("value", ["3.25", "null", '"inf"', '"much"'])
def test_a_record_that_was_changed_by_hand_is_neither_continued_nor_read(tmp_path, value):
    folder = tmp_path / "run"
    run_suite("m1-v2", folder, asked=SMALL, jobs=1)
    path = folder / "records.jsonl"
    path.write_text(re.sub(r'"loss":[^,]+', f'"loss":{value}', path.read_text(), count=1))
    with pytest.raises(InvalidRun, match="line 1 is not as it was written"):
        run_suite("m1-v2", folder, asked=Wanted(seeds=3), jobs=1, resume=True)
    with pytest.raises(InvalidRun, match="line 1 is not as it was written"):
        load_run(folder)


def test_a_line_that_was_removed_is_played_again(tmp_path):
    folder = tmp_path / "run"
    run_suite("m1-v2", folder, asked=SMALL, jobs=1)
    whole = records_of(folder)
    path = folder / "records.jsonl"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))
    run_suite("m1-v2", folder, jobs=1, resume=True)
    assert records_of(folder) == whole


def test_the_manifest_says_how_large_the_suite_is_and_what_its_groups_stand_for(tmp_path):
    manifest = run_suite("t4-settings-v3", tmp_path / "run", asked=Wanted(("aquamend",), 2, 1), jobs=1).manifest
    suite = SUITES["t4-settings-v3"]
    assert manifest["full"] == {
        "policies": list(suite.policies), "scenarios": suite.scenarios, "seeds": suite.seeds,
    }  # fmt: skip
    assert (manifest["groups"], manifest["reference"]) == ({"setting": "setting"}, "aquamend-two-step")


def test_every_suite_says_what_the_names_in_its_groups_stand_for():
    for name in PUBLISHED:
        suite = SUITES[name]
        for number in (0, suite.scenarios - 1):
            groups = [record["group"] for record in suite.play(0, number, suite.policies[:1]).records]
            assert all(key in suite.groups for group in groups for key in group), name
