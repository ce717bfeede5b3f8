"""Problems whose numbers are extreme, with optima known by hand: no bound may take the improbable for impossible."""

import math

import pytest

from aquamend import Continue, Escalate, InformationState, Observation, Reprobe
from aquamend.files import parse_problem
from aquamend.planning import search as search_module
from aquamend.planning.bounds import capacity
from aquamend.planning.limits import Limits
from aquamend.planning.lookahead import lookahead_losses
from aquamend.planning.search import search
from aquamend.policies import AquaMend, Exact


def state(**data):
    return InformationState.alarmed(parse_problem({"format": "aquamend-problem/1"} | data))


def all_bounds(start):
    """Yield the bounds of every method that applies, and of the search over all of them."""
    for method in search_module.METHODS:
        limits = Limits(deadline_s=1.0, memory=1e7)
        for plan in method.improve(start, limits) if method.accepts(start) else ():
            yield plan.bounds
            if limits.reached(plan.bounds):
                break
    yield search(start, Limits(deadline_s=1.0)).bounds


def brackets(start, optimum):
    return all(b.lower <= optimum * (1 + 1e-9) and b.upper >= optimum * (1 - 1e-9) for b in all_bounds(start))


def never_ruled_out(error, uses):
    """One failure that may not be kept; no answer excludes it, so every policy undoes at 4."""
    return state(
        beliefs=[{"name": "b", "residual": 5, "may_keep": False}],
        actions=[{"name": "lift", "undo": 4, "status": "executed"}],
        probes=[{"name": "look", "cost": 0.005, "max_uses": uses}],
        edges=[["look", "b", "detection"], ["b", "lift", "belief_to_action"]],
        hypotheses=[{"name": "fine", "prior": 0.5}, {"name": "bad", "prior": 0.5, "failed": ["b"]}],
        kernels={
            "look": {"outcomes": ["y", "n"], "likelihood": {"fine": [1 - error, error], "bad": [error, 1 - error]}}
        },
    )


@pytest.mark.parametrize(("error", "uses"), [(0.01, "inf"), (0.01, 250), (1e-200, 2), (1e-12, 30)])
def test_many_answers_do_not_rule_out_what_none_of_them_does(error, uses):
    start = never_ruled_out(error, uses)
    assert brackets(start, 4.0)
    after = start
    for _ in range(int(min(start.legal[0].uses_left, 200))):
        after = after.after(Observation("look", "y"))
    assert after.posterior[1] > 0.0
    assert AquaMend().next_step(after).correct == ("b",)


@pytest.mark.parametrize(("prior", "likelihood"), [(1e-300, 1e-100), (1e-200, 1e-200), (0.1, 1e-170)])
def test_one_answer_does_not_either(prior, likelihood):
    start = state(
        beliefs=[{"name": "a", "residual": 3}, {"name": "b", "residual": 5, "may_keep": False}],
        actions=[{"name": "lift", "undo": 4, "status": "executed"}],
        probes=[{"name": "look", "cost": 0.02, "max_uses": 2}],
        edges=[["look", "a", "detection"], ["b", "lift", "belief_to_action"]],
        hypotheses=[
            {"name": "fine", "prior": 0.5},
            {"name": "a", "prior": 0.5 - prior, "failed": ["a"]},
            {"name": "both", "prior": prior, "failed": ["a", "b"]},
        ],
        kernels={
            "look": {
                "outcomes": ["y", "n"],
                "likelihood": {"fine": [1, 0], "a": [0, 1], "both": [likelihood, 1 - likelihood]},
            }
        },
    )
    assert brackets(start, 4.0)


