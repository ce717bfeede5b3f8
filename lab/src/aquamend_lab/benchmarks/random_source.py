"""Where a scenario's randomness comes from."""

from __future__ import annotations

import zlib

import numpy as np


def stream(suite: str, seed: int, number: int) -> tuple[int, int, int]:
    """Return the seed of everything random in one scenario; suites share nothing, nor do scenarios."""
    return zlib.crc32(suite.encode()), seed, number


def generator(suite: str, seed: int, number: int) -> np.random.Generator:
    """Return the generator that makes one scenario (NumPy's PCG64)."""
    return np.random.default_rng(stream(suite, seed, number))
