"""AquaMend: how an embodied agent recovers when something it measured and believed may no longer be true.

Build a ``Problem`` from a ``RecoveryGraph`` and a ``JointModel`` (or read one with ``load_problem``), raise the alarm,
and ask a policy for steps:

    state = InformationState.alarmed(problem)
    while isinstance(step := Best().next_step(state), Reprobe):
        state = state.after(Observation(step.probe, measure(step.probe)))
"""

from aquamend.belief import InformationState, Observation
from aquamend.codec import FirstThatHolds
from aquamend.decision import (
    Continue,
    Escalate,
    NewDeclaration,
    Reprobe,
    Restart,
    RollBack,
    Step,
    best_terminal,
    correction,
    price,
)
from aquamend.errors import AquaMendError
from aquamend.files import load_problem
from aquamend.policies import AquaMend, Best, Exact, Policy, evaluate, policy_named
from aquamend.problem import Plan, Problem
from aquamend.problem.building import joint_model
from aquamend.problem.graph import Action, Belief, Operation, Probe, RecoveryGraph
from aquamend.problem.model import (
    Alarm,
    Cause,
    Declaration,
    Discrete,
    Gaussian,
    Hypotheses,
    Hypothesis,
    JointModel,
    Mixture,
    NoisyOr,
    Normal,
    OneOf,
    Samples,
    Uniform,
    ValueOf,
)

__version__ = "0.1.0"

__all__ = [
    "Action",
    "Alarm",
    "AquaMend",
    "AquaMendError",
    "Belief",
    "Best",
    "Cause",
    "Continue",
    "Declaration",
    "Discrete",
    "Escalate",
    "Exact",
    "FirstThatHolds",
    "Gaussian",
    "Hypotheses",
    "Hypothesis",
    "InformationState",
    "JointModel",
    "Mixture",
    "NewDeclaration",
    "NoisyOr",
    "Normal",
    "Observation",
    "OneOf",
    "Operation",
    "Plan",
    "Policy",
    "Probe",
    "Problem",
    "RecoveryGraph",
    "Reprobe",
    "Restart",
    "RollBack",
    "Samples",
    "Step",
    "Uniform",
    "ValueOf",
    "best_terminal",
    "correction",
    "evaluate",
    "joint_model",
    "load_problem",
    "policy_named",
    "price",
]
