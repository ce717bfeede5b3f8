"""``aquamend serve``, ``studio`` and ``mcp``: decisions and sessions over HTTP, as a page, and as tools for agents."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli import Command
from aquamend.cli.options import INTERRUPTED, PolicyName, a_finite_number, an_argument, an_option
from aquamend.cli.output import Refusals, refusing, write_page
from aquamend.cli.session import ADDRESSES, DEFAULT, JournalFile, existing_log, log_at
from aquamend.errors import AquaMendError

if TYPE_CHECKING:
    from aquamend.recovery import Robot, Store
    from aquamend.serve.app import Pages
    from aquamend.serve.service import Service

COMMANDS = {
    "serve": Command("aquamend.cli.serve:serve", "Serve decisions and sessions over HTTP.", needs_arguments=False),
    "studio": Command(
        "aquamend.cli.serve:studio", "Open a page on a problem or a robot's sessions.", needs_arguments=False
    ),
    "mcp": Command("aquamend.cli.serve:mcp", "Serve recovery as tools for agents.", needs_arguments=False),
}

TOKEN = "AQUAMEND_TOKEN"
"""The variable of the environment that may hold the token."""
SQLITE = b"SQLite format 3"
HERE, MANIFEST = "aquamend studio", "manifest.json"
PROCESSES = 2
"""How many wait for questions from the start: one decides while another looks for what would flip the decision."""


def serve(
    files: Annotated[
        list[str], typer.Argument(metavar="[FILE]...", help="Problem files to keep, by their names without the ending.")
    ] = [],  # noqa: B006 - typer copies it
    *,
    journal: JournalFile = DEFAULT,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: one that is free.")] = 8642,
    token_file: Annotated[
        Path | None,
        an_option("FILE", f"A file with the token that requests must bear; without one, {TOKEN} of the environment."),
    ] = None,
    name: Annotated[
        list[str], typer.Option(metavar="HOST", help="Another name of this machine, as requests give it. Repeat it.")
    ] = [],  # noqa: B006
    certificate: Annotated[Path | None, an_option("FILE", "A certificate, to be asked by https.")] = None,
    key: Annotated[Path | None, an_option("FILE", "And its key.")] = None,
    seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.1, callback=a_finite_number, help="How long one question or decision may take."
        ),
    ] = 10.0,
    sessions: Annotated[int, typer.Option(metavar="N", min=1, help="Most sessions under way here at once.")] = 1_000,
) -> None:
    """Serve problems, decisions, sessions, approvals and live events over HTTP, until it is interrupted.

    Only programs on this machine can reach it unless another --host is given, which needs a token. What can be asked
    is described at /api/openapi.json and in docs/service.md.
    """
    with refusing("aquamend serve") as refusals:
        import logging

        from aquamend.codec.plain_text import text_at
        from aquamend.files import load_problem
        from aquamend.serve.running import Place, run_service
        from aquamend.serve.service import ServiceLimits

        logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
        logging.getLogger("uvicorn").setLevel(logging.WARNING)
        place = Place(host, port, name, _token(token_file), certificate, key)
        place.check()
        kept = {}
        for file in files:
            with refusals.at(file):
                load_problem(file)
                if (stem := Path(file).stem) in kept:
                    raise AquaMendError(f"there is another file of the name {stem!r}; rename one of them")
                kept[stem] = text_at(file)
        refusals.exit()
        with log_at(journal) as opened:
            limits = ServiceLimits(seconds=seconds, sessions=sessions)
            run_service(opened, place, limits=limits, kept=kept, ready=_say)


def _say(address: str) -> None:
    typer.echo(f"AquaMend listens at {address} (Ctrl-C ends it)")
    sys.stdout.flush()


def _token(file: Path | None) -> str | None:
    if file is None:
        return os.environ.get(TOKEN) or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AquaMendError(f"the token in {file} cannot be read: {error}") from None


def studio(
    what: Annotated[
        str | None,
        an_argument(
            "[FILE | JOURNAL | DATABASE | RUN]",
            "A problem file, a robot's journal, postgresql://user@host/database of a fleet, or a run's folder.",
        ),
    ] = None,
    *,
    policy: PolicyName = "best",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: one that is free.")] = 0,
    out: Annotated[
        Path | None, an_option("FILE", "Write one offline page here, with the likeliest states in it.")
    ] = None,
    states: Annotated[int, typer.Option(metavar="N", min=1, max=2_000, help="How many, with --out.")] = 200,
    show: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = True,
) -> None:
    """Open a page on a problem or on a robot's sessions, served to this machine alone until it is interrupted.

    The page shows the graph, the decision and why, what each answer would lead to, knobs with the places at which the
    decision flips, the plan as a tree, the file beside it to be edited, and sessions as they go on. Without a file it
    opens a problem to begin with. No request leaves this machine.
    """
    from aquamend.policies import policy_named
    from aquamend.studio.pages import pages
    from aquamend.studio.start import Start, opened

    with refusing(HERE if what is None or what.startswith(ADDRESSES) else what):  # an address may hold a password
        store = None if what is None else _store(what)
        if store is None and what is not None and Path(what).is_dir():
            _serve(_run_pages(Path(what)), port, show)
        elif store is not None:
            if out is not None:
                raise AquaMendError(
                    "--out writes a page of a problem file; for a session say `aquamend session show NAME --html FILE`"
                )
            remote = store.startswith(ADDRESSES)
            start = Start(file="a fleet" if remote else store, policy=policy, sessions=True)
            beside = None if remote else Path(store).absolute().parent  # where replays lie
            _serve(pages(start, beside=beside), port, show, store=store)
        elif out is not None:
            _write(what, out, policy, states)
        else:
            text, file = _text(what)
            start = opened(text, file=file, policy=policy_named(policy), name=policy, sessions=True)
            _serve(pages(start), port, show)


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


def _text(what: str | None) -> tuple[str, str]:
    """Return the text of a problem and what to call its file: of the one named, or of one to begin with."""
    from aquamend.cli.new import Outline, template
    from aquamend.codec.plain_text import text_at

    return (template(Outline()), "a problem to begin with") if what is None else (text_at(what), what)


def _write(what: str | None, out: Path, policy: str, states: int) -> None:
    from aquamend.policies import policy_named
    from aquamend.studio.start import offline, studio_html

    text, file = _text(what)
    try:
        start = offline(text, file=file, policy=policy_named(policy), name=policy, most=states)
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


def mcp(
    files: Annotated[
        list[str] | None,
        typer.Argument(metavar="[FILE]...", help="Problem files that agents may name, each by its name without .yaml."),
    ] = None,
    *,
    journal: JournalFile = DEFAULT,
    policy: PolicyName = "best",
    robot: Annotated[
        str | None,
        an_option(
            "MODULE:NAME",
            "Who does what is decided: an object or class of yours with measure and perform. Unless given, the "
            "agent does, and reports.",
        ),
    ] = None,
) -> None:
    """Serve recovery as tools of the Model Context Protocol, over standard input and output, until that is closed.

    Agents name problems and nothing else: no policy, no module and no path. Every fact is in the journal before the
    next thing is asked for, so that no act is asked for twice, whichever program dies.
    """
    from aquamend.cli.decide import make_policy
    from aquamend.files import load_problem

    refusals, problems = Refusals(), {}
    for file in files or []:
        with refusals.at(file):
            if (name := Path(file).stem) in problems:
                raise AquaMendError(f"two files are named {name!r}; give one of them another name")
            problems[name] = load_problem(file)
    refusals.exit()
    with refusing("aquamend mcp"):
        from aquamend.adapters.agents import Recoveries, server

        own = make_policy(policy)  # a name that is none is refused before anybody asks
        hands = None if robot is None else _robot(robot)
        with log_at(journal) as log:
            chooser = own if ":" in policy else policy
            server(Recoveries(problems, log, policy=chooser, robot=hands)).run("stdio")


def _robot(name: str) -> Robot:
    """Return a user's own robot: ``module:Class`` or ``module:object``."""
    from aquamend.plugins import made

    try:
        robot: Robot = made(name)
    except Exception as error:  # noqa: BLE001 - somebody's module may raise anything when it is imported
        raise AquaMendError(f"--robot {name}: {type(error).__name__}: {error}; name it as module:Class") from None
    if missing := [method for method in ("measure", "perform") if not callable(getattr(robot, method, None))]:
        raise AquaMendError(f"--robot {name} has no {missing[0]}; see docs/your-robot.md")
    return robot
