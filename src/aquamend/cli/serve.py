"""``aquamend serve``: decisions and sessions over HTTP."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from aquamend.cli.command import Command
from aquamend.cli.options import a_finite_number
from aquamend.cli.output import refusing
from aquamend.cli.session import DEFAULT, JournalFile, log_at
from aquamend.errors import AquaMendError

COMMANDS = {
    "serve": Command("aquamend.cli.serve:serve", "Serve decisions and sessions over HTTP.", needs_arguments=False)
}

TOKEN = "AQUAMEND_TOKEN"
"""The variable of the environment that may hold the token."""


def serve(
    files: Annotated[
        list[str],
        typer.Argument(metavar="[FILE]...", help="Problem files to keep, by their names without the ending."),
    ] = [],  # noqa: B006 - typer copies it
    *,
    journal: JournalFile = DEFAULT,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="0: one that is free.")] = 8642,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help=f"A file with the token that requests must bear; without one, {TOKEN} of the environment.",
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        list[str],
        typer.Option(metavar="HOST", help="Another name of this machine, as requests give it. Repeat it."),
    ] = [],  # noqa: B006
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A certificate, to be asked by https.", show_default=False)
    ] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="And its key.", show_default=False)] = None,
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

        from aquamend.codec.plain_data import text_at
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
