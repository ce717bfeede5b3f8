"""A problem file to begin with: sound, commented, with the user's own beliefs, actions, probes and causes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

SCHEMA_LINE = "# yaml-language-server: $schema=problem.schema.json"


@dataclass(frozen=True, slots=True)
class Outline:
    """What is there, by name; the numbers are for its author to fill in."""

    name: str = "my recovery problem"
    unit: str = "s"
    beliefs: Sequence[str] = ("box_is_empty", "box_is_in_place")
    actions: Sequence[str] = ("grasp", "carry")
    """Executed, each because of the belief in the same place (the last belief for those left over)."""
    probes: Sequence[str] = ("look_inside", "find_box")
    """Each measures the belief in the same place, likewise."""
    causes: Sequence[str] = ("somebody_filled_it", "it_slipped")
    """Each breaks the belief in the same place, likewise."""


def template(outline: Outline) -> str:
    """Return the text of a problem file in YAML, which loads as it is."""
    return "\n".join(_lines(outline)) + "\n"


def _lines(outline: Outline) -> Iterator[str]:
    beliefs = [_quoted(name) for name in outline.beliefs]
    actions, probes = [_quoted(name) for name in outline.actions], [_quoted(name) for name in outline.probes]
    causes = [_quoted(name) for name in outline.causes]
    yield SCHEMA_LINE
    yield "# Costs and losses are made up: put in your own, all in one unit. `aquamend lint` says what looks odd."
    yield "format: aquamend-problem/1"
    yield f"name: {_quoted(outline.name)}"
    yield f"unit: {_quoted(outline.unit)}"
    yield ""
    yield "beliefs:                 # what the robot holds true; residual: the loss if it is wrong and stays so"
    yield from (f"  - {{name: {name}, residual: 50}}" for name in beliefs)
    yield ""
    yield "actions:                 # what it did because of that; undo: what undoing costs; redo: doing it again"
    yield from (f"  - {{name: {name}, undo: 5, redo: 2, status: executed}}" for name in actions)
    yield ""
    yield "probes:                  # what it can measure now, and what one use costs"
    yield from (f"  - {{name: {name}, cost: 1}}" for name in probes)
    yield ""
    yield "edges:                   # what rests on what"
    yield from (f"  - [{probe}, {_partner(beliefs, i)}, detection]" for i, probe in enumerate(probes))
    yield from (f"  - [{_partner(beliefs, i)}, {action}, belief_to_action]" for i, action in enumerate(actions))
    yield from (f"  - [{a}, {b}, action_causal]" for a, b in pairwise(actions))
    yield ""
    yield "causes:                  # what may have happened: how probable, whose doing, which beliefs it makes wrong"
    yield from (
        f"  - {{name: {cause}, prior: 0.1, kind: external, failed: [{_partner(beliefs, i)}]}}"
        for i, cause in enumerate(causes)
    )
    yield "together: 2              # how many of them may come together"
    yield ""
    yield "kernels:                 # how each probe answers under a condition, the most specific, or else by default;"
    yield "                         # their order is no matter; in a list of [condition, row], the first that holds"
    for i, probe in enumerate(probes):
        yield f"  {probe}:"
        yield "    outcomes: [as_expected, otherwise]"
        yield f"    likelihood: {{default: [0.95, 0.05], {_partner(beliefs, i)}: [0.1, 0.9]}}"
    yield ""
    yield "alarm:                   # how probable this alarm was, with a cause and without any"
    yield "  likelihood: {default: 0.9, nothing: 0.1}"
    yield ""
    yield "restart: 40              # starting over corrects everything; leave it out where that cannot be"
    yield "escalate: 100            # the loss of calling a person"


def _partner(names: Sequence[str], i: int) -> str:
    return names[min(i, len(names) - 1)]


def _quoted(name: str) -> str:
    """Return a name as YAML reads it back: bare where that is safe, else in quotes."""
    plain = name.replace("_", "").isalnum() and name.isascii() and name[:1].isalpha()
    words = ("true", "false", "null", "inf", "default", "nothing")
    return name if plain and name.lower() not in words else json.dumps(name)
