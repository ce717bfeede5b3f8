"""A noisy-or is one minus the probability that every cause present, and the leak, stays away."""

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import cases

from aquamend import Alarm, Belief, InformationState, NoisyOr, Probe, RecoveryGraph, joint_model
from aquamend.errors import AquaMendError, InvalidProblem
from aquamend.files import parse_problem
from aquamend.problem.building import RootCause
from aquamend.problem.model import Discrete, Hypothesis, JointModel, Normal

probabilities = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)
GRAPH = RecoveryGraph([Belief("pose"), Belief("code"), Belief("level", declared=10.0, tolerance=1.0)],
                      probes=[Probe("look", 1.0)])  # fmt: skip


@settings(max_examples=cases(60, 2000), deadline=None)
@given(st.lists(probabilities, min_size=3, max_size=3), probabilities, st.booleans(), probabilities)
def test_it_is_what_counting_every_way_of_coming_about_gives(numbers, leak, names_leak, of_belief):
    causes = [RootCause.single("a", 0.2, ["pose"]), RootCause.single("b", 0.3, ["pose"]),
              RootCause.single("c", 0.4, ["code"])]  # fmt: skip
    given_ = dict(zip("abc", numbers, strict=True)) | {"pose": of_belief} | ({"leak": leak} if names_leak else {})
    model = joint_model(GRAPH, causes, kernels={"look": NoisyOr(given_, ["no", "yes"])})
    for name, row in zip(model.names, model.channels["look"].table, strict=True):
        present = [] if name == "nothing" else name.split(" + ")
        chances = [given_[cause] for cause in present]
        chances += [of_belief] if {"a", "b"} & set(present) else []
        chances += [leak] if names_leak else []
        ways = itertools.product(*([(p, True), (1 - p, False)] for p in chances))  # each brings it about, or does not
        total = sum(np.prod([p for p, _ in way]) for way in ways if any(done for _, done in way))
        assert row == pytest.approx([1 - total, total], abs=1e-12)


def test_an_alarm_and_a_probe_may_be_given_so_in_a_file(causes):
    causes["kernels"]["scan"] = {
        "outcomes": ["right", "other"],
        "noisy_or": {"leak": 0.1, "shelf=gone": 0.5, "code": 0.5},
    }
    causes["alarm"] = {"noisy_or": {"leak": 0.25, "misread": 0.5, "place": 0.5, "heavy": 1}, "again": {"default": 0.5}}
    problem = parse_problem(causes)
    index, scan = problem.model.hypothesis_index, problem.model.channels["scan"].table
    assert scan[index["nothing"]].tolist() == pytest.approx([0.9, 0.1])
    assert scan[index["misread"], 1] == pytest.approx(1 - 0.9 * 0.5)  # which makes the code wrong
    assert scan[index["shelf=gone"], 1] == pytest.approx(1 - 0.9 * 0.5 * 0.5)  # by itself, and by what it makes wrong
    assert problem.model.alarm_likelihood[index["misread"]] == pytest.approx(1 - 0.75 * 0.5)
    assert problem.model.alarm_likelihood[index["shelf=moved + misread"]] == pytest.approx(1 - 0.75 * 0.25)
    assert problem.model.alarm_likelihood[index["heavy"]] == 1.0
    assert InformationState.alarmed(problem).after_alarm().alarms == 2


