"""The runner: one record for everything asked, the same bytes whoever does the work and however often it stops."""

import json

import pytest

from aquamend.benchmarks import runner
from aquamend.benchmarks.runner import Asked, run_suite
from aquamend.errors import InvalidRun, UnknownName
from aquamend.records import load_run
from aquamend.records.run_folder import key_of

SMALL = Asked(("aquamend", "restart"), scenarios=6, seeds=2)


def records_of(folder):
    return (folder / "records.jsonl").read_bytes(), (folder / "annotations.jsonl").read_bytes()


def test_there_is_one_record_for_every_scenario_seed_and_policy_in_order(tmp_path):
    run = run_suite("m1-v1", tmp_path / "run", asked=SMALL, jobs=1)
    assert [key_of(r) for r in run.records] == [
        (seed, number, policy) for seed in range(2) for number in range(6) for policy in ("aquamend", "restart")
    ]
    assert len(run.annotations) == 12


def test_the_manifest_says_what_was_run_by_what(tmp_path):
    manifest = run_suite("m1-v1", tmp_path / "run", asked=SMALL, jobs=1).manifest
    assert (manifest["suite"], manifest["scenarios"], manifest["seeds"]) == ("m1-v1", 6, 2)
    assert manifest["policies"] == ["aquamend", "restart"]
    assert manifest["libraries"]["numpy"]
    assert manifest["started"] <= manifest["finished"]
    assert len(manifest["code"]) == 16


def test_processes_write_the_same_bytes_as_one(tmp_path):
    run_suite("m1-v1", tmp_path / "one", asked=SMALL, jobs=1)
    run_suite("m1-v1", tmp_path / "two", asked=SMALL, jobs=2)
    assert records_of(tmp_path / "one") == records_of(tmp_path / "two")


class Killed(Exception):
    pass


def test_a_run_that_stops_midway_goes_on_without_loss_or_repetition(tmp_path, monkeypatch):
    straight = tmp_path / "straight"
    run_suite("m1-v1", straight, asked=SMALL, jobs=1)
    broken = tmp_path / "broken"

    def dies_after_three(done, total):
        if done >= 3:
            raise Killed

    with pytest.raises(Killed):
        run_suite("m1-v1", broken, asked=SMALL, jobs=1, progress=dies_after_three)
    kept = {key_of(r) for r in load_run(broken).records}
    assert 0 < len(kept) < 24
    done_again = []
    work = runner.missing_units
    monkeypatch.setattr(runner, "missing_units", lambda *a, **k: done_again.extend(work(*a, **k)) or done_again)
    run_suite("m1-v1", broken, jobs=1, resume=True)
    assert len(done_again) == 12 - len(kept) // 2
    assert records_of(broken) == records_of(straight)
    assert not (broken / "parts").exists()


