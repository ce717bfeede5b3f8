"""``aquamend replay``: a saved recording as a page that plays it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aquamend.cli.output import Refusals
from aquamend.errors import AquaMendError

RecordingFile = Annotated[
    Path, typer.Argument(metavar="FILE", help="A recording (.aqr) that `aquamend demo` or a Recorder saved.")
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Where to write the page. Default: beside the recording.", show_default=False),
]


def replay(recording: RecordingFile, *, out: Out = None) -> None:
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
