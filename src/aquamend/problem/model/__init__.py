"""The finite joint model: what may be true, and how alarms and probes answer if it is."""

from aquamend.problem.model.coverage import Coverage, FitGroup
from aquamend.problem.model.hypotheses import Alarm, Cause, Declaration, Hypotheses, Hypothesis
from aquamend.problem.model.joint_model import JointModel
from aquamend.problem.model.kernels import (
    Discrete,
    Gaussian,
    Kernel,
    Mixture,
    NoisyOr,
    Outcomes,
    Readings,
    Samples,
    ValueOf,
)
from aquamend.problem.model.spreads import Normal, OneOf, Spread, Uniform

__all__ = [
    "Alarm",
    "Cause",
    "Coverage",
    "Declaration",
    "Discrete",
    "FitGroup",
    "Gaussian",
    "Hypotheses",
    "Hypothesis",
    "JointModel",
    "Kernel",
    "Mixture",
    "NoisyOr",
    "Normal",
    "OneOf",
    "Outcomes",
    "Readings",
    "Samples",
    "Spread",
    "Uniform",
    "ValueOf",
]
