import importlib.util
import sys
from pathlib import Path

import pytest

from aquamend.belief import InformationState
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import Alarm, Discrete, Hypothesis, JointModel


@pytest.fixture(scope="session")
def scripted():
    """The module of scripted robots and policies, which stands beside the tests."""
    spec = importlib.util.spec_from_file_location("scripted", Path(__file__).with_name("scripted.py"))
    module = importlib.util.module_from_spec(spec)
    sys.modules["scripted"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def table():
    """Return a state with two beliefs, three executed actions that share an operation, and a planned pour.

    ``cup`` is assured; ``level`` needs a value, which ``weigh`` reads.
    """

    def make(*, again=None, escalate=50.0, sensing_budget=float("inf"), reversible=True, **rest):
        graph = RecoveryGraph(
            beliefs=[
                Belief("cup", residual=20),
                Belief("level", residual=10, declared=18.0, tolerance=3.0),
            ],
            actions=[
                Action("grasp", undo=2.0, executed=True),
                Action("lift", operations=("clear", "lower"), executed=True),
                Action("move", operations=("clear", "back"), executed=True),
                Action("pour", reversible=reversible),
            ],
            probes=[Probe("look", 0.5, max_uses=3), Probe("weigh", 1.0, max_uses=2)],
            edges=[
                ("look", "cup", "detection"),
                ("weigh", "level", "detection"),
                ("cup", "grasp", "belief_to_action"),
                ("grasp", "lift", "action_causal"),
                ("lift", "move", "action_causal"),
                ("level", "move", "belief_to_action"),
                ("move", "pour", "action_causal"),
            ],
            operations=[Operation("clear", 1.0), Operation("lower", 0.5), Operation("back", 0.25)],
        )
        hypotheses = [
            Hypothesis("nothing", 0.5),
            Hypothesis("moved", 0.2, ("cup",)),
            Hypothesis("added", 0.3, truth={"level": 40.0}),
        ]
        kernels = {
            "look": Discrete(["there", "gone"], {"nothing": [0.9, 0.1], "moved": [0.2, 0.8], "added": [0.9, 0.1]}),
            "weigh": Discrete(["18", "40"], {"nothing": [0.95, 0.05], "moved": [0.9, 0.1], "added": [0.1, 0.9]}),
        }
        alarm = Alarm({"nothing": 0.2, "moved": 0.9, "added": 0.8}, ("cup",), again)
        model = JointModel(hypotheses, kernels, alarm)
        problem = Problem(graph, model, sensing_budget, 30.0, escalate, unit="s", **rest)
        return InformationState.alarmed(problem)

    return make
