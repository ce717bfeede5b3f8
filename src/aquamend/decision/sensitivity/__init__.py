"""How sure a choice is: the smallest change of the posterior that would flip it, and where each belief's flips it."""

from aquamend.decision.sensitivity.robustness import BeliefThreshold, Robustness, robustness

__all__ = ["BeliefThreshold", "Robustness", "robustness"]
