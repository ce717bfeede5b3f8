"""What may be wrong, what can be measured, and what every way of recovering costs."""

from aquamend.problem.problem import RESTART, Ages, NewValue, Plan, Problem, Redeclared

__all__ = ["RESTART", "Ages", "NewValue", "Plan", "Problem", "Redeclared"]
