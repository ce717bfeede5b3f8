"""A reading stands between two discrete channels: one that tells less, and one that tells more."""

import numpy as np
import pytest

from aquamend import Gaussian, InformationState, Mixture, Samples
from aquamend.decision import probe_values
from aquamend.planning.finite_probes import dividing_cuts, garbled, informed, refined_cuts
from aquamend.planning.limits import Limits
from aquamend.planning.search import search
from tests.planning.test_search import scale_state

NAMES = ("low", "high", "wide")
KERNELS = {
    "gaussian": Gaussian({"low": (0.0, 1.0), "high": (2.0, 1.0), "wide": (1.0, 4.0)}),
    "outliers": Gaussian({"low": (0.0, 1.0), "high": (2.0, 1.0), "wide": (1.0, 4.0)}, outliers=0.05),
    "mixture": Mixture(
        {"low": [(0.7, 0.0, 1.0), (0.3, 5.0, 0.5)], "high": [(1.0, 2.0, 1.0)], "wide": [(1.0, 1.0, 4.0)]}
    ),
    "samples": Samples({"low": [0.0, 0.4, 1.1], "high": [2.0, 2.2, 3.1], "wide": [-3.0, 1.0, 4.0]}),
}
PRIOR = np.array([0.5, 0.3, 0.2])


@pytest.fixture(params=sorted(KERNELS))
def channel(request):
    return KERNELS[request.param].channel(NAMES)


def refined(channel, n):
    return refined_cuts([channel], [channel.alike @ PRIOR], n)[0]


def made_of(channel, cuts):
    """Return a better informed channel by hypotheses: its answers, and what it tells outright."""
    made = informed(channel, cuts, channel.alike @ PRIOR)
    return made.answers[channel.of], made.informing[channel.of]


def one_step(likelihood, informing, losses) -> float:
    """Return the expected loss of hearing an answer, or the truth, and then deciding."""
    heard = (PRIOR[:, None] * likelihood).T @ losses
    return float(heard.min(axis=1).sum() + (PRIOR * informing) @ losses.min(axis=1))


def test_the_better_informed_channel_conserves_probability(channel):
    answers, informing = made_of(channel, refined(channel, 20))
    assert answers.min() >= 0.0
    assert informing.min() >= 0.0
    assert answers.sum(axis=1) + informing == pytest.approx(np.ones(3), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_what_a_reading_is_worth_lies_between_its_two_channels(channel, seed):
    losses = np.random.default_rng(seed).uniform(0.0, 10.0, (3, 4))
    fine = np.linspace(-40.0, 40.0, 20_001)
    truth = one_step(garbled(channel, fine), np.zeros(3), losses)
    gaps = []
    for n in (12, 24, 48):
        cuts = refined(channel, n)
        below = one_step(*made_of(channel, cuts), losses)
        above = one_step(garbled(channel, cuts), np.zeros(3), losses)
        assert below <= truth + 1e-9
        assert above >= truth - 1e-4  # the fine grid garbles a little, too
        gaps.append(above - below)
    assert gaps[2] <= 0.5 * gaps[0] + 1e-3


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_any_cuts_give_a_channel_that_tells_at_least_as_much(channel, cut):
    rng = np.random.default_rng(cut)
    losses, cuts = rng.uniform(0.0, 10.0, (3, 3)), np.sort(rng.uniform(-8.0, 10.0, cut))
    truth = one_step(garbled(channel, np.linspace(-40.0, 40.0, 20_001)), np.zeros(3), losses)
    assert one_step(*made_of(channel, cuts), losses) <= truth + 1e-9


def test_readings_share_the_cuts_by_what_they_tell():
    sharp, blunt = (Gaussian({"low": (0.0, sd), "high": (2.0, sd)}).channel(("low", "high")) for sd in (1.0, 20.0))
    prior = np.array([0.5, 0.5])
    for place in (dividing_cuts, refined_cuts):
        of_sharp, of_blunt = place([sharp, blunt], [prior, prior], 24)
        assert len(of_sharp) + len(of_blunt) == 24
        assert len(of_sharp) > 2 * len(of_blunt)
        assert (np.diff(of_sharp) > 0.0).all()
    assert set(dividing_cuts([sharp], [prior], 5)[0]) < set(dividing_cuts([sharp], [prior], 20)[0])
    assert dividing_cuts([], [], 5) == refined_cuts([], [], 5) == []


@pytest.mark.parametrize("uses", [1, 2])
def test_the_gap_of_a_scale_closes(uses):
    state: InformationState = scale_state(1, uses=uses)
    assert probe_values(state).expected_loss[0] < probe_values(state).stop_loss
    assert search(state, Limits(gap=0.01)).bounds.gap <= 0.01


def test_the_example_of_the_module_is_what_the_code_computes():
    means = {"low": (0.0, 1.0), "middle": (1.0, 1.0), "high": (2.0, 1.0)}
    three, even, cuts = Gaussian(means).channel(tuple(means)), np.full(3, 1.0 / 3.0), np.array([-2.0, 1.0, 4.0])
    assert even @ informed(three, cuts, even).informing == pytest.approx(0.24, abs=0.005)
    assert even @ informed(three, np.arange(-4.0, 6.01, 0.5), even).informing == pytest.approx(0.006, abs=5e-4)
    two = Gaussian({name: means[name] for name in ("low", "middle")}).channel(("low", "middle"))
    beyond = two.intervals(cuts)[:, [0, -1]].sum(axis=1)
    assert informed(two, cuts, even[:2]).informing.mean() == pytest.approx(0.016, abs=5e-4)
    assert beyond.mean() == pytest.approx(0.013, abs=5e-4)
