"""Where calibration records cover a situation well enough to screen probes by their power."""

from dataclasses import replace

import pytest

from aquamend.errors import InvalidProblem
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, Probe, RecoveryGraph
from aquamend.problem.model import Coverage, Discrete, FitGroup, Hypothesis, JointModel

NEAR = FitGroup("near", ("look",), prototype_g=(0.0,), prototype_mm=(0.0,))


def coverage(*groups, stage="T1", grams=0.0, millimetres=0.0):
    return Coverage(stage, ("T1",), groups, quantities_g=(grams,), offsets_mm=(millimetres,))


@pytest.mark.parametrize(
    ("grams", "millimetres", "covered"),
    [
        (6.0, 0.0, True),
        (6.000001, 0.0, False),
        (-6.0, 0.0, True),
        (0.0, 30.0, True),
        (0.0, 30.00001, False),
        (4.0, 20.0, True),
        (5.0, 20.0, False),
    ],
)
def test_a_prototype_covers_up_to_distance_six_at_one_gram_and_five_millimetres(grams, millimetres, covered):
    """The distance is Euclidean: (4 g, 20 mm) is √32 away and (5 g, 20 mm) √41."""
    here = coverage(NEAR, replace(NEAR, name="twin"), grams=grams, millimetres=millimetres)
    assert here.covers("look") == covered


def test_distance_is_measured_in_every_quantity_and_offset():
    group = FitGroup("g", ("look",), prototype_g=(1.0, 2.0), prototype_mm=(10.0,))
    assert group.distance((4.0, -2.0), (70.0,)) == pytest.approx(13.0)


def test_at_least_two_relevant_groups_must_be_near():
    far = FitGroup("far", ("look",), (50.0,), (0.0,))
    irrelevant = FitGroup("other", ("weigh",), (0.0,), (0.0,))
    assert not coverage(NEAR).covers("look")
    assert not coverage(NEAR, far).covers("look")
    assert not coverage(NEAR, irrelevant).covers("look")
    assert coverage(NEAR, far, replace(NEAR, name="twin")).covers("look")


def test_only_a_covered_stage_is_covered():
    assert coverage(NEAR, NEAR, stage="T1").covers("look")
    assert not coverage(NEAR, NEAR, stage="T2").covers("look")


def test_a_prototype_has_one_number_for_each_quantity_and_offset_measured():
    graph = RecoveryGraph([Belief("b")], (), [Probe("look", 0.1)])
    model = JointModel([Hypothesis("h", 1.0)], {"look": Discrete(["y"], {"h": [1.0]})})
    Problem(graph, model, coverage=coverage(NEAR))
    odd = FitGroup("odd", ("look",), prototype_g=(0.0, 1.0), prototype_mm=())
    with pytest.raises(InvalidProblem) as error:
        Problem(graph, model, coverage=coverage(NEAR, odd))
    places = [fault.where for fault in error.value.faults]
    assert places == ["coverage.groups[1].prototype_g", "coverage.groups[1].prototype_mm"]
