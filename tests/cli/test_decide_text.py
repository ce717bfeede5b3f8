def test_the_step_comes_first_with_its_reason_in_numbers(run, lid):
    lines = run("decide", lid).stdout.splitlines()
    assert lines[0] == "is the lid on"
    assert lines[3] == "▶ Next step  run probe look"
    reason = " ".join(" ".join(lines[4:9]).split())
    assert "look costs 0.5 s and saves 1.06 s on average, 0.56 s more than its cost" in reason
    assert "yes (62%) → continue as is; no (38%) → roll back lid" in reason


def test_every_alternative_stands_with_its_three_parts_best_first(run, lid):
    text = run("decide", lid).stdout
    rows = [line.split() for line in text[text.index("Alternatives") : text.index("After running")].splitlines()]
    assert rows[2:6] == [
        ["▶", "run", "probe", "look,", "then", "stop", "0.50", "1.14", "0.80", "2.44"],
        ["roll", "back", "lid", "0", "3.00", "0", "3.00"],
        ["undo", "lift"],
        ["continue", "as", "is", "0", "0", "4.00", "4.00"],
    ]


def test_a_decision_says_why_no_probe_and_what_would_flip_it(run, lid):
    text = " ".join(run("decide", lid, "--observe", "look=yes").stdout.split())
    assert "▶ Next step continue as is" in text
    assert "No probe may run now." in text
    assert "Not available: probe look" in text
    assert "moving 17% of the probability" in text
    assert "if q(lid) rises above 30% (now 13%)" in text


def test_the_bounds_are_said_in_words(run, lid):
    text = " ".join(run("decide", lid).stdout.split())
    assert "This step is optimal: no policy can do better than 2.44 s on average." in text
    text = " ".join(run("decide", lid, "--policy", "aquamend").stdout.split())
    assert "No policy can do better than 1.7 s on average; this step guarantees at most 2.44 s (gap 0.74 s)." in text


def test_another_policy_is_said_to_differ_from_the_table(run, lid):
    text = " ".join(run("decide", lid, "--policy", "no-reprobe").stdout.split())
    assert "Policy no-reprobe decides by its own rule" in text
    assert (
        "the least expected loss there would be to run probe look at 2.44 s. Its rule: The best ending at once" in text
    )


def test_contradicting_evidence_is_explained(run, problem, write):
    problem["probes"][0]["max_uses"] = 3
    problem["kernels"]["look"]["likelihood"] = {"on": [1, 0], "off": [0, 1]}
    text = " ".join(run("decide", write(problem), "--observe", "look=yes", "--observe", "look=no").stdout.split())
    assert "No hypothesis allows look = no" in text
    assert "Worst-case loss 3 s" in text
    assert "In the worst case nothing costs less than 3 s." in text


def test_an_irreversible_action_is_named_as_the_obstacle(run, problem, write):
    problem["actions"][0]["reversible"] = False
    problem["beliefs"][0]["may_keep"] = False
    problem["restart"], problem["escalate"] = 5.0, 50.0
    text = " ".join(run("decide", write(problem)).stdout.split())
    assert "escalate to a person" in text
    assert "Not available: continue (lid may have failed and may not be kept then)" in text
    assert "Not available: roll back lid (lift cannot be undone)" in text
    assert "Not available: restart (lift cannot be undone)" in text


def test_long_and_hostile_names_neither_break_the_layout_nor_act_on_the_terminal(run, problem, write):
    import json

    text = json.dumps(problem)
    text = text.replace('"lid"', json.dumps("[bold]the lid[/bold] of the very large pot on the left " * 3))
    text = text.replace('"lift"', json.dumps("lift" * 40)).replace('"look"', json.dumps("look :smile: closely " * 6))
    result = run("decide", write(json.loads(text)))
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    assert "[bold]the lid[/bold]" in result.stdout
    assert ":smile:" in result.stdout


def test_a_wide_terminal_is_used_up_to_120_columns(run, lid):
    widths = {columns: max(map(len, run("decide", lid, columns=columns).stdout.splitlines())) for columns in (120, 300)}
    assert widths[120] == widths[300] <= 120


def test_several_files_are_told_apart(run, problem, write):
    files = [write({**problem, "name": name}, f"{name}.json") for name in ("one", "two")]
    text = run("decide", *files).stdout
    assert text.index("one\n") < text.index("─" * 80) < text.index("two\n")


def test_at_50_columns_every_alternative_still_has_its_loss(run, lid, cups):
    for file in (lid, cups):
        text = run("decide", file, columns=50).stdout
        assert max(map(len, text.splitlines())) <= 50
        rows = text[text.index("Alternatives") : text.index("After running")].splitlines()
        assert any(row.split()[-1:] == ["total"] for row in rows)
        assert any("▶" in row and row.split()[-1].replace(".", "").isdigit() for row in rows)


def test_a_linear_chain_shows_what_it_would_undo_and_what_that_costs(run, problem, write):
    problem["actions"].append({"name": "wave", "undo": 1, "status": "executed"})
    text = " ".join(run("decide", write(problem), "--policy", "linear-chain", "--observe", "look=no").stdout.split())
    assert "▶ Next step roll back lid Undo lift, wave Why" in text
    assert "Expected loss 4 s: 4 s for the recovery" in text
    assert "the least expected loss there would be to roll back lid (undo lift) at 3 s" in text


def test_what_would_be_declared_is_said(run, cups):
    text = " ".join(run("decide", cups, "--observe", "weigh=45", "--policy", "no-reprobe").stdout.split())
    assert "Declare level: 45, target: B" in text
    assert "Declarations in doubt A is least full: target A, wrong with 94%" in text


def test_probability_and_loss_that_fit_no_number_are_complained_about(run, lid, monkeypatch):
    import aquamend.policies.decision_report as report

    def overflow(*_, **__):
        raise OverflowError("math range error")

    monkeypatch.setattr(report, "decision_report", overflow)
    result = run("decide", lid)
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{lid}: its numbers or its size are beyond what can be computed (OverflowError: math range" in result.stderr
