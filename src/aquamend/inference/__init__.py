"""What the public evidence says: posterior and attribution."""

from aquamend.inference.sensitivity import PosteriorSetting, distorted
from aquamend.inference.state import InformationState, Observation, ProbeView, expected, joint, rejected

__all__ = [
    "InformationState",
    "Observation",
    "PosteriorSetting",
    "ProbeView",
    "distorted",
    "expected",
    "joint",
    "rejected",
]
