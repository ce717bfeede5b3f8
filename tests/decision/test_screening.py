"""Which probes are evaluated: the power screen with its coverage rule, and the lossless one."""

import math
import random
from dataclasses import replace

import pytest

from aquamend.decision import terminal_table as compiled
from aquamend.decision.screening import Coverage, FitGroup, LosslessScreen, PowerScreen
from aquamend.decision.steps import Reprobe
from aquamend.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation
from aquamend.model import Declaration, Discrete, Hypothesis, JointModel
from aquamend.policies import AquaMend
from aquamend.problem import Problem

NEAR = FitGroup("near", ("look",), prototype_g=(0.0,), prototype_mm=(0.0,))


def coverage(*groups, stage="T1", grams=0.0, millimetres=0.0):
    return Coverage(stage, ("T1",), groups, quantities_g=(grams,), offsets_mm=(millimetres,))


# Coverage.


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


# The power screen.

PROBES = (
    Probe("look level", 1.0, "vision"),
    Probe("weigh level", 2.0, "scale"),
    Probe("look target", 1.0, "vision"),
    Probe("weigh target", 4.0, "scale"),
)
EVERYWHERE = tuple(FitGroup(name, tuple(p.name for p in PROBES), (), ()) for name in ("one", "two"))
COVERED = Coverage("T1", ("T1",), EVERYWHERE)


def cups(*, q_level=0.2, q_target=0.2, power=(0.4, 0.9, 0.5, 0.6), probes=PROBES, declarations=None):
    """Return two independent beliefs, target derived from level, each measured by a camera and a scale.

    A probe answers "odd" with its power if its belief failed and never else, so any odd answer rejects.
    """
    names = {"neither": (), "level": ("level",), "target": ("target",), "both": ("level", "target")}
    prior = {
        "neither": (1 - q_level) * (1 - q_target),
        "level": q_level * (1 - q_target),
        "target": (1 - q_level) * q_target,
        "both": q_level * q_target,
    }
    kernels = {}
    for probe, strength in zip(probes, power, strict=True):
        belief = probe.name.split()[1]
        odd = {name: strength * (belief in failed) for name, failed in names.items()}
        kernels[probe.name] = Discrete(["fine", "odd"], {name: [1 - p, p] for name, p in odd.items()})
    graph = RecoveryGraph(
        [Belief("level", 10.0), Belief("target", 10.0)],
        [Action("pour", undo=5.0, executed=True)],
        probes,
        [
            *((probe.name, probe.name.split()[1], "detection") for probe in probes),
            ("level", "target", "inference"),
            ("target", "pour", "belief_to_action"),
        ],
    )
    hypotheses = [Hypothesis(name, prior[name], failed) for name, failed in names.items()]
    given = declarations or [
        Declaration("level holds", "level", invalid_in=("level", "both"), support=("look level",)),
        Declaration("target holds", "target", invalid_in=("target", "both"), support=("look target",)),
    ]
    return InformationState.alarmed(Problem(graph, JointModel(hypotheses, kernels, declarations=given)))


def test_each_declaration_keeps_its_maximiser_of_power_per_cost_and_the_union_is_kept():
    """level: 0.4/1 against 0.9/2; target: 0.5/1 against 0.6/4."""
    assert PowerScreen(COVERED).keep(cups()) == ("weigh level", "look target")
    assert PowerScreen(COVERED).keep(cups(power=(0.5, 0.9, 0.1, 0.6))) == ("look level", "weigh target")


def test_equal_power_per_cost_keeps_the_first_in_graph_order():
    assert PowerScreen(COVERED).keep(cups(power=(0.4, 0.8, 0.1, 0.4))) == ("look level", "look target")


def test_a_free_probe_with_any_power_comes_first_and_one_without_is_not_kept():
    free = (*PROBES[:3], replace(PROBES[3], cost=0.0))
    assert PowerScreen(COVERED).keep(cups(probes=free, power=(0.9, 0.1, 0.9, 0.01))) == ("look level", "weigh target")
    assert PowerScreen(COVERED).keep(cups(probes=free, power=(0.9, 0.1, 0.9, 0.0))) == ("look level", "look target")


