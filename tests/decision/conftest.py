"""Random states of format 2."""

from collections.abc import Callable

import pytest

from aquamend.inference import InformationState


@pytest.fixture(scope="session")
def walked(format_2, after_some_answers) -> Callable[[int], InformationState]:
    """Return a state some possible answers into the random problem of format 2 with this number."""
    return lambda seed: after_some_answers(format_2(seed), seed)
