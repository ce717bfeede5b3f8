"""A probe that repeats itself: exact by splitting hypotheses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import cauchy, multivariate_normal, norm
from tests.tiers import cases

from aquamend import (
    Action,
    Alarm,
    Belief,
    Discrete,
    Exact,
    Gaussian,
    Hypothesis,
    InformationState,
    JointModel,
    Mixture,
    Observation,
    Plan,
    Probe,
    Problem,
    RecoveryGraph,
    Samples,
    best_terminal,
    evaluate,
)  # fmt: skip
from aquamend.errors import InvalidProblem
from aquamend.problem.building import persistence, with_persistent_errors


def problem(p, q, *, cost=0.5, kernel=None):
    graph = RecoveryGraph(
        [Belief("b", 20.0)],
        [Action("a", undo=6.0, executed=True)],
        [Probe("look", cost, max_uses=2)],
        [("look", "b", "detection"), ("b", "a", "belief_to_action")],
    )
    hypotheses = [Hypothesis("good", 0.6), Hypothesis("bad", 0.4, ["b"])]
    kernel = kernel or Discrete(["yes", "no"], {"good": [p, 1 - p], "bad": [q, 1 - q]})
    plan = Plan("other", np.array([9.0, 7.0]))
    return Problem(graph, JointModel(hypotheses, {"look": kernel}, Alarm({"good": 0.5, "bad": 1.0})), plans=[plan])


@settings(max_examples=cases(25, 100), deadline=None)
@given(st.floats(0.05, 0.95), st.floats(0.05, 0.95), st.floats(0.0, 1.0))
def test_answers_follow_the_law_that_is_promised(p, q, share):
    persistent = with_persistent_errors(problem(p, q), {"look": share})
    state, plain = InformationState.alarmed(persistent), InformationState.alarmed(problem(p, q))
    row = {"yes": np.array([p, q]), "no": np.array([1 - p, 1 - q])}
    for first in ("yes", "no"):
        once, before = state.after(Observation("look", first)), plain.after(Observation("look", first))
        assert once.failure_probabilities == pytest.approx(before.failure_probabilities), "one answer is as it was"
        for second in ("yes", "no"):
            joint = plain.posterior * row[first] * (share * (first == second) + (1 - share) * row[second])
            if joint.sum() > 1e-9:
                twice = once.after(Observation("look", second))
                assert twice.failure_probabilities[0] == pytest.approx(joint[1] / joint.sum(), abs=1e-9)


def test_all_that_is_said_of_a_hypothesis_is_said_of_its_parts():
    split = with_persistent_errors(problem(0.9, 0.2), {"look": 0.5})
    assert split.model.names == (
        "good", "good, look keeps saying yes", "good, look keeps saying no",
        "bad", "bad, look keeps saying yes", "bad, look keeps saying no",
    )  # fmt: skip
    assert split.plans[0].loss.tolist() == [9.0] * 3 + [7.0] * 3
    assert split.failed[:, 0].tolist() == [0.0] * 3 + [1.0] * 3
    assert best_terminal(InformationState.alarmed(split)).loss == pytest.approx(
        best_terminal(InformationState.alarmed(problem(0.9, 0.2))).loss
    )


def test_asking_a_probe_that_repeats_itself_again_is_worth_nothing():
    alone = Problem(
        **{**vars_of(problem(0.8, 0.3)), "graph": once(problem(0.8, 0.3).graph)}
    )  # fmt: skip
    stubborn = with_persistent_errors(problem(0.8, 0.3), {"look": 1.0})
    found = [evaluate(Exact(), InformationState.alarmed(p)).expected_loss for p in (alone, stubborn)]
    assert found[0] == pytest.approx(found[1])


def vars_of(p):
    return {"model": p.model, "plans": p.plans}


def once(graph):
    return RecoveryGraph(
        graph.beliefs, graph.actions, [Probe("look", 0.5, max_uses=1)], graph.edges
    )  # fmt: skip


def read(kernel, share, readings, *, uses=3):
    """Return the probability of failure after readings, by the split problem."""
    plain = problem(0, 0, kernel=kernel)
    graph = replace(plain.graph, probes=[Probe("look", 0.5, max_uses=uses)])
    state = InformationState.alarmed(with_persistent_errors(Problem(graph, plain.model), {"look": share}))
    for reading in readings:
        state = state.after(Observation("look", reading))
    return state.failure_probabilities[0]


def joint(densities):
    """Return the probability of failure where these are the densities of all readings under good and bad."""
    weights = np.array([0.6 * 0.5, 0.4 * 1.0]) * densities
    return weights[1] / weights.sum()


@settings(max_examples=cases(12, 100), deadline=None)
@given(st.floats(0.01, 0.95), st.lists(st.floats(-2.5, 4.5), min_size=1, max_size=3), st.floats(0.3, 3.0))
def test_of_a_normal_the_variance_persists_in_part(share, readings, wider):
    """Brute force: the readings of one probe are jointly normal, with the correlation that was asked for."""
    n, laws = len(readings), {"good": (0.0, 1.0), "bad": (2.0, wider)}
    correlated = share * np.ones((n, n)) + (1 - share) * np.eye(n)
    densities = [multivariate_normal([m] * n, sd**2 * correlated).pdf(readings) for m, sd in laws.values()]
    if max(densities) > 1e-9:  # else a glitch is as likely
        kernel = Gaussian({name: list(law) for name, law in laws.items()}, outliers=0.0)
        assert read(kernel, share, readings) == pytest.approx(joint(densities), abs=2e-6)


@settings(max_examples=cases(25, 100), deadline=None)
@given(st.floats(0.0, 1.0), st.lists(st.floats(-4.0, 9.0), min_size=1, max_size=3), st.floats(0.0, 0.2))
def test_of_a_mixture_the_part_persists(share, readings, outliers):
    """Brute force: either every reading is from the mixture, or all are from the part that was drawn once."""
    rows = {"good": [[0.7, 0.0, 1.0], [0.3, 6.0, 2.0]], "bad": [[1.0, 4.0, 1.5]]}
    glitch = Mixture(rows, outliers).channel(["good", "bad"])
    cauchy_ = cauchy(glitch.centre, glitch.width).pdf(readings)
    densities = []
    for row in rows.values():
        parts = np.array([(1 - outliers) * norm(m, sd).pdf(readings) + outliers * cauchy_ for _, m, sd in row])
        weights = np.array([w for w, _, _ in row])
        densities.append((1 - share) * np.prod(weights @ parts) + share * weights @ np.prod(parts, axis=1))
    if max(densities) > 1e-30:
        assert read(Mixture(rows, outliers), share, readings) == pytest.approx(joint(densities), abs=1e-9)


def test_of_samples_the_sample_persists():
    samples = {"good": [0.0, 1.0, 5.0], "bad": [4.0, 6.0]}
    rows = {name: [[1 / len(own), y, 0.5] for y in own] for name, own in samples.items()}
    for share in (0.0, 0.4, 1.0):
        found = read(Samples(samples, 0.5), share, [4.8, 5.3])
        assert found == pytest.approx(read(Mixture(rows), share, [4.8, 5.3]))


def test_one_reading_alone_is_as_it_was_and_a_second_tells_less():
    for kernel in (Gaussian({"good": [0, 1], "bad": [2, 1]}), Samples({"good": [0, 1], "bad": [1.5, 3]}, 0.5)):
        plain, persistent = (read(kernel, share, [1.7]) for share in (0.0, 0.8))
        assert persistent == pytest.approx(plain, abs=1e-6)
        assert read(kernel, 0.8, [1.7, 1.7]) < read(kernel, 0.0, [1.7, 1.7])


def test_where_one_part_is_all_there_is_nothing_is_split():
    kernel = Mixture({"good": [[1.0, 0.0, 1.0]], "bad": [[0.5, 1.0, 1.0], [0.5, 3.0, 1.0]]})
    split = with_persistent_errors(problem(0, 0, kernel=kernel), {"look": 0.5})
    assert split.model.names == ("good", "bad", "bad, look keeps to part 1", "bad, look keeps to part 2")
    assert [h.part_of for h in split.model.hypotheses] == ["good", "bad", "bad", "bad"]


def test_a_normal_distribution_cannot_repeat_itself_to_the_last_digit():
    with pytest.raises(InvalidProblem, match=r"probes\[0\].persistent: 0.999 leaves a normal distribution next to"):
        with_persistent_errors(problem(0, 0, kernel=Gaussian({"good": [0, 1], "bad": [1, 1]})), {"look": 0.999})


def test_too_many_hypotheses_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(persistence, "MOST_HYPOTHESES", 20)
    with pytest.raises(InvalidProblem, match="more than 20 hypotheses of 2; let fewer probes be persistent"):
        with_persistent_errors(problem(0, 0, kernel=Gaussian({"good": [0, 1], "bad": [1, 1]})), {"look": 0.5})


NUMBERS = st.floats(-1e99, 1e99) | st.floats(-10.0, 10.0)
SPREADS = st.floats(1e-99, 1e99) | st.floats(0.1, 10.0)
KERNELS = st.one_of(
    st.tuples(NUMBERS, SPREADS).map(lambda row: Gaussian({"good": row, "bad": [0.0, 1.0]})),
    st.tuples(NUMBERS, SPREADS).map(
        lambda r: Mixture({"good": [[0.5, *r], [0.5, 1.0, 1.0]], "bad": [[1.0, 0.0, 1.0]]})
    ),
    st.lists(NUMBERS, min_size=1, max_size=4).map(lambda own: Samples({"good": own, "bad": [0.0, 1.0]}, 1.0)),
)


@settings(max_examples=cases(30, 200), deadline=None)
@given(KERNELS, st.floats(1e-12, 1.0), st.integers(2, 40), NUMBERS)
def test_whatever_persists_is_a_sound_problem_or_refused(kernel, share, uses, reading):
    plain = problem(0, 0, kernel=kernel)
    plain = replace(plain, graph=replace(plain.graph, probes=[Probe("look", 0.5, max_uses=uses)]))
    try:
        split = with_persistent_errors(plain, {"look": share})
    except InvalidProblem:
        return
    assert split.model.prior.sum() == pytest.approx(1.0)
    state = InformationState.alarmed(split).after(Observation("look", reading))
    assert np.isfinite(state.posterior).all()
