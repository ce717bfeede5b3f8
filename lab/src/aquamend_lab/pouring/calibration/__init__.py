"""Calibration of the pouring robot: runs of its own, a model fitted to them, and a check on those held back."""