def test_a_run_killed_while_it_was_put_together_is_put_together_again(tmp_path, monkeypatch):
    straight, broken = tmp_path / "straight", tmp_path / "broken"
    run_suite("m1-v1", straight, asked=SMALL, jobs=1)

    def dies(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(runner.shutil, "rmtree", dies)
        with pytest.raises(Killed):
            run_suite("m1-v1", broken, asked=SMALL, jobs=1)
    assert (broken / "parts").exists()
    run_suite("m1-v1", broken, jobs=1, resume=True)
    assert records_of(broken) == records_of(straight)


def test_a_run_can_be_extended_by_policies_scenarios_and_seeds(tmp_path):
    folder = tmp_path / "run"
    run_suite("m1-v1", folder, asked=Asked(("aquamend",), 3, 1), jobs=1)
    run_suite("m1-v1", folder, asked=Asked(("aquamend", "restart"), 6, 2), jobs=1, resume=True)
    run_suite("m1-v1", tmp_path / "straight", asked=SMALL, jobs=1)
    assert records_of(folder) == records_of(tmp_path / "straight")
    assert json.loads((folder / "manifest.json").read_text())["policies"] == ["aquamend", "restart"]


def test_two_policies_asked_for_one_after_the_other_before_the_end_are_both_kept(tmp_path):
    """The parts of the first must not be overwritten by those of the second."""
    folder = tmp_path / "run"

    def dies_at_the_end(done, total):
        if done == total:
            raise Killed

    with pytest.raises(Killed):
        run_suite("m1-v1", folder, asked=Asked(("aquamend",), 4, 1), jobs=1, progress=dies_at_the_end)
    run = run_suite("m1-v1", folder, asked=Asked(("restart",)), jobs=1, resume=True)
    assert [r["policy"] for r in run.records] == ["aquamend", "restart"] * 4


def test_a_packed_run_holds_the_same_and_can_be_extended(tmp_path):
    plain = run_suite("m1-v1", tmp_path / "plain", asked=SMALL, jobs=1)
    packed = run_suite("m1-v1", tmp_path / "packed", asked=Asked(("aquamend",), 6, 2), jobs=1, compress=True)
    assert not (tmp_path / "packed" / "records.jsonl").exists()
    assert len(packed.records) == 12
    extended = run_suite("m1-v1", tmp_path / "packed", asked=SMALL, jobs=1, resume=True, compress=True)
    assert extended.records == plain.records
    assert sorted(p.name for p in (tmp_path / "packed").iterdir()) == [
        "annotations.jsonl.gz", "manifest.json", "records.jsonl.gz",
    ]  # fmt: skip


def test_an_existing_run_is_not_touched_without_being_asked_to(tmp_path):
    run_suite("m1-v1", tmp_path, asked=SMALL, jobs=1)
    before = records_of(tmp_path)
    with pytest.raises(InvalidRun, match="already holds a run of m1-v1; continue it with --resume"):
        run_suite("m1-v1", tmp_path, asked=SMALL, jobs=1)
    with pytest.raises(InvalidRun, match="holds a run of m1-v1, not of m1-depth-v1"):
        run_suite("m1-depth-v1", tmp_path, asked=SMALL, jobs=1, resume=True)
    assert records_of(tmp_path) == before


def test_results_of_two_programs_are_not_mixed(tmp_path):
    run_suite("m1-v1", tmp_path, asked=SMALL, jobs=1)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps(manifest | {"code": "0123456789abcdef"}))
    with pytest.raises(InvalidRun, match="run by other code"):
        run_suite("m1-v1", tmp_path, jobs=1, resume=True)


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(InvalidRun, match="not empty"):
        run_suite("m1-v1", tmp_path, asked=SMALL, jobs=1)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(
    ("suite", "policies", "told"),
    [
        ("m1-v1", ("psychic",), "unknown policy 'psychic'.*'oracle'"),
        ("m2", None, "unknown suite 'm2'; valid names: 'm1-v1'"),
        ("m1-v1", ("no_such_module:Policy",), "no_such_module"),
        ("m1-v1", ("json:dumps",), "it has no next_step"),
    ],
)
def test_unknown_names_are_told_before_anything_is_written(tmp_path, suite, policies, told):
    with pytest.raises(UnknownName, match=told):
        run_suite(suite, tmp_path / "run", asked=Asked(policies, 1, 1), jobs=1)
    assert not (tmp_path / "run").exists()


def test_a_refusal_is_a_record_that_says_why(tmp_path):
    run = run_suite("m1-v1", tmp_path, asked=Asked(("structured", "aquamend"), 8, 1), jobs=1)
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
    run = run_suite("m1-v1", tmp_path / "run", asked=Asked(("mine:Optimist", "mine:Broken"), 4, 1), jobs=1)
    by_policy = {name: [r for r in run.records if r["policy"] == name] for name in ("mine:Optimist", "mine:Broken")}
    assert all(r["ending"] == "continue" for r in by_policy["mine:Optimist"])
    assert all(r["error"] == "ZeroDivisionError: division by zero" for r in by_policy["mine:Broken"])


def test_no_policy_ever_beats_exact_in_expectation_and_the_oracle_is_below_it(tmp_path):
    run = run_suite("m1-v1", tmp_path, asked=Asked(None, 48, 1), jobs=2)
    risk = {(r["scenario"], r["policy"]): r["expected_risk"] for r in run.records}
    for scenario in range(48):
        best = risk[scenario, "exact"]
        for policy in run.manifest["policies"]:
            assert risk[scenario, policy] >= best - 1e-9 or policy == "oracle"
        assert risk[scenario, "oracle"] <= best + 1e-9
