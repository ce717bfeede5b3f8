"""Detection power C_s and the false-positive rate of declarations in force; the screens that use it, or a bound."""

import math
import random
from dataclasses import replace

import pytest
from scipy.stats import norm

from aquamend.belief import InformationState, Observation
from aquamend.decision import closures
from aquamend.decision.detection import Detection, LosslessScreen, PowerScreen, detection, detection_power
from aquamend.decision.standings import standings
from aquamend.decision.steps import Reprobe
from aquamend.policies import AquaMend
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Coverage, Declaration, Discrete, FitGroup, Gaussian, Hypothesis, JointModel

VALID_IN_ALL = Declaration("always", "lid", invalid_in=())
INVALID_IN_ALL = Declaration("never", "lid", invalid_in=("on", "off"))


def rates(state, probe="look"):
    return detection(state)[probe][0]


def look(on, off):
    return {"look": Discrete([f"y{i}" for i in range(len(on))], {"on": on, "off": off})}


def test_power_and_false_positives_by_hand(lid):
    """q(y0) = 0.08/0.62 keeps, q(y1) = 0.32/0.38 rejects."""
    seen = rates(lid(look([0.9, 0.1], [0.2, 0.8])))
    assert seen.power == pytest.approx(0.8)
    assert seen.false_positive_rate == pytest.approx(0.1)


def test_power_is_summed_over_the_outcomes_that_reject(lid):
    """At q = 0.5 the second and third outcomes favour invalidity."""
    seen = rates(lid(look([0.7, 0.1, 0.2], [0.1, 0.5, 0.4]), q=0.5))
    assert seen.power == pytest.approx(0.9)
    assert seen.false_positive_rate == pytest.approx(0.3)


def test_an_answer_that_leaves_exactly_one_half_rejects(lid):
    assert rates(lid(look([0.5, 0.5], [0.5, 0.5]), q=0.5)) == Detection(1.0, 1.0)
    assert rates(lid(look([0.5, 0.5], [0.5, 0.5]), q=0.4999)) == Detection(0.0, 0.0)
    # 0.3 · 0.1 / (0.3 · 0.1 + 0.7 · 3/70): one half but for rounding
    third = rates(lid(look([3 / 70, 67 / 70], [0.1, 0.9]), q=0.3))
    assert third.power == pytest.approx(0.1)


def test_a_condition_of_probability_zero_makes_the_rate_unavailable_rather_than_zero(lid):
    kernels = look([0.9, 0.1], [0.2, 0.8])
    assert rates(lid(kernels, q=0.5, declarations=[VALID_IN_ALL])) == Detection(None, 0.0)
    assert rates(lid(kernels, q=0.5, declarations=[INVALID_IN_ALL])) == Detection(1.0, None)
    assert rates(lid(look([0.9, 0.1], [0.2, 0.8]), q=0.0)) == Detection(None, 0.0)


def test_a_rate_stays_unavailable_where_the_posterior_sums_to_one_only_but_for_rounding():
    graph = RecoveryGraph([Belief("b", 1.0)], (), [Probe("look", 0.1)], [("look", "b", "detection")])
    for seed in range(100):
        rng = random.Random(seed)
        weights = {f"h{i}": rng.random() for i in range(7)}
        hypotheses = [Hypothesis(name, w / sum(weights.values()), ("b",)) for name, w in weights.items()]
        kernel = Discrete(["y", "n"], {name: [w, 1 - w] for name, w in weights.items()})
        state = InformationState.start(Problem(graph, JointModel(hypotheses, {"look": kernel})))
        seen = rates(state)
        assert seen.power == pytest.approx(1.0), seed
        assert seen.false_positive_rate is None, seed


def test_a_blind_probe_has_no_power_on_a_declaration_that_is_probably_valid(lid):
    assert rates(lid(look([0.3, 0.7], [0.3, 0.7]))) == Detection(0.0, 0.0)


