"""What the public evidence says: posterior, attribution, declarations in force."""

from aquamend.inference.evidence import Observation
from aquamend.inference.re_estimation import Support, refreshed, support, with_refreshed_declarations
from aquamend.inference.sensitivity import PosteriorSetting, distorted
from aquamend.inference.state import InformationState

__all__ = [
    "InformationState",
    "Observation",
    "PosteriorSetting",
    "Support",
    "distorted",
    "refreshed",
    "support",
    "with_refreshed_declarations",
]
