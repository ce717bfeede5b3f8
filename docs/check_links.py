"""Check that every link of the API reference leads somewhere: ``python docs/check_links.py FOLDER``."""

import re
import sys
from pathlib import Path


def broken_links(folder: Path) -> list[str]:
    """Return every link in the pages of a folder whose page or place in it is not there; other hosts are not asked."""
    texts = {page.resolve(): page.read_text(encoding="utf-8") for page in sorted(folder.rglob("*.html"))}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for link in re.findall(r'href="([^":$]+)"', text):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists() or (anchor and anchor not in anchors.get(target, ())):
                broken.append(f"{page.relative_to(folder.resolve())}: {link}")
    return broken


def main(folder: str) -> None:
    """Exit with every broken link, or with a complaint where there is no page at all."""
    if not any(Path(folder).rglob("*.html")):
        sys.exit(f"{folder}: there are no pages in it")
    if broken := broken_links(Path(folder)):
        sys.exit("\n".join([f"{len(broken)} links lead nowhere:", *broken]))


if __name__ == "__main__":
    main(*sys.argv[1:])
