"""The page that tells one recovery: complete, true to the ledger, safe with any text, whole with any story."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from tests.lab.replay.sample_story import EXPLANATIONS, picture, sample_story

from aquamend.recovery import Charge, Receipt
from aquamend.story.graph_layout import NARROW, WIDE, layout
from aquamend.story.ledger_table import outcome
from aquamend.story.losses_chart import MOST_OPTIONS, option_bars, option_parts
from aquamend.story.page import comparison_html, story_html
from aquamend.story.posterior_chart import MERGED_BELOW, bands, posterior_chart, spread
from aquamend.story.statement_table import doubt_steps
from aquamend.story.story import Hindsight, Kind, Moment, Option, Posterior, Story

VOID = {"meta", "img", "br", "hr", "input", "link"}
HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x00\ud800 ${x} " + "endless_name_" * 20
WRITTEN = HOSTILE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A page as its elements; fails on tags that are not balanced."""

    html: str
    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.feed(self.html)
        self.close()
        assert self.open == [], "left open"

    def handle_starttag(self, tag, attrs):
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(self.elements[-1])

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop().tag == tag

    def handle_data(self, data):
        for element in self.open:
            element.text += data

    def all(self, tag: str, style: str = "") -> list[Element]:
        return [
            e
            for e in self.elements
            if e.tag == tag and set(style.split()) <= set(e.attributes.get("class", "").split())
        ]

    @property
    def text(self) -> str:
        return self.all("body")[0].text


def every_text(value: Any, change: Callable[[str], str]) -> Any:
    """Return a story with all of its texts changed, names everywhere alike."""
    match value:
        case Enum() | bytes() | bool() | int() | float() | None:
            return value
        case str():
            return change(value)
        case dict():
            return {change(key): every_text(item, change) for key, item in value.items()}
        case tuple():
            return tuple(every_text(item, change) for item in value)
    assert is_dataclass(value)
    return replace(value, **{f.name: every_text(getattr(value, f.name), change) for f in fields(value)})


def with_options(*options: Option) -> Story:
    return replace(sample_story(), moments=(Moment(1.0, Kind.DECIDED, "choose", options=options),))


def option(name: str, loss: float, *, chosen: bool = False) -> Option:
    return Option(name, loss, sensing=0.0, rollback=loss, continuation=0.0, residual=0.0, chosen=chosen)


