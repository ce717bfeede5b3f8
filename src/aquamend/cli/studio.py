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
from aquamend.cli.output import refusing, write_page
from aquamend.cli.session import ADDRESSES, existing_log, log_at
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.recovery import Store
    from aquamend.serve.app import Pages
    from aquamend.serve.service import Service
    from aquamend.studio.start import Start

COMMANDS = {
    "studio": Command(
        "aquamend.cli.studio:studio", "Open a page on a problem or a robot's sessions.", needs_arguments=False
    )
}

SQLITE = b"SQLite format 3"
HERE, MANIFEST = "aquamend studio", "manifest.json"
PROCESSES = 2
"""How many wait for questions from the start: one decides while another looks for what would flip the decision."""


def studio(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE | JOURNAL | DATABASE | RUN]",
            help="A problem file, a robot's journal, postgresql://user@host/database of a fleet, or a run's folder.",
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

    with refusing(HERE if what is None or what.startswith(ADDRESSES) else what):  # an address may hold a password
        store = None if what is None else _store(what)
        if store is None and what is not None and Path(what).is_dir():
            _serve(_run_pages(Path(what)), port, show)
        elif store is not None:
            if out is not None:
                raise AquaMendError(
                    "--out writes a page of a problem file; for a session say `aquamend session show NAME --html FILE`"
                )
            _serve(pages(_sessions(policy, store), beside=_beside(store)), port, show, store=store)
        elif out is not None:
            _write(what, out, policy, states)
        else:
            _serve(pages(_problem(what, policy)), port, show)


def _run_pages(folder: Path) -> Callable[[Service], Pages]:
    """Return the pages of a benchmark's run, which an installed package knows how to make."""
    from aquamend.plugins import RUNS, added, found_at

    if not (folder / MANIFEST).is_file():
        raise AquaMendError(
            "no journal and no benchmark's run is in this folder; name a problem file, a journal or a run"
        )
    found = list(added(RUNS).values())
    if not found:
        raise AquaMendError(f"{folder} is a folder; install aquamend-lab to look at a run, or name a problem file")
    typer.echo(f"Making the report of {folder} …")
    made: Callable[[Service], Pages] = found_at(found[0])(folder)
    return made


def _store(what: str) -> str | None:
    """Return where sessions are kept: a journal, the only one in a folder, or the database of a fleet."""
    path = Path(what)
    if what.startswith(ADDRESSES) or _is_journal(path):
        return what
    inside = [str(file) for file in sorted(path.glob("*.journal")) if _is_journal(file)] if path.is_dir() else []
    if len(inside) > 1:
        raise AquaMendError(f"{len(inside)} journals are in {path}: {', '.join(inside)}; name one of them")
    return inside[0] if inside else None


def _is_journal(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(SQLITE)) == SQLITE


def _beside(store: str) -> Path | None:
    """Return the folder in which replays lie; a database has none."""
    return None if store.startswith(ADDRESSES) else Path(store).absolute().parent


def _text(what: str | None) -> str:
    from aquamend.codec.plain_data import text_at
    from aquamend.files.template import Outline, template

    return template(Outline()) if what is None else text_at(what)


def _problem(what: str | None, policy: str) -> Start:
    from aquamend.policies import policy_named
    from aquamend.studio.start import opened

    return opened(
        _text(what), file=what or "a problem to begin with", policy=policy_named(policy), name=policy, sessions=True
    )


def _sessions(policy: str, store: str) -> Start:
    from aquamend.studio.start import Start

    return Start(file="a fleet" if store.startswith(ADDRESSES) else store, policy=policy, sessions=True)


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


def _serve(made: Callable[[Service], Pages], port: int, show: bool, *, store: str | None = None) -> None:
    from aquamend.serve.running import Place, run_service
    from aquamend.serve.service import ServiceLimits

    def ready(address: str) -> None:
        typer.echo(f"The studio is at {address} (Ctrl-C ends it)")
        sys.stdout.flush()
        if show and sys.stdout.isatty():
            import webbrowser

            webbrowser.open(address)

    with _log(store) as opened:
        run_service(opened, Place(port=port), limits=ServiceLimits(warm=PROCESSES), more=made, ready=ready)


@contextmanager
def _log(store: str | None) -> Iterator[Store]:
    """Yield the sessions to look at; where none were named, a journal that goes when the studio does."""
    if store is not None:
        with existing_log(store, to_write=True) as opened:
            yield opened
        return
    with tempfile.TemporaryDirectory() as folder, log_at(str(Path(folder) / "studio.journal")) as opened:
        yield opened
