"""The two modules of this folder that other tests use too."""

from types import ModuleType

import pytest
from tests.reference import brute_force as _brute_force
from tests.reference import generator as _generator


@pytest.fixture(scope="session")
def brute_force() -> ModuleType:
    return _brute_force


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    return _generator
