"""Policies by name."""

import re

import pytest

from aquamend.decision.detection import LosslessScreen
from aquamend.errors import UnknownName
from aquamend.policies import (
    POLICIES,
    AlwaysRestart,
    AquaMend,
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
    policy_named,
)

NAMES = {
    "aquamend": AquaMend(),
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
        "aquamend", "all-candidates", "lossless", "exact", "certified", "lookahead-1", "lookahead-12",
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
    assert {name for name, p in NAMES.items() if p.description.plans_ahead} == {"exact", "certified", "lookahead-12"}
    assert {name for name, p in NAMES.items() if p.description.one_step} == {
        "aquamend", "all-candidates", "lossless", "lookahead-1",
    }  # fmt: skip
    assert {name for name, p in NAMES.items() if not p.description.probes} == {
        "rollback-only", "restart", "no-reprobe",
    }  # fmt: skip
