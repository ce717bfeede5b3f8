"""A page of the documentation, run from top to bottom as it is printed, in the present folder.

`python -m tests.pages service.md` runs one in whatever environment that Python is in: it needs nothing but what the
page itself installs.
"""

import contextlib
import io
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

from tests.waiting import PATIENCE_S

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PROGRAM = Path(sysconfig.get_path("scripts")) / "aquamend"
ADDRESS = "127.0.0.1:8642"
"""Where pages say that the service listens; here it takes a port that is free."""


def blocks(name):
    """Return kind and text of every block of a page."""
    return BLOCK.findall((DOCS / name).read_text(encoding="utf-8"))


def run_page(name):
    """Run a page: files are written, commands and code are run, and what is printed is what it says."""
    names, printed, address = {"__name__": name}, "", ADDRESS
    with contextlib.ExitStack() as running:
        for kind, written in blocks(name):
            text = written.replace(ADDRESS, address)
            match kind:
                case "yaml":
                    Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
                case "python":
                    printed = _run(text, name, names)
                    for said in re.findall(r"^ *print\(.*\)  # (.*)$", text, re.MULTILINE):
                        assert said.split(":")[0] in printed, (said, printed)
                case "console":
                    for command in re.findall(r"^\$ aquamend (.*)$", text, re.MULTILINE):
                        if command.startswith("serve "):
                            address = running.enter_context(_serving(command))
                        else:
                            _command(command)
                case "text":  # what the block before it printed
                    said, found = ([line.rstrip() for line in one.splitlines()] for one in (text, printed))
                    assert said == found, found


def _run(code, name, names):
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, name, "exec"), names)
    return said.getvalue()


def _command(command):
    done = subprocess.run(
        [PROGRAM, *shlex.split(command)], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), (command, done.stderr)
    assert done.stdout, command


@contextlib.contextmanager
def _serving(command):
    """Run the service until the end of the page, and give where it listens."""
    with subprocess.Popen(
        [PROGRAM, *shlex.split(command), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield re.search(r"http://(\S+)", process.stdout.readline())[1]
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


if __name__ == "__main__":
    for page in sys.argv[1:]:
        run_page(page)
