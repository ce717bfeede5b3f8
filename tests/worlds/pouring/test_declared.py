"""Declarations count their versions, remember their evidence and never change."""

from tests.worlds.pouring.episodes import DECLARED, LEVELS, PLACES, POURED

from aquamend.worlds.pouring.declared import Declared, ordered


def test_the_target_is_the_cup_measured_least_full():
    assert DECLARED.order == ("B", "A", "C")
    assert DECLARED.target == "B"
    assert [DECLARED.role(cup) for cup in "ABC"] == ["rival", "target", "third"]


def test_cups_that_tie_are_ordered_by_name():
    assert ordered({"A": 20.0, "B": 18.0, "C": 18.0}) == ("B", "C", "A")


def test_everything_measured_starts_at_version_one_and_names_its_probes():
    assert all(DECLARED.version(name) == 1 for name in DECLARED.support)
    assert DECLARED.support["quantity_A"] == ("look_A",)
    assert DECLARED.support["rank_C"] == ("look_B", "look_C")
    assert DECLARED.support["binding_B"] == ("localise",)
    assert DECLARED.support["target"] == ("look_A", "look_B", "look_C")


def test_pouring_refreshes_what_the_target_holds_and_nothing_else():
    assert POURED.quantity_g == {**LEVELS, "B": 38.0}
    assert POURED.poured_g == 20.0
    assert {name for name in POURED.support if POURED.version(name) == 2} == {"quantity_B"}
    assert POURED.support["quantity_B"] == ("look_B", "weigh_B")
    assert POURED.order == DECLARED.order, "the order is from before the pour"


def test_a_cup_weighed_anew_rests_on_the_scale_alone():
    weighed = DECLARED.with_quantity("C", 31.0)
    assert weighed.quantity_g["C"] == 31.0
    assert weighed.version("quantity_C") == 2
    assert weighed.support["quantity_C"] == ("weigh_C",)


def test_a_cup_found_anew_is_declared_there():
    found = DECLARED.with_place("C", 0).with_place("C", 1)
    assert found.place == {**PLACES, "C": 1}
    assert found.version("binding_C") == 3


def test_a_target_chosen_anew_rests_on_weights():
    chosen = DECLARED.with_order(("C", "A", "B"))
    assert chosen.target == "C"
    assert chosen.version("target") == 2
    assert chosen.support["target"] == ("weigh_A", "weigh_B", "weigh_C")


def test_refreshing_leaves_the_earlier_declarations_as_they_were():
    before = Declared.measured(LEVELS, PLACES)
    before.with_quantity("A", 1.0).with_place("A", 2).with_order(("A", "B", "C")).after_pouring(20.0)
    assert before == DECLARED
