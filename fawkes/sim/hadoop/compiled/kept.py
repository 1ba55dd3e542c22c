"""The place where the compiled code is kept on disk, and whether it pays to use it; without loading numba.

numba's own cache looks at the file of one function. This folder is named by all files in which something is compiled
and by what else the code depends on, so that no stale code is ever used. All installations of the same code share it.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Callable
from functools import cache
from importlib.metadata import version
from pathlib import Path
from types import FunctionType
from typing import Any, cast

from fawkes.base.paths import cache_dir

_RUN = "fawkes.sim.hadoop.compiled.run"
#: files of this package in which nothing is compiled
_PLAIN = frozenset({"__init__", "cluster", "ground", "memory", "model"})
#: tasks that the readable model simulates while numba is loaded (a second, measured), or compiles: as many
#: again would cost no less
_PAYS_TO_LOAD = 8_000
_PAYS_TO_COMPILE = 400_000


def folder() -> Path:
    """The folder of this version's code, there or not."""
    return cache_dir() / "compiled" / _digest()


def sources() -> list[Path]:
    """The files that are in the compiled code: functions of this package, and whose constants they take."""
    here = Path(__file__).parent
    return [here.parent / "flows.py", *(file for file in sorted(here.glob("*.py")) if file.stem not in _PLAIN)]


@cache
def _digest() -> str:
    digest = hashlib.sha256(f"{sys.version} {platform.machine()} {version('numba')} {version('llvmlite')}".encode())
    for file in sources():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def is_kept() -> bool:
    """True if the code has been compiled before."""
    return any(folder().rglob("*.nbi"))


def is_loaded() -> bool:
    """True if this process has the compiled code already."""
    return _RUN in sys.modules


def pays(tasks: int, *, loaded: bool, kept: bool) -> bool:
    """True if so many tasks by the readable model cost no less than loading or compiling the other one."""
    return loaded or tasks >= (_PAYS_TO_LOAD if kept else _PAYS_TO_COMPILE)


def kept(function: Callable[..., Any], place: Path, *signature: str) -> Callable[..., Any]:
    """A function compiled by numba, from a folder where it has been compiled before; kept there if that can be."""
    import numba

    options = {"error_model": "numpy", "nogil": True}
    # numba keeps it by the place of its source. By a file in the folder itself, other installations find it as well.
    source = place / "source"
    try:
        place.mkdir(parents=True, exist_ok=True)
        if not source.exists():
            source.touch()
    except OSError:
        return cast(Callable[..., Any], numba.njit(*signature, **options)(function))
    plain = cast(FunctionType, function)
    code = plain.__code__.replace(co_filename=str(source))
    same = FunctionType(code, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__)
    before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(place)
    try:
        return cast(Callable[..., Any], numba.njit(*signature, cache=True, **options)(same))
    finally:
        numba.config.CACHE_DIR = before
