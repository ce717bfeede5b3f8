import base64
import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser import browser, page_at, requests, said_wrong, until
from tests.lab.pouring.sample_recording import sample_recording, sample_story

from aquamend.recovery.acts import Charge, Receipt
from aquamend.story.page import story_html
from aquamend.story.story import Believed, Choice, Kind, Moment, Option, Story, Update
from aquamend_lab.pouring.recording import replay_html, without_story

VIEWER = Path(__file__).parents[3] / "viewer"
__all__ = ["browser"]
needs_viewer = pytest.mark.skipif(not VIEWER.is_dir(), reason="the sources of the viewer are not here")
HOSTILE = "</script><script>alert(1)</script><!-- <b>\"'&"


@pytest.fixture(scope="module")
def html() -> str:
    return replay_html([(sample_recording(), sample_story())])


@pytest.fixture(scope="module")
def path(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "replay.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(browser: Browser, path: Path) -> Iterator[Page]:
    with page_at(browser, path.as_uri()) as page:
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    """Return the open page, stopped at its start and left alone by earlier tests."""
    opened.evaluate("document.activeElement.blur()")
    if state(opened)["playing"] == "true":
        opened.keyboard.press("Space")
    scrub(opened, 0)
    return opened


def state(page: Page) -> dict[str, str]:
    """Return the data- attributes of the body."""
    return dict(page.evaluate("({...document.body.dataset})"))


def scrub(page: Page, time_s: float) -> None:
    page.evaluate(f"(bar => {{ bar.value = {time_s}; bar.dispatchEvent(new Event('input')) }})(scrub)")


def shown_moment(page: Page) -> str:
    return str(page.evaluate("document.querySelector('[aria-current] .title').textContent"))


def label_place(page: Page) -> str:
    redrawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(redrawn)
    return str(page.evaluate("document.querySelector('.label').style.transform"))


def test_the_page_opens_without_an_error_and_stands_still_at_its_start(browser: Browser, path: Path) -> None:
    with page_at(browser, path.as_uri(), reduced_motion="reduce") as page:
        assert said_wrong(page) == []
        assert state(page) | {"playing": "false", "webgl": "yes", "frame": "0", "moment": "-1"} == state(page)


def test_the_page_asks_the_network_for_nothing(page: Page, path: Path) -> None:
    assert [url for url in requests(page) if not url.startswith("data:")] == [path.as_uri()]


def test_the_policy_of_the_page_forbids_it_to_load_anything(page: Page) -> None:
    forbidden = page.evaluate("""new Promise(done => {
        addEventListener("securitypolicyviolation", event => done(event.effectiveDirective), {once: true});
        fetch("https://example.org/").then(() => done("nothing"), () => setTimeout(done, 3000, "nothing"));
    })""")
    assert forbidden == "connect-src"
    said_wrong(page).clear()
    requests(page).pop()


def test_the_picture_is_not_blank(page: Page) -> None:
    scrub(page, 20.5)
    label_place(page)
    assert distinct_colours(page, page.locator(".stage canvas").screenshot()) > 2000


def test_play_moves_the_frames_and_pause_stops_them(page: Page) -> None:
    page.click("#play")
    until(page, "Number(document.body.dataset.frame) >= 3")
    page.click("#play")
    until(page, "document.body.dataset.playing === 'false'")
    stopped = state(page)["frame"]
    label_place(page)
    assert state(page)["frame"] == stopped


def test_the_space_bar_plays_and_pauses_even_after_a_moment_was_clicked(page: Page) -> None:
    page.click(".moments li:nth-child(2) button")
    page.keyboard.press("Space")
    until(page, "document.body.dataset.playing === 'true' && Number(document.body.dataset.time) > 14")
    page.keyboard.press("Space")
    assert state(page)["playing"] == "false"


def test_a_faster_speed_covers_more_time(page: Page) -> None:
    page.evaluate("speed.value = '8', speed.dispatchEvent(new Event('change'))")
    page.keyboard.press("Space")
    until(page, "Number(document.body.dataset.time) > 4")
    page.keyboard.press("Space")
    page.evaluate("speed.value = '1', speed.dispatchEvent(new Event('change'))")


def test_playing_stops_at_every_moment_on_its_way(page: Page) -> None:
    scrub(page, 33.9)
    page.keyboard.press("Space")
    until(page, "document.body.dataset.moment === '4'")
    assert state(page)["time"] == "34.000"
    assert shown_moment(page) == "Scale B shows 26 g too much"


def test_at_the_end_it_stops_and_starts_again(page: Page) -> None:
    scrub(page, 79.9)
    page.keyboard.press("Space")
    until(page, "document.body.dataset.playing === 'false'")
    assert state(page)["time"] == "80.000"
    page.keyboard.press("Space")
    until(page, "Number(document.body.dataset.time) < 5")


def test_scrubbing_shows_the_frame_and_the_moment_of_that_time(page: Page) -> None:
    scrub(page, 40.04)
    assert state(page) | {"frame": "500", "time": "40.040", "moment": "6"} == state(page)
    assert shown_moment(page) == "Look B: the red cup stands there"


def test_clicking_a_moment_jumps_to_it_though_another_has_the_same_time(page: Page) -> None:
    page.click(".moments .alarm button")
    assert state(page) | {"time": "34.000", "frame": "425", "moment": "4"} == state(page)
    assert page.evaluate("document.querySelector('.caption').textContent") == "0:34 alarm Scale B shows 26 g too much"
    page.click(".moments .decided button")
    assert state(page) | {"time": "34.000", "moment": "5"} == state(page)


def test_the_arrow_keys_step_from_moment_to_moment(page: Page) -> None:
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert state(page) | {"moment": "1", "time": "14.000"} == state(page)
    page.keyboard.press("ArrowLeft")
    assert state(page) | {"moment": "0", "time": "3.000"} == state(page)
    page.keyboard.press("ArrowLeft")
    assert state(page) | {"moment": "-1", "time": "0.000"} == state(page)


def test_every_moment_is_still_told_in_the_list_once_the_script_has_run(page: Page) -> None:
    titles = page.evaluate("[...document.querySelectorAll('.moments .title')].map(e => e.textContent)")
    assert titles == [moment.title for moment in sample_story().moments]
    assert page.evaluate("[...document.querySelectorAll('.moment')].every(row => !row.hidden)")


def test_the_ticks_stand_where_their_moments_are(page: Page) -> None:
    kinds = page.evaluate("[...ticks.children].map(tick => [tick.className, parseFloat(tick.style.left)])")
    moments = sample_story().moments
    assert [kind for kind, _ in kinds] == [f"tick {moment.kind}" for moment in moments]
    assert [left for _, left in kinds] == pytest.approx([100 * moment.time / 80 for moment in moments], abs=0.01)


def test_the_posterior_is_the_one_in_force(page: Page) -> None:
    row_text = "row => row.children[0].textContent + ': ' + row.children[2].textContent"
    rows = f"[...document.querySelector('.explanations').children].map({row_text})"
    assert "nothing happened: 90%" in page.evaluate(rows)
    assert page.evaluate("document.querySelector('.when').textContent") == "before the alarm"
    scrub(page, 41)
    assert page.evaluate(rows)[0] == "A and B were swapped: 83%"
    assert page.evaluate(rows)[-1] == "all others together: 0.6%"
    assert page.evaluate("document.querySelector('.when').textContent") == "after look B: red"


def test_dragging_turns_the_scene_and_reset_turns_it_back(page: Page) -> None:
    page.click(".reset")
    before = label_place(page)
    page.mouse.move(300, 250)
    page.mouse.down()
    page.mouse.move(380, 250)
    page.mouse.up()
    assert label_place(page) != before
    page.click(".reset")
    assert label_place(page) == before


def test_every_vessel_carries_its_name(page: Page) -> None:
    assert page.evaluate("[...document.querySelectorAll('.label')].map(l => l.textContent)") == [
        "A",
        "B",
        "C",
        "pitcher",
    ]


def test_the_thumb_stands_where_the_ticks_are(page: Page) -> None:
    """A click on the bar below a tick is a click on its time, to half a pixel."""
    box = "(r => [r.x, r.y, r.width, r.height])(%s.getBoundingClientRect())"
    _, y, _, height = page.evaluate(box % "scrub")
    for index in (0, 6, 12):
        left, _, width, _ = page.evaluate(box % f"ticks.children[{index}]")
        page.mouse.click(left + width / 2, y + height / 2)
        bar = page.evaluate(box % "ticks")[2]
        beside = 5 * page.evaluate(f"Number(ticks.children[{index}].style.getPropertyValue('--beside'))")
        wanted = sample_story().moments[index].time + beside * 80 / bar
        assert float(state(page)["time"]) == pytest.approx(wanted, abs=0.75 * 80 / bar)


def test_the_replay_leads_back_to_the_page() -> None:
    html = replay_html([(sample_recording(seconds=2), sample_story())], page="index.html")
    assert '<a class="back" href="index.html">' in html
    assert 'class="back"' not in replay_html([(sample_recording(seconds=2), sample_story())]).split("<style>")[1]


def test_a_recording_that_comes_alone_has_no_empty_column(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "alone.html"
    path.write_text(replay_html([(sample_recording(seconds=2), without_story("alone"))]), encoding="utf-8")
    with page_at(browser, path.as_uri(), width=1300, height=800) as page:
        assert page.evaluate("document.querySelector('.stage').clientWidth") > 1200
        assert page.evaluate("getComputedStyle(document.querySelector('.story')).display") == "none"


SIDES = ("mine", "yours")
BELIEVED = (
    Believed(0.0, {"A": (-0.22, 0.0)}, {"A": (18.0, 18.0)}),
    Believed(30.0, {"A": (-0.22, 0.0)}, {"A": (18.0, 29.0)}),
)


@pytest.fixture(scope="module")
def two(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Return a page with two sides that part after the alarm: the second ends a little later."""
    common = sample_story()
    spent = (Receipt(Charge.SENSING, "look", 4.0, 40.0, 44.0), Receipt(Charge.RESIDUAL, "A", 10.0, 78.0, 78.0))
    mine = dataclasses.replace(common, policy="mine", beliefs=BELIEVED, receipts=spent)
    late = [*common.moments[:6], Moment(60.0, Kind.DECIDED, "Start over"), Moment(79.0, Kind.ENDED, "Too late")]
    yours = dataclasses.replace(common, policy="yours", moments=tuple(late), success=False, receipts=spent[:1])
    path = tmp_path_factory.mktemp("two") / "replay.html"
    recording = sample_recording()
    path.write_text(replay_html([(recording, mine), (recording, yours)]), encoding="utf-8")
    with page_at(browser, path.as_uri(), width=1300, height=900) as page:
        yield page


def of_sides(page: Page, part: str) -> list[str]:
    return list(page.evaluate(f"[...document.querySelectorAll('.side {part}')].map(e => e.textContent)"))


def test_two_policies_stand_side_by_side_under_one_clock(two: Page) -> None:
    assert said_wrong(two) == []
    assert [text.split()[0] for text in of_sides(two, ".who")] == list(SIDES)
    assert two.evaluate("document.querySelectorAll('.stage canvas').length") == 2
    assert two.evaluate("document.querySelectorAll('#scrub').length") == 1


def test_each_side_has_its_own_caption_and_both_share_their_past(two: Page) -> None:
    scrub(two, 20)
    assert len(set(of_sides(two, ".caption .title"))) == 1
    scrub(two, 61)
    assert of_sides(two, ".caption .title") == ["move B to the middle", "Start over"]
    assert of_sides(two, "[aria-current] .title") == ["move B to the middle", "Start over"]
    ticks = two.evaluate("ticks.children.length")
    assert ticks == len(sample_story().moments) + 2, "what both have in common is there once"


def test_each_side_adds_up_what_it_has_paid_so_far(two: Page) -> None:
    scrub(two, 42)
    assert of_sides(two, ".costs .sum") == ["Paid since the alarm: 2.0 s"] * 2
    scrub(two, 80)
    assert of_sides(two, ".costs .sum") == ["Paid since the alarm: 14.0 s", "Paid since the alarm: 4.0 s"]
    assert of_sides(two, ".costs .amount.residual") == ["residual 10.0", "residual 0.0"]


def test_a_verdict_comes_when_its_side_has_ended(two: Page) -> None:
    hidden = "[...document.querySelectorAll('.result')].map(e => e.hidden)"
    scrub(two, 78.5)
    assert two.evaluate(hidden) == [False, True]
    scrub(two, 80)
    assert two.evaluate(hidden) == [False, False]
    assert [text.split(maxsplit=1)[1] for text in of_sides(two, ".who")] == [
        "✓ recovered · 14.0 s",
        "✗ not recovered · 4.0 s",
    ]


def test_a_name_tells_the_level_believed_beside_the_real_one(two: Page) -> None:
    scrub(two, 31)
    label_place(two)
    assert of_sides(two, ".label")[0] == "A: believed 18 g · unseen: 29 g"
    scrub(two, 1)
    assert of_sides(two, ".label")[0] == "A: believed 18 g · unseen: 18 g"


def test_an_outline_is_named_where_the_cup_is_not(two: Page) -> None:
    hidden = "document.querySelector('.label.ghost').hidden"
    scrub(two, 1)
    label_place(two)
    assert two.evaluate(hidden) is True, "the cup stands where it is believed to"
    scrub(two, 40)
    label_place(two)
    assert two.evaluate(hidden) is False
    assert of_sides(two, ".label.ghost") == ["A is believed here"]


@pytest.mark.parametrize("width", [390, 1300])
def test_nothing_sticks_out_sideways(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    page.set_viewport_size({"width": 1000, "height": 640})


def test_without_webgl_the_page_says_so_and_still_tells_the_story(browser: Browser, path: Path) -> None:
    with page_at(browser, path.as_uri(), before="HTMLCanvasElement.prototype.getContext = () => null") as page:
        assert state(page)["webgl"] == "no"
        assert "WebGL is missing" in page.evaluate("document.querySelector('.trouble').innerText")
        page.click(".moments .alarm button")
        assert shown_moment(page) == "Scale B shows 26 g too much"
        page.keyboard.press("Space")
        until(page, "Number(document.body.dataset.moment) > 4")
        assert said_wrong(page) == []


def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    option = Option(HOSTILE, HOSTILE, math.inf, 0.0, None, None, True)
    choice = Choice(HOSTILE, HOSTILE, HOSTILE, HOSTILE, (option,))
    story = dataclasses.replace(
        sample_story(),
        title=HOSTILE, lead=HOSTILE, verdict=HOSTILE, unit=HOSTILE,
        moments=(Moment(1.0, Kind.DECIDED, HOSTILE, HOSTILE, choice=choice),),
        updates=(Update(0.0, HOSTILE, {HOSTILE: 0.5, "__proto__": 0.5}, {}),),
    )  # fmt: skip
    path = tmp_path / "hostile.html"
    path.write_text(replay_html([(sample_recording(seconds=2), story)]), encoding="utf-8")
    with page_at(browser, path.as_uri(), before="window.alerted = 0; window.alert = () => window.alerted++") as page:
        page.keyboard.press("ArrowRight")
        assert shown_moment(page) == page.evaluate("document.querySelector('h1').textContent") == HOSTILE
        assert page.evaluate("document.querySelector('.explanations').firstChild.firstChild.textContent") == HOSTILE
        assert page.evaluate("window.alerted") == 0
        assert said_wrong(page) == []


class _Balance(HTMLParser):
    """Collects tags that are closed out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in ("meta", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def test_every_tag_is_closed(html: str) -> None:
    balance = _Balance()
    balance.feed(html)
    assert (balance.open, balance.wrong) == ([], [])


def test_the_moments_can_be_read_without_a_script(html: str) -> None:
    for moment in sample_story().moments:
        assert f'<span class="title">{moment.title}</span>' in html


def test_the_same_recording_and_story_make_the_same_page(html: str) -> None:
    assert replay_html([(sample_recording(), sample_story())]) == html


def test_the_chosen_option_is_in_sight_however_dear_it_is() -> None:
    options = [Option(f"choice {i}", "", float(i), 0.0, None, None, i == 9) for i in range(10)]
    open_part, _, folded = with_options(options).partition("<details>")
    assert re.findall(r"choice \d", open_part) == ["choice 0", "choice 1", "choice 2", "choice 3", "choice 9"]
    assert re.findall(r"choice \d", folded) == [f"choice {i}" for i in range(4, 9)]


@pytest.mark.parametrize(("loss", "shown", "width"), [(math.inf, "∞", "100.0"), (0.0, "least", "0.0")])
def test_a_loss_without_end_and_no_loss_have_bars(loss: float, shown: str, width: str) -> None:
    page = with_options([Option("only", "", loss, 0.0, None, None, True)])
    assert f'style="width:{width}%"' in page
    assert f">{shown}</span>" in page


def test_a_moment_after_the_last_frame_is_still_on_the_bar() -> None:
    late = dataclasses.replace(sample_story(), moments=(Moment(9.0, Kind.ENDED, "late"),))
    assert story_in(replay_html([(sample_recording(seconds=2), late)]))["end_s"] == 9.0


def test_a_story_without_moments_and_posteriors_has_a_page() -> None:
    bare = dataclasses.replace(sample_story(), moments=(), updates=())
    found = story_in(replay_html([(sample_recording(seconds=2), bare)]))
    assert found | {"start_s": 0.0, "end_s": 2.0, "moments": []} == found
    assert found["sides"][0]["posteriors"] == []


def test_the_page_keeps_the_licence_of_three_js(html: str) -> None:
    assert "three.js authors" in html
    assert "The MIT License" in html


@needs_viewer
def test_the_built_script_belongs_to_its_sources(html: str) -> None:
    sources = sorted((path for path in (VIEWER / "src").rglob("*") if path.is_file()), key=str)
    parts = [source.read_bytes() for source in (VIEWER / "package-lock.json", *sources)]
    digest = hashlib.sha256(b"".join(parts)).hexdigest()
    assert digest in html, "run `make viewer`"
    assert digest in story_html(Story("t")), "run `make viewer`"


@needs_viewer
def test_the_lock_file_names_no_server() -> None:
    assert '"resolved"' not in (VIEWER / "package-lock.json").read_text(encoding="utf-8")


def distinct_colours(page: Page, png: bytes) -> int:
    """Return how many colours a picture has, counted by the browser itself."""
    source = f"data:image/png;base64,{base64.b64encode(png).decode('ascii')}"
    count = """async (source) => {
        const image = new Image();
        image.src = source;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const paint = canvas.getContext("2d");
        paint.drawImage(image, 0, 0);
        return new Set(new Uint32Array(paint.getImageData(0, 0, image.width, image.height).data.buffer)).size;
    }"""
    return int(page.evaluate(count, source))


def with_options(options: list[Option]) -> str:
    """Return the part of a page that shows the options of its only moment."""
    moment = Moment(1.0, Kind.DECIDED, "decided", choice=Choice("p", "s", "", "", tuple(options)))
    html = replay_html([(sample_recording(seconds=2), dataclasses.replace(sample_story(), moments=(moment,)))])
    return html[html.index('<div class="options">') : html.index("</ol>")]


def story_in(html: str) -> dict[str, object]:
    match = re.search(r'<script type="application/json" id="story">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return dict(json.loads(match[1]))
