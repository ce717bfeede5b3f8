"""A dataclass is read, written and described by its annotations: all faults at once, each with its place."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aquamend.codec import (
    NOT_WRITTEN,
    UNREAD,
    VALUE,
    Amount,
    Cost,
    FaultReport,
    Key,
    KeyedBy,
    Name,
    Probability,
    dump,
    form_of,
    load,
    write,
)
from aquamend.codec.forms import MOST_NESTED, words
from aquamend.errors import InvalidData


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Pair(NamedTuple):
    first: Name
    colour: Colour


@dataclass(frozen=True)
class Range:
    low: Annotated[Cost, Key("range")]
    """The lowest and the highest. More is nobody's business."""
    high: Annotated[Cost, Key("range")]


@dataclass(frozen=True)
class Choice:
    options: Sequence[Name]


@dataclass(frozen=True)
class Part:
    name: Name
    cost: Cost = 0.0
    """What it costs; 0 unless given."""
    done: Annotated[bool, Key("status"), words({"done": True, "open": False})] = False
    said: Annotated[str | float, VALUE] | None = None
    secret: Annotated[str, NOT_WRITTEN] = ""


@dataclass(frozen=True)
class Whole:
    parts: Sequence[Part]
    pairs: Sequence[Pair] = ()
    shares: Mapping[Name, Probability] = field(default_factory=dict)
    of: float | Range | Choice = 0.0
    colour: Colour = Colour.RED


@dataclass(frozen=True)
class Look:
    kind: ClassVar[str] = "look"
    at: str
    cost: Amount = 0.0


@dataclass(frozen=True)
class Say:
    kind: ClassVar[str] = "say"
    what: str | float | None = None
    parts: tuple[Say, ...] = ()
    notes: Any = None


Act = Look | Say


@dataclass(frozen=True)
class Named:
    name: str
    value: str | float


@dataclass(frozen=True)
class Book:
    format: Literal["book/1"]
    acts: tuple[Act, ...] = ()
    named: Annotated[tuple[Named, ...], KeyedBy("name")] = ()


DATA = {
    "parts": [{"name": "a", "cost": 3}, {"name": "b", "cost": "inf", "status": "done", "said": "x"}],
    "pairs": [["a", "blue"]],
    "shares": {"a": 0.25},
    "of": {"range": [1, 2.5]},
    "colour": "blue",
}
WHOLE = Whole(
    (Part("a", 3.0), Part("b", math.inf, True, "x")),
    (Pair("a", Colour.BLUE),),
    {"a": 0.25},
    Range(1.0, 2.5),
    Colour.BLUE,
)


def read(kind, data):
    report = FaultReport()
    found = form_of(kind).read(data, "", report)
    return found, [str(fault) for fault in report.error([]).faults]


def test_data_become_the_object_and_the_object_the_data():
    assert read(Whole, DATA) == (WHOLE, [])
    assert write(WHOLE) == DATA


def test_defaults_are_left_out_or_written_as_asked():
    assert write(Part("a", secret="hidden")) == {"name": "a"}
    assert write(Part("a"), complete=True) == {"name": "a", "cost": 0, "status": "open", "said": None}


def test_all_faults_are_found_at_once_each_with_its_place_and_what_to_do():
    data = {
        "parts": [{"name": "a", "cots": 3}, 7, {"cost": "3"}, {"name": "b", "cost": True, "status": "opne"}],
        "pairs": [["a"], ["a", "green"]],
        "shares": {"a": 1.5},
        "of": {"range": [1], "options": []},
        "color": "red",
    }
    _, faults = read(Whole, data)
    assert faults == [
        "parts[0].cots: 'cots' is not a key; did you mean 'cost'? the keys here are name, cost, status, said",
        "parts[1]: 7 is not a mapping; give keys and values",
        "parts[2].cost: the text '3' is not a number; write 3, without quotes",
        "parts[2].name: it is missing; add the key 'name'",
        "parts[3].cost: true is not a number; give a number, or inf",
        "parts[3].status: 'opne' is none of the choices; did you mean open? use one of done, open",
        "pairs[0]: ['a'] has 1 entries; give [first, colour]",
        "pairs[1][1]: 'green' is none of the choices; use one of red, blue",
        "shares.a: 1.5 is not a probability; give a number from 0 to 1",
        "of: it has options and range; keep range, or options",
        "color: 'color' is not a key; did you mean 'colour'? the keys here are parts, pairs, shares, of, colour",
    ]


