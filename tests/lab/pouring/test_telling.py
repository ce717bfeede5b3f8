"""A demonstration tells every moment as it comes, and its story agrees with what was paid."""

import math

import pytest

pytest.importorskip("mujoco")

from tests.lab.pouring.scene_played import PICTURE, scene_played, without_pictures

from aquamend.policies import AquaMend
from aquamend.recovery import Charge, charged
from aquamend.story.story import Kind
from aquamend_lab.pouring import telling
from aquamend_lab.pouring.phrases import demo_episode


@pytest.fixture(scope="module")
def first():
    return scene_played()[0][0]


@pytest.fixture(scope="module")
def second():
    return scene_played()[0][1]


def test_the_stories_are_what_was_told(first, second):
    _, heard, prologue, _ = scene_played()
    own = len(first.story.moments) - prologue
    assert list(first.story.moments) == heard[: prologue + own]
    assert list(second.story.moments) == [*heard[:prologue], *heard[prologue + own :]]


def test_moments_come_in_the_order_of_time(first):
    times = [moment.time for moment in first.story.moments]
    assert times == sorted(times)


def test_it_is_reported_in_the_order_it_happens(first):
    kinds = [moment.kind for moment in first.story.moments if moment.kind is not Kind.ACTED]
    assert kinds == [
        Kind.BELIEVED, Kind.UNSEEN, Kind.ALARM, Kind.MEASURED, Kind.MEASURED, Kind.DECIDED, Kind.MEASURED, Kind.DECIDED,
        Kind.ENDED,
    ]  # fmt: skip


def test_an_action_is_reported_by_the_time_when_it_begins(first):
    retreat = next(m for m in first.story.moments if m.title == "Take the hand home")
    receipt = next(r for r in first.story.receipts if r.what == "take the hand home")
    assert retreat.time == receipt.start_s < receipt.end_s


def test_both_policies_have_the_same_past_bit_for_bit(first, second):
    prologue = scene_played()[2]
    assert first.story.moments[:prologue] == second.story.moments[:prologue]
    alarm = scene_played()[3].measured[-1].end_s
    frames = int((first.recording.times_s <= alarm).sum())
    assert frames > 20
    assert (first.recording.particles[:frames] == second.recording.particles[:frames]).all()


def test_a_reading_comes_with_what_was_declared(first):
    titles = [m.title for m in first.story.moments if m.kind is Kind.MEASURED]
    declared = {s.name: s.value for s in first.story.statements}
    assert titles[0].startswith("Finding the cups: ")
    assert titles[0].endswith("exchanged; all in place was expected")
    for title, cup in zip(titles[1:], "AB", strict=True):  # the alarm points at A
        assert title.startswith(f"Look at {cup}: ")
        assert title.endswith(f"{declared[f'quantity_{cup}']} g were declared")


def test_every_decision_comes_with_its_alternatives_and_the_real_reason(first):
    for moment in first.story.moments:
        if moment.kind is Kind.DECIDED:
            assert sum(option.chosen for option in moment.choice.options) == 1
            assert len(moment.choice.options) > 3
            assert "by its own rule" in moment.choice.why


def test_turning_points_have_a_picture(first):
    for moment in first.story.moments:
        if moment.kind in (Kind.BELIEVED, Kind.UNSEEN, Kind.ALARM, Kind.ENDED):
            assert moment.picture == PICTURE


def test_updates_are_kept_from_the_alarm_on(first):
    updates = first.story.updates
    assert updates[0].when == "after the alarm", "the model says what is so where an alarm has come, and nothing before"
    assert updates[1].when.startswith("after finding the cups: ")
    assert updates[2].when.startswith("after look at A: ")
    assert updates[3].when.startswith("after look at B: ")
    assert len(updates) == 4
    assert all(0.9 < sum(u.explanations.values()) <= 1.0 + 1e-9 for u in updates)
    assert [u.time for u in updates] == sorted(u.time for u in updates)