@pytest.mark.parametrize("huge", [1e17, 1e40])
def test_a_huge_loss_that_nothing_changes_hides_no_other(huge):
    """Doom costs 1 in expectation, whatever is decided; of the other belief, 5 is at stake, and a probe saves most."""
    start = state(
        beliefs=[{"name": "doom", "residual": huge}, {"name": "b", "residual": 10}],
        actions=[
            {"name": "burn", "status": "executed", "reversible": False, "undo": 1},
            {"name": "a", "undo": 4, "status": "executed"},
        ],
        probes=[{"name": "idle", "cost": 0.1}, {"name": "look", "cost": 0.1}],
        edges=[
            ["idle", "b", "detection"], ["look", "b", "detection"],
            ["doom", "burn", "belief_to_action"], ["b", "a", "belief_to_action"],
        ],
        hypotheses=[
            {"name": "ok", "prior": 0.5 - 1 / huge},
            {"name": "bad", "prior": 0.5, "failed": ["b"]},
            {"name": "doomed", "prior": 1 / huge, "failed": ["doom"]},
        ],
        kernels={
            "idle": {"outcomes": ["y", "n"], "likelihood": {"default": [0.5, 0.5]}},
            "look": {
                "outcomes": ["y", "n"], "likelihood": {"ok": [0.7, 0.3], "bad": [0.3, 0.7], "doomed": [0.5, 0.5]}
            },
        },
    )  # fmt: skip
    # After y (one half): keep, 0.3 · 10. After n: undo, 4. With the look and doom: 0.1 + 1.5 + 2 + 1.
    assert brackets(start, 4.6)
    assert Exact().bounds(start).upper == pytest.approx(4.6)


@pytest.mark.parametrize(("doom", "stake"), [(1e4, 2e-9), (1e6, 1e-7), (1e9, 1e-4)])
def test_an_unavoidable_loss_does_not_make_a_probe_without_information_pay(doom, stake):
    """Doom is certain; of the other belief, 2.5 stakes are lost by keeping it and 3 by undoing, whatever is probed."""
    start = state(
        beliefs=[{"name": "doom", "residual": doom}, {"name": "b", "residual": 5 * stake}],
        actions=[
            {"name": "burn", "status": "executed", "reversible": False, "undo": 1},
            {"name": "a", "undo": 3 * stake, "status": "executed"},
        ],
        probes=[{"name": "idle", "cost": stake / 10}],
        edges=[
            ["idle", "b", "detection"], ["doom", "burn", "belief_to_action"], ["b", "a", "belief_to_action"]
        ],
        hypotheses=[
            {"name": "doomed", "prior": 0.5, "failed": ["doom"]},
            {"name": "both", "prior": 0.5, "failed": ["doom", "b"]},
        ],
        kernels={"idle": {"outcomes": ["y", "n"], "likelihood": {"default": [0.5, 0.5]}}},
    )  # fmt: skip
    assert Exact().next_step(start) == Continue()
    bounds = Exact().bounds(start)
    assert bounds.lower - doom == pytest.approx(2.5 * stake, rel=0.01)
    assert bounds.upper == bounds.lower


@pytest.mark.parametrize(
    ("prior", "residual", "undo", "cost"),
    [(1e-18, 1e21, 500.0, 1.0), (1e-17, 1e12, 5.0, 1e-6), (1e-17, 1e11, 5.0, 1e-7)],
)
def test_a_huge_loss_makes_probes_pay_that_look_for_what_hardly_ever_happens(prior, residual, undo, cost):
    failed = {"fine": [], "a": ["a"], "b": ["b"], "both": ["a", "b"]}
    start = state(
        beliefs=[{"name": name, "residual": residual} for name in "ab"],
        actions=[{"name": f"lift {name}", "undo": undo, "status": "executed"} for name in "ab"],
        probes=[{"name": f"look {name}", "cost": cost} for name in "ab"],
        edges=[
            *([f"look {name}", name, "detection"] for name in "ab"),
            *([name, f"lift {name}", "belief_to_action"] for name in "ab"),
        ],
        hypotheses=[
            {"name": name, "prior": prior if own else 1.0 - 3.0 * prior, "failed": own} for name, own in failed.items()
        ],
        kernels={
            f"look {name}": {
                "outcomes": ["fine", "failed"],
                "likelihood": {h: [0.0, 1.0] if name in own else [1.0, 0.0] for h, own in failed.items()},
            }
            for name in "ab"
        },
    )
    assert brackets(start, 2.0 * cost + 4.0 * prior * undo)


