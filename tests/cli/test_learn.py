"""The learn command: from a file of records to a problem file that decides."""

import csv
import json
import re

import numpy as np
import pytest

from aquamend.files import parse_problem


def write_records(path, problem, n=60):
    model, rng = parse_problem(problem).model, np.random.default_rng(0)
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["found", "look", "cost:lift"])
        for _ in range(n):
            s = int(rng.choice(2, p=model.prior))
            out.writerow([model.names[s], model.channels["look"].sample(s, rng), 3.5])


def test_a_problem_is_learned_written_and_decided(run, problem, write, tmp_path):
    write_records(tmp_path / "past.csv", problem)
    out = tmp_path / "learned.yaml"
    result = run("learn", str(tmp_path / "past.csv"), "--problem", write(problem), "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert "On 15 records held back:" in result.stdout
    assert out.read_text().startswith("# Learned by aquamend ")
    assert "sha256" in out.read_text()
    assert run("decide", str(out)).exit_code == 0


def test_programs_get_estimates_with_intervals(run, problem, write, tmp_path):
    write_records(tmp_path / "past.csv", problem)
    found = json.loads(run("learn", str(tmp_path / "past.csv"), "--problem", write(problem), "--json").stdout)
    undo = found["estimates"]["actions[0].undo"]
    assert undo["low"] <= undo["value"] <= undo["high"]
    assert found["held_back"]["records"] == 15


def test_what_is_wrong_is_reported_without_a_traceback(run, problem, write, tmp_path):
    lid, past = write(problem), tmp_path / "past.csv"
    past.write_text("found\nsideways\n")
    bad = write({"format": "nonsense"}, "bad.json")
    for args in (
        [str(past), "--problem", lid], ["/no/such.csv", "--problem", lid], ["--problem", lid],
        [str(past), "--problem", bad], [str(past), "--problem", lid, "--labels", lid],
        ["--journal", str(past), "--problem", lid], ["--journal", "/no/such", "--problem", lid],
    ):  # fmt: skip
        result = run("learn", *args)
        assert result.exit_code == 2, args
        assert "Traceback" not in result.stderr


def test_the_kind_of_kernel_is_chosen_and_said(run, problem, write, tmp_path):
    problem["kernels"]["look"] = {"gaussian": {"on": [0, 5], "off": [9, 5]}}
    rng, past, out = np.random.default_rng(1), tmp_path / "past.jsonl", tmp_path / "learned.yaml"
    humps = [{"found": "on", "look": [float(rng.choice([-8, 8]) + rng.normal())]} for _ in range(60)]
    rows = humps + [{"found": "off", "look": float(rng.normal(20.0))} for _ in range(20)]
    past.write_text("".join(json.dumps(row) + "\n" for row in rows))
    args = ["learn", str(past), "--problem", write(problem), "--readings", "best"]
    result = run(*args, "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert "'look' is learned as mixture; log density held back: gaussian" in " ".join(result.stdout.split())
    assert "# 'look' is learned as mixture" in out.read_text()
    assert run("validate", str(out)).exit_code == 0
    found = json.loads(run(*args, "--json").stdout)
    assert found["kernels"]["look"]["mixture"] > found["kernels"]["look"]["gaussian"]
    refused = run(*args[:-1], "mixtur")
    assert refused.exit_code == 2
    assert "did you mean mixture? use one of as-written, gaussian, mixture, samples, best" in refused.stderr


def test_explain_lists_every_number_before_and_after_and_what_was_assumed(run, problem, write, tmp_path):
    problem["alarm"] = {"likelihood": {"on": 0.2, "off": 0.9}}
    write_records(tmp_path / "past.csv", problem)
    plain = run("learn", str(tmp_path / "past.csv"), "--problem", write(problem))
    explained = run("learn", str(tmp_path / "past.csv"), "--problem", write(problem), "--explain")
    assert re.search(r"^actions\[0\]\.undo +3 +3\.4\d+ +[\d.]+ to [\d.]+ +60$", explained.stdout, re.MULTILINE)
    assert "Stayed as it was:" in explained.stdout
    assert "alarm.likelihood.off: records of alarms alone do not tell it; taken from the file" in " ".join(
        explained.stdout.split()
    )
    assert "'look': 60 answers used." in explained.stdout
    assert "Stayed as it was:" not in plain.stdout
    for said in (plain.stdout, explained.stdout):
        assert re.search(r"lost by deciding so: [\d.]+ s \(as the file was: [\d.]+ s; know", " ".join(said.split())), (
            said
        )


def test_programs_get_what_was_there_before_and_what_decisions_lose(run, problem, write, tmp_path):
    problem["alarm"] = {"likelihood": {"on": 0.2, "off": 0.9}}
    write_records(tmp_path / "past.csv", problem)
    found = json.loads(run("learn", str(tmp_path / "past.csv"), "--problem", write(problem), "--json").stdout)
    assert found["estimates"]["actions[0].undo"]["before"] == 3.0
    assert set(found["kept"]) >= {"alarm.likelihood.off"}
    lost = found["held_back"]["lost"]
    assert lost["least"] <= min(lost["learned"], lost["before"])
    shares = found["after_alarm"]
    assert sum(one["records"] for one in shares.values()) == 1.0
    assert all(one["low"] <= one["learned"] <= one["high"] for one in shares.values())


def test_rows_with_faults_are_refused_all_at_once_or_left_out(run, problem, write, tmp_path):
    past = tmp_path / "past.csv"
    past.write_text("found;look;cost:lift\noff;no;3,5\non;maybe;4\nof;yes;4\non;yes;-1\n")
    refused = run("learn", str(past), "--problem", write(problem))
    assert refused.exit_code == 2
    assert [re.search(r"row (\d), column '([\w:]+)'", line).groups() for line in refused.stderr.splitlines()] == [
        ("5", "cost:lift"), ("4", "found"), ("3", "look"),
    ]  # fmt: skip
    kept = run("learn", str(past), "--problem", write(problem), "--skip-faulty", "--explain")
    assert kept.exit_code == 0
    assert "numbers learned from 2 of 3 records." in kept.stdout
    assert kept.stdout.count("Left out: row") == 3


def test_what_the_problem_counts_as_is_bounded(run, problem, write, tmp_path):
    write_records(tmp_path / "past.csv", problem)
    for strength in ("1e200", "0", "-1", "nan"):
        result = run("learn", str(tmp_path / "past.csv"), "--problem", write(problem), "--strength", strength)
        assert result.exit_code == 2
        assert "give a number from 1e-06 to 1e+06" in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", [["learn"], ["alarm", "--score", "look"]])
def test_a_faulty_problem_is_refused_by_its_own_name_before_any_record_is_blamed(
    run, problem, write, tmp_path, command
):
    write_records(tmp_path / "past.csv", problem, n=5)
    problem["beliefs"][0]["residual"] = "ten"
    path = write(problem)
    result = run(command[0], str(tmp_path / "past.csv"), "--problem", path, *command[1:])
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{path}: beliefs[0].residual: the text 'ten' is not a number")
    assert "past.csv" not in result.stderr