def test_the_power_of_a_gaussian_probe_is_a_normal_tail(lid):
    """Equal odds are crossed at y = 1."""
    seen = rates(lid({"look": Gaussian({"on": (0.0, 1.0), "off": (2.0, 1.0)})}, q=0.5))
    assert seen.power == pytest.approx(norm.cdf(1), abs=1e-9)
    assert seen.false_positive_rate == pytest.approx(norm.cdf(-1), abs=1e-9)


def test_every_probe_tests_every_declaration(lid):
    kernels = {**look([0.9, 0.1], [0.2, 0.8]), "peek": Discrete(["a"], {"on": [1], "off": [1]})}
    state = lid(kernels, declarations=[VALID_IN_ALL, Declaration("lid on", "lid", invalid_in=("off",))])
    found = detection(state)
    assert {probe: [d.power for d in row] for probe, row in found.items()} == {
        "look": [None, pytest.approx(0.8)],
        "peek": [None, 0.0],
    }
    assert [d.false_positive_rate for d in found["look"]] == [0.0, pytest.approx(0.1)]
    assert detection(state.after(Observation("look", "y0")).after(Observation("peek", "a"))) == {}


def test_power_as_an_array_has_a_row_for_each_legal_probe_and_nan_where_it_is_unavailable(lid):
    kernels = {**look([0.9, 0.1], [0.2, 0.8]), "peek": Discrete(["a"], {"on": [1], "off": [1]})}
    state = lid(kernels, declarations=[VALID_IN_ALL, Declaration("lid on", "lid", invalid_in=("off",))])
    power = detection_power(state)
    assert power.shape == (2, 2)
    assert math.isnan(power[0, 0])
    assert power[:, 1] == pytest.approx([0.8, 0.0])


def test_the_version_in_force_is_tested_and_stands_apart_from_the_one_supported(lid):
    kernels = {**look([0.9, 0.1], [0.2, 0.8]), "peek": Discrete(["a", "b"], {"on": [0.9, 0.1], "off": [0.1, 0.9]})}
    after = lid(kernels).after(Observation("look", "y1"))
    q = 0.32 / 0.38
    (standing,) = standings(after)
    assert standing.in_force.invalid == pytest.approx(q)
    assert standing.supported.invalid == pytest.approx(1 - q)
    # Answer a leaves the old version invalid with probability q·0.1 / (q·0.1 + (1 − q)·0.9) < 1/2.
    assert rates(after, "peek").power == pytest.approx(0.9)


# The power screen.

PROBES = (
    Probe("look level", 1.0, "vision"),
    Probe("weigh level", 2.0, "scale"),
    Probe("look target", 1.0, "vision"),
    Probe("weigh target", 4.0, "scale"),
)
EVERYWHERE = tuple(FitGroup(name, tuple(p.name for p in PROBES), (), ()) for name in ("one", "two"))
COVERED = Coverage("T1", ("T1",), EVERYWHERE)


def cups(*, q_level=0.2, q_target=0.2, power=(0.4, 0.9, 0.5, 0.6), probes=PROBES, declarations=None, coverage=COVERED):
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
    model = JointModel(hypotheses, kernels, declarations=given)
    return InformationState.alarmed(Problem(graph, model, coverage=coverage))


def test_each_declaration_keeps_its_maximiser_of_power_per_cost_and_the_union_is_kept():
    """level: 0.4/1 against 0.9/2; target: 0.5/1 against 0.6/4."""
    assert PowerScreen().keep(cups()) == ("weigh level", "look target")
    assert PowerScreen().keep(cups(power=(0.5, 0.9, 0.1, 0.6))) == ("look level", "weigh target")


def test_equal_power_per_cost_keeps_the_first_in_graph_order():
    assert PowerScreen().keep(cups(power=(0.4, 0.8, 0.1, 0.4))) == ("look level", "look target")


def test_a_free_probe_with_any_power_comes_first_and_one_without_is_not_kept():
    free = (*PROBES[:3], replace(PROBES[3], cost=0.0))
    assert PowerScreen().keep(cups(probes=free, power=(0.9, 0.1, 0.9, 0.01))) == ("look level", "weigh target")
    assert PowerScreen().keep(cups(probes=free, power=(0.9, 0.1, 0.9, 0.0))) == ("look level", "look target")


