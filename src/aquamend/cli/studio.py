"""``aquamend studio``: see a problem, turn its knobs, walk its plan, watch a robot live."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli.command import Command
from aquamend.cli.options import INTERRUPTED, PolicyName
from aquamend.cli.output import write_page
from aquamend.cli.refusals import Refusals
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.recovery import Journal
    from aquamend.serve.app import Pages
    from aquamend.serve.service import Service
    from aquamend.studio.start import Start

COMMANDS = {
    "studio": Command(
        "aquamend.cli.studio:studio", "Open a page on a problem or a robot's sessions.", needs_arguments=False
    )
}

RUNS = "aquamend.runs"
"""The group of entry points of packages that show runs."""
SQLITE = b"SQLite format 3"
HERE = "aquamend studio"


def studio(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE | JOURNAL | RUN]",
            help="A problem file, a journal with sessions, or the folder of a run.",
            show_default=False,
        ),
    ] = None,
    *,
    policy: PolicyName = "best",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: one that is free.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write one offline page here, with the likeliest states in it.", show_default=False
        ),
    ] = None,
    states: Annotated[int, typer.Option(metavar="N", min=1, max=2_000, help="How many, with --out.")] = 200,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Open a page on a problem or on a robot's sessions, served to this machine alone until it is interrupted.

    The page shows the graph, the decision and why, what each answer would lead to, knobs with the places at which the
    decision flips, the plan as a tree, the file beside it to be edited, and sessions as they go on. Without a file it
    opens a problem to begin with. No request leaves this machine.
    """
    from aquamend.studio.pages import pages

    refusals = Refusals()
    with refusals.at(what or HERE):
        if what is not None and Path(what).is_dir():
            _serve(_run_pages(Path(what)), port, show)
        elif what is not None and _is_journal(what):
            if out is not None:
                raise AquaMendError(
                    "--out writes a page of a problem file; for a session say `aquamend session show NAME --html FILE`"
                )
            _serve(pages(_sessions(policy)), port, show, journal=what)
        elif out is not None:
            _write(what, out, policy, states)
        else:
            _serve(pages(_problem(what, policy)), port, show)
    refusals.exit()


def _run_pages(folder: Path) -> Callable[[Service], Pages]:
    """Return the pages of a benchmark's run, which an installed package knows how to make."""
    from importlib.metadata import entry_points

    found = list(entry_points(group=RUNS))
    if not found:
        raise AquaMendError(f"{folder} is a folder; install aquamend-lab to look at a run, or name a problem file")
    typer.echo(f"Making the report of {folder} …")
    made: Callable[[Service], Pages] = found[0].load()(folder)
    return made


def _is_journal(what: str) -> bool:
    path = Path(what)
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _text(what: str | None) -> str:
    from aquamend.files.template import Outline, template
    from aquamend.files.text import text_at

    return template(Outline()) if what is None else text_at(what)


def _problem(what: str | None, policy: str) -> Start:
    from aquamend.policies import policy_named
    from aquamend.studio.start import opened

    return opened(
        _text(what), file=what or "a problem to begin with", policy=policy_named(policy), name=policy, sessions=True
    )


def _sessions(policy: str) -> Start:
    from aquamend.studio.start import Start

    return Start(policy=policy, sessions=True)


def _write(what: str | None, out: Path, policy: str, states: int) -> None:
    from aquamend.policies import policy_named
    from aquamend.studio.start import offline, studio_html

    try:
        start = offline(
            _text(what), file=what or "a problem to begin with", policy=policy_named(policy), name=policy, most=states
        )
    except KeyboardInterrupt:
        typer.echo("interrupted; nothing was written", err=True)
        raise typer.Exit(INTERRUPTED) from None
    write_page(out, studio_html(start))
    count = len(start.states or ())
    typer.echo(f"{count} states are in it; with {100 * start.beyond:.1f} % the policy comes to one that is not.")


def _serve(made: Callable[[Service], Pages], port: int, show: bool, *, journal: str | None = None) -> None:
    from aquamend.serve.running import Place, serve

    def ready(address: str) -> None:
        typer.echo(f"The studio is at {address} (Ctrl-C ends it)")
        sys.stdout.flush()
        if show and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(address)

    with _log(journal) as opened:
        serve(opened, Place(port=port), more=made, ready=ready)


@contextmanager
def _log(journal: str | None) -> Iterator[Journal]:
    """Yield the journal to look at; where there is none, one that goes when the studio does."""
    from aquamend.recovery import Journal

    with tempfile.TemporaryDirectory() as folder, Journal(journal or Path(folder) / "studio.journal") as opened:
        yield opened
