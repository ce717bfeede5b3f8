"""Policies by name."""

import re
import sys

import pytest

from aquamend.decision.detection import LosslessScreen
from aquamend.errors import UnknownName
from aquamend.policies import (
    POLICIES,
    AlwaysRestart,
    AquaMend,
    Best,
    Certified,
    CertifyingPolicy,
    Decoupled,
    DescribedPolicy,
    Exact,
    Greedy,
    GreedyRepair,
    LinearChain,
    Lookahead,
    NoReprobe,
    Policy,
    PowerPerCost,
    RollbackOnly,
    SingleFaultTroubleshooting,
    Structured,
    Troubleshooting,
    TwoStep,
    VeriTrace,
    policy_named,
)
from aquamend.policies.registry import name_of, names_in

NAMES = {
    "best": Best(),
    "aquamend": AquaMend(),
    "aquamend-two-step": TwoStep(),
    "all-candidates": AquaMend(screen=None),
    "lossless": AquaMend(screen=LosslessScreen()),
    "structured": Structured(),
    "exact": Exact(),
    "certified": Certified(),
    "troubleshooting": Troubleshooting(),
    "troubleshooting-1": Troubleshooting(most_observations=1),
    "troubleshooting-single-fault": SingleFaultTroubleshooting(),
    "greedy-repair": GreedyRepair(),
    "decoupled": Decoupled(),
    "greedy": Greedy(),
    "power-per-cost": PowerPerCost(),
    "rollback-only": RollbackOnly(),
    "veritrace": VeriTrace(),
    "restart": AlwaysRestart(),
    "no-reprobe": NoReprobe(),
    "linear-chain": LinearChain(),
    "lookahead-1": Lookahead(1),
    "lookahead-12": Lookahead(12),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_policy(name):
    policy = policy_named(name)
    assert policy == NAMES[name]
    assert isinstance(policy, Policy)


def test_every_registered_policy_is_among_them():
    assert set(POLICIES) == {name for name in NAMES if not name.startswith("lookahead")}


@pytest.mark.parametrize(
    "name", ["oracle", "", "AquaMend", "lookahead-0", "lookahead--1", "lookahead-", "lookahead-1.5"]
)
def test_an_unknown_name_lists_the_valid_ones(name):
    with pytest.raises(UnknownName) as error:
        policy_named(name)
    assert repr(name) in str(error.value)
    assert all(valid in str(error.value) for valid in (*POLICIES, "lookahead-K"))


def test_looking_no_probe_ahead_is_refused():
    with pytest.raises(ValueError, match="depth is 0"):
        Lookahead(0)


def test_policies_that_bound_the_optimum_say_so():
    assert {name for name, policy in NAMES.items() if isinstance(policy, CertifyingPolicy)} == {
        "best", "aquamend", "all-candidates", "lossless", "exact", "certified", "lookahead-1", "lookahead-12",
    }  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_every_policy_describes_itself(name):
    policy = NAMES[name]
    assert isinstance(policy, DescribedPolicy)
    about = policy.description
    assert about.summary.endswith(".")
    assert re.fullmatch("#[0-9a-f]{6}", about.colour)
    assert not (about.plans_ahead and about.one_step)


def test_no_two_policies_share_a_title_or_a_look():
    about = [policy.description for name, policy in NAMES.items() if name != "lookahead-12"]
    assert len({one.title for one in about}) == len(about)
    assert len({(one.colour, one.marker) for one in about}) == len(about)


def test_a_description_says_who_plans_ahead_and_who_takes_the_least_loss_one_step_ahead():
    ahead = {name for name, p in NAMES.items() if p.description.plans_ahead}
    assert ahead == {"best", "exact", "certified", "lookahead-12"}
    assert {name for name, p in NAMES.items() if p.description.one_step} == {
        "aquamend", "all-candidates", "lossless", "lookahead-1",
    }  # fmt: skip
    assert {name for name, p in NAMES.items() if not p.description.probes} == {
        "rollback-only", "veritrace", "restart", "no-reprobe",
    }  # fmt: skip


# Policies with settings of their own.


@pytest.fixture
def mine(tmp_path, monkeypatch):
    source = """
from dataclasses import dataclass
from aquamend.decision import Continue
from aquamend.policies import Description

@dataclass(frozen=True)
class Mine:
    floor: float = 0.1
    names: tuple = ()
    description = Description("Mine", "Goes on.", "#123456", "o")

    def next_step(self, state):
        return Continue()
"""
    (tmp_path / "policies_of_mine.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "policies_of_mine:Mine"
    sys.modules.pop("policies_of_mine", None)


def test_a_policy_of_ones_own_may_be_given_settings(mine):
    assert policy_named(mine).floor == policy_named(f"{mine}()").floor == 0.1
    assert policy_named(f"{mine}(floor=0.2)").floor == 0.2
    assert policy_named(f"{mine}(floor=-1e-3, names=('a, b', 'c'))").names == ("a, b", "c")
    assert policy_named("aquamend.policies:AquaMend(screen=None)") == AquaMend(screen=None)


def test_the_name_of_a_policy_with_settings_makes_it_again(mine):
    policy = policy_named(f"{mine}(floor=0.25)")
    assert name_of(policy) == f"{mine}(floor=0.25, names=())"
    assert policy_named(name_of(policy)) == policy
    assert name_of(policy_named(mine)) == mine


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("(0.2)", "write its settings by name"), ("(floor=0.2", "write its settings by name"),
        ("(**{})", "write its settings by name"), ("(roof=0.2)", "TypeError"),
        ("(floor=__import__('os').getcwd())", "ValueError"), ("(floor=0.2)(floor=0.3)", "write its settings"),
        ("(floor=0.2).next_step", "write its settings by name"),
    ],
)  # fmt: skip
def test_settings_are_plain_values_by_name_and_nothing_is_run(mine, settings, message):
    with pytest.raises(UnknownName, match=message):
        policy_named(mine + settings)


def test_a_list_of_names_is_cut_at_commas_outside_of_brackets_and_quotes():
    assert names_in("a, b:C(x=1, y=(2, 3)),d") == ["a", "b:C(x=1, y=(2, 3))", "d"]
    assert names_in("b:C(x='1, )'),d") == ["b:C(x='1, )')", "d"]
    assert names_in("a") == ["a"]
