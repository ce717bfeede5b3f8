"""Junk anywhere in a problem gives a problem or its faults, and never anything else."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aquamend.codec.plain_text import json_data, yaml_data
from aquamend.errors import InvalidProblem
from aquamend.files import parse_problem
from aquamend.problem import Problem

DROP = object()
scalars = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    | st.sampled_from([10**400, 10**4000, -(10**400), 1e308, -1e308, math.inf, -math.inf, "inf", "nan", "weight",
                       "look", "nothing", "executed", "\ud800", "\0", "", b"x", 1j, object(), frozenset()])
)  # fmt: skip
junk = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.integers(), inner, max_size=3),
    max_leaves=6,
)


def mutate(data: Any, draw: st.DataObject) -> None:
    """Walk to a random place and put junk there, or another part of the same problem, or take it away."""
    root = data
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = draw.draw(st.sampled_from(keys))
        inner = data[key]
        if not isinstance(inner, (dict, list)) or draw.draw(st.integers(0, 3)) == 0:
            break
        data = inner
    value = draw.draw(st.just(DROP) | junk | st.sampled_from([root["beliefs"], root["kernels"], root["edges"]]))
    if value is DROP:
        del data[key]
    else:
        data[key] = value


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(draw=st.data(), times=st.integers(1, 4))
def test_junk_gives_a_problem_or_faults(sound_text, sound_2_text, causes_text, faults_of, draw, times):
    data = json.loads(draw.draw(st.sampled_from([sound_text, sound_2_text, causes_text])))
    for _ in range(times):
        try:
            mutate(data, draw)
        except (KeyError, TypeError):
            break  # the parts to copy from are gone themselves
    for fault in faults_of(data):
        assert fault.encode()


@settings(max_examples=200, deadline=None)
@given(text=st.text(max_size=40) | st.text("[]{}:,-&*!|>'\"#%@?<~\n a1.", max_size=40))
def test_any_text_is_data_or_a_fault(text):
    for parse in (json_data, yaml_data):
        with suppress(InvalidProblem):
            parse_problem(parse(text))


@settings(max_examples=100, deadline=None)
@given(draw=st.data())
def test_a_file_cut_or_garbled_anywhere_is_a_problem_or_faults(sound_text, sound_2_text, causes_text, draw):
    given_text = draw.draw(st.sampled_from([sound_text, sound_2_text, causes_text]))
    whole = draw.draw(st.sampled_from([given_text, yaml.safe_dump(json.loads(given_text))]))
    start = draw.draw(st.integers(0, len(whole)))
    end = draw.draw(st.integers(start, min(len(whole), start + 20)))
    text = whole[:start] + draw.draw(st.text("[]{}:,-&*! \n\"'a1", max_size=3)) + whole[end:]
    for parse in (json_data, yaml_data):
        with suppress(InvalidProblem):
            assert isinstance(parse_problem(parse(text)), Problem)
