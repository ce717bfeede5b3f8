"""What the public evidence says: posterior, attribution, and which declarations it supports."""

from aquamend.inference.refreshing import DeclarationStanding, Standing, best_value, standings, usable_probes, versions
from aquamend.inference.sensitivity import PosteriorSetting, distorted
from aquamend.inference.state import InformationState, Observation, ProbeView, expected, joint, rejected

__all__ = [
    "DeclarationStanding",
    "InformationState",
    "Observation",
    "PosteriorSetting",
    "ProbeView",
    "Standing",
    "best_value",
    "distorted",
    "expected",
    "joint",
    "rejected",
    "standings",
    "usable_probes",
    "versions",
]
