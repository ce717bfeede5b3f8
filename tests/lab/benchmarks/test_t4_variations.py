"""Variations: the same table, event and noise, and one thing that is different."""

import pytest

from aquamend.problem.model import Cause
from aquamend.recovery import Measure
from aquamend_lab.benchmarks.t4_episodes import SETTINGS, SWEEP, ablation, louder, settings, sweep
from aquamend_lab.pouring.discrete import Noise

WHICH = {variation.name: i for i, variation in enumerate(SETTINGS)}


def under(name, base, seed=0):
    return settings(seed, base * len(SETTINGS) + WHICH[name])


@pytest.mark.parametrize("name", [n for n in WHICH if "noisy" not in n])
def test_the_same_episode_meets_every_setting_with_the_same_event_and_answers(name):
    for base in range(6):
        plain, other = under("standard", base), under(name, base)
        assert plain.features["event"] == other.features["event"]
        assert plain.state.evidence == other.state.evidence
        worlds = plain.truths[0].enter(), other.truths[0].enter()
        for probe in ("look_A", "weigh_B", "localise", "check_camera"):
            assert worlds[0].measure(Measure(probe)).finding == worlds[1].measure(Measure(probe)).finding


def test_every_setting_has_its_group_and_does_what_it_says():
    assert under("chain graph", 1).features["graph"] == "chain"
    assert under("fine graph", 1).features["graph"] == "fine"
    residual = {name: under(name, 1).state.problem.graph.beliefs[0].residual for name in WHICH}
    assert residual["residuals halved"] * 4 == residual["residuals doubled"] == 2 * residual["standard"]
    assert under("noisy probes", 2).group == {"setting": "noisy probes"}


def test_unknown_noise_is_in_the_world_and_not_in_the_model():
    known, unknown, plain = (under(n, 3).state for n in ("noisy probes", "noisy probes, unknown", "standard"))
    tables = [s.problem.model.channels["look_A"].table for s in (known, unknown, plain)]
    assert (tables[1] == tables[2]).all()
    assert (tables[0] != tables[2]).any()


def test_louder_noise_never_makes_a_routine_worse_than_guessing():
    assert louder(1.0) == Noise()
    assert louder(1000.0).localise_error == louder(1000.0).check_error == 0.5


def test_the_sweep_goes_from_three_cups_to_eight():
    cups = [sweep(0, i).features["cups"] for i in range(len(SWEEP))]
    assert cups[:6] == [3, 4, 5, 6, 7, 8]
    assert set(cups[6:]) == {3}


def test_a_wrong_prior_is_wrong_about_the_world_only():
    wrong = next(i for i, v in enumerate(SWEEP) if "no camera faults" in v.name)
    faults = [sweep(seed, base * len(SWEEP) + wrong) for seed in range(3) for base in range(20)]
    happened = [s.truths[0].cause is Cause.SELF_ERROR for s in faults]
    believed = [s.state.attribution[Cause.SELF_ERROR] for s in faults]
    assert sum(happened) / len(happened) > 0.1
    assert max(believed) < 0.1


def test_the_ablation_set_mixes_reversible_and_irreversible_as_the_paper_does():
    irreversible = [bool(ablation(0, n).state.problem.graph.irreversible_executed) for n in range(122)]
    assert sum(irreversible) == 24
    assert ablation(0, 5).group == {}
