"""The plan tree as data: its sums are those of following the policy, and two trees differ by where they part."""

import json
import math
import random
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.reference.generator import extra_problem, random_problem, valued_problem
from tests.tiers import cases

from aquamend import InformationState, Observation, Reprobe, load_problem
from aquamend.codec import dump, load
from aquamend.files import parse_problem
from aquamend.planning.limits import progress
from aquamend.policies import evaluate, policy_named
from aquamend.policies.evaluation import sampled_value
from aquamend.policies.plan_tree import PlanTree, TwoPlans, plan_tree, two_plans
from aquamend.story.plan_drawing import mermaid_plan, print_two_plans

EXAMPLES = Path(__file__).parents[2] / "examples"
WHOLE = 20_000


def alarmed(seed: int) -> InformationState:
    rng = random.Random(seed)
    data = (random_problem, valued_problem, extra_problem)[seed % 3](rng)
    for probe in data["probes"]:
        probe["max_uses"] = 1
    return InformationState.alarmed(parse_problem(data))


def drawn(state: InformationState, name: str, nodes: int = WHOLE) -> PlanTree:
    return plan_tree(policy_named(name), state, nodes=nodes, name=name)


def example(name: str) -> InformationState:
    return InformationState.alarmed(load_problem(EXAMPLES / f"{name}.yaml"))


@pytest.mark.parametrize("name", ["best", "aquamend", "lookahead-2", "restart"])
@pytest.mark.parametrize("seed", range(cases(6, 60)))
def test_the_root_costs_what_following_the_policy_costs(name, seed):
    state = alarmed(seed)
    tree, whole = drawn(state, name), evaluate(policy_named(name), state)
    assert tree.beyond == 0.0
    assert tree.root.loss == pytest.approx(whole.expected_loss, rel=1e-9, abs=1e-9)
    probes = math.fsum(node.probability for node in tree.nodes if isinstance(node.step, Reprobe))
    assert probes == pytest.approx(whole.expected_probes, abs=1e-9)


@pytest.mark.parametrize("seed", range(cases(6, 60)))
def test_two_plans_differ_by_what_they_differ_where_they_part(seed):
    state = alarmed(seed)
    both = two_plans(drawn(state, "best"), drawn(state, "aquamend"))
    assert all(both.one.nodes[p.one].step != both.other.nodes[p.other].step for p in both.parts)
    losses = both.one.root.loss, both.other.root.loss
    if math.inf in losses:
        assert losses == (math.inf, math.inf)
        return
    apart = math.fsum(p.probability * (both.one.nodes[p.one].loss - both.other.nodes[p.other].loss) for p in both.parts)
    assert both.one.root.loss - both.other.root.loss == pytest.approx(apart, abs=1e-9)


def test_a_plan_does_not_part_from_itself():
    tree = drawn(example("force_sensor_drift"), "aquamend", 60)
    assert two_plans(tree, tree).parts == ()


@pytest.mark.parametrize("name", ["stale_map", "least_full_cup"])
def test_below_every_probe_the_probabilities_add_up(name):
    tree = drawn(example(name), "best", 60)
    below = tree.children()
    assert len(tree.nodes) > 20
    for node, own in zip(tree.nodes, below, strict=True):
        if own:
            assert math.fsum(tree.nodes[i].probability for i in own) == pytest.approx(node.probability, abs=1e-9)
        assert bool(own) == (isinstance(node.step, Reprobe) and not node.beyond)


def test_readings_within_an_interval_lead_to_its_step_and_outside_to_another():
    state, policy = example("force_sensor_drift"), policy_named("aquamend")
    tree = plan_tree(policy, state, nodes=2, name="aquamend")
    first = [tree.nodes[i] for i in tree.children()[0]]
    assert len(first) > 2
    assert [a.below for a in first[:-1]] == [b.above for b in first[1:]]
    for node in first:
        for end, sign in ((node.above, 1.0), (node.below, -1.0)):
            reading = node.at if end is None else end + sign * 5e-2 * abs(node.at - end)
            step = policy.next_step(state.after(Observation(tree.root.step.probe, reading)))
            assert isinstance(step, Reprobe) == isinstance(node.step, Reprobe)


@pytest.mark.parametrize("name", ["least_full_cup", "force_sensor_drift"])
def test_with_readings_the_root_costs_what_sampled_recoveries_cost(name):
    state = example(name)
    tree, found = drawn(state, "aquamend"), sampled_value(policy_named("aquamend"), state, episodes=cases(200, 2_000))
    assert tree.beyond < 1e-3
    assert tree.rounded
    assert abs(tree.root.loss - found.expected_loss) < 2.0 * found.half_width
    assert found.half_width < 0.5 * tree.root.loss


def test_what_is_beyond_a_small_tree_is_said_and_its_loss_is_no_less():
    state = example("stale_map")
    small, whole = drawn(state, "best", 8), drawn(state, "best")
    assert 0.0 < small.beyond < 1.0
    assert whole.beyond == 0.0
    assert small.root.loss >= whole.root.loss - 1e-9
    assert len(small.nodes) < 8 + 5


def test_no_time_leaves_the_root_alone():
    tree = plan_tree(policy_named("best"), example("stale_map"), seconds=0.0, name="best")
    assert len(tree.nodes) == 1
    assert tree.root.beyond


def test_an_interrupt_keeps_the_tree_that_has_grown():
    class Interrupted:
        asked = 0

        def next_step(self, state):
            self.asked += 1
            if self.asked > 5:
                raise KeyboardInterrupt
            return policy_named("aquamend").next_step(state)

    with progress(lambda bounds, seconds: None) as listener:
        tree = plan_tree(Interrupted(), example("stale_map"), name="mine")
    assert listener.interrupted
    assert tree.beyond > 0.0


def test_plans_are_read_back_as_they_were_written():
    state = example("force_sensor_drift")
    both = two_plans(drawn(state, "aquamend", 3), drawn(state, "restart"))
    for value in (both.one, both):
        assert load(type(value), json.loads(json.dumps(dump(value)))) == value


def text_of(both: TwoPlans, state: InformationState) -> str:
    console = Console(file=StringIO(), width=100, markup=False)
    print_two_plans(both, state, console)
    return console.file.getvalue()


def test_two_plans_are_drawn_with_where_they_part():
    state = example("delivery_robot")
    both = two_plans(drawn(state, "best"), drawn(state, "restart"))
    text = text_of(both, state)
    assert text.startswith("They part in 100% of recoveries:\n")
    assert "the alarm" in text
    assert "Plan of best for" in text
    assert "Plan of restart for" in text
    assert "do the same." in text_of(two_plans(both.one, both.one), state)


def test_mermaid_text_holds_every_node_once_and_no_hostile_name():
    state = example("stale_map")
    text = mermaid_plan([plan_tree(policy_named("best"), state, name='be"st]\nend')], state)
    tree = plan_tree(policy_named("best"), state, name="best")
    assert text.count("-->") == len(tree.nodes) - 1
    assert "#34;st#93;" in text
    assert text.split("\n").count("  end") == 1
