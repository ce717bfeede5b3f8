"""Declarations: the version in force, what the evidence supports in its place, and how both stand."""

import pytest

from aquamend.belief import InformationState, Observation
from aquamend.belief.support import evidence_on, usable
from aquamend.decision.standings import standings, versions
from aquamend.decision.terminal import best_value, may_be_kept
from aquamend.problem import Problem
from aquamend.problem.graph import Belief, Probe, RecoveryGraph
from aquamend.problem.model import Declaration, Discrete, Hypothesis, JointModel

LEAST = Declaration("least full", "target", support=("look",))
LEVEL = Declaration("level of A", "level", version=3, support=("look",))
CUP = Declaration("cup is there", "cup", invalid_in=("moved",))
TRUTHS = {
    "as before": {},
    "water in A": {"level": 45.0, "target": "B"},
    "camera off": {"camera": "biased"},
    "moved": {},
}


def state(*declarations, prior=(0.4, 0.3, 0.2, 0.1), **level):
    """Return a cup whose level a camera and a scale read; which cup to fill follows from the level."""
    graph = RecoveryGraph(
        [
            Belief("level", 10.0, declared=18.0, tolerance=3.0, **level),
            Belief("target", 80.0, declared="A"),
            Belief("camera", 40.0, declared="sound"),
            Belief("cup", 5.0),
        ],
        (),
        [
            Probe("look", 0.1, source="camera", max_uses=2),
            Probe("weigh", 0.1, max_uses=3),
            Probe("aim", 0.1),
        ],
        [
            ("look", "level", "detection"),
            ("weigh", "level", "detection"),
            ("level", "target", "inference"),
            ("aim", "cup", "detection"),
        ],
    )
    names = list(TRUTHS)
    hypotheses = [
        Hypothesis(name, p, ("cup",) if name == "moved" else (), truth=TRUTHS[name])
        for name, p in zip(names, prior, strict=True)
    ]
    kernels = {
        "look": Discrete(["low", "high"], {n: [0.5, 0.5] if n == "camera off" else [0.9, 0.1] for n in names}),
        "weigh": Discrete(
            ["light", "heavy", "never"], {n: [0.1, 0.9, 0] if n == names[1] else [0.9, 0.1, 0] for n in names}
        ),
        "aim": Discrete(["y", "n"], {n: [0.1, 0.9] if n == "moved" else [0.8, 0.2] for n in names}),
    }
    return InformationState.start(Problem(graph, JointModel(hypotheses, kernels, declarations=declarations)))


# Values.


def test_without_news_the_version_in_force_is_the_one_supported():
    for standing in standings(state(LEAST, LEVEL, CUP)):
        assert standing.supported == standing.in_force
    level = standings(state(LEVEL))[0].in_force
    assert (level.declaration.value, level.declaration.version, level.invalid) == (18.0, 3, pytest.approx(0.3))


def test_a_statement_of_another_value_is_wrong_wherever_that_is_not_true():
    other = Declaration("B is least full", "target", value="B")
    assert state(other).problem.invalid[:, 0].tolist() == [1.0, 0.0, 1.0, 1.0]
    assert state(LEAST).problem.invalid[:, 0].tolist() == [0.0, 1.0, 0.0, 0.0]


def test_the_version_in_force_stays_in_force_whatever_is_seen():
    before = state(LEAST, LEVEL, CUP)
    after = before.after(Observation("weigh", "heavy")).after(Observation("aim", "n"))
    assert after.problem.declarations == before.problem.declarations
    assert [s.in_force.declaration for s in standings(after)] == list(before.problem.declarations)
    # 0.3 · 0.9 · 0.2 of water, and 0.1 · (0.6 · 0.2 + 0.1 · 0.9) of all else
    assert standings(after)[1].in_force.invalid == pytest.approx(0.054 / (0.054 + 0.012 + 0.009))


def test_the_value_least_likely_to_be_wrong_is_declared_as_the_next_version():
    """Heavy twice: water has 0.243 against 0.007, so 45 g is wrong with 0.028; after the first, with 0.07 / 0.34."""
    once = state(LEAST, LEVEL).after(Observation("weigh", "heavy"))
    for after, wrong in ((once, 0.07 / 0.34), (once.after(Observation("weigh", "heavy")), 0.007 / 0.25)):
        least, level = (standing.supported for standing in standings(after))
        assert (level.declaration.value, level.declaration.version) == (45.0, 4)
        assert level.declaration.invalid_in == ("as before", "camera off", "moved")
        assert level.invalid == pytest.approx(wrong)
        assert (least.declaration.value, least.declaration.version, least.invalid) == ("B", 2, pytest.approx(wrong))


