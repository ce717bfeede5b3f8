"""What the public evidence says: posterior and attribution."""

from aquamend.inference.sensitivity import PosteriorSetting, distorted
from aquamend.inference.state import InformationState, Monitored, Observation, ProbeView, expected, joint, rejected
from aquamend.inference.surprise import SURPRISING, Heard, chance_of, heard, surprises

__all__ = [
    "SURPRISING",
    "Heard",
    "InformationState",
    "Monitored",
    "Observation",
    "PosteriorSetting",
    "ProbeView",
    "chance_of",
    "distorted",
    "expected",
    "heard",
    "joint",
    "rejected",
    "surprises",
]
