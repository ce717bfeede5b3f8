"""Check that every link of the built site leads somewhere: ``python docs/check_links.py FOLDER [BASE]``."""

import re
import sys
from pathlib import Path


def broken_links(folder: Path, base: str = "/") -> list[str]:
    """Return every link in the pages of a folder whose page or place in it is not there; other hosts are not asked.

    ``base`` is the path under which a host will show the folder, for links that begin with it.
    """
    texts = {page.resolve(): page.read_text(encoding="utf-8") for page in sorted(folder.rglob("*.html"))}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for link in dict.fromkeys(re.findall(r'(?:href|src)="([^":$]+)"', text)):
            path, _, anchor = link.partition("#")
            start = folder if path.startswith(base) else page.parent
            target = (start / path.removeprefix(base)).resolve() if path else page
            target = target / "index.html" if target.is_dir() else target
            if not target.exists() or (anchor and anchor not in anchors.get(target, ())):
                broken.append(f"{page.relative_to(folder.resolve())}: {link}")
    return broken


def main(folder: str, base: str = "/") -> None:
    """Exit with every broken link, or with an error where there is no page at all."""
    if not any(Path(folder).rglob("*.html")):
        sys.exit(f"{folder}: there are no pages in it")
    if broken := broken_links(Path(folder), base):
        sys.exit("\n".join([f"{len(broken)} links lead nowhere:", *broken]))


if __name__ == "__main__":
    main(*sys.argv[1:])