def test_statements_say_how_they_were_doubted_and_whether_they_were_wrong(first):
    statements = {statement.name: statement for statement in first.story.statements}
    assert sum(statements[f"binding_{cup}"].wrong for cup in "ABC") == 2
    assert not statements["target"].wrong, "the target is a cup, wherever it stands"
    wrong = next(s.name for s in statements.values() if s.wrong)
    assert first.story.updates[-1].doubts[wrong] > 0.9


def test_beliefs_are_kept_beside_what_is_so(first):
    beliefs = first.story.beliefs
    assert [b.time for b in beliefs] == sorted(b.time for b in beliefs)
    last, declared = beliefs[-1], {s.name: s.value for s in first.story.statements}
    for cup in "ABC":
        believed, really = last.levels_g[cup]
        assert believed == pytest.approx(float(declared[f"quantity_{cup}"]), abs=0.06)
        assert really == pytest.approx(believed, abs=3.0), "nobody added water"
    cups = {body.name: i for i, body in enumerate(first.recording.bodies)}
    off = [abs(first.recording.positions[-1, cups[f"cup_{cup}"], 0] - last.places_m[cup][0]) > 0.1 for cup in "ABC"]
    assert sum(off) == 2, "two cups were swapped, and the robot still believes them where they were"


def test_a_safe_stop_is_no_success_and_leaves_what_is_wrong(first):
    story = first.story
    assert not story.success
    assert "left the rest to a person" in story.verdict
    assert charged(story.receipts, Charge.RESIDUAL) == 40.0
    assert charged(story.receipts, Charge.SENSING) == pytest.approx(0.6)


def test_everything_that_was_paid_for_has_its_time(first):
    assert all(r.start_s is not None and r.end_s is not None for r in first.story.receipts)


def test_hindsight_knows_what_was_needless(first, second):
    early, later = first.story.hindsight, second.story.hindsight
    assert early.needless_probes == ("look at B",)
    assert later.needless_probes == early.needless_undone == later.needless_undone == ()
    assert early.loss == later.loss
    assert early.sensing == 0.4
    assert 0.0 <= early.recovery < 1.0, "nothing was done yet, so nothing has to be undone"
    assert 60 < early.finishing < 75, "nothing is executed: about a whole demonstration"


def test_the_graph_shows_what_was_used_suspected_and_failed(first):
    marks = {node.name: node.marks for node in first.story.nodes}
    assert marks["localise"] == marks["look_A"] == marks["look_B"] == ("used",)
    assert marks["pour"] == ("planned",)
    assert any("wrong" in marks[f"binding_{cup}"] for cup in "ABC")
    edges = {name for edge in first.story.edges for name in edge[:2]}
    assert edges <= set(marks)


def test_the_recording_covers_the_whole_story(first):
    assert first.recording.times_s[0] <= 0.1
    assert first.recording.times_s[-1] == pytest.approx(first.story.moments[-1].time, abs=0.1)


@pytest.mark.slow
def test_a_pour_is_reported_as_what_left_the_pitcher_and_has_a_picture(monkeypatch):
    without_pictures(monkeypatch)
    beginning = telling.begin(demo_episode("swap", "late", 0), lambda moment: None)
    shown = telling.go_on(beginning, AquaMend(), "aquamend", lambda moment: None, facts={}, title="A swap")
    pour = next(m for m in shown.story.moments if m.title == "Pour")
    assert "g left the pitcher over where" in pour.text
    assert pour.picture == PICTURE
    assert pour.picture_time > pour.time
    assert shown.story.success
    assert charged(shown.story.receipts) == pytest.approx(shown.story.moments[-1].time - beginning.measured[0].start_s)
    fitted, skills = beginning.alarmed.template.fitted, ("draw back", "move", "pour", "put back")
    needed = charged(shown.story.receipts, Charge.SENSING) + sum(fitted.seconds(skill) for skill in skills)
    assert shown.story.hindsight.loss == pytest.approx(needed), "nothing was needless, so the same at its usual speed"
    scatter = math.hypot(*(fitted.durations[skill].sd_s for skill in skills))
    assert abs(charged(shown.story.receipts) - needed) < 2.0 * scatter
