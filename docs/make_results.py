"""Put the tables of the committed runs into README.md and docs/results.md: `.venv/bin/python docs/make_results.py`."""

from __future__ import annotations

from pathlib import Path

from aquamend.analysis.report.readme_tables import with_tables
from aquamend.records import Run, load_run, write_atomically

ROOT = Path(__file__).parent.parent
IN_README = ("m1-v1", "m1-depth-v1")
IN_RESULTS = (*IN_README, "m1-depth-scaled-v1", "m1-proxy-v1")


def committed(suites: tuple[str, ...]) -> list[Run]:
    """Return these suites' runs in results/."""
    return [load_run(ROOT / "results" / suite) for suite in suites]


def main() -> None:
    """Write both pages anew, with the tables between their markers."""
    for page, suites in ((ROOT / "README.md", IN_README), (ROOT / "docs" / "results.md", IN_RESULTS)):
        write_atomically(page, with_tables(page.read_text(encoding="utf-8"), committed(suites)).encode())


if __name__ == "__main__":
    main()
