"""``aquamend session``: recoveries kept in a journal: listed, shown, watched, answered, exported and deleted."""

from __future__ import annotations

import getpass
import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from aquamend.cli import Command
from aquamend.cli.options import (
    INTERRUPTED,
    AsJson,
    PageFile,
    PolicyName,
    StoryFile,
    a_finite_number,
    an_argument,
    an_option,
)
from aquamend.cli.output import print_json, print_text, refusing, write_story, write_text
from aquamend.errors import AquaMendError, BadJournal

if TYPE_CHECKING:
    from aquamend.adapters.postgres import PostgresLog
    from aquamend.recovery import Journal, Recovery, Store
    from aquamend.recovery.events import Entry

COMMANDS = {"session": Command("aquamend.cli.session:session", "Read the journal of a robot's recoveries.")}

session = typer.Typer(
    help="Read the sessions in a journal: what was believed, why each step was taken, what it cost, what is in doubt.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

JournalFile = Annotated[
    str,
    typer.Option(
        "--journal",
        metavar="FILE|ADDRESS",
        envvar="AQUAMEND_JOURNAL",
        help="The journal that the robot writes, or postgresql://user@host/database of a fleet.",
    ),
]
DEFAULT = "aquamend.journal"
ADDRESSES = ("postgresql://", "postgres://")
"""How the address of a fleet's database begins."""
Name = Annotated[str, an_argument("SESSION", "Its name, or the beginning of it.")]

HERE = "aquamend session"


@session.command("list", short_help="List the sessions.")
def list_sessions(*, journal: JournalFile = DEFAULT, as_json: AsJson = False) -> None:
    """List the sessions of a journal, the latest last: how each stands, and what it has cost so far."""
    from aquamend.story.in_terminal import print_sessions

    with refusing(HERE), existing_log(journal) as opened:
        lines = opened.sessions()
        if as_json:
            for line in lines:
                print_json(line.to_data())
        else:
            print_text(lambda console: print_sessions(console, lines))


@session.command(short_help="Show a session as a story.")
def show(
    name: Name,
    *,
    journal: JournalFile = DEFAULT,
    last: Annotated[int | None, typer.Option(metavar="N", min=1, help="Show only the last N lines.")] = None,
    html: PageFile = None,
    story: StoryFile = None,
    as_json: AsJson = False,
) -> None:
    """Show a session as a story, here or as a page: what was believed, why each step was taken, what it cost.

    Also what is in doubt, who was asked, and what they allowed or refused. Times are in UTC.
    """
    from aquamend.story.in_terminal import print_session
    from aquamend.story.of_session import moment_line, session_story, with_moments

    with refusing(HERE), existing_log(journal) as opened:
        full = _named(opened, name)
        with _making_sense(opened, full):
            entries = list(opened.read(full))
            whole = session_story(entries, full) if html or story else None
            moments = list(with_moments(entries))
            now = _recovery(entries, full)
        if whole is not None:
            write_story(whole, page=html, data=story)
        elif as_json:
            for entry, moment in moments[-(last or 0) :]:
                print_json(moment_line(full, entry, moment))
        else:
            chosen = [moment for _, moment in moments if moment is not None][-(last or 0) :]
            print_text(lambda console: print_session(console, chosen, now, entries, _asked_for(opened.place)))


@session.command(short_help="Follow a session that is under way.")
def watch(
    name: Name,
    *,
    journal: JournalFile = DEFAULT,
    every: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.01, callback=a_finite_number, help="How often to look.")
    ] = 0.2,
    as_json: AsJson = False,
) -> None:
    """Tell a session as it goes on, event by event, until it has ended; Ctrl-C leaves it to itself."""
    from aquamend.recovery import followed
    from aquamend.story.in_terminal import print_moments
    from aquamend.story.of_session import act_begins, moment_line, with_moments

    try:
        with refusing(HERE), existing_log(journal) as opened:
            full = _named(opened, name)
            with _making_sense(opened, full):
                began = None
                for entry, moment in with_moments(followed(opened, full, poll_s=every)):
                    began = entry.time if began is None else began
                    if as_json:
                        print_json(moment_line(full, entry, moment))
                    elif shown := moment or act_begins(entry, began):
                        print_text(partial(print_moments, moments=[shown], began=began))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None


