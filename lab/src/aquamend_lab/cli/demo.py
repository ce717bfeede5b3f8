"""``aquamend demo``, one scene of the pouring robot described while it runs and kept as a page; ``aquamend replay``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.options import INTERRUPTED
from aquamend.cli.output import Refusals, check_writable
from aquamend.errors import AquaMendError
from aquamend.story.in_terminal import StoryPrinter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aquamend_lab.pouring.mujoco.episode import Episode
    from aquamend_lab.pouring.telling import Shown

PAGE, REPLAY, RECORDING, JOURNAL = "index.html", "replay.html", "recording.aqr", "sessions.journal"
SIDES = ("first", "second")
"""What the files of two policies are called."""

Scene = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="What happens behind the robot's back: swap, add-water, drift, false-alarm, frozen, mixed-up; or a scene "
        "of a suite, as pouring-v3:20, which has its own stage.",
    ),
]
PolicyName = Annotated[
    str, typer.Option("--policy", metavar="NAME", help="Who decides; any policy by name, or `module:Class`.")
]
Versus = Annotated[
    str | None,
    typer.Option("--versus", metavar="NAME", help="A second policy, from the same alarm.", show_default=False),
]
Stage = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="When the alarm comes: t0 (all measured), early (pitcher lifted), late (beside the cup) or poured.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Another seed is another table.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the pages, the replay and the recordings.")]


def demo(
    *,
    scene: Scene = "swap",
    policy: PolicyName = "aquamend",
    versus: Versus = None,
    stage: Stage = "late",
    seed: Seed = 0,
    out: Out = Path("runs/demo"),
) -> None:
    """Watch a simulated robot measure three cups, act, hear an alarm and recover.

    The story appears here while it runs, with every alternative's expected loss. At the end it is kept as a page with
    pictures, the posterior, the graph and the ledger, and as a replay in three dimensions; both open in any browser,
    without a network. The session is kept in a journal as well, for the studio. With --versus a second policy recovers
    from the same alarm, and the two are shown side by side.
    """
    refusals = Refusals()
    try:
        check_writable(out, out)
        shown = _tell(scene, [policy] if versus is None else [policy, versus], stage, seed)
        _write(shown, out)
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing was written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except AquaMendError as error:
        refusals.about("aquamend demo", error)
        refusals.exit()
    else:
        pages = f"\nThe story with pictures:  {out / PAGE}\nThe replay in 3-D:        {out / REPLAY}"
        typer.echo(f"{pages}\nBoth in the studio:       aquamend studio {out}")


def _tell(scene: str, names: list[str], stage: str, seed: int) -> list[Shown]:
    from aquamend.policies import policy_named
    from aquamend_lab.pouring.telling import begin, go_on

    deciders, episode = [policy_named(name) for name in names], _episode(scene, stage, seed)
    printer, title = StoryPrinter(), f"The pouring robot: {scene}"
    against = " versus ".join(names)
    printer.begin(" · ".join(["The pouring robot", f"scene {scene}", f"{stage} alarm", f"seed {seed}", against]))
    beginning, shown = begin(episode, printer.moment), []
    for name, decider in zip(names, deciders, strict=True):
        if len(names) > 1:
            printer.section(f"{name} takes it from the alarm")
        facts = {"scene": scene, "alarm": stage, "seed": str(seed), "policy": name}
        shown.append(go_on(beginning, decider, name, printer.moment, facts=facts, title=title))
        printer.end(shown[-1].story)
    if len(names) > 1:
        printer.compare([each.story for each in shown])
    return shown


def _episode(scene: str, stage: str, seed: int) -> Episode:
    """Return a scene by name, or one of a suite's: ``pouring-v3:20``."""
    from aquamend_lab.benchmarks.pouring_suites import episode_of
    from aquamend_lab.pouring.phrases import demo_episode

    suite, colon, number = scene.partition(":")
    if not colon:
        return demo_episode(scene, stage, seed)
    if not number.isdecimal():
        raise AquaMendError(f"--scene is {scene!r}; after a suite's name give the number of its scene: {suite}:20")
    return episode_of(suite, seed, int(number))


