"""Fixtures that load this folder's helper modules, which importlib mode keeps off the import path."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest


def _load(name: str) -> ModuleType:
    qualified = f"aquamend_reference_{name}"
    if qualified not in sys.modules:
        spec = importlib.util.spec_from_file_location(qualified, Path(__file__).with_name(f"{name}.py"))
        module = sys.modules[qualified] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[qualified]


@pytest.fixture(scope="session")
def brute_force() -> ModuleType:
    return _load("brute_force")


@pytest.fixture(scope="session")
def generator() -> ModuleType:
    return _load("generator")