def test_beside_listed_hypotheses_these_count_with_all_that_they_stand_for():
    hypotheses = [Hypothesis("fine", 0.5), Hypothesis("added", 0.5, ["code"], truth={"level": Normal(20, 2)})]
    numbers = {"added": 0.5, "code": 0.5, "level": 0.5}
    model = joint_model(GRAPH, hypotheses=hypotheses, kernels={"look": NoisyOr(numbers, ["no", "yes"])},
                        alarm=Alarm(noisy_or={"leak": 0.5, "fine": 0.5}))  # fmt: skip
    assert set(model.channels["look"].table[1:, 1]) == {0.875}
    assert model.alarm_likelihood.tolist() == [0.75, *[0.5] * (len(model.names) - 1)]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["alarm"].update(noisy_or={"leak": 0.1}), "alarm.noisy_or: there is a likelihood too"),
        (lambda d: d["alarm"].pop("likelihood"), "alarm.likelihood: it is missing; add the key 'likelihood'"),
        (lambda d: d.update(alarm={"noisy_or": {"haevy": 0.1, "leak": 0.1}}),
         "alarm.noisy_or.haevy: 'haevy' names no cause, belief or hypothesis; did you mean 'heavy'?"),
        (lambda d: d.update(alarm={"noisy_or": {"heavy & misread": 0.1}}), "alarm.noisy_or.heavy & misread: "),
        (lambda d: d.update(alarm={"noisy_or": {"default": 0.1}}), "alarm.noisy_or.default: 'default' names no cause"),
        (lambda d: d.update(alarm={"noisy_or": {"nothing": 0.1}}), "alarm.noisy_or.nothing: 'nothing' names no cause"),
        (lambda d: d.update(alarm={"noisy_or": {"heavy": 1.5}}), "alarm.noisy_or.heavy: 1.5 is not a probability"),
        (lambda d: d.update(alarm={"noisy_or": {"heavy": -0.5}}), "alarm.noisy_or.heavy: -0.5 is not a probability"),
        (lambda d: d.update(alarm={"noisy_or": {"heavy": 1 + 5e-7}}), "alarm.noisy_or.heavy: 1.0000005 is not a prob"),
        (lambda d: d.update(alarm={"noisy_or": {"heavy": 0}}), "alarm.likelihood: the alarm has probability 0"),
        (lambda d: d.update(alarm={"noisy_or": 0.5}), "alarm.noisy_or: 0.5 is not a mapping"),
        (lambda d: d["kernels"].update(scan={"outcomes": ["a", "b", "c"], "noisy_or": {"leak": 0.1}}),
         "kernels.scan.outcomes: ['a', 'b', 'c'] is not two outcomes"),
        (lambda d: d["kernels"].update(scan={"outcomes": ["a", "a"], "noisy_or": {"leak": 0.1}}),
         "kernels.scan.outcomes: ['a', 'a'] is not two outcomes"),
        (lambda d: d["kernels"].update(scan={"outcomes": ["a", "b"], "noisy_or": {"leak": 2}}),
         "kernels.scan.noisy_or.leak: 2 is not a probability"),
        (lambda d: d["kernels"].update(scan={"noisy_or": {"leak": 0.2}}), "kernels.scan.outcomes: it is missing"),
        (lambda d: d["kernels"]["scan"].update(noisy_or={"leak": 0.2}), "kernels.scan: it has "),
    ],
)  # fmt: skip
def test_a_fault_says_where_and_what(causes, faults_of, change, said):
    change(causes)
    faults = faults_of(causes)
    assert len(faults) == 1, faults
    assert faults[0].startswith(said), faults


def test_no_cause_may_be_called_like_the_leak(causes, faults_of):
    text = json.dumps(causes).replace('"heavy"', '"leak"').replace("heavy &", "leak &")
    data = json.loads(text)
    parse_problem(data)  # as long as no noisy-or needs the word
    data["alarm"] = {"noisy_or": {"leak": 0.1, "misread": 0.5}}
    (fault,) = faults_of(data)
    assert fault.startswith(
        "alarm.noisy_or.leak: 'leak' is also the name of a cause, hypothesis or belief; rename that"
    )


def test_it_is_made_a_table_before_it_is_computed_with():
    numbers = {"leak": 0.5}
    with pytest.raises(AquaMendError, match="make the model with aquamend"):
        NoisyOr(numbers, ["no", "yes"]).channel(["h"])
    with pytest.raises(InvalidProblem, match="it is no table yet"):
        JointModel([Hypothesis("h", 1.0)], {"look": Discrete(["y"], {"h": [1.0]})}, Alarm(noisy_or=numbers))
