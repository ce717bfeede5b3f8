"""``aquamend demo``: one scene of the pouring robot, told while it runs, and kept as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.bench import INTERRUPTED
from aquamend.cli.complaints import Complaints
from aquamend.cli.story_text import StoryPrinter
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.demonstration.telling import Shown

PAGE, REPLAY, RECORDING = "index.html", "replay.html", "recording.aqr"

Scene = Annotated[
    str, typer.Option(metavar="NAME", help="What happens behind the robot's back: swap, add-water, drift, false-alarm.")
]
PolicyName = Annotated[
    str, typer.Option("--policy", metavar="NAME", help="Who decides; any policy by name, or `module:Class`.")
]
Stage = Annotated[
    str, typer.Option(metavar="NAME", help="When the alarm comes: early, before the pour, or late, after it.")
]
Seed = Annotated[int, typer.Option(min=0, help="Another seed is another table.")]
Out = Annotated[Path, typer.Option(metavar="DIR", help="Folder for the page, the replay and the recording.")]


def demo(
    *,
    scene: Scene = "swap",
    policy: PolicyName = "aquamend",
    stage: Stage = "early",
    seed: Seed = 0,
    out: Out = Path("runs/demo"),
) -> None:
    """Watch a simulated robot measure three cups, act, hear an alarm and recover.

    The story is told here while it runs, with every alternative's expected loss. At the end it is kept as a page with
    pictures, the posterior, the graph and the ledger, and as a replay in three dimensions; both open in any browser,
    without a network.
    """
    complaints = Complaints()
    try:
        shown = _tell(scene, policy, stage, seed)
        _write(shown, out)
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing was written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except AquaMendError as error:
        complaints.about("aquamend demo", error)
        complaints.exit()
    else:
        typer.echo(f"\nThe story with pictures:  {out / PAGE}\nThe replay in 3-D:        {out / REPLAY}")


def _tell(scene: str, policy: str, stage: str, seed: int) -> Shown:
    from aquamend.demonstration.scenes import demo_episode
    from aquamend.demonstration.telling import begin, go_on
    from aquamend.policies import policy_named

    decider, episode = policy_named(policy), demo_episode(scene, stage, seed)
    facts = {"scene": scene, "alarm": stage, "seed": str(seed), "policy": policy}
    printer = StoryPrinter()
    printer.begin(
        " · ".join(["The pouring robot", f"scene {scene}", f"{stage} alarm", f"seed {seed}", f"policy {policy}"])
    )
    beginning = begin(episode, printer.moment)
    shown = go_on(beginning, decider, policy, printer.moment, facts=facts, title=f"The pouring robot: {scene}")
    printer.end(shown.story)
    return shown


def _write(shown: Shown, out: Path) -> None:
    from aquamend.records import write_atomically
    from aquamend.replay.page import story_html
    from aquamend.replay.recording import save_recording
    from aquamend.replay.replay_page import replay_html

    try:
        save_recording(out / RECORDING, shown.recording)
        write_atomically(out / REPLAY, replay_html(shown.recording, shown.story).encode())
        write_atomically(out / PAGE, story_html(shown.story, replay=REPLAY).encode())
    except OSError as error:
        raise AquaMendError(f"{out} cannot be written ({error.strerror}); name another folder with --out") from None
