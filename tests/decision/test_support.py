"""Who speaks for what: the rule as it is written, against the reference, and where numbers are extreme."""

from dataclasses import replace

import numpy as np
import pytest
from tests.tiers import cases

from aquamend.belief import InformationState, Observation
from aquamend.belief.support import evidence_on, favour, spoken, spoken_after
from aquamend.decision import best_terminal
from aquamend.decision.endings import endings_of
from aquamend.problem import Problem
from aquamend.problem.graph import Action, Belief, Probe, RecoveryGraph
from aquamend.problem.model import Discrete, Gaussian, Hypothesis, JointModel, Kernel
from aquamend.problem.model.kernels import Outcomes


def lamp(kernel: Kernel, *, prior=(0.6, 0.3, 0.1), uses=2):
    """Return a lamp declared "off", which may be "on" or "dim"; it may be kept or declared again on evidence only."""
    graph = RecoveryGraph(
        [Belief("lamp", 10.0, declared="off", needs_support=True)],
        [Action("wait", undo=1.0, executed=True)],
        [Probe("look", 0.1, max_uses=uses)],
        [("look", "lamp", "detection"), ("lamp", "wait", "belief_to_action")],
    )
    truths = ({}, {"lamp": "on"}, {"lamp": "dim"})
    hypotheses = [
        Hypothesis(n, p, truth=t) for n, p, t in zip(("off", "on", "dim"), prior, truths, strict=True)
    ]  # fmt: skip
    return InformationState.start(Problem(graph, JointModel(hypotheses, {"look": kernel}), escalate=50.0))


def said(state):
    """Return for which options "look" speaks: to keep, to declare "on", to declare "dim"."""
    support = endings_of(state.problem).support
    speaks = spoken(support, state)
    return [bool(speaks[(support.option == k) & (support.probe == 0)].any()) for k in range(3)]


def test_the_worked_example_speaks_as_it_is_reported():
    """A sign read rightly in 97 of 100 cases; one that answers alike whatever is true; floor 4 is wrong with 0.1."""
    start, wrong = np.array([0.9, 0.1]), np.array([[0.0, 1.0], [1.0, 0.0]])
    answers = np.array([[0.97, 0.03], [0.03, 0.97], [1.0, 1.0]])
    assert (answers @ favour(start, wrong) >= 0.0).tolist() == [[True, False], [False, True], [False, False]]


@pytest.mark.parametrize("at_alarm", [(0.5, 0.5), (0.999, 0.001), (1e-12, 1.0 - 1e-12)])
@pytest.mark.parametrize(("ratio", "speaks"), [(2.0, True), (2.0 - 1e-10, True), (2.0 - 1e-8, False), (3.0, True)])
def test_twice_as_likely_is_enough_whatever_the_probabilities_at_the_alarm(at_alarm, ratio, speaks):
    g = favour(np.array(at_alarm), np.array([[0.0], [1.0]]))
    assert bool(np.array([0.1 * ratio, 0.1]) @ g >= 0.0) == speaks


def test_what_could_not_be_right_is_never_spoken_for_and_what_could_not_be_wrong_always_is():
    start, answers = np.array([1.0, 0.0]), np.array([[0.5, 0.5], [1e-300, 1.0]])
    assert (answers @ favour(start, np.array([[0.0], [1.0]])) >= 0.0).all()
    assert not (answers @ favour(start, np.array([[1.0], [0.0]])) >= 0.0).any()


def test_what_was_ruled_out_at_the_alarm_does_not_count():
    """Under "on", which could not be so then, the answer is sure; what is left speaks for "off"."""
    look = Discrete(["y", "n"], {"off": [0.45, 0.55], "on": [1.0, 0.0], "dim": [0.2, 0.8]})
    assert said(lamp(look, prior=(0.9, 0.0, 0.1)).after(Observation("look", "y"))) == [True, False, False]
    assert said(lamp(look, prior=(0.5, 0.4, 0.1)).after(Observation("look", "y"))) == [False, True, False]


def test_a_reading_that_only_what_was_ruled_out_explains_still_speaks_by_what_is_left():
    """40 is where "on" is read; "off" is 38 deviations away, and so much likelier than "dim" that it speaks."""
    weigh = Gaussian({"off": (2.0, 1.0), "on": (40.0, 1.0), "dim": (0.0, 1.0)}, outliers=0.0)
    assert said(lamp(weigh, prior=(0.9, 0.0, 0.1)).after(Observation("look", 40.0))) == [True, False, False]