@session.command(short_help="Answer a session that waits for a person.")
def approve(
    name: Name,
    *,
    journal: JournalFile = DEFAULT,
    token: Annotated[str, an_option("QUESTION", "Which question, as `session show` says.")] = "",
    refuse: Annotated[bool, typer.Option("--refuse", help="Do not allow it.")] = False,
    by: Annotated[str, an_option("WHO", "Who answers; you, unless said.")] = "",
    note: Annotated[str, typer.Option(metavar="TEXT", help="What else is to be known.")] = "",
) -> None:
    """Allow what a session waits for, or refuse it; the robot goes on by itself once it reads the answer."""
    from aquamend.recovery import approve as answered

    with refusing(HERE), existing_log(journal, to_write=True) as opened:
        full = _named(opened, name)
        with _making_sense(opened, full):
            now = _recovery(list(opened.read(full)), full)
        if now.asked is not None and not token:
            said = f"{now.asked} ({now.asked.reason})"
            raise AquaMendError(f"{full} asks: {said}; to answer that question, add --token {now.asked.token}")
        answered(opened, full, token=token, granted=not refuse, by=by or getpass.getuser(), note=note)
        typer.echo(f"{full}: {'refused' if refuse else 'allowed'}: {now.asked}")


@session.command(short_help="Say what became of an act in doubt.")
def settle(
    name: Name,
    *,
    journal: JournalFile = DEFAULT,
    done: Annotated[
        bool | None, typer.Option("--done/--not-done", help="Whether it was done, all of it.", show_default=False)
    ] = None,
    by: Annotated[str, an_option("WHO", "Who says so; you, unless said.")] = "",
    note: Annotated[str, typer.Option(metavar="TEXT", help="What else is to be known.")] = "",
) -> None:
    """Say what became of an act of which the robot could not tell, having made sure that nothing moves any more."""
    from aquamend.recovery import settle as settled

    with refusing(HERE), existing_log(journal, to_write=True) as opened:
        full = _named(opened, name)
        with _making_sense(opened, full):
            act = _recovery(list(opened.read(full)), full).in_doubt
        if act is not None and done is None:
            raise AquaMendError(f"{full}: say --done or --not-done of what is in doubt: {act}")
        settled(opened, full, done=bool(done), by=by or getpass.getuser(), note=note)
        typer.echo(f"{full}: {'done' if done else 'not done'}: {act}")


@session.command(short_help="Say what another policy would have done instead.")
def instead(
    name: Name, *, policy: PolicyName = "best", journal: JournalFile = DEFAULT, as_json: AsJson = False
) -> None:
    """Follow another policy through a session, with the answers that were recorded in it.

    Where the policy asks for something that nobody measured, the record ends, and so does the comparison.
    """
    from aquamend.policies import policy_named
    from aquamend.story.of_session import done_instead, instead_data, instead_text

    with refusing(HERE), existing_log(journal) as opened:
        full = _named(opened, name)
        with _making_sense(opened, full):
            happened = _recovery(list(opened.read(full)), full)
        other = done_instead(happened, policy_named(policy))
        if as_json:
            print_json(instead_data(happened, other, policy))
        else:
            print_text(lambda console: console.print(instead_text(happened, other, policy)))


@session.command(short_help="Write sessions as JSON Lines.")
def export(
    names: Annotated[list[str], typer.Argument(metavar="[SESSION]...", help="Which; all unless named.")] = [],  # noqa: B006
    *,
    journal: JournalFile = DEFAULT,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here, all or nothing; to standard output unless given.")
    ] = None,
    mcap: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write one session here, as an MCAP file, in place of JSON.")
    ] = None,
) -> None:
    """Write every event of sessions as one line of JSON, numbers exactly as they were recorded."""
    from aquamend.recovery.plain import line_to_data, to_json

    with refusing(HERE), existing_log(journal) as opened:
        chosen = [_named(opened, name) for name in names] or [line.name for line in opened.sessions()]
        if mcap is not None:
            _record(opened, chosen, mcap, also=out)
            return
        lines = (to_json(line_to_data(name, entry)) + "\n" for name in chosen for entry in opened.read(name))
        if out is None:
            for line in lines:
                typer.echo(line, nl=False)
        else:
            write_text(out, "".join(lines))


