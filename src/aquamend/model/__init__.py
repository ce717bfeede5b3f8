"""The finite joint model: what may be true, and how alarms and probes answer if it is."""

from aquamend.model.ages import Ages
from aquamend.model.coverage import Coverage, FitGroup
from aquamend.model.declarations import Declaration
from aquamend.model.hypotheses import Alarm, Cause, Hypothesis
from aquamend.model.joint_model import JointModel
from aquamend.model.kernels import Discrete, Gaussian, Kernel, Mixture, NoisyOr, Outcomes, Readings, Samples, ValueOf
from aquamend.model.spreads import Normal, OneOf, Spread, Uniform

__all__ = [
    "Ages",
    "Alarm",
    "Cause",
    "Coverage",
    "Declaration",
    "Discrete",
    "FitGroup",
    "Gaussian",
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