def test_faint_answers_speak_as_strong_ones_of_the_same_ratio():
    """Together they are less probable than any number, also beside what explains them and could not be so."""
    for off, dim, speaks in ((3e-200, 1e-200, [True, False, False]), (1e-200, 3e-200, [False, False, True])):
        for on, prior in ((1e-200, (0.6, 0.3, 0.1)), (1.0, (0.6, 0.0, 0.4))):
            look = Discrete(["y", "n"], {"off": [off, 1 - off], "on": [on, 1 - on], "dim": [dim, 1 - dim]})
            state = lamp(look, prior=prior).after(Observation("look", "y"))
            assert said(state) == speaks
            assert said(state.after(Observation("look", "y"))) == speaks


@pytest.mark.parametrize("gaussian", [False, True])
def test_every_probe_speaks_for_what_the_reference_says(referenced, gaussian):
    spoke = silent = 0
    for seed in range(cases(200, 800)):
        state, reference = referenced(seed, gaussian=gaussian)
        graph, seen = state.problem.graph, tuple((o.probe, o.outcome) for o in state.evidence)
        for i, belief in enumerate(graph.beliefs):
            choices = [(reference.keep[belief.name], state.problem.failed[:, i])]
            if belief.declares:
                new = zip(reference.corrections[belief.name], state.problem.new_values[i], strict=True)
                choices += [(choice, value.if_undone) for choice, value in new]
            for choice, wrong in choices:
                np.testing.assert_array_equal(choice.value_wrong, wrong)
                ours = [graph.probes[m].name for m in evidence_on(state, i, wrong)]
                assert ours == reference.evidence(choice, seen), (seed, belief.name, choice.value)
                spoke += len(ours) > 0
                silent += bool(seen) and not ours
    assert min(spoke, silent) > 100


def test_an_answer_thought_of_speaks_as_one_that_was_heard(walked):
    compared = 0
    for seed in range(cases(120, 400)):
        state = walked(seed)
        support = endings_of(state.problem).support
        for view in state.legal if len(support) else ():
            if not isinstance(view.channel, Outcomes):
                continue
            after = spoken_after(support, state, view.index, view.channel.table.T)
            for outcome, row, speaks in zip(view.channel.outcomes, view.channel.table.T, after, strict=True):
                thought = state.imagine(view.name, row)
                if thought is None:
                    continue
                heard = state.after(Observation(view.name, outcome))
                np.testing.assert_array_equal(spoken(support, thought), spoken(support, heard))
                np.testing.assert_array_equal(speaks, spoken(support, heard))
                assert best_terminal(thought) == best_terminal(heard), seed
                compared += 1
    assert compared > 50


def test_what_is_heard_after_an_answer_thought_of_is_not_taken_for_it():
    look = Discrete(["y", "n"], {"off": [0.9, 0.1], "on": [0.1, 0.9], "dim": [0.1, 0.9]})
    state = lamp(look)
    thought = state.imagine("look", np.array([0.9, 0.1, 0.1]))
    both = thought.imagine("look", np.array([0.1, 0.9, 0.9]))
    then = thought.after(Observation("look", "n"))
    heard = state.after(Observation("look", "y")).after(Observation("look", "n"))
    assert said(both) == said(then) == said(heard) == [False, False, False]
    np.testing.assert_allclose(both.posterior, heard.posterior)


def test_the_order_of_answers_does_not_matter_to_who_speaks(walked):
    compared = 0
    for seed in range(150):
        state = walked(seed)
        support = endings_of(state.problem).support
        if len(support) and len(state.evidence) > 1:
            turned = state.origin
            for observation in reversed(state.evidence):
                turned = turned.after(observation)
            np.testing.assert_array_equal(spoken(support, turned), spoken(support, state))
            compared += 1
    assert compared > 10


def test_another_posterior_leaves_who_spoke_as_it_was(walked):
    """What was possible at the alarm is what answers are judged by, not what is probable by now."""
    compared = 0
    for seed in range(100):
        state = walked(seed)
        support = endings_of(state.problem).support
        if len(support) and state.evidence:
            moved = replace(state, posterior=np.full(len(state.posterior), 1.0 / len(state.posterior)))
            np.testing.assert_array_equal(spoken(support, moved), spoken(support, state))
            compared += 1
    assert compared > 10
