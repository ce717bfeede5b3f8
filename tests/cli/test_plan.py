import json

import pytest
import typer
from typer.testing import CliRunner

from aquamend.cli.decide import plan
from aquamend.codec import load
from aquamend.policies.plan_tree import PlanTree, TwoPlans


@pytest.fixture
def run_plan():
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    app.command()(plan)
    return lambda *args: CliRunner(env={"TERM": "dumb", "COLUMNS": "80"}).invoke(app, list(args))


def test_the_text_shows_every_step_with_its_chance_and_loss(run_plan, lid):
    assert run_plan(lid).stdout.split("\n")[:5] == [
        "Plan of best for is the lid on: expected loss 2.44 s",
        "         chance loss plan",
        "████████   100% 2.44 run probe look",
        "█████       62% 1.29 ├ yes: continue as is",
        "███         38% 3.00 └ no: roll back lid",
    ]


def test_json_is_read_back(run_plan, lid):
    tree = load(PlanTree, json.loads(run_plan(lid, "--json").stdout))
    assert [node.answer for node in tree.nodes] == [None, "yes", "no"]
    assert tree.root.loss == pytest.approx(2.44)


def test_another_policy_is_set_beside_it(run_plan, lid):
    assert "They part in 100% of recoveries:" in run_plan(lid, "--versus", "rollback-only").stdout
    both = load(TwoPlans, json.loads(run_plan(lid, "--versus", "rollback-only", "--json").stdout))
    assert (both.one.policy, both.other.policy, len(both.parts)) == ("best", "rollback-only", 1)


def test_mermaid_is_printed(run_plan, lid):
    lines = run_plan(lid, "--format", "mermaid").stdout.split("\n")
    assert lines[1] == "flowchart TD"
    assert '    p0n0 -->|"yes, 62%"| p0n1' in lines


def test_answers_so_far_move_the_root(run_plan, lid):
    assert "roll back lid" in run_plan(lid, "--observe", "look=no", "--policy", "rollback-only").stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--policy", "bst"], "bst"),
        (["--versus", "bst"], "bst"),
        (["--nodes", "0"], "--nodes"),
        (["--json", "--format", "mermaid"], "exclude each other"),
        (["--observe", "look"], "PROBE=OUTCOME"),
    ],
)
def test_a_bad_option_exits_2(run_plan, lid, options, said):
    result = run_plan(lid, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr
