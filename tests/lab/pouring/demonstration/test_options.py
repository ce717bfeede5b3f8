"""The alternatives shown at a decision: few, priced completely, cheapest first, and honest about who chose how."""

import pytest

pytest.importorskip("mujoco")


from aquamend.decision import Continue, Reprobe, Restart, RollBack
from aquamend.decision.terminal import price
from aquamend.explanation.report import decision_report
from aquamend.policies import AquaMend, policy_named
from aquamend_lab.pouring.demonstration.options import MOST_PROBES, MOST_ROLL_BACKS, Pricing, how_to_read, weighed
from aquamend_lab.pouring.demonstration.wording import step_name
from aquamend_lab.pouring.task import SAFE_STOP


@pytest.fixture(scope="module")
def pricing(model):
    return Pricing(model)


def report(state, policy="aquamend", *, bounded=False):
    return decision_report(state, policy_named(policy), name=policy, bounded=bounded)


def test_they_come_cheapest_first_and_one_is_chosen(state, pricing):
    shown = list(weighed(report(state), pricing))
    losses = [option.loss for option in shown]
    assert losses == pytest.approx(sorted(losses))
    assert [option.chosen for option in shown].count(True) == 1
    assert shown[0].chosen, "the policy takes the cheapest"


def test_no_name_comes_twice_and_few_are_shown(state, pricing):
    names = [option.name for option in weighed(report(state), pricing)]
    assert len(set(names)) == len(names) <= MOST_PROBES + MOST_ROLL_BACKS + 2
    assert step_name(Restart(), state) in names


def test_what_is_shown_is_the_models_loss_and_finishing_the_task(state, pricing):
    decision = decision_report(state, AquaMend(), name="aquamend")
    for step in (Restart(), Continue(), decision.stop.decision, Reprobe("look_A"), Reprobe("localise")):
        assert sum(pricing.of(state, step)) == pytest.approx(decision.loss_of(step) + pricing.finishing, abs=1e-6)


def test_what_a_restart_leaves_wrong_is_residual(state, pricing):
    parts, task = pricing.of(state, Restart()), pricing.model.task
    assert parts.sensing == pytest.approx(0.8)
    assert parts.residual == pytest.approx(price(state, Restart()).loss - task.restart_cost - 0.2)
    assert parts.residual > 0.0


def test_a_safe_stop_does_not_finish_the_task(state, pricing):
    parts = pricing.of(state, RollBack((), plan=SAFE_STOP))
    assert parts.continuation == 0.0
    assert parts.residual > 30, "two cups are believed where they do not stand"


def test_a_policy_of_one_step_takes_the_least(state):
    assert "least expected loss" in how_to_read(report(state), 0.0)


def test_a_policy_with_a_rule_of_its_own_is_not_said_to_take_the_least(state):
    said = how_to_read(report(state, "restart"), 0.0)
    assert "by its own rule" in said
    assert "another would be the least" in said


def test_a_policy_that_plans_ahead_shows_its_own_value(state):
    found = report(state, "lookahead-2", bounded=True)
    said = how_to_read(found, 10.0)
    assert "plans further" in said
    assert f"{found.bounds.upper + 10.0:.1f} s" in said