def test_what_a_probe_answered_is_never_declared_only_what_is_true_somewhere():
    after = state(LEVEL).after(Observation("weigh", "heavy"))
    for answer in ("light", "heavy"):
        level = standings(after.after(Observation("weigh", answer)))[0].supported
        assert level.declaration.value in (18.0, 45.0)


def test_the_order_of_answers_does_not_matter_to_what_is_supported():
    orders = (("heavy", "light", "heavy"), ("light", "heavy", "heavy"), ("heavy", "heavy", "light"))
    found = []
    for order in orders:
        after = state(LEVEL)
        for answer in order:
            after = after.after(Observation("weigh", answer))
        found.append(standings(after)[0].supported)
    assert {one.declaration.value for one in found} == {45.0}
    assert {one.declaration.support for one in found} == {("look", "weigh")}
    assert [one.invalid for one in found] == pytest.approx([found[0].invalid] * 3)


def test_values_equally_likely_to_be_wrong_resolve_to_the_one_in_force():
    (level,) = standings(state(LEVEL, prior=(0.5, 0.5, 0.0, 0.0)))
    assert level.supported == level.in_force
    (level,) = standings(state(LEVEL, prior=(0.5 - 1e-9, 0.5 + 1e-9, 0.0, 0.0)))
    assert level.supported.declaration.value == 45.0


def test_only_what_speaks_for_a_value_is_in_its_support():
    """The scale says heavy, which speaks for 45 g and not for 18 g; the camera answers alike whatever the level is."""
    after = state(LEVEL).after(Observation("weigh", "heavy"))
    wrong = after.problem.wrong_where(0, 18.0)
    assert evidence_on(after, 0, wrong) == (0,)  # as declared before the alarm
    assert evidence_on(after, 0, 1.0 - wrong) == (0, 1)
    bare = state().after(Observation("look", "low")).after(Observation("weigh", "heavy"))
    assert evidence_on(bare, 0, wrong) == ()
    assert evidence_on(bare, 0, 1.0 - wrong) == (1,)


def test_where_answers_cancel_out_the_probe_supports_nothing():
    after = state().after(Observation("weigh", "heavy")).after(Observation("weigh", "light"))
    assert not standings(after)[0].in_force.usable
    assert standings(after)[0].supported.declaration.support == ()


def test_a_value_that_new_evidence_confirms_is_a_version_of_its_own_that_rests_on_it():
    after = state(LEVEL).after(Observation("weigh", "light"))
    (level,) = standings(after)
    assert (level.supported.declaration.value, level.supported.declaration.version) == (18.0, 4)
    assert level.supported.declaration.support == ("look", "weigh")
    assert level.in_force.declaration.support == ("look",)


def test_only_declarations_that_new_evidence_bears_on_are_refreshed():
    after = state(LEAST, LEVEL, CUP).after(Observation("weigh", "light"))
    least, level, cup = standings(after)
    assert (least.supported.declaration.version, level.supported.declaration.version) == (2, 4)
    assert cup.supported == cup.in_force
    assert cup.supported.declaration.version == 1


# Statements without a value.


def test_a_statement_that_is_not_rejected_is_declared_again_with_its_evidence():
    (cup,) = standings(state(CUP).after(Observation("aim", "y")))
    assert (cup.supported.declaration.value, cup.supported.declaration.version) == (None, 2)
    assert (cup.supported.declaration.invalid_in, cup.supported.declaration.support) == (("moved",), ("aim",))
    assert cup.supported.invalid == pytest.approx(0.01 / (0.01 + 0.72))


@pytest.mark.parametrize(("moved", "negated"), [(0.5, True), (0.49, False), (0.9, True)])
def test_a_rejected_statement_is_replaced_by_its_negation_from_one_half_on(moved, negated):
    (cup,) = standings(state(CUP, prior=(1 - moved, 0.0, 0.0, moved)))
    assert (cup.supported.declaration.value == "not: cup is there") == negated
    assert cup.supported.declaration.version == (2 if negated else 1)
    if negated:
        assert cup.supported.declaration.invalid_in == ("as before", "water in A", "camera off")
        assert cup.supported.invalid == pytest.approx(1 - moved)


# Support.


def test_evidence_is_usable_until_its_source_is_rejected():
    assert [usable(state(LEVEL), m) for m in range(3)] == [True, True, True]
    off = state(LEVEL, prior=(0.3, 0.1, 0.6, 0.0))
    assert [usable(off, m) for m in range(3)] == [False, True, True]
    assert not standings(off)[0].in_force.usable
    weighed = off.after(Observation("weigh", "light"))
    assert standings(weighed)[0].in_force.usable
    assert standings(weighed)[0].supported.declaration.support == ("weigh",)


def test_a_declaration_with_no_evidence_at_all_is_not_usable():
    (cup,) = standings(state(CUP))
    assert not cup.in_force.usable
    assert standings(state(CUP).after(Observation("aim", "y")))[0].in_force.usable


