import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.lab.replay.browser import Browser, NoBrowser, Page, distinct_colours, find_browser
from tests.lab.replay.sample_recording import sample_recording, sample_story

from aquamend.recovery.receipts import Charge, Receipt
from aquamend.story.story import Believed, Kind, Moment, Option, Posterior, untold
from aquamend_lab.pouring.replay.replay_page import replay_html

READY = "document.body?.dataset.ready === 'yes'"
VIEWER = Path(__file__).parents[3] / "viewer"
needs_viewer = pytest.mark.skipif(not VIEWER.is_dir(), reason="the sources of the viewer are not here")
HOSTILE = "</script><script>alert(1)</script><!-- <b>\"'&"


@pytest.fixture(scope="module")
def html() -> str:
    return replay_html([(sample_recording(), sample_story())])


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    try:
        program = find_browser()
    except NoBrowser as error:
        pytest.skip(f"no browser to open the page in: {error}")
    with Browser(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def path(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "replay.html"
    path.write_text(html, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def opened(browser: Browser, path: Path) -> Iterator[Page]:
    with browser.page(path) as page:
        page.until(READY)
        yield page


@pytest.fixture
def page(opened: Page) -> Page:
    """Return the open page, stopped at its start and left alone by earlier tests."""
    opened.ask("document.activeElement.blur()")
    if opened.state()["playing"] == "true":
        opened.press(" ")
    scrub(opened, 0)
    return opened


def scrub(page: Page, time_s: float) -> None:
    page.ask(f"(bar => {{ bar.value = {time_s}; bar.dispatchEvent(new Event('input')) }})(scrub)")


def shown_moment(page: Page) -> str:
    return str(page.ask("document.querySelector('[aria-current] .title').textContent"))


def label_place(page: Page) -> str:
    redrawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.ask(redrawn)
    return str(page.ask("document.querySelector('.label').style.transform"))


def test_the_page_opens_without_a_complaint_and_stands_still_at_its_start(browser: Browser, path: Path) -> None:
    with browser.page(path, media={"prefers-reduced-motion": "reduce"}) as page:
        page.until(READY)
        assert page.complaints == []
        assert page.state() | {"playing": "false", "webgl": "yes", "frame": "0", "moment": "-1"} == page.state()


def test_the_page_asks_the_network_for_nothing(page: Page, path: Path) -> None:
    assert [url for url in page.requests if not url.startswith("data:")] == [path.as_uri()]


def test_the_policy_of_the_page_forbids_it_to_load_anything(page: Page) -> None:
    forbidden = page.ask("""new Promise(done => {
        addEventListener("securitypolicyviolation", event => done(event.effectiveDirective), {once: true});
        fetch("https://example.org/").then(() => done("nothing"), () => setTimeout(done, 3000, "nothing"));
    })""")
    assert forbidden == "connect-src"
    page.complaints.clear()
    page.requests.pop()


def test_the_picture_is_not_blank(page: Page) -> None:
    scrub(page, 20.5)
    label_place(page)
    assert distinct_colours(page, page.screenshot(".stage canvas")) > 2000


def test_play_moves_the_frames_and_pause_stops_them(page: Page) -> None:
    page.click("#play")
    page.until("Number(document.body.dataset.frame) >= 3")
    page.click("#play")
    page.until("document.body.dataset.playing === 'false'")
    stopped = page.state()["frame"]
    label_place(page)
    assert page.state()["frame"] == stopped


def test_the_space_bar_plays_and_pauses_even_after_a_moment_was_clicked(page: Page) -> None:
    page.click(".moments li:nth-child(2) button")
    page.press(" ")
    page.until("document.body.dataset.playing === 'true' && Number(document.body.dataset.time) > 14")
    page.press(" ")
    assert page.state()["playing"] == "false"


def test_a_faster_speed_covers_more_time(page: Page) -> None:
    page.ask("speed.value = '8', speed.dispatchEvent(new Event('change'))")
    page.press(" ")
    page.until("Number(document.body.dataset.time) > 4")
    page.press(" ")
    page.ask("speed.value = '1', speed.dispatchEvent(new Event('change'))")


def test_playing_stops_at_every_moment_on_its_way(page: Page) -> None:
    scrub(page, 33.9)
    page.press(" ")
    page.until("document.body.dataset.moment === '4'")
    assert page.state()["time"] == "34.000"
    assert shown_moment(page) == "Scale B shows 26 g too much"


def test_at_the_end_it_stops_and_starts_again(page: Page) -> None:
    scrub(page, 79.9)
    page.press(" ")
    page.until("document.body.dataset.playing === 'false'")
    assert page.state()["time"] == "80.000"
    page.press(" ")
    page.until("Number(document.body.dataset.time) < 5")


def test_scrubbing_shows_the_frame_and_the_moment_of_that_time(page: Page) -> None:
    scrub(page, 40.04)
    assert page.state() | {"frame": "500", "time": "40.040", "moment": "6"} == page.state()
    assert shown_moment(page) == "Look B: the red cup stands there"


def test_clicking_a_moment_jumps_to_it_though_another_has_the_same_time(page: Page) -> None:
    page.click(".moments .alarm button")
    assert page.state() | {"time": "34.000", "frame": "425", "moment": "4"} == page.state()
    assert page.ask("document.querySelector('.caption').textContent") == "0:34 alarm Scale B shows 26 g too much"
    page.click(".moments .decided button")
    assert page.state() | {"time": "34.000", "moment": "5"} == page.state()


def test_the_arrow_keys_step_from_moment_to_moment(page: Page) -> None:
    page.press("ArrowRight")
    page.press("ArrowRight")
    assert page.state() | {"moment": "1", "time": "14.000"} == page.state()
    page.press("ArrowLeft")
    assert page.state() | {"moment": "0", "time": "3.000"} == page.state()
    page.press("ArrowLeft")
    assert page.state() | {"moment": "-1", "time": "0.000"} == page.state()


def test_every_moment_is_still_told_in_the_list_once_the_script_has_run(page: Page) -> None:
    titles = page.ask("[...document.querySelectorAll('.moments .title')].map(e => e.textContent)")
    assert titles == [moment.title for moment in sample_story().moments]
    assert page.ask("[...document.querySelectorAll('.moment')].every(row => !row.hidden)")


def test_the_ticks_stand_where_their_moments_are(page: Page) -> None:
    kinds = page.ask("[...ticks.children].map(tick => [tick.className, parseFloat(tick.style.left)])")
    moments = sample_story().moments
    assert [kind for kind, _ in kinds] == [f"tick {moment.kind}" for moment in moments]
    assert [left for _, left in kinds] == pytest.approx([100 * moment.time_s / 80 for moment in moments], abs=0.01)


def test_the_posterior_is_the_one_in_force(page: Page) -> None:
    told = "row => row.children[0].textContent + ': ' + row.children[2].textContent"
    rows = f"[...document.querySelector('.explanations').children].map({told})"
    assert "nothing happened: 90%" in page.ask(rows)
    assert page.ask("document.querySelector('.when').textContent") == "before the alarm"
    scrub(page, 41)
    assert page.ask(rows)[0] == "A and B were swapped: 83%"
    assert page.ask(rows)[-1] == "3 others: 1.0%"
    assert page.ask("document.querySelector('.when').textContent") == "after look B: red"


def test_dragging_turns_the_scene_and_reset_turns_it_back(page: Page) -> None:
    page.click(".reset")
    before = label_place(page)
    for kind, x in (("mousePressed", 300), ("mouseMoved", 380), ("mouseReleased", 380)):
        page.call("Input.dispatchMouseEvent", type=kind, x=x, y=250, button="left", buttons=1, clickCount=1)
    assert label_place(page) != before
    page.click(".reset")
    assert label_place(page) == before


def test_every_vessel_carries_its_name(page: Page) -> None:
    assert page.ask("[...document.querySelectorAll('.label')].map(l => l.textContent)") == ["A", "B", "C", "pitcher"]


def test_the_thumb_stands_where_the_ticks_are(page: Page) -> None:
    """A click on the bar below a tick is a click on its time, to half a pixel."""
    box = "(r => [r.x, r.y, r.width, r.height])(%s.getBoundingClientRect())"
    _, y, _, height = page.ask(box % "scrub")
    for index in (0, 6, 12):
        left, _, width, _ = page.ask(box % f"ticks.children[{index}]")
        at = {"x": left + width / 2, "y": y + height / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            page.call("Input.dispatchMouseEvent", type=kind, **at)
        bar = page.ask(box % "ticks")[2]
        beside = 5 * page.ask(f"Number(ticks.children[{index}].style.getPropertyValue('--beside'))")
        wanted = sample_story().moments[index].time_s + beside * 80 / bar
        assert float(page.state()["time"]) == pytest.approx(wanted, abs=0.75 * 80 / bar)


def test_the_replay_leads_back_to_the_page() -> None:
    html = replay_html([(sample_recording(seconds=2), sample_story())], page="index.html")
    assert '<a class="back" href="index.html">' in html
    assert 'class="back"' not in replay_html([(sample_recording(seconds=2), sample_story())]).split("<style>")[1]


def test_a_recording_that_comes_alone_has_no_empty_column(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "alone.html"
    path.write_text(replay_html([(sample_recording(seconds=2), untold("alone"))]), encoding="utf-8")
    with browser.page(path, width=1300, height=800) as page:
        page.until(READY)
        assert page.ask("document.querySelector('.stage').clientWidth") > 1200
        assert page.ask("getComputedStyle(document.querySelector('.story')).display") == "none"


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
    mine = dataclasses.replace(common, policy="mine", beliefs=BELIEVED, ledger=spent)
    late = [*common.moments[:6], Moment(60.0, Kind.DECIDED, "Start over"), Moment(79.0, Kind.ENDED, "Too late")]
    yours = dataclasses.replace(common, policy="yours", moments=tuple(late), success=False, ledger=spent[:1])
    path = tmp_path_factory.mktemp("two") / "replay.html"
    recording = sample_recording()
    path.write_text(replay_html([(recording, mine), (recording, yours)]), encoding="utf-8")
    with browser.page(path, width=1300, height=900) as page:
        page.until(READY)
        yield page


def of_sides(page: Page, part: str) -> list[str]:
    return list(page.ask(f"[...document.querySelectorAll('.side {part}')].map(e => e.textContent)"))


def test_two_policies_stand_side_by_side_under_one_clock(two: Page) -> None:
    assert two.complaints == []
    assert [text.split()[0] for text in of_sides(two, ".who")] == list(SIDES)
    assert two.ask("document.querySelectorAll('.stage canvas').length") == 2
    assert two.ask("document.querySelectorAll('#scrub').length") == 1


def test_each_side_has_its_own_caption_and_both_share_their_past(two: Page) -> None:
    scrub(two, 20)
    assert len(set(of_sides(two, ".caption .title"))) == 1
    scrub(two, 61)
    assert of_sides(two, ".caption .title") == ["move B to the middle", "Start over"]
    assert of_sides(two, "[aria-current] .title") == ["move B to the middle", "Start over"]
    ticks = two.ask("ticks.children.length")
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
    assert two.ask(hidden) == [False, True]
    scrub(two, 80)
    assert two.ask(hidden) == [False, False]
    assert [text.split(maxsplit=1)[1] for text in of_sides(two, ".who")] == [
        "✓ recovered · 14.0 s",
        "✗ not recovered · 4.0 s",
    ]


def test_a_name_tells_the_level_believed_beside_the_real_one(two: Page) -> None:
    scrub(two, 31)
    label_place(two)
    assert of_sides(two, ".label")[0] == "A: believed 18 g · really 29 g"
    scrub(two, 1)
    assert of_sides(two, ".label")[0] == "A: believed 18 g · really 18 g"


def test_an_outline_is_named_where_the_cup_is_not(two: Page) -> None:
    hidden = "document.querySelector('.label.ghost').hidden"
    scrub(two, 1)
    label_place(two)
    assert two.ask(hidden) is True, "the cup stands where it is believed to"
    scrub(two, 40)
    label_place(two)
    assert two.ask(hidden) is False
    assert of_sides(two, ".label.ghost") == ["A is believed here"]


@pytest.mark.parametrize("width", [390, 1300])
def test_nothing_sticks_out_sideways(page: Page, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    page.call("Emulation.setDeviceMetricsOverride", **size)
    assert page.ask("document.documentElement.scrollWidth") <= width
    page.call("Emulation.setDeviceMetricsOverride", **size | {"width": 1000, "height": 640})


def test_without_webgl_the_page_says_so_and_still_tells_the_story(browser: Browser, path: Path) -> None:
    with browser.page(path, before="HTMLCanvasElement.prototype.getContext = () => null") as page:
        page.until(READY)
        assert page.state()["webgl"] == "no"
        assert "WebGL is missing" in page.ask("document.querySelector('.trouble').innerText")
        page.click(".moments .alarm button")
        assert shown_moment(page) == "Scale B shows 26 g too much"
        page.press(" ")
        page.until("Number(document.body.dataset.moment) > 4")
        assert page.complaints == []


def test_hostile_texts_stay_texts(browser: Browser, tmp_path: Path) -> None:
    option = Option(HOSTILE, math.inf, 0.0, None, 0.0, None, True)
    story = dataclasses.replace(
        sample_story(),
        title=HOSTILE, lead=HOSTILE, verdict=HOSTILE, unit=HOSTILE,
        moments=(Moment(1.0, Kind.DECIDED, HOSTILE, HOSTILE, (option,)),),
        posteriors=(Posterior(0.0, HOSTILE, {HOSTILE: 0.5, "__proto__": 0.5}),),
    )  # fmt: skip
    path = tmp_path / "hostile.html"
    path.write_text(replay_html([(sample_recording(seconds=2), story)]), encoding="utf-8")
    with browser.page(path, before="window.alerted = 0; window.alert = () => window.alerted++") as page:
        page.until(READY)
        page.press("ArrowRight")
        assert shown_moment(page) == page.ask("document.querySelector('h1').textContent") == HOSTILE
        assert page.ask("document.querySelector('.explanations').firstChild.firstChild.textContent") == HOSTILE
        assert page.ask("window.alerted") == 0
        assert page.complaints == []


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
    options = [Option(f"choice {i}", float(i), 0.0, None, 0.0, None, i == 9) for i in range(10)]
    open_part, _, folded = with_options(options).partition("<details>")
    assert re.findall(r"choice \d", open_part) == ["choice 0", "choice 1", "choice 2", "choice 3", "choice 9"]
    assert re.findall(r"choice \d", folded) == [f"choice {i}" for i in range(4, 9)]


@pytest.mark.parametrize(("loss", "shown", "width"), [(math.inf, "∞", "100.0"), (0.0, "0.0", "0.0")])
def test_a_loss_without_end_and_no_loss_have_bars(loss: float, shown: str, width: str) -> None:
    page = with_options([Option("only", loss, 0.0, None, 0.0, None, True)])
    assert f'style="width:{width}%"' in page
    assert f">{shown}</span>" in page


def test_a_moment_after_the_last_frame_is_still_on_the_bar() -> None:
    late = dataclasses.replace(sample_story(), moments=(Moment(9.0, Kind.ENDED, "late"),))
    assert story_in(replay_html([(sample_recording(seconds=2), late)]))["end_s"] == 9.0


def test_a_story_without_moments_and_posteriors_has_a_page() -> None:
    bare = dataclasses.replace(sample_story(), moments=(), posteriors=())
    found = story_in(replay_html([(sample_recording(seconds=2), bare)]))
    assert found | {"start_s": 0.0, "end_s": 2.0, "moments": []} == found
    assert found["sides"][0]["posteriors"] == []


def test_the_page_keeps_the_licence_of_three_js(html: str) -> None:
    assert "three.js authors" in html
    assert "The MIT License" in html


@needs_viewer
def test_the_built_script_belongs_to_its_sources(html: str) -> None:
    sources = [VIEWER / "package-lock.json", *sorted((VIEWER / "src").iterdir(), key=lambda path: path.name)]
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    assert digest in html, "run `npm run build` in viewer/"


@needs_viewer
def test_the_lock_file_names_no_server() -> None:
    assert "://" not in (VIEWER / "package-lock.json").read_text(encoding="utf-8")


def with_options(options: list[Option]) -> str:
    """Return the part of a page that shows the options of its only moment."""
    moment = Moment(1.0, Kind.DECIDED, "decided", options=tuple(options))
    html = replay_html([(sample_recording(seconds=2), dataclasses.replace(sample_story(), moments=(moment,)))])
    return html[html.index('<div class="options">') : html.index("</ol>")]


def story_in(html: str) -> dict[str, object]:
    match = re.search(r'<script type="application/json" id="story">(.*?)</script>', html, re.DOTALL)
    assert match is not None
    return dict(json.loads(match[1]))
