"""Studios as processes of their own, as a user starts them."""

import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def studio_on(what, folder):
    """Start a studio on a file, a journal or a database, and yield its address."""
    command = [sys.executable, "-m", "aquamend", "studio", str(what), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        try:
            line = process.stdout.readline()
            assert "The studio is at" in line, line
            yield line.split()[4]
        finally:
            process.terminate()
            process.wait(30)
