"""What the public evidence says: posterior and attribution."""

from aquamend.belief.state import InformationState, Monitored, Observation, ProbeView, expected, joint, rejected
from aquamend.belief.surprise import SURPRISING, ProbableAnswer, chance_of, heard, surprises

__all__ = [
    "SURPRISING",
    "InformationState",
    "Monitored",
    "Observation",
    "ProbableAnswer",
    "ProbeView",
    "chance_of",
    "expected",
    "heard",
    "joint",
    "rejected",
    "surprises",
]
