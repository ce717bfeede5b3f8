"""Refreshed declarations: a new value, the next version, and the evidence behind it."""

import pytest

from aquamend.graph import Belief, Probe, RecoveryGraph
from aquamend.inference import InformationState, Observation, refreshed, support, with_refreshed_declarations
from aquamend.model import Declaration, Discrete, Hypothesis, JointModel
from aquamend.problem import Problem

LEAST = Declaration(
    "least full",
    "target",
    value="A",
    true_value={"as before": "A", "water in A": "B", "water in A and B": "C", "bubble": "B"},
    invalid_in=("water in A", "water in A and B", "bubble"),
    support=("old look",),
)
LEVEL = Declaration("level of A", "level", invalid_in=("water in A", "water in A and B"), support=("old look",))
OTHER = Declaration("cup is there", "cup")


def state(*declarations, prior=(0.25, 0.25, 0.25, 0.25)):
    graph = RecoveryGraph(
        [Belief("level", 1.0), Belief("target", 1.0), Belief("cup", 1.0)],
        (),
        [Probe("old look", 0.1), Probe("weigh", 0.1, max_uses=2), Probe("aim", 0.1)],
        [
            ("old look", "level", "detection"),
            ("weigh", "level", "detection"),
            ("level", "target", "inference"),
            ("aim", "cup", "detection"),
        ],
    )
    names = list(LEAST.true_value)
    hypotheses = [Hypothesis(name, p) for name, p in zip(names, prior, strict=True)]
    same = {name: [0.5, 0.5] for name in names}
    heavier = dict(zip(names, ([0.9, 0.1], [0.1, 0.9], [0.1, 0.9], [0.8, 0.2]), strict=True))
    kernels = {
        "old look": Discrete(["y", "n"], same),
        "aim": Discrete(["y", "n"], same),
        "weigh": Discrete(["light", "heavy"], heavier),
    }
    return InformationState.start(Problem(graph, JointModel(hypotheses, kernels, declarations=declarations)))


def test_the_most_probable_true_value_is_declared_summed_over_hypotheses():
    new = refreshed(state(LEAST, prior=(0.3, 0.2, 0.3, 0.2)), LEAST)
    assert (new.value, new.version) == ("B", 2)
    assert new.invalid_in == ("as before", "water in A and B")


def test_a_value_that_stays_true_is_declared_again_as_a_new_version():
    new = refreshed(state(LEAST, prior=(0.7, 0.1, 0.1, 0.1)), LEAST)
    assert (new.value, new.version, new.invalid_in) == ("A", 2, LEAST.invalid_in)


def test_equally_probable_values_resolve_to_the_first_hypothesis():
    assert refreshed(state(LEAST, prior=(0.25, 0.25, 0.5, 0.0)), LEAST).value == "C"
    assert refreshed(state(LEAST, prior=(0.5, 0.0, 0.5, 0.0)), LEAST).value == "A"


def test_a_rejected_declaration_without_values_is_replaced_by_its_negation():
    new = refreshed(state(LEVEL, prior=(0.3, 0.3, 0.2, 0.2)), LEVEL)
    assert (new.value, new.version) == ("not: level of A", 2)
    assert new.invalid_in == ("as before", "bubble")


@pytest.mark.parametrize(("invalid", "negated"), [(0.5, True), (0.49, False)])
def test_a_declaration_is_rejected_from_one_half_on(invalid, negated):
    new = refreshed(state(LEVEL, prior=(1 - invalid, invalid, 0.0, 0.0)), LEVEL)
    assert (new.value is not None) == negated
    assert new.version == 2


def test_the_support_of_a_new_version_is_the_evidence_since_the_alarm_that_bears_on_the_belief():
    probed = state(LEAST).after(Observation("weigh", "heavy")).after(Observation("aim", "y"))
    probed = probed.after(Observation("weigh", "heavy"))
    assert refreshed(probed, LEAST).support == ("weigh",)


def test_without_new_evidence_the_old_support_is_carried_over():
    assert refreshed(state(LEAST).after(Observation("aim", "y")), LEAST).support == ("old look",)


def test_only_declarations_that_new_evidence_bears_on_are_refreshed():
    probed = state(LEAST, LEVEL, OTHER).after(Observation("weigh", "heavy"))
    least, level, other = with_refreshed_declarations(probed).declarations
    assert (least.version, level.version) == (2, 2)
    assert other is OTHER
    assert [d.version for d in probed.declarations] == [1, 1, 1]


def test_the_old_version_stays_invalid_where_it_was_after_a_refresh():
    probed = with_refreshed_declarations(state(LEAST).after(Observation("weigh", "heavy")))
    (new,) = probed.declarations
    assert probed.invalidity(LEAST) == pytest.approx((0.9 + 0.9 + 0.2) / (0.1 + 0.9 + 0.9 + 0.2))
    assert probed.invalidity(new) == pytest.approx((0.1 + 0.9) / (0.1 + 0.9 + 0.9 + 0.2))


def test_support_is_available_where_sources_are_named_and_the_posterior_does_not_reject():
    assert support(state(LEVEL, prior=(0.6, 0.2, 0.1, 0.1)), LEVEL).available
    rejected = support(state(LEVEL, prior=(0.5, 0.25, 0.25, 0.0)), LEVEL)
    assert not rejected.available
    assert "q = 0.5" in rejected.reason
    assert rejected.probes == ("old look",)


def test_a_probably_valid_declaration_without_a_source_has_no_support():
    unsupported = support(state(OTHER), OTHER)
    assert not unsupported.available
    assert "no evidence" in unsupported.reason


def test_nothing_is_supported_once_the_evidence_contradicts_the_model():
    graph = RecoveryGraph([Belief("b")], (), [Probe("p", 0.1)])
    kernel = Discrete(["y", "n"], {"h": [1, 0]})
    declaration = Declaration("d", "b", support=("p",))
    start = InformationState.start(
        Problem(graph, JointModel([Hypothesis("h", 1.0)], {"p": kernel}, None, [declaration]))
    )
    assert support(start, declaration).available
    contradicted = support(start.after(Observation("p", "n")), declaration)
    assert not contradicted.available
    assert "contradicts" in contradicted.reason


def test_a_declaration_is_shown_with_its_version_from_the_second_on():
    assert str(LEAST) == "least full"
    assert str(refreshed(state(LEAST), LEAST)) == "least full (v2)"
