"""A problem small enough to work out by hand, for every adapter."""

from aquamend.files import parse_problem
from aquamend.problem import Problem

CUP = {
    "format": "aquamend-problem/1",
    "name": "a cup that somebody may have filled",
    "unit": "s",
    "beliefs": [
        {"name": "level", "residual": 30, "declared": 18.0, "tolerance": 3.0},
        {"name": "cup", "residual": 20},
    ],
    "actions": [
        {"name": "grasp", "undo": 4, "status": "executed"},
        {"name": "pour", "reversible": False},
    ],
    "probes": [{"name": "weigh", "cost": 0.6, "max_uses": 2}, {"name": "look", "cost": 0.2}],
    "edges": [
        ["weigh", "level", "detection"],
        ["look", "cup", "detection"],
        ["level", "grasp", "belief_to_action"],
        ["cup", "grasp", "belief_to_action"],
        ["grasp", "pour", "action_causal"],
    ],
    "hypotheses": [
        {"name": "nothing", "prior": 0.6, "cause": "false_alarm"},
        {"name": "more", "prior": 0.3, "truth": {"level": 45.0}, "cause": "external"},
        {"name": "moved", "prior": 0.1, "failed": ["cup"], "cause": "external"},
    ],
    "kernels": {
        "weigh": {"of": "level", "right": 0.95},
        "look": {
            "outcomes": ["there", "gone"],
            "likelihood": {"nothing": [0.9, 0.1], "more": [0.9, 0.1], "moved": [0.1, 0.9]},
        },
    },
    "alarm": {"suspects": ["level"], "likelihood": {"nothing": 0.2, "more": 0.9, "moved": 0.5}},
    "restart": 25,
    "escalate": 60,
}


def cup_problem(**changed: object) -> Problem:
    """Return the cup, with some keys of its file changed."""
    return parse_problem({**CUP, **changed})
