import pytest
from tests.adapters.problems import cup_problem
from tests.cli.conftest import run as run_program

from aquamend.belief import InformationState

__all__ = ["run_program"]


@pytest.fixture(scope="session")
def cup():
    """Return a maker of states with a level that may be another one, under an executed grasp, and a probe of it."""

    def make(**rest):
        return InformationState.alarmed(cup_problem(**rest))

    return make
