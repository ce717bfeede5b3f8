"""Whatever is done to a file with causes, commands answer or refuse: exit 0 or 2, and never a traceback."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aquamend.codec.plain_text import data_at

AGENT = data_at(Path(__file__).parents[2] / "examples" / "worked" / "agent.yaml")
JUNK = [None, True, 0, 1, -1, 0.5, 1e-300, 1e100, "inf", "", "default", "nothing", "a & b", "not x", "=", "|", [], {}]


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [p for key, value in items for p in [(*path, key), *places(value, (*path, key))]]


PLACES = places(AGENT)


@pytest.mark.parametrize("command", ["validate", "lint", "decide"])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(PLACES), st.sampled_from([*JUNK, "drop"]))
def test_junk_anywhere_is_answered_or_refused(run_on, command, path, junk):
    data = copy.deepcopy(AGENT)
    at = data
    for key in path[:-1]:
        at = at[key]
    if junk == "drop":
        del at[path[-1]]
    else:
        at[path[-1]] = junk
    result = run_on(json.dumps(data), command, "-")
    assert result.exit_code in (0, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.stderr
