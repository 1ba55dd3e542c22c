"""Where the compiled code is kept on disk, and whether it pays to use it; without loading numba.

numba's own cache looks at the file of one function. This folder is named by all files of this package and by what else
the code depends on, so that no stale code is ever used.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

from fawkes.paths import cache_dir

_LOADED = "fawkes.sim.compiled.run"
#: tasks whose simulation by the readable model takes as long as loading numba (measured: a second), as compiling
_PAYS_TO_LOAD = 8_000
_PAYS_TO_COMPILE = 400_000


@cache
def folder() -> Path:
    """The folder of this version's code, there or not."""
    found = hashlib.sha256(f"{sys.version} {platform.machine()} {version('numba')} {version('llvmlite')}".encode())
    for file in sorted(Path(__file__).parent.glob("*.py")):
        found.update(file.read_bytes())
    return cache_dir() / "compiled" / found.hexdigest()[:16]


def is_kept() -> bool:
    """Whether it has been compiled before."""
    return any(folder().rglob("*.nbi"))


def pays(tasks: int) -> bool:
    """Whether so many tasks are simulated sooner by the compiled model, with loading or compiling it."""
    if _LOADED in sys.modules:
        return True
    return tasks >= (_PAYS_TO_LOAD if is_kept() else _PAYS_TO_COMPILE)
