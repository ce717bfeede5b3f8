"""A demonstration tells every moment as it comes, and its story agrees with what was paid."""

from dataclasses import dataclass

import pytest

pytest.importorskip("mujoco")

from tests.worlds.pouring.episodes import alarmed

from aquamend.decision import Continue, Escalate, Reprobe
from aquamend.demonstration import telling
from aquamend.demonstration.scenes import demo_episode
from aquamend.demonstration.telling import Teller
from aquamend.demonstration.wording import step_name
from aquamend.errors import IllegalProbe
from aquamend.recovery import charged
from aquamend.replay.story import Kind
from aquamend.worlds.pouring.model import SAFE_STOP_LOSS
from aquamend.worlds.pouring.perturbations import SwapCups

PICTURE = b"\x89PNG\r\n\x1a\n"


@dataclass(frozen=True)
class LooksOnce:
    """Find the cups, then do what it was made for."""

    ending: object

    def next_step(self, state):
        return self.ending if state.evidence else Reprobe("localise")


@dataclass(frozen=True)
class NeverEnds:
    def next_step(self, state):
        return Reprobe("localise")


def told(policy):
    """Return what a demonstration of a swap leaves behind, and the moments in the order they were told."""
    heard = []
    episode = demo_episode("swap", "early", 0)
    teller = Teller(episode, policy, "mine", heard.append, {"scene": "swap"}, title="A swap")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(telling, "still", lambda simulation: PICTURE)
        return teller.tell(), heard


@pytest.fixture(scope="module")
def stopped():
    return told(LooksOnce(Escalate()))


def test_the_story_is_what_was_told(stopped):
    shown, heard = stopped
    assert list(shown.story.moments) == heard
    times = [moment.time_s for moment in heard]
    assert times == sorted(times)


def test_it_is_told_in_the_order_it_happens(stopped):
    kinds = [moment.kind for moment in stopped[1] if moment.kind is not Kind.ACTED]
    assert kinds == [
        Kind.BELIEVED, Kind.REVEALED, Kind.ALARM, Kind.DECIDED, Kind.PROBED, Kind.DECIDED, Kind.ENDED,
    ]  # fmt: skip


def test_every_decision_comes_with_its_alternatives(stopped):
    for moment in stopped[1]:
        if moment.kind is Kind.DECIDED:
            assert sum(option.chosen for option in moment.options) == 1
            assert len(moment.options) > 3


def test_turning_points_have_a_picture(stopped):
    for moment in stopped[1]:
        if moment.kind in (Kind.BELIEVED, Kind.REVEALED, Kind.ALARM, Kind.ENDED):
            assert moment.still == PICTURE


def test_posteriors_are_kept_from_before_the_alarm_on(stopped):
    posteriors = stopped[0].story.posteriors
    assert [p.after for p in posteriors[:2]] == ["before the alarm", "alarm"]
    assert posteriors[2].after.startswith(f"{step_name(Reprobe('localise'))}: ")
    assert len(posteriors) == 3
    assert all(sum(p.explanations.values()) == pytest.approx(1.0) for p in posteriors)


def test_statements_say_how_they_were_doubted_and_whether_they_failed(stopped):
    statements = {statement.name: statement for statement in stopped[0].story.statements}
    assert statements["target"].failed
    assert not statements["camera"].failed
    assert all(len(statement.doubt) == 3 for statement in statements.values())
    assert statements["target"].doubt[2] > 0.9 > statements["target"].doubt[0]


def test_a_safe_stop_is_no_success_and_costs_its_flat_loss(stopped):
    story = stopped[0].story
    assert not story.success
    assert "called a person" in story.verdict
    assert charged(story.ledger) == pytest.approx(SAFE_STOP_LOSS + 0.2)


def test_the_graph_shows_what_was_used_suspected_and_failed(stopped):
    marks = {node.name: node.marks for node in stopped[0].story.nodes}
    assert marks["localise"] == ("used",)
    assert "failed" in marks["target"]
    assert "suspected" in marks["target"]
    assert marks["pour"] == ("planned",)
    edges = {name for edge in stopped[0].story.edges for name in edge[:2]}
    assert edges <= set(marks)


def test_the_recording_covers_the_whole_story(stopped):
    shown, heard = stopped
    assert shown.recording.times_s[0] <= 0.1
    assert shown.recording.times_s[-1] == pytest.approx(heard[-1].time_s, abs=0.1)


def test_a_probe_that_may_not_run_any_more_is_refused(monkeypatch):
    monkeypatch.setattr(telling, "until_alarm", lambda *arguments, **options: alarmed(SwapCups("A", "B")))
    with pytest.raises(IllegalProbe, match="localise"):
        told(NeverEnds())


@pytest.mark.slow
def test_what_is_left_wrong_is_told_and_billed():
    shown, _ = told(LooksOnce(Continue()))
    assert not shown.story.success
    assert "target is still wrong" in shown.story.verdict
    assert ("residual", "target", 80.0) in {
        (receipt.charge, receipt.what, receipt.cost) for receipt in shown.story.ledger
    }
