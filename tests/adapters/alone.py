"""The product with one extra alone, in an environment of its own, as users get it."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
UV = Path(sys.executable).with_name("uv")
BRINGS = {"mcp": {"starlette", "uvicorn"}, "networks": {"scikit-learn"}}
"""What some libraries bring themselves."""


def run_alone(extra, arguments, wheel, folder, **environment):
    """Run Python beside the product and one extra, in an empty folder; check that no other extra came along."""
    own = folder / "environment"
    python, locked = own / "bin" / "python", ROOT / "requirements" / "runtime.txt"
    for command in (
        ["venv", "--python", sys.executable, own],
        ["pip", "install", "--python", python, "--constraints", locked, f"aquamend[{extra}] @ file://{wheel}"],
    ):
        subprocess.run([UV, *command, "--quiet"], check=True, timeout=PATIENCE_S)
    code = "from importlib.metadata import distributions; print(*{d.name.lower() for d in distributions()})"
    said = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    needed, there = _names(EXTRAS[extra]), {name.replace("_", "-") for name in said.stdout.split()}
    others = _names(need for needs in EXTRAS.values() for need in needs) - needed
    assert needed <= there
    assert others & there == BRINGS.get(extra, set())
    work = folder / "work"
    work.mkdir()
    alone = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    done = subprocess.run(
        [python, *arguments], cwd=work, env={**alone, "PYTHONPATH": str(ROOT), **environment}, text=True,
        stderr=subprocess.PIPE, check=False, timeout=PATIENCE_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def _names(needs):
    return {re.match(r"[\w-]+", need)[0].lower().replace("_", "-") for need in needs}
