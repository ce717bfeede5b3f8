"""Builds the compiled kernel of minimum cuts where a C compiler is found; AquaMend works without it, only slower.

The kernel is a plain shared library without Python in it, so one wheel serves every version of Python on a platform.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

KERNEL = "src/aquamend/decision/min_cut.c"


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles the kernel beside its source, and packs it into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile; a wheel that holds the kernel is for this platform only."""
        source = Path(self.root, KERNEL)
        library = source.with_suffix(".kernel")  # no suffix that Python would take for a module's
        library.unlink(missing_ok=True)
        if self.target_name != "wheel" or not compiled(source, library):
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(iter(platform_tags()))}"
        build_data["artifacts"].append(f"/src/aquamend/decision/{library.name}")


def compiled(source: Path, library: Path) -> bool:
    """Compile a library by the first compiler that can; return whether one could. Without one, say so."""
    if os.environ.get("AQUAMEND_PURE") == "1":
        return False
    flags = ["-O3", "-std=c99", "-shared", "-fPIC", "-fvisibility=hidden"]
    for compiler in (os.environ.get("CC"), sysconfig.get_config_var("CC"), "cc", "gcc", "clang"):
        words = shlex.split(compiler or "")
        if words and shutil.which(words[0]):
            command = [*words, *flags, "-o", str(library), str(source)]
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                return True
    words = ["cl", "/O2", "/LD", str(source), f"/Fe:{library}", f"/Fo:{library.with_suffix('.obj')}"]
    if shutil.which("cl") and subprocess.run(words, capture_output=True, check=False).returncode == 0:
        return True
    print(
        "aquamend: no C compiler was found; minimum cuts are made by SciPy, some twenty times slower", file=sys.stderr
    )
    return False
