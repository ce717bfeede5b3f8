"""Ten everyday changes: each is a patch that applies, touches only the files that CONTRIBUTING promises, and works."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parent.parent
CHANGES = ROOT / "tests" / "changes"
PROMISED = {
    re.search(r"changes/(\w+)\.patch", row)[1]: set(re.findall(r"`((?:src|lab|docs)/[^`]+)`", row))
    for row in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    if "changes/" in row
}
pytestmark = pytest.mark.outer

PROBLEM = """
from aquamend.files import parse_problem, problem_to_data
DATA = {
    "format": "aquamend-problem/1", "name": "any", "beliefs": [{"name": "b", "residual": 10}],
    "actions": [{"name": "a", "undo": 4, "status": "executed"}], "edges": [["b", "a", "belief_to_action"]],
    "probes": [{"name": "p", "cost": 0.1}], "hypotheses": [
        {"name": "h", "prior": 0.5}, {"name": "g", "prior": 0.5, "failed": ["b"]}
    ],
    "kernels": {"p": {"outcomes": ["no", "yes"], "likelihood": {"h": [0.9, 0.1], "g": [0.2, 0.8]}}},
}
DATA["edges"].append(["p", "b", "detection"])
def kept(data):
    assert problem_to_data(parse_problem(data)) == data
    return parse_problem(data)
"""
RUN = """
from pathlib import Path
from aquamend_lab.records import Run
MANIFEST = {"suite": "any", "policies": ["a"], "scenarios": 2, "seeds": 1}
ABOUT = {"suite": "any", "seed": 0, "policy": "a", "group": {}, "success": 1.0}
RECORDS = [ABOUT | {"scenario": k, "loss": loss, "probes": 1.0} for k, loss in enumerate([1.0, 7.0])]
"""
WORKS = {
    "policy": """
from aquamend import policy_named
from aquamend.testing import check_policy
assert check_policy(policy_named("look-once")).states > 0
""",
    "kernel": PROBLEM
    + """
from aquamend import InformationState, Observation
DATA["kernels"] = {"p": {"finds": {"h": 0.1, "g": 0.8}}}
state = InformationState.alarmed(kept(DATA)).after(Observation("p", "something"))
assert abs(state.posterior[1] - 0.8 / 0.9) < 1e-12
""",
    "metric": RUN
    + """
from aquamend_lab.analysis.report.tables import result_table
from aquamend_lab.analysis.metrics import as_data, summarise
from aquamend_lab.analysis.table import table_of
found = summarise(table_of(Run(Path("x"), MANIFEST, RECORDS, [], [])))
assert as_data(found[0])["worst_loss"] == 7.0
assert "worst loss" in [column.title for column in result_table(found, None).columns]
""",
    "suite": """
import tempfile
from aquamend_lab.benchmarks.runner import run_suite
with tempfile.TemporaryDirectory() as folder:
    frame = run_suite("coin-v1", folder, jobs=1).frame()
risks = frame.groupby("policy")["expected_risk"].mean()
assert risks["best"] < risks["no-reprobe"]
""",
    "belief_attribute": PROBLEM
    + """
DATA["beliefs"][0]["owner"] = "Ada"
assert kept(DATA).graph.beliefs[0].owner == "Ada"
""",
    "command": """
import sys
from aquamend.cli.main import main
sys.argv = ["aquamend", "beliefs", "examples/stale_map.yaml"]
main()
""",
    "ending": PROBLEM
    + """
from aquamend import InformationState, best_terminal
DATA["beliefs"][0]["may_keep"] = False
DATA["actions"][0]["reversible"] = False
del DATA["actions"][0]["undo"]
stop = best_terminal(InformationState.alarmed(kept(DATA | {"escalate": 50, "abandon": 8})))
assert (stop.decision.plan, stop.loss) == ("abandon", 8.0)
""",
    "probe_property": PROBLEM
    + """
DATA["probes"][0]["serial"] = "KX-12"
assert kept(DATA).graph.probes[0].serial == "KX-12"
""",
    "report_figure": RUN
    + """
from aquamend_lab.analysis.report.build import analysed_runs, report_of
from aquamend_lab.analysis.report.rendering import as_html
assert "Mean number of probes." in as_html(report_of(analysed_runs([Run(Path("x"), MANIFEST, RECORDS, [], [])])))
""",
    "story_sentence": PROBLEM
    + """
from aquamend import InformationState, Observation, policy_named
from aquamend.policies.decision_report import alternatives
from aquamend.policies.decision_report import decision_report
from aquamend.story.reasons import reasons
DATA["probes"][0]["max_uses"] = 5
state = InformationState.alarmed(kept(DATA))
for answer in ("yes", "no", "yes"):
    state = state.after(Observation("p", answer))
report = decision_report(state, policy_named("best"), name="best")
assert "This is after 3 answers." in reasons(report, alternatives(report))
""",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Copy what patches may touch, and the examples."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "lab", "docs", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "images"))
    return folder


def test_contributing_promises_files_for_each_change():
    assert PROMISED.keys() == WORKS.keys() == {path.stem for path in CHANGES.glob("*.patch")}
    assert all(PROMISED.values())


@pytest.mark.parametrize("name", WORKS)
def test_a_change_touches_the_files_that_are_promised_and_works(copy, name):
    patch = CHANGES / f"{name}.patch"
    touched = set(re.findall(r"^\+\+\+ b/(.+)$", patch.read_text(encoding="utf-8"), re.MULTILINE))
    assert touched == PROMISED[name]
    git = ["git", "apply", "--whitespace=nowarn", str(patch)]
    subprocess.run(git, cwd=copy, check=True, timeout=PATIENCE_S)
    try:
        # Without `site` no path file is read, so the packages are those of the copy.
        paths = [str(copy / "src"), str(copy / "lab" / "src"), sysconfig.get_paths()["purelib"]]
        done = subprocess.run(
            [sys.executable, "-S", "-B", "-c", WORKS[name]], cwd=copy, capture_output=True, text=True, check=False,
            timeout=PATIENCE_S, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    finally:
        subprocess.run([*git, "--reverse"], cwd=copy, check=True, timeout=PATIENCE_S)