def _write(shown: list[Shown], out: Path) -> None:
    from aquamend.files.atomic import write_atomically
    from aquamend_lab.pouring.recording import save_recording

    try:
        for file, content in _files(shown).items():
            write_atomically(out / file, content.encode())
        for name, each in zip([RECORDING] if len(shown) == 1 else [f"{s}.aqr" for s in SIDES], shown, strict=True):
            save_recording(out / name, each.recording)
        _keep_sessions(shown, out)
    except OSError as error:
        raise AquaMendError(f"{out} cannot be written ({error.strerror}); name another folder with --out") from None


def _keep_sessions(shown: list[Shown], out: Path) -> None:
    """Add the sessions to the folder's journal, as if each had just ended, and the replay of each beside it.

    Of the same demonstration at another time, only this one is kept.
    """
    from aquamend.files.atomic import write_atomically
    from aquamend.recovery import Journal
    from aquamend.studio.start import replay_file
    from aquamend_lab.pouring.recording import replay_html

    with Journal(out / JOURNAL) as journal:
        names = [_session_name(shown, place) for place in range(len(shown))]
        known = {line.name for line in journal.sessions()}
        journal.delete([name for name in dict.fromkeys(names) if name in known], force=True)
        for name, each in zip(names, shown, strict=True):
            shift = time.time() - each.session[-1].time
            for entry in each.session:
                journal.append(name, entry.number - 1, [entry.event], at=shift + entry.time)
            write_atomically(out / replay_file(name), replay_html([(each.recording, each.story)]).encode())


def _session_name(shown: list[Shown], place: int) -> str:
    """Return what a session is called: by its scene and its policy, and by its place where one policy plays twice."""
    facts = shown[place].story.facts
    twice = len({each.story.policy for each in shown}) < len(shown)
    name = "-".join(facts[key] for key in ("scene", "alarm", "seed", "policy"))
    return f"{name}-{place + 1}" if twice else name


def _files(shown: list[Shown]) -> Mapping[str, str]:
    """Return the pages by their names: one story and its replay, or two of them with a page that compares them."""
    from aquamend.story.page import comparison_html, story_html
    from aquamend_lab.pouring.recording import replay_html

    replay = replay_html([(each.recording, each.story) for each in shown], page=PAGE)
    if len(shown) == 1:
        return {PAGE: story_html(shown[0].story, replay=REPLAY), REPLAY: replay}
    pages = {f"{side}.html": each.story for side, each in zip(SIDES, shown, strict=True)}
    return {
        PAGE: comparison_html(pages, replay=REPLAY),
        **{file: story_html(story, replay=REPLAY, back=PAGE) for file, story in pages.items()},
        REPLAY: replay,
    }


RecordingFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A recording (.aqr) that `aquamend demo` or a Recorder saved.")
]
ReplayOut = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where to write the page. Default: beside the recording.", show_default=False),
]


def replay(recording: RecordingFile, *, out: ReplayOut = None) -> None:
    """Turn a recording into one self-contained page with the 3-D replay; it opens in any browser, offline.

    A recording holds poses alone. The page that `aquamend demo` writes has the decisions beside them as well.
    """
    from aquamend.files.atomic import write_atomically
    from aquamend_lab.pouring.recording import load_recording, replay_html, without_story

    refusals, page = Refusals(), out or recording.with_suffix(".html")
    try:
        poses = load_recording(recording)
        write_atomically(page, replay_html([(poses, without_story(recording.name))]).encode())
    except OSError as error:
        refusals.about("aquamend replay", AquaMendError(f"{page} cannot be written ({error.strerror}); use --out"))
    except AquaMendError as error:
        refusals.about("aquamend replay", error)
    refusals.exit()
    typer.echo(f"The replay in 3-D: {page}")