def _record(journal: Store, chosen: list[str], path: Path, *, also: Path | None) -> None:
    from aquamend.adapters.recordings import write_recording

    if len(chosen) != 1 or also is not None:
        raise AquaMendError(f"--mcap writes one session, and nothing else; name it, without --out: {chosen[:5]}")
    write_recording(path, journal, chosen[0])
    typer.echo(f"{chosen[0]}: written to {path}")


@session.command(short_help="Delete sessions that have ended.")
def delete(
    names: Annotated[list[str], typer.Argument(metavar="[SESSION]...", help="Their whole names.")] = [],  # noqa: B006
    *,
    journal: JournalFile = DEFAULT,
    before: Annotated[
        str, typer.Option(metavar="DATE", help="All that ended before this moment (2026-01-31, 2026-01-31T12:00), UTC.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Also those that have not ended.")] = False,
) -> None:
    """Delete sessions with all their events, all that are meant or none; sessions that have not ended are kept."""
    with refusing(HERE):
        if bool(names) == bool(before):
            raise AquaMendError("name sessions, or give a date with --before")
        moment = _moment(before) if before else 0.0
        with existing_log(journal, to_write=True) as opened:
            lines = [line for line in opened.sessions() if line.updated < moment]
            chosen = list(names) or [line.name for line in lines if force or line.status.ended]
            opened.delete(chosen, force=force)
        for name in chosen:
            typer.echo(f"deleted: {name}")
        for line in lines:
            if line.name not in chosen:
                typer.echo(f"kept, since it has not ended ({line.status}): {line.name}", err=True)


def _moment(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise AquaMendError(f"--before takes a date such as 2026-01-31 or 2026-01-31T12:00, not {text!r}") from None


def log_at(place: str) -> Store:
    """Return the log at a place, to write; it is made where there is none."""
    return _kind_of_log(place)(place)


def existing_log(place: str, *, to_write: bool = False) -> Store:
    """Return the log that is at a place already."""
    return _kind_of_log(place).open(place, read_only=not to_write)


def _kind_of_log(place: str) -> type[Journal | PostgresLog]:
    if place.startswith(ADDRESSES):
        from aquamend.adapters.postgres import PostgresLog

        return PostgresLog
    from aquamend.recovery import Journal

    return Journal


def _named(journal: Store, name: str) -> str:
    """Return the session of this name, or the only one that begins so."""
    names = [line.name for line in journal.sessions()]
    found = [name] if name in names else [other for other in names if other.startswith(name)]
    if len(found) > 1:
        raise AquaMendError(f"{len(found)} sessions begin with {name!r}: {', '.join(found[:5])}; give more of the name")
    return found[0] if found else name  # reading it says that there is none, and which there are


def _recovery(entries: list[Entry], name: str) -> Recovery:
    from aquamend.recovery import Recovery

    return Recovery.of([entry.event for entry in entries], name)


@contextmanager
def _making_sense(journal: Store, name: str) -> Iterator[None]:
    """Take whatever a session leads to that cannot have happened for what it is: a journal that somebody has forged."""
    try:
        yield
    except (AquaMendError, OSError):
        raise
    except Exception as error:
        what = f"tells of what cannot have happened in session {name!r} ({type(error).__name__}: {error})"
        raise BadJournal(journal.place, what, "restore it from a copy") from error


def _asked_for(place: str) -> str:
    """Return the option by which another command finds this journal; empty where it does without."""
    default = os.environ.get("AQUAMEND_JOURNAL") or DEFAULT
    return "" if place == default else f" --journal {shlex.quote(place)}"
