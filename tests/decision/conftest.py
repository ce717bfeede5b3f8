"""Random states of problems with values."""

from collections.abc import Callable

import pytest
from tests.reference.brute_force import Reference

from aquamend.belief import InformationState
from aquamend.decision import min_cut


@pytest.fixture(params=["compiled", "SciPy"])
def solver(request, monkeypatch):
    """Let minimum cuts be made by the compiled kernel, then by SciPy's maximum flow; return the one in use."""
    found = min_cut.kernel() if request.param == "compiled" else min_cut.by_maximum_flow
    if found is None:
        pytest.skip("the kernel was not built: no C compiler was found when AquaMend was installed")
    monkeypatch.setattr(min_cut, "solver", lambda: found)
    return found


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