def test_probes_that_tell_next_to_nothing_for_nothing_still_tell():
    """Asked 1e16 times, the weak probe is right but for exp(-200), and costs 1e-4: the optimum is at most 2.5001."""
    start = state(
        beliefs=[{"name": "b", "residual": 10}],
        actions=[{"name": "a", "undo": 5, "status": "executed"}],
        probes=[{"name": "weak", "cost": 1e-20, "max_uses": "inf"}, {"name": "dear", "cost": 3}],
        edges=[["weak", "b", "detection"], ["dear", "b", "detection"], ["b", "a", "belief_to_action"]],
        hypotheses=[{"name": "h0", "prior": 0.5}, {"name": "h1", "prior": 0.5, "failed": ["b"]}],
        kernels={
            "weak": {
                "outcomes": ["y", "n"], "likelihood": {"h0": [0.5 + 1e-7, 0.5 - 1e-7], "h1": [0.5 - 1e-7, 0.5 + 1e-7]}
            },
            "dear": {"outcomes": ["y", "n"], "likelihood": {"h0": [0.9, 0.1], "h1": [0.1, 0.9]}},
        },
    )  # fmt: skip
    assert all(bounds.lower <= 2.5001 for bounds in all_bounds(start))


def test_states_on_either_side_of_a_rule_are_two():
    """Answers leave the belief wrong with 0.5 ∓ 1.5e-9, where it may and where it may not be kept."""
    less, more = 0.4 * (1 - 6e-9), 0.4 * (1 + 6e-9)
    start = state(
        beliefs=[{"name": "b", "residual": 2, "needs_support": True}],
        actions=[{"name": "a", "undo": 50, "status": "executed"}],
        probes=[{"name": "p", "cost": 0.5, "max_uses": 5}],
        edges=[["p", "b", "detection"], ["b", "a", "belief_to_action"]],
        hypotheses=[{"name": "ok", "prior": 0.5}, {"name": "bad", "prior": 0.5, "failed": ["b"]}],
        kernels={
            "p": {
                "outcomes": ["y", "z", "o"],
                "likelihood": {"ok": [0.4, 0.4, 0.2], "bad": [less, more, 1 - less - more]},
            }
        },
        escalate=6,
        declarations=[{"name": "c", "belief": "b", "support": ["p"]}],
    )
    assert brackets(start, search(start, Limits()).bounds.upper)
    assert search(start, Limits()).bounds.upper == pytest.approx(3.9816, abs=1e-6)


def two_looks(share):
    """Return a belief, wrong with 0.1, that may be kept only on evidence; a look is right so often, and costs 0.1."""
    return state(
        beliefs=[{"name": "b", "residual": 10, "needs_support": True}],
        actions=[{"name": "a", "undo": 50, "status": "executed"}],
        probes=[{"name": "look", "cost": 0.1, "max_uses": 2}],
        edges=[["look", "b", "detection"], ["b", "a", "belief_to_action"]],
        hypotheses=[{"name": "ok", "prior": 0.9}, {"name": "bad", "prior": 0.1, "failed": ["b"]}],
        kernels={
            "look": {"outcomes": ["y", "n"], "likelihood": {"ok": [share, 1 - share], "bad": [1 - share, share]}},
        },
        escalate=6,
    )


def test_two_answers_speak_together_where_neither_does_alone():
    """After two of 0.6 against 0.4, which come with 0.34, it is kept at 0.16; else a person is called at 6.

    So looking once costs 6.1, and looking again after a "y", which comes with 0.58, leads to 0.158 + 0.16 + 0.66 · 6.
    """
    start = two_looks(0.6)
    assert brackets(start, 4.278)
    assert Exact().bounds(start).lower == pytest.approx(4.278)
    assert Exact().next_step(start) == Reprobe("look")
    assert AquaMend().next_step(start) == Escalate()
    assert lookahead_losses(start, 1) == pytest.approx([6.1])
    assert lookahead_losses(start, 2) == pytest.approx([4.278])


