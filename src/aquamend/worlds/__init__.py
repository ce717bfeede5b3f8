"""Worlds to act in. They know the truth; policies never see it."""