def test_a_declaration_that_cannot_be_invalid_or_that_nothing_tests_keeps_no_probe():
    assert PowerScreen(COVERED).keep(cups(q_level=0.0)) == ("look target",)
    assert PowerScreen(COVERED).keep(cups(power=(0.0, 0.0, 0.5, 0.6))) == ("look target",)
    assert PowerScreen(COVERED).keep(cups(q_level=0.0, q_target=0.0)) == ()


def test_a_rejected_declaration_keeps_what_re_estimates_its_belief():
    kept = PowerScreen(COVERED).keep(cups(q_level=0.7))
    assert {"look level", "weigh level"} <= set(kept)


def test_a_rejected_declaration_keeps_other_modalities_that_bear_on_its_belief_to_replace_its_source():
    """target is also supported through level: the scale there may replace the camera, the camera may not."""
    only_target = cups(q_target=0.5).problem.declarations[1]
    kept = PowerScreen(COVERED).keep(cups(q_target=0.5, declarations=[only_target]))
    assert kept == ("weigh level", "look target", "weigh target")


def test_a_probe_that_is_spent_is_not_kept():
    state = cups(q_level=0.7).after(Observation("weigh level", "odd"))
    assert "weigh level" not in PowerScreen(COVERED).keep(state)
    assert "look level" in PowerScreen(COVERED).keep(state)


def test_one_uncovered_legal_probe_makes_the_screen_step_aside_altogether():
    all_but_one = tuple(replace(group, probes=group.probes[:-1]) for group in EVERYWHERE)
    screen = PowerScreen(Coverage("T1", ("T1",), all_but_one))
    state = cups()
    assert not screen.covers(state)
    assert AquaMend(screen).candidates(state) == state.legal_probes
    spent = state.after(Observation("weigh target", "fine"))
    assert screen.covers(spent)
    assert set(AquaMend(screen).candidates(spent)) < set(spent.legal_probes)


def test_a_covered_state_is_screened_before_probes_are_valued():
    state = cups()
    assert AquaMend(PowerScreen(COVERED)).candidates(state) == ("weigh level", "look target")
    step = AquaMend(PowerScreen(COVERED)).next_step(state)
    assert not isinstance(step, Reprobe) or step.probe in ("weigh level", "look target")


def test_nothing_is_covered_where_no_probe_is_legal():
    state = cups()
    for probe in PROBES:
        state = state.after(Observation(probe.name, "fine"))
    assert not PowerScreen(COVERED).covers(state)


# The lossless screen.


def test_the_lossless_screen_never_changes_the_decision(random_problem):
    dropped = 0
    for seed in range(400):
        state = InformationState.alarmed(random_problem(random.Random(seed), gaussian=seed % 3 == 0, probes=5))
        dropped += len(state.legal_probes) - len(LosslessScreen().keep(state))
        assert AquaMend(LosslessScreen()).next_step(state) == AquaMend().next_step(state), seed
    assert dropped > 300


def test_the_lossless_screen_never_changes_the_decision_where_closures_are_cut(random_problem, monkeypatch):
    monkeypatch.setattr(compiled, "MOST_CLOSURES", 0)
    for seed in range(100):
        state = InformationState.alarmed(random_problem(random.Random(seed), probes=5))
        assert AquaMend(LosslessScreen()).next_step(state) == AquaMend().next_step(state), seed


def test_the_lossless_screen_drops_what_costs_at_least_perfect_information(lid):
    sharp = Discrete(["on", "off"], {"on": [1, 0], "off": [0, 1]})
    probes = [Probe("dear", 2.0), Probe("cheap", 1.7)]
    state = lid({"dear": sharp, "cheap": sharp}, probes=probes)  # perfect information is worth 1.8
    assert LosslessScreen().keep(state) == ("cheap",)


def test_the_lossless_screen_steps_aside_once_the_evidence_contradicts_the_model(lid):
    state = lid({"p": Discrete(["on", "never"], {"on": [1, 0], "off": [1, 0]})})
    assert LosslessScreen().covers(state)
    assert not LosslessScreen().covers(state.after(Observation("p", "never")))


def test_perfect_information_costs_nothing_to_screen_where_stopping_is_infinite(lid):
    sharp = Discrete(["on", "off"], {"on": [1, 0], "off": [0, 1]})
    state = lid({"look": sharp}, may_keep=False, reversible=False)
    assert math.isinf(AquaMend().bounds(state).upper)
    assert LosslessScreen().keep(state) == ("look",)
