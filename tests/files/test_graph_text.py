import shutil
import subprocess

import pytest
from tests.waiting import PATIENCE_S

from aquamend.belief import InformationState, Observation
from aquamend.decision import correction
from aquamend.decision.steps import Continue, RollBack
from aquamend.files.graph_text import marked_graph
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Hypothesis, JointModel

NASTY = ['say "hi"; }', "back\\slash", "<b>&amp;</b>|{x}", "line\nbreak", "ends with \\", 'end"', "ü→日本"]


@pytest.fixture
def nasty() -> InformationState:
    graph = RecoveryGraph(
        beliefs=[Belief(f"b {name}", 1.0) for name in NASTY],
        actions=[Action(f"a {name}", undo=1.0, executed=True, reversible=False) for name in NASTY],
        probes=[Probe("p", 0.1)],
        edges=[("p", f"b {NASTY[0]}", "detection"), *((f"b {n}", f"a {n}", "belief_to_action") for n in NASTY)],
    )
    kernels = {"p": Discrete(["y"], {"h": [1.0]})}
    return InformationState.alarmed(Problem(graph, JointModel([Hypothesis("h", 1.0)], kernels), name=NASTY[0]))


def test_irreversible_actions_are_drawn_double(lid_state):
    text = marked_graph(lid_state(reversible=False), Continue()).as_dot()
    assert r'label="lift\nexecuted\nirreversible"' in text
    assert 'peripheries="2"' in text


def test_only_what_the_step_undoes_is_marked(lid_state):
    assert "to be undone" not in marked_graph(lid_state(), Continue()).as_dot()
    assert "to be undone" in marked_graph(lid_state(), RollBack(("lid",), ("lift",))).as_mermaid()


def test_what_is_declared_what_needs_support_and_what_a_probe_relies_on_is_shown(cup_state):
    state = cup_state().after(Observation("weigh", "45"))
    step = correction(state, ["level", "target"]).decision
    dot, mermaid = (marked_graph(state, step).as_dot(), marked_graph(state, step).as_mermaid())
    assert r"level\ndeclared 18\nsuspected: 94%\nto be declared: 45" in dot
    assert r"target\ndeclared A\nneeds support\nsuspected: 94%\nto be declared: B" in dot
    assert 'n0 -> n5 [label="relies on", style=dotted];' in dot
    assert "n0 -.->|relies on| n5" in mermaid
    assert "to be declared: B" in mermaid


def test_names_stay_inside_their_quotes(nasty):
    marked = marked_graph(nasty, Continue())
    for line in marked.as_dot().splitlines()[1:-1]:
        unescaped = line.replace("\\\\", "").replace('\\"', "")
        assert unescaped.count('"') % 2 == 0, line
        assert line.endswith(";")
    for line in marked.as_mermaid().splitlines()[2:]:
        assert line.count('"') in (0, 2), line
        assert "<b>" not in line


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_reads_it(nasty):
    text = marked_graph(nasty, Continue()).as_dot()
    drawn = subprocess.run(
        ["dot", "-Tplain"], input=text, capture_output=True, text=True, check=True, timeout=PATIENCE_S
    )
    assert drawn.stderr == ""
    assert sum(line.startswith("node ") for line in drawn.stdout.splitlines()) == 2 * len(NASTY) + 1