def test_a_belief_that_needs_support_may_be_kept_while_probably_right_and_on_usable_evidence():
    assert may_be_kept(state(LEVEL, needs_support=True), 0)
    assert not may_be_kept(state(needs_support=True), 0)  # nothing recorded supports it
    assert not may_be_kept(state(LEVEL, prior=(0.2, 0.5, 0.3, 0.0), needs_support=True), 0)  # rejected
    assert not may_be_kept(state(LEVEL, prior=(0.4, 0.1, 0.5, 0.0), needs_support=True), 0)  # its camera is
    assert may_be_kept(state(LEVEL, prior=(0.2, 0.5, 0.3, 0.0)), 0)


def test_where_no_value_is_supported_none_is_declared():
    (level,) = standings(state(LEVEL, prior=(0.3, 0.1, 0.6, 0.0), needs_support=True))
    assert level.supported is None
    assert level.in_force.declaration.value == 18.0
    assert best_value(state(LEVEL, prior=(0.3, 0.1, 0.6, 0.0), needs_support=True), 0) is None


def test_once_the_evidence_contradicts_the_model_nothing_is_supported():
    after = state(LEAST, LEVEL, CUP).after(Observation("weigh", "never"))
    assert after.contradiction is not None
    for standing in standings(after):
        assert standing.supported is None
        assert standing.in_force.invalid is None


# Versions.


def test_old_versions_stay_with_what_was_said_of_them():
    """18 g (v3), confirmed by the scale (v4), which then takes it back (v5), then 45 g (v6)."""
    after = state(LEVEL, prior=(0.6, 0.4, 0.0, 0.0))
    for outcome in ("light", "heavy", "heavy"):
        after = after.after(Observation("weigh", outcome))
    history = versions(after, 0)
    said = [(v.declaration.version, v.declaration.value, v.declaration.support) for v in history]
    assert said == [(3, 18.0, ("look",)), (4, 18.0, ("look", "weigh")), (5, 18.0, ("look",)),
                    (6, 45.0, ("look", "weigh"))]  # fmt: skip
    # After light and heavy, 18 g is as likely as at first; after the second heavy 45 g is.
    assert [v.invalid for v in history] == pytest.approx([0.4, 0.04 / 0.58, 0.4, 0.06 / 0.42])
    assert history[-1] == standings(after)[0].supported


def test_while_no_value_is_supported_there_is_one_gap_and_the_next_value_is_a_new_version():
    before = state(LEVEL, prior=(0.3, 0.1, 0.6, 0.0), needs_support=True)
    aimed = before.after(Observation("aim", "y"))
    assert [v and v.declaration.version for v in versions(aimed, 0)] == [3, None]
    weighed = aimed.after(Observation("weigh", "light"))
    assert [v and (v.declaration.version, v.declaration.support) for v in versions(weighed, 0)] == [
        (3, ("look",)), None, (4, ("weigh",)),
    ]  # fmt: skip


def test_a_declaration_is_shown_with_its_version_from_the_second_on():
    assert str(LEAST) == "least full"
    after = state(LEAST).after(Observation("weigh", "heavy"))
    assert str(standings(after)[0].supported.declaration) == "least full (v2)"


# Against the reference.


def test_every_declaration_in_force_stands_as_the_reference_says(referenced):
    for seed in range(150):
        state, reference = referenced(seed, gaussian=seed % 3 == 0)
        seen = tuple(sorted((o.probe, o.outcome) for o in state.evidence))
        for ours, theirs in zip(standings(state), reference.in_force(seen), strict=True):
            declaration = ours.in_force.declaration
            assert (declaration.name, declaration.belief) == (theirs["name"], theirs["belief"]), seed
            assert (declaration.version, declaration.value) == (theirs["version"], theirs["value"]), seed
            assert list(declaration.support) == theirs["support"], seed
            assert ours.in_force.invalid == pytest.approx(theirs["invalid"], abs=1e-12), seed
            assert ours.in_force.usable == theirs["usable"], seed


def test_what_is_supported_is_the_declared_value_or_the_least_wrong_that_the_reference_allows(referenced):
    compared = 0
    for seed in range(150):
        state, reference = referenced(seed)
        seen = tuple(sorted((o.probe, o.outcome) for o in state.evidence))
        for standing in standings(state):
            declaration = standing.in_force.declaration
            if declaration.value is None:
                continue
            kept = reference.keep[declaration.belief]
            allowed = [risk for _, risk in reference.values(declaration.belief, seen)]
            allowed += [reference.marginals(seen)[declaration.belief]] if reference.admissible(kept, seen) else []
            assert (standing.supported is None) == (not allowed), seed
            if standing.supported is not None:
                assert standing.supported.invalid == pytest.approx(min(allowed), abs=2e-9), seed
                compared += 1
    assert compared > 100
