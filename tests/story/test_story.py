"""A session's log and a decision become one kind of story, and every story a page that is whole, safe and true."""

import dataclasses
import json
import math
import re
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from html.parser import HTMLParser

import pytest

from aquamend.policies import AquaMend
from aquamend.policies.decision_report import decision_report
from aquamend.recovery import Charge, MemoryLog, Receipt, Session, drive
from aquamend.story.of_decision import decision_story
from aquamend.story.of_session import session_story, with_moments
from aquamend.story.page import comparison_html, story_html
from aquamend.story.story import Choice, Hindsight, Kind, Moment, Option, Story, in_hindsight, needless
from aquamend.testing import FakeRobot
from tests.story.sample_story import sample_story

HOSTILE = "\"'><script>alert(1)</script><img src=x onerror=alert(2)>&amp;\x00 ${x} {{ y }} " + "endless_name_" * 20
VOID = {"meta", "img", "br", "input", "link"}


@pytest.fixture
def log(cup_state):
    log = MemoryLog()
    robot = FakeRobot(cup_state(), truth="more", seed=2)
    drive(Session.begin(robot.alarm(), AquaMend(), log=log, name="cup"), robot)
    return log


def test_a_session_is_reported_with_what_was_believed_weighed_done_and_paid(log):
    story = session_story(log.read("cup"), "cup")
    assert [m.number for m in story.moments] == [m.number for _, m in with_moments(log.read("cup")) if m]
    assert story.updates[0].when == "to begin with"
    measured = [m for m in story.moments if m.kind is Kind.MEASURED]
    assert [u.when for u in story.updates[1:]] == [f"after {m.text.split(', cost')[0]}" for m in measured]
    for update in story.updates:
        assert math.fsum(update.explanations.values()) == pytest.approx(1.0)
    assert {s.name for s in story.statements} == set(story.updates[0].doubts)
    assert {edge[0] for edge in story.edges} <= {node.name for node in story.nodes}
    assert story.success is None, "nobody there knows the truth"


def test_a_recorded_decision_is_explained_as_decide_would(log, cup_state):
    story = session_story(log.read("cup"), "cup")
    first = next(m.choice for m in story.moments if m.choice is not None)
    made = decision_story(decision_report(cup_state(), AquaMend(), name="aquamend"), file="cup.yaml").moments[0].choice
    assert first == made
    assert first.options[0].loss == min(option.loss for option in first.options)
    assert sum(option.chosen for option in first.options) == 1
    assert math.fsum(a.probability for a in first.answers) == pytest.approx(1.0)
    assert first.flips == tuple(sorted(first.flips, key=lambda flip: abs(flip.at - flip.now)))


def test_a_policy_that_a_log_names_is_not_imported(log):
    entries = list(log.read("cup"))
    entries[0] = replace(entries[0], event=replace(entries[0].event, policy="no_such_module:Class"))
    assert session_story(entries).moments[1].choice.policy == "no_such_module:Class"


def test_what_a_person_is_asked_stands_in_the_story(cup_state):
    log, robot = MemoryLog(), FakeRobot(cup_state(), truth="more", seed=2)
    session = Session.begin(robot.alarm(), AquaMend(), log=log, name="cup")
    session.tick()
    assert "not over" in session_story(log.read("cup"), "cup").verdict.lower()


def test_the_story_of_a_decision_marks_what_comes_next(cup_state):
    report = decision_report(cup_state(), AquaMend(), name="aquamend")
    story = decision_story(report, file="cup.yaml")
    assert [node.name for node in story.nodes if "next" in node.marks] == [report.step.probe]
    assert story.verdict == f"Next, run probe {report.step.probe}."


def every_text(value, change):
    """Return a story with all of its texts changed, names everywhere alike."""
    match value:
        case Enum() | bool() | int() | float() | None:
            return value
        case str():
            return value if value.startswith("data:") else change(value)
        case dict():
            return {change(key): every_text(item, change) for key, item in value.items()}
        case tuple():
            return tuple(every_text(item, change) for item in value)
    assert is_dataclass(value)
    return replace(value, **{f.name: every_text(getattr(value, f.name), change) for f in fields(value)})


def hostile_story():
    return every_text(sample_story(), lambda text: f"{text} {HOSTILE}" if text else text)


VARIANTS = {
    "the sample": sample_story(),
    "a title": Story("t"),
    "an infinite receipt": replace(sample_story(), receipts=(Receipt(Charge.RESIDUAL, "spilt", math.inf),)),
    "infinite options": Story(
        "t",
        moments=(
            Moment(
                0.0,
                Kind.DECIDED,
                "d",
                choice=Choice("p", "s", "", "w", (Option("o", "", *[math.inf] * 2, None, None, True),)),
            ),
        ),
    ),
    "hostile text": hostile_story(),
}


class Tags(HTMLParser):
    """Collects tags; fails where they are not balanced."""

    def __init__(self, html):
        super().__init__()
        self.open, self.found = [], []
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


@pytest.mark.parametrize("story", VARIANTS.values(), ids=VARIANTS.keys())
def test_any_story_is_a_well_formed_page_that_asks_for_nothing(story):
    html = story_html(story, replay="replay.html")
    tags = Tags(html)
    addresses = [attrs[name] for _, attrs in tags.found for name in ("src", "href") if name in attrs]
    assert set(addresses) <= {"replay.html", "data:,"}
    data = json.loads(re.search(r'id="story">(.*?)</script>', html, re.DOTALL)[1])
    assert data["format"] == "aquamend-story/1"
    assert len(data["moments"]) == len(story.moments)
    assert [tag for tag, _ in tags.found].count("script") == 2


def test_hostile_text_adds_no_element():
    plain, hostile = Tags(story_html(sample_story())), Tags(story_html(hostile_story()))
    assert [tag for tag, _ in hostile.found] == [tag for tag, _ in plain.found]


def test_the_moments_can_be_read_without_a_script():
    html = story_html(sample_story()).split('<script type="application/json"')[0]
    for moment in sample_story().moments:
        assert moment.title in html.replace("&#39;", "'")


@pytest.mark.parametrize("link", ["https://example.org/replay.html", "//example.org/x", "javascript:alert(1)", " "])
def test_a_replay_elsewhere_is_refused(link):
    with pytest.raises(ValueError, match="relative link"):
        story_html(sample_story(), replay=link)


def test_a_comparison_leads_to_both_stories():
    cheap = dataclasses.replace(sample_story(), policy="cheap")
    dear = dataclasses.replace(sample_story(), policy="dear", success=False)
    html = comparison_html({"a.html": cheap, "b.html": dear}, replay="replay.html")
    assert "cheap versus dear" in html
    assert {attrs["href"] for tag, attrs in Tags(html).found if tag == "a"} == {"a.html", "b.html", "replay.html"}


def test_what_was_needless_is_said_and_what_hindsight_costs():
    known = Hindsight(("look at A",), ("draw back",), 0.2, 2.8, 19.7)
    assert needless(known).startswith("Needless in hindsight: look at A bore on nothing that was wrong; ")
    assert "would have cost 22.7 s" in in_hindsight(known, "s")
    assert needless(replace(known, needless_probes=(), needless_undone=())) == "Nothing was needless."
    assert "no supported way to finish" in in_hindsight(replace(known, recovery=math.inf), "s")
