"""What the public evidence says: posterior and attribution."""

from aquamend.belief.state import InformationState, Monitored, Observation, ProbeView, expected, joint, rejected
from aquamend.belief.surprise import SURPRISING, Heard, chance_of, heard, surprises
from aquamend_lab.pouring.posterior_settings import PosteriorSetting, distorted

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
