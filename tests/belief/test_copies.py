"""States and problems travel: pickles, copies and plain data, at any time and without what was worked out before."""

import copy
import json
import pickle
from dataclasses import fields

import numpy as np
import pytest

from aquamend.belief import InformationState, Observation
from aquamend.decision import best_terminal, probe_values
from aquamend.decision.standings import standings
from aquamend.errors import AquaMendError
from aquamend.planning.exact import solve
from aquamend.problem.model import Discrete

LOOK = Discrete(["y", "n", "never"], {"ok": [0.9, 0.1, 0], "bad": [0.2, 0.8, 0]})
COPIES = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy, "copy": copy.copy}


def worked_out(state):
    """Ask all that a state remembers."""
    best_terminal(state)
    probe_values(state)
    standings(state)
    solve(state)
    return state


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_state_decides_alike_and_its_posterior_stays_read_only(walked, how):
    for seed in range(20):
        state = worked_out(walked(seed)[0])
        copied = COPIES[how](state)
        assert copied.posterior.tobytes() == state.posterior.tobytes()
        assert copied.evidence == state.evidence
        assert best_terminal(copied) == best_terminal(state)
        assert standings(copied) == standings(state)
        np.testing.assert_array_equal(probe_values(copied).expected_loss, probe_values(state).expected_loss)
        for posterior in (
            copied.posterior,
            copied.problem.model.prior,
            InformationState.start(copied.problem).posterior,
        ):
            with pytest.raises(ValueError, match="read-only"):
                posterior[0] = 1.0


@pytest.mark.parametrize("how", ["pickle", "deepcopy"])
def test_what_was_worked_out_does_not_travel(walked, how):
    for seed in range(20):
        copied = COPIES[how](worked_out(walked(seed)[0]))
        for value in (copied, copied.problem, copied.problem.graph, copied.problem.model):
            assert set(vars(value)) == {field.name for field in fields(value)}


def test_a_pickle_is_no_larger_after_decisions_than_before(walked):
    for seed in range(20):
        state = walked(seed)[0]
        fresh = len(pickle.dumps(state))
        assert len(pickle.dumps(worked_out(state))) == fresh


def test_a_copied_state_goes_on_as_the_original_does(walked):
    for seed in range(20):
        state = walked(seed)[0]
        copied = pickle.loads(pickle.dumps(state))
        if not state.legal:
            continue
        view = state.legal[0]
        answer = Observation(view.name, view.channel.sample(int(state.posterior.argmax()), np.random.default_rng(0)))
        one, other = state.after(answer), copied.after(answer)
        assert one.posterior.tobytes() == other.posterior.tobytes()
        assert standings(one) == standings(other)


def test_a_state_written_as_plain_data_has_the_very_same_posterior(walked):
    for seed in range(60):
        state = walked(seed, gaussian=seed % 3 == 0)[0]
        again = InformationState.from_data(state.problem, json.loads(json.dumps(state.to_data())))
        assert again.posterior.tobytes() == state.posterior.tobytes()
        assert (again.evidence, again.alarm_heard) == (state.evidence, state.alarm_heard)
        assert (again.origin is None) == (state.origin is None)
        assert standings(again) == standings(state)
        with pytest.raises(ValueError, match="read-only"):
            again.posterior[0] = 1.0


def test_a_contradiction_is_written_and_read_back(start):
    state = start({"look": LOOK}, uses=3).after(Observation("look", "y")).after(Observation("look", "never"))
    again = InformationState.from_data(state.problem, json.loads(json.dumps(state.to_data())))
    assert again.contradiction == Observation("look", "never")
    assert again.legal_probes == ()
    assert again.evidence == state.evidence


def test_a_state_of_another_problem_is_refused(start, walked):
    data = start({}).to_data()
    other = next(state for state, _ in (walked(seed) for seed in range(50)) if len(state.posterior) > 2)
    with pytest.raises(AquaMendError, match="2 probabilities, but the problem 'random' has"):
        InformationState.from_data(other.problem, data)
