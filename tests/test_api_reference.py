"""The API reference is made from docstrings, and its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

MAKEFILE = (Path(__file__).parent.parent / "Makefile").read_text(encoding="utf-8")
LISTED = re.search(r"^API := aquamend \$\(addprefix aquamend\.,(.*?)\)", MAKEFILE, re.DOTALL | re.MULTILINE)[1]
MODULES = ["aquamend", *(f"aquamend.{name}" for name in LISTED.replace("\\", " ").split())]


@pytest.mark.slow
def test_every_link_of_the_reference_leads_somewhere(tmp_path):
    command = [sys.executable, "-m", "pdoc", "--docformat", "markdown", "--output-directory", str(tmp_path), *MODULES]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) >= len(MODULES)
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    for page, text in texts.items():
        for link in re.findall(r'href="([^":$]+)"', text):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), f"{page.name}: {link}"
            assert not anchor or f'id="{anchor}"' in texts[target], f"{page.name}: {link}"
