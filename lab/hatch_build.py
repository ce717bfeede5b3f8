"""The laboratory has the version of the product beside it, and works with exactly that one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

REQUIRED = ["pandas>=2.2"]


class VersionOfTheProduct(MetadataHookInterface):
    """Reads it from the product's source; in an unpacked source distribution, from what that says of itself."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add version and dependencies."""
        product = Path(self.root).parent / "src" / "aquamend" / "__init__.py"
        said, pattern = (
            (product, r'^__version__ = "(.+)"')
            if product.exists()
            else (Path(self.root) / "PKG-INFO", r"^Version: (.+)")
        )
        found = re.search(pattern, said.read_text(encoding="utf-8"), re.MULTILINE)
        if found is None:
            raise ValueError(f"{said} names no version")
        metadata["version"] = found[1].strip()
        metadata["dependencies"] = [f"aquamend=={metadata['version']}", *REQUIRED]