def test_a_declaration_that_cannot_be_invalid_or_that_nothing_tests_keeps_no_probe():
    assert PowerScreen().keep(cups(q_level=0.0)) == ("look target",)
    assert PowerScreen().keep(cups(power=(0.0, 0.0, 0.5, 0.6))) == ("look target",)
    assert PowerScreen().keep(cups(q_level=0.0, q_target=0.0)) == ()


def test_a_rejected_declaration_keeps_what_re_estimates_its_belief():
    kept = PowerScreen().keep(cups(q_level=0.7))
    assert {"look level", "weigh level"} <= set(kept)


def test_a_rejected_declaration_keeps_other_modalities_that_bear_on_its_belief_to_replace_its_source():
    """target is also supported through level: the scale there may replace the camera, the camera may not."""
    only_target = cups(q_target=0.5).problem.declarations[1]
    kept = PowerScreen().keep(cups(q_target=0.5, declarations=[only_target]))
    assert kept == ("weigh level", "look target", "weigh target")


def test_a_probe_that_is_spent_is_not_kept():
    state = cups(q_level=0.7).after(Observation("weigh level", "odd"))
    assert "weigh level" not in PowerScreen().keep(state)
    assert "look level" in PowerScreen().keep(state)


def test_one_uncovered_legal_probe_makes_the_screen_step_aside_altogether():
    all_but_one = tuple(replace(group, probes=group.probes[:-1]) for group in EVERYWHERE)
    state = cups(coverage=Coverage("T1", ("T1",), all_but_one))
    assert not PowerScreen().covers(state)
    assert AquaMend(PowerScreen()).candidates(state) == state.legal_probes
    spent = state.after(Observation("weigh target", "fine"))
    assert PowerScreen().covers(spent)
    assert set(AquaMend(PowerScreen()).candidates(spent)) < set(spent.legal_probes)


def test_a_problem_without_calibration_records_is_not_screened():
    state = cups(coverage=None)
    assert not PowerScreen().covers(state)
    assert AquaMend(PowerScreen()).candidates(state) == state.legal_probes


def test_a_covered_state_is_screened_before_probes_are_valued():
    state = cups()
    assert AquaMend(PowerScreen()).candidates(state) == ("weigh level", "look target")
    step = AquaMend(PowerScreen()).next_step(state)
    assert not isinstance(step, Reprobe) or step.probe in ("weigh level", "look target")


def test_nothing_is_covered_where_no_probe_is_legal():
    state = cups()
    for probe in PROBES:
        state = state.after(Observation(probe.name, "fine"))
    assert not PowerScreen().covers(state)


# The lossless screen.


def test_the_lossless_screen_never_changes_the_decision(random_problem):
    dropped = 0
    for seed in range(400):
        state = InformationState.alarmed(random_problem(random.Random(seed), gaussian=seed % 3 == 0, probes=5))
        dropped += len(state.legal_probes) - len(LosslessScreen().keep(state))
        assert AquaMend(LosslessScreen()).next_step(state) == AquaMend(None).next_step(state), seed
    assert dropped > 300


def test_the_lossless_screen_never_changes_the_decision_where_corrections_need_values_and_support(walked):
    dropped = 0
    for seed in range(400):
        state = walked(seed)
        dropped += len(state.legal_probes) - len(LosslessScreen().keep(state))
        assert AquaMend(LosslessScreen()).next_step(state) == AquaMend(None).next_step(state), seed
    assert dropped > 150


def test_the_lossless_screen_never_changes_the_decision_where_closures_are_cut(random_problem, monkeypatch):
    monkeypatch.setattr(closures, "MOST_CLOSURES", 1)
    for seed in range(100):
        state = InformationState.alarmed(random_problem(random.Random(seed), probes=5))
        assert AquaMend(LosslessScreen()).next_step(state) == AquaMend(None).next_step(state), seed


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
