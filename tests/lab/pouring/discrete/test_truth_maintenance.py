"""Truth maintenance on networks worked out by hand."""

from aquamend_lab.pouring.discrete.cup_table import Justification, TruthMaintenance


def network():
    """It rained or the sprinkler ran; either wets the grass; wet grass is slippery; and a shoe is needed to slip."""
    return TruthMaintenance(
        frozenset({"rain", "sprinkler", "shoe"}),
        (
            Justification("wet", ("rain",)),
            Justification("wet", ("sprinkler",)),
            Justification("slippery", ("wet",)),
            Justification("slip", ("slippery", "shoe")),
            Justification("dust", (), unless=("wet",)),
            Justification("cough", ("dust", "shoe")),
        ),
    )


def test_what_follows_is_believed():
    assert network().believed() == {"rain", "sprinkler", "shoe", "wet", "slippery", "slip"}


def test_an_alternative_justification_keeps_support():
    assert {"wet", "slippery", "slip"} <= network().without(["rain"]).believed()


def test_losing_the_last_support_propagates():
    left = network().without(["rain", "sprinkler"]).believed()
    assert left.isdisjoint({"wet", "slippery", "slip"})


def test_what_holds_unless_something_else_does_comes_back_with_what_follows_from_it():
    assert {"dust", "cough"} <= network().without(["rain", "sprinkler"]).believed()
    assert "dust" not in network().without(["rain"]).believed()


def test_a_conclusion_needs_all_its_reasons():
    left = network().without(["shoe"]).believed()
    assert "slippery" in left
    assert "slip" not in left


def test_reasons_that_lean_on_each_other_alone_do_not_hold():
    rules = (Justification("b", ("a",)), Justification("b", ("c",)), Justification("c", ("b",)))
    tms = TruthMaintenance(frozenset({"a"}), rules)
    assert tms.believed() == {"a", "b", "c"}
    assert tms.without(["a"]).believed() == frozenset()


def test_retracting_leaves_the_network_it_was_asked_of_alone():
    tms = network()
    tms.without(["rain", "sprinkler", "snow"])
    assert "wet" in tms.believed()