def test_what_could_be_read_is_there_with_stand_ins_for_the_rest():
    report = FaultReport()
    found = form_of(Whole).read({"parts": [7, {"name": "b", "cost": "x", "said": []}]}, "", report)
    assert found == Whole((Part("b", 0.0, said="unreadable"),))
    assert report.lacks("parts")
    assert report.lacks("parts[0].cost"), "the first that could be read is the second in the file"
    assert not report.lacks("parts[0].name")


def test_what_nothing_can_stand_in_for_is_unread():
    assert read(Part, {"cost": 3})[0] is UNREAD
    assert read(Part, [])[0] is UNREAD


def test_a_mapping_that_is_none_of_several_says_which_there_are():
    assert read(Whole, {"parts": [], "of": {}})[1] == ["of: it does not say what it is; give range, or options"]


def test_null_is_nothing_only_where_every_key_is_written():
    assert read(Part, {"name": "a", "said": None})[1] == [
        "said: null is neither text nor a number; give what is held to be true, null in quotes"
    ]
    assert load(Part, write(Part("a"), complete=True)) == Part("a")


acts = st.recursive(
    st.builds(Look, st.text(), st.floats(0)) | st.builds(Say, st.none() | st.text() | st.floats(-1e300, 1e300)),
    lambda inner: st.builds(
        Say, st.none(), st.lists(inner.filter(lambda a: isinstance(a, Say)), max_size=2).map(tuple)
    ),
    max_leaves=4,
)


@given(st.lists(acts, max_size=3).map(tuple), st.dictionaries(st.text(), st.text() | st.floats(-9, 9), max_size=3))
def test_what_was_dumped_is_loaded_as_it_was(some, named):
    book = Book("book/1", some, tuple(Named(*pair) for pair in named.items()))
    assert load(Book, dump(book)) == book


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "book: [] is not a mapping"),
        ({"format": "book/2", "acts": [], "named": {}}, "book.format: 'book/2' is none of the choices"),
        ({"format": "book/1", "acts": []}, "book.named: it is missing"),
        ({"format": "book/1", "acts": [{"kind": "sing"}], "named": {}}, "book.acts[0].kind: 'sing' is none of"),
        ({"format": "book/1", "acts": [{"kind": "look", "at": 3, "cost": 0}], "named": {}}, "at: 3 is not text"),
        ({"format": "book/1", "acts": [{"kind": "look", "at": "", "cost": -1}], "named": {}}, "-1 is less than zero"),
        ({"format": "book/1", "acts": [], "named": {"a": {"value": math.nan}}}, "book.named.a.value: nan is not"),
        ({"format": "book/1", "acts": [], "named": {}, "more": 1}, "book.more: 'more' is not a key"),
    ],
)
def test_forged_data_are_refused_with_their_place(data, said):
    with pytest.raises(InvalidData) as refused:
        load(Book, data, "book")
    assert said in str(refused.value)


def nested(depth):
    act = Say()
    for _ in range(depth):
        act = Say(parts=(act,))
    return act


@pytest.mark.parametrize(
    "act", [Look(3), Look("a", math.nan), Say(notes=object()), nested(2 * MOST_NESTED), nested(5000)]
)
def test_what_could_not_be_loaded_is_not_dumped(act):
    with pytest.raises(InvalidData):
        dump(act, Act)


def test_data_nested_too_deeply_are_refused():
    data: Any = {"what": None, "parts": [], "notes": None}
    for _ in range(200):
        data = {**data, "parts": [data]}
    with pytest.raises(InvalidData, match="nested"):
        load(Say, data)
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InvalidData, match="nested"):
        load(Act, {"kind": "say", "what": None, "parts": [], "notes": deep})


def test_the_schema_describes_keys_by_the_first_sentence_under_them():
    schema = form_of(Whole).schema()
    part = schema["properties"]["parts"]["items"]
    assert part["properties"]["cost"]["description"] == "What it costs; 0 unless given."
    assert list(part["properties"]) == ["name", "cost", "status", "said"]
    assert (part["required"], part["additionalProperties"]) == (["name"], False)
    number, records = schema["properties"]["of"]["anyOf"]
    assert number == {"type": "number"}
    assert records["anyOf"][0]["properties"]["range"]["description"] == "The lowest and the highest."
    assert schema["properties"]["pairs"]["items"]["minItems"] == 2
