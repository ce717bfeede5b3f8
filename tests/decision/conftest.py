"""Random states of problems with values."""

from collections.abc import Callable

import pytest
from tests.reference.brute_force import Reference

from aquamend.inference import InformationState


@pytest.fixture(scope="session")
def walked(valued_file, after_some_answers) -> Callable[[int], InformationState]:
    """Return a state some possible answers into the random problem with values of this number."""
    return lambda seed: after_some_answers(valued_file(seed), seed)


@pytest.fixture(scope="session")
def referenced(valued_file, after_some_answers) -> Callable[..., tuple[InformationState, Reference]]:
    """Return the same with the reference of that problem."""

    def make(seed: int, *, gaussian: bool = False) -> tuple[InformationState, Reference]:
        data = valued_file(seed, gaussian=gaussian)
        return after_some_answers(data, seed), Reference(data)

    return make
