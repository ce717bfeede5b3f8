"""The workflows for a public host: every command in them is one that this repository has."""

import os
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def steps(workflow):
    jobs = yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_every_target_and_script_of_a_workflow_exists(workflow):
    targets = set(
        re.search(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1].split()
    )
    commands = [re.sub(r"\$\{\{.*?\}\}", "", step["run"]) for step in steps(workflow) if "run" in step]
    made = {
        word for command in commands if command.startswith("make ") for word in command.split()[1:] if "=" not in word
    }
    assert made <= targets
    for command in commands:
        for script in re.findall(r"\.ci/\w+", command):
            assert os.access(ROOT / script, os.X_OK)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_no_workflow_leaves_credentials_in_the_checkout(workflow):
    checkouts = [step for step in steps(workflow) if step.get("uses", "").startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
