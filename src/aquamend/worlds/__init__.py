"""Worlds to act in. They know the truth; policies never see it."""

from aquamend.testing.model_world import ModelWorld

__all__ = ["ModelWorld"]
