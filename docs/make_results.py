"""Put the tables of the committed runs into the README: `.venv/bin/python docs/make_results.py`."""

from __future__ import annotations

from pathlib import Path

from aquamend.analysis.report.readme_tables import with_tables
from aquamend.records import Run, load_run, write_atomically

ROOT = Path(__file__).parent.parent
SUITES = ("m1-v1", "m1-depth-v1", "m1-depth-scaled-v1", "m1-proxy-v1")


def committed_runs() -> list[Run]:
    """Return the runs in results/, in the order the README shows them."""
    return [load_run(ROOT / "results" / suite) for suite in SUITES]


def main() -> None:
    """Write README.md anew, with the tables between its markers."""
    readme = ROOT / "README.md"
    write_atomically(readme, with_tables(readme.read_text(encoding="utf-8"), committed_runs()).encode())


if __name__ == "__main__":
    main()