@pytest.mark.parametrize(("off", "speaks"), [(-1e-7, False), (0.0, True), (1e-7, True)])
def test_what_is_exactly_twice_as_likely_speaks_in_every_plan(off, speaks):
    """Of two hypotheses the answer "y" is 2/3 and 1/3 likely; where a little less, only two of them speak."""
    start = two_looks(2.0 / 3.0 + off)
    y = (0.9 * 2 + 0.1) / 3
    once, twice = 0.1 + 10 * 0.1 / 3 + 6 * (1 - y), 0.1 + 0.1 * y + 10 * 0.1 / 9 + 6 * (1 - (0.9 * 4 + 0.1) / 9)
    optimum = once if speaks else twice
    assert once < twice
    assert all(b.lower <= optimum + 1e-5 and b.upper >= optimum - 1e-5 for b in all_bounds(start))
    assert Exact().bounds(start).upper == pytest.approx(optimum, abs=1e-5)
    assert lookahead_losses(start, 2) == pytest.approx([optimum], abs=1e-5)
    assert lookahead_losses(start, 1) == pytest.approx([once if speaks else 6.1], abs=1e-5)


@pytest.mark.parametrize("rare", [1e-12, 1e-100, 1e-300])
def test_what_hardly_can_be_wrong_needs_evidence_in_every_plan(rare):
    """No answer rules the failure out, and none speaks for keeping: a person is called at 6, whatever is asked."""
    start = state(
        beliefs=[{"name": "b", "residual": 10, "needs_support": True}],
        actions=[{"name": "a", "undo": 50, "status": "executed"}],
        probes=[{"name": "idle", "cost": 0.1, "max_uses": 3}, {"name": "other", "cost": 0.2}],
        edges=[["idle", "b", "detection"], ["b", "a", "belief_to_action"]],
        hypotheses=[{"name": "ok", "prior": 1.0 - rare}, {"name": "bad", "prior": rare, "failed": ["b"]}],
        kernels={
            "idle": {"outcomes": ["y", "n"], "likelihood": {"default": [0.5, 0.5]}},
            "other": {"outcomes": ["y", "n"], "likelihood": {"ok": [0.5, 0.5], "bad": [1e-200, 1.0]}},
        },
        escalate=6,
    )
    assert brackets(start, 6.0)
    assert Exact().bounds(start).lower == 6.0
    assert Exact().next_step(start) == Escalate()
    assert (lookahead_losses(start, 2) > 6.0).all()


@pytest.mark.parametrize("chance", [1.0, 1 - 1e-9, 0.9])
def test_a_repair_needs_no_support_even_where_undoing_may_fail(chance):
    start = state(
        beliefs=[{"name": "b", "residual": 16, "needs_support": True}],
        actions=[{"name": "a", "undo": 4, "status": "executed", "undo_succeeds": chance}],
        probes=[{"name": "p", "cost": 0.7}],
        edges=[["p", "b", "detection"], ["b", "a", "belief_to_action"]],
        hypotheses=[{"name": "ok", "prior": 0.25}, {"name": "bad", "prior": 0.75, "failed": ["b"]}],
        kernels={"p": {"outcomes": ["y"], "likelihood": {"default": [1]}}},
        escalate=30,
    )
    assert brackets(start, 4.0 + 16.0 * 0.75 * (1.0 - chance))


def test_a_capacity_is_never_rounded_down():
    assert capacity([[0.5, 0.5], [0.5, 0.5]]) == 0.0
    for e in (1e-9, 1e-7, 1e-3):
        exact = math.log(2) + (0.5 + e) * math.log(0.5 + e) + (0.5 - e) * math.log1p(-0.5 - e)
        assert capacity([[0.5 + e, 0.5 - e], [0.5 - e, 0.5 + e]]) >= max(exact, 2 * e * e)
