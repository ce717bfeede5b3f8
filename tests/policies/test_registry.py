"""Policies by name."""

import pytest

from aquamend.errors import UnknownName
from aquamend.policies import (
    POLICIES,
    AlwaysRestart,
    AquaMend,
    Certified,
    CertifyingPolicy,
    Decoupled,
    Exact,
    Greedy,
    LinearChain,
    Lookahead,
    NoReprobe,
    Policy,
    RollbackOnly,
    Structured,
    Troubleshooting,
    policy_named,
)

NAMES = {
    "aquamend": AquaMend(),
    "all-candidates": AquaMend(),
    "structured": Structured(),
    "exact": Exact(),
    "certified": Certified(),
    "troubleshooting": Troubleshooting(),
    "decoupled": Decoupled(),
    "greedy": Greedy(),
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
        "aquamend", "all-candidates", "exact", "certified", "lookahead-1", "lookahead-12",
    }  # fmt: skip
