"""What the site needs beside its pages: the API reference, and links that lead out of ``docs/`` into the repository."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parent.parent
BLOB = "https://github.com/aquamend/aquamend/blob/main/"
LINK = re.compile(r"(\]\()(\.\./[^)\s]*)")
PACKAGES = {"aquamend": ROOT / "src" / "aquamend", "aquamend_lab": ROOT / "lab" / "src" / "aquamend_lab"}


def rooms() -> list[str]:
    """Return every module and package right below the two packages, which are themselves the first of each."""
    found = []
    for name, folder in PACKAGES.items():
        parts = [
            path.stem for path in sorted(folder.iterdir()) if path.suffix == ".py" or (path / "__init__.py").exists()
        ]
        found += [name, *(f"{name}.{part}" for part in parts if not part.startswith("_"))]
    return found


def on_config(config: Any) -> Any:
    """Put the pages of the API reference at the end of the navigation."""
    config.nav.append({"API": [f"api/{name}.md" for name in rooms()]})
    return config


def on_files(files: Any, config: Any) -> Any:
    """Make a page for each room: what is public in it, from its docstrings."""
    for name in rooms():
        only = "\n    options:\n      show_submodules: false" if name in PACKAGES else ""
        files.append(File.generated(config, f"api/{name}.md", content=f"# {name}\n\n::: {name}{only}\n"))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Let links to files that are no pages lead to the repository."""

    def outside(match: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_uri), match[2]))
        return f"{match[1]}{BLOB}{path}"

    return LINK.sub(outside, markdown)