VARIANTS = {
    "the sample": sample_story(),
    "nothing at all": Story("t", "l", {}, (), (), (), (), (), (), "", success=False, verdict="v"),
    "no receipts": replace(sample_story(), ledger=()),
    "free receipts": replace(sample_story(), ledger=(Receipt(Charge.SENSING, "look", 0.0, 3.0, 3.0),), moments=()),
    "an infinite receipt": replace(
        sample_story(), ledger=(*sample_story().ledger, Receipt(Charge.RESIDUAL, "spilt", math.inf))
    ),
    "one posterior": replace(sample_story(), posteriors=sample_story().posteriors[:1]),
    "many posteriors": replace(sample_story(), posteriors=sample_story().posteriors * 8),
    "no options": replace(sample_story(), moments=tuple(replace(m, options=()) for m in sample_story().moments)),
    "free options": with_options(option("a", 0.0, chosen=True), option("b", 0.0)),
    "infinite options": with_options(option("a", math.inf, chosen=True), option("b", math.inf)),
    "no edges": replace(sample_story(), edges=()),
    "an edge from nowhere": replace(sample_story(), edges=(("?", "target", "inference"),)),
    "beliefs in a circle": replace(sample_story(), edges=(("target", "camera", "x"), ("camera", "target", "x"))),
    "hostile text": every_text(sample_story(), lambda text: f"{text} {HOSTILE}"),
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def any_story(request) -> Story:
    return request.param


def test_every_moment_statement_and_bill_is_told():
    story, page = sample_story(), Page(story_html(sample_story()))
    told = [story.title, story.lead, story.verdict, *story.facts, *story.facts.values(), *EXPLANATIONS[:8]]
    told += [text for moment in story.moments for text in (moment.title, moment.text)]
    told += [o.name for moment in story.moments for o in moment.options]
    told += [text for statement in story.statements for text in (statement.name, statement.value, *statement.support)]
    told += [text for node in story.nodes for text in (node.name, node.note)]
    told += [text for receipt in story.ledger for text in (receipt.what, outcome(receipt))]
    assert [text for text in told if text not in page.text] == []
    assert len(page.all("tr", "receipt")) == len(story.ledger)


def test_moments_are_told_in_the_order_of_time():
    story = replace(sample_story(), moments=tuple(reversed(sample_story().moments)))
    titles = [m.title for m in sample_story().moments if m.kind is not Kind.ACTED]
    page = Page(story_html(story)).all("ol", "story")[0].text
    assert sorted(titles, key=page.index) == titles


def test_bills_add_up_to_their_subtotals_and_these_to_the_total():
    page, ledger = Page(story_html(sample_story())), sample_story().ledger
    values = [float(e.attributes["value"]) for e in page.all("data") if "class" not in e.attributes]
    receipts, sums, total = values[: len(ledger)], values[len(ledger) : -1], values[-1]
    assert receipts == [receipt.cost for receipt in ledger]
    assert math.isclose(math.fsum(sums), math.fsum(receipts))
    assert total == float(page.all("data", "total-loss")[0].attributes["value"]) == math.fsum(receipts)


def test_any_story_is_a_well_formed_page(any_story):
    page = Page(story_html(any_story))
    assert [e.text for e in page.all("h2")][-1] == "What it cost"
    identities = [e.attributes["id"] for e in page.elements if "id" in e.attributes]
    assert len(set(identities)) == len(identities)


def test_any_story_is_drawn_with_finite_numbers(any_story):
    geometry = {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "width", "height", "d", "viewbox", "points", "style"}
    for element in Page(story_html(any_story)).elements:
        for name, value in element.attributes.items():
            if name in geometry:
                assert not re.search(r"nan|inf|e[+-]?\d", value, re.IGNORECASE), (element.tag, name, value)
                assert all(abs(float(n)) < 1e5 for n in re.findall(r"-?\d+\.?\d*", value))


def test_hostile_text_stays_text():
    plain, hostile = Page(story_html(sample_story())), Page(story_html(VARIANTS["hostile text"]))
    assert {e.tag for e in hostile.elements} <= {e.tag for e in plain.elements}
    assert {a for e in hostile.elements for a in e.attributes} <= {a for e in plain.elements for a in e.attributes}
    for moment in sample_story().moments:
        assert f"{moment.title} {WRITTEN}" in hostile.text
    story_html(VARIANTS["hostile text"]).encode("utf-8")


def test_the_page_asks_for_nothing_outside_itself(any_story):
    html = story_html(any_story, replay="replay.html")
    page = Page(html)
    addresses = [e.attributes[name] for e in page.elements for name in ("src", "href") if name in e.attributes]
    assert all(address == "replay.html" or address.startswith("data:image/png;base64,") for address in addresses)
    style = page.all("style")[0].text
    assert "@import" not in style
    assert re.findall(r"url\((?!#)", style) == []
    assert page.all("script") == []


def test_the_replay_is_linked_only_where_there_is_one():
    assert Page(story_html(sample_story())).all("a") == []
    assert [a.attributes["href"] for a in Page(story_html(sample_story(), replay="3d/a b.html")).all("a")] == [
        "3d/a b.html"
    ]


@pytest.mark.parametrize("link", ["https://example.org/replay.html", "//example.org/x", "javascript:alert(1)", " "])
def test_a_replay_elsewhere_is_refused(link):
    with pytest.raises(ValueError, match="relative link"):
        story_html(sample_story(), replay=link)


def test_a_failed_recovery_says_so():
    assert "✗ Not recovered" in Page(story_html(replace(sample_story(), success=False))).all("header")[0].text


def test_stills_are_in_the_page_with_their_size_and_a_description():
    stills = [moment for moment in sample_story().moments if moment.still]
    images = Page(story_html(sample_story())).all("img")
    assert len(images) == len(stills)
    for image, moment in zip(images, stills, strict=True):
        assert (image.attributes["width"], image.attributes["height"]) == ("240", "150")
        assert moment.title in image.attributes["alt"]


def test_plain_actions_in_a_row_share_one_line_and_others_do_not():
    acts = [Moment(float(i), Kind.ACTED, f"act {i}") for i in range(4)]
    acts[2] = replace(acts[2], still=picture((0.5,), ((1, 2, 3),)))
    page = Page(story_html(replace(sample_story(), moments=tuple(acts))))
    assert len(page.all("li", "moment acted plain")) == 2
    assert len(page.all("li", "moment acted pictured")) == 1


def test_parts_that_were_not_told_apart_are_one_undivided_part():
    whole = Option("start over", 44.0, sensing=1.0, rollback=None, continuation=20.0, residual=None, chosen=False)
    assert option_parts(whole) == (("sensing", 1.0), ("continuation", 20.0), ("undivided", 23.0))
    assert 'class="undivided"' in option_bars((whole,), "s")


def test_the_chosen_option_is_shown_even_where_many_are_cheaper():
    options = [option(f"option {i}.", float(i)) for i in range(MOST_OPTIONS + 5)]
    options[-1] = replace(options[-1], chosen=True)
    shown, folded = option_bars(options, "s").split("<details>")
    assert shown.count("<li") == MOST_OPTIONS + 1
    assert "✓ chosen" in shown
    assert "✓ chosen" not in folded
    assert folded.count("<li") == 4


def test_options_stand_in_the_order_of_their_expected_loss():
    text = option_bars((option("dear", 9.0), option("endless", math.inf), option("cheap", 1.0, chosen=True)), "s")
    assert text.index("cheap") < text.index("dear") < text.index("endless")


def test_explanations_that_are_never_likely_are_merged_and_no_probability_is_lost():
    posteriors = (Posterior(0.0, "prior", {"a": 0.5, "b": 0.47, "c": 0.01, "d": MERGED_BELOW}),) * 2
    stacked = bands(posteriors)
    assert [band.name for band in stacked] == ["a", "b", "2 others, never above 2%"]
    assert [sum(shares) for shares in zip(*(band.shares for band in stacked), strict=True)] == pytest.approx([1.0, 1.0])


def test_an_explanation_that_was_likely_once_keeps_its_name():
    first, last = Posterior(0.0, "prior", {"a": 0.97, "b": 0.03}), Posterior(1.0, "look", {"a": 1.0, "b": 0.0})
    assert [band.name for band in bands((first, last))] == ["a", "b"]


@pytest.mark.parametrize("wanted", [[], [5.0], [0.0, 0.0, 0.0], [99.0, 100.0, 100.0], [10.0, 11.0, 90.0, 91.0]])
def test_labels_keep_their_order_and_distance_within_the_chart(wanted):
    places = spread(wanted, apart=20.0, height=100.0)
    assert all(b - a >= 20.0 for a, b in pairwise(places))
    assert all(10.0 <= place <= 90.0 for place in places)


def test_doubt_that_is_unavailable_is_not_drawn_as_none():
    assert doubt_steps((0.0, 0.5), ("prior", "alarm")).count('class="doubt"') == 2
    steps = doubt_steps((None, 0.5), ("prior", "alarm"))
    assert steps.count('class="doubt"') == steps.count('class="gap"') == 1
    assert "prior: unavailable" in steps


def test_what_was_undone_is_marked_in_both_drawings():
    page = Page(story_html(sample_story()))
    undone = [node.name for node in sample_story().nodes if "undone" in node.marks]
    assert len(page.all("g", "node undone")) == 2 * len(undone)
    assert all(any(name in e.text for e in page.all("g", "node undone")) for name in undone)


@pytest.mark.parametrize("sheet", [WIDE, NARROW], ids=["wide", "narrow"])
def test_nodes_stand_apart_from_probes_to_actions_in_order(sheet):
    boxes = list(layout(sample_story(), sheet).boxes.values())
    columns = {kind: {b.column for b in boxes if b.node.kind == kind} for kind in ("probe", "belief", "action")}
    assert max(columns["probe"]) < min(columns["belief"]) <= max(columns["belief"]) < min(columns["action"])
    actions = [b for b in boxes if b.node.kind == "action"]
    assert [b.node for b in sorted(actions, key=lambda b: b.y)] == [
        n for n in sample_story().nodes if n.kind == "action"
    ]
    for a in boxes:
        assert a.x + a.width <= sheet.width
        for b in boxes:
            assert a is b or a.x + a.width < b.x or b.x + b.width < a.x or a.y + a.height < b.y or b.y + b.height < a.y


def test_only_bills_with_a_time_are_on_the_strip():
    page = Page(story_html(sample_story()))
    assert len(page.all("g", "primitive")) == sum(receipt.start_s is not None for receipt in sample_story().ledger)
    assert len(page.all("g", "primitive failed")) == 1


def test_no_page_says_that_the_shortest_bar_is_the_best() -> None:
    assert "shortest bar" not in story_html(sample_story())


def test_how_a_policy_chose_is_told_above_the_bars() -> None:
    option = Option("look", 3.0, 1.0, 1.0, 1.0, 0.0, chosen=True)
    moment = Moment(1.0, Kind.DECIDED, "decided", options=(option,), weighing="It plans further: 2.5 s.")
    html = story_html(replace(sample_story(), moments=(moment,)))
    assert html.index("It plans further: 2.5 s.") < html.index("Expected loss of every option")


def test_what_was_needless_and_hindsight_are_on_the_page() -> None:
    known = Hindsight(("look at A",), ("draw back",), 0.2, 2.8, 19.7)
    html = story_html(replace(sample_story(), hindsight=known))
    assert "look at A told of nothing" in html
    assert "called for it to draw back" in html
    assert "would have cost 22.7 s" in html
    nothing = replace(known, needless_probes=(), needless_undone=(), recovery=math.inf)
    html = story_html(replace(sample_story(), hindsight=nothing))
    assert "Nothing was needless." in html
    assert "no supported way to finish" in html


def test_a_comparison_draws_both_on_one_scale() -> None:
    cheap = replace(sample_story(), policy="cheap", ledger=(Receipt(Charge.SENSING, "look", 5.0),))
    dear = replace(sample_story(), policy="dear", ledger=(Receipt(Charge.ROLLBACK, "undo", 20.0),))
    html = comparison_html({"a.html": cheap, "b.html": dear}, replay="replay.html")
    assert re.findall(r'<rect class="(sensing|rollback)" x="0%" width="([\d.]+)%"', html)[:2] == [
        ("sensing", "25"), ("rollback", "100"),
    ]  # fmt: skip
    assert "cheap versus dear" in html
    assert 'href="a.html"' in html
    assert 'href="b.html"' in html


def test_a_number_reads_the_same_in_the_chart_and_beside_it() -> None:
    third = {"a": 0.245, "b": 0.245, "c": 0.51}
    html = posterior_chart([Posterior(0.0, "before the alarm", third)])
    assert html.count("25%") >= 4
    assert "24%" not in html
