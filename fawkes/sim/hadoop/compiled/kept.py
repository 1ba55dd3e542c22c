"""The place where the compiled code is kept on disk, and whether it pays to use it; without loading numba.

The folder is named by all files in which something is compiled and by what else the code depends on, so that no stale
code is ever used. All installations of the same code share it.
"""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path

from fawkes.base.errors import FawkesError
from fawkes.base.paths import cache_dir
from fawkes.base.writing import whole

#: of the files with code, each for a kind of processor
_SUFFIX = ".code"
#: files of this package in which nothing is compiled
_PLAIN = frozenset({"__init__", "cluster", "ground", "memory", "model"})
#: tasks that the readable model simulates while the code and numpy are loaded (an eighth of a second, measured), or
#: compiled: as many again would cost no less
_PAYS_TO_LOAD = 1_500
_PAYS_TO_COMPILE = 200_000


def folder() -> Path:
    """The folder of this version's code, there or not."""
    return cache_dir() / "compiled" / _digest()


def sources() -> list[Path]:
    """The files that are in the compiled code: functions of this package, and whose constants they take."""
    here = Path(__file__).parent
    others = [here.parent / "chance.py", here.parent / "flows.py"]
    return [*others, *(file for file in sorted(here.glob("*.py")) if file.stem not in _PLAIN)]


@cache
def _digest() -> str:
    digest = hashlib.sha256(f"{sys.version} {platform.machine()} {version('numba')} {version('llvmlite')}".encode())
    for file in sources():
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def is_kept() -> bool:
    """True if the code has been compiled for this processor before; to know it takes LLVM, where any code is there.

    A home that machines share has code of other processors, too.
    """
    return folder().is_dir() and _file(folder()).exists()


def is_loaded() -> bool:
    """True if this process has the compiled code already."""
    return entrance.cache_info().currsize > 0


def pays(tasks: int, *, loaded: bool, kept: Callable[[], bool]) -> bool:
    """True if so many tasks by the readable model cost no less than loading or compiling the other one.

    ``kept`` says whether it can be loaded, and is asked only where that would pay.
    """
    return loaded or tasks >= _PAYS_TO_COMPILE or (tasks >= _PAYS_TO_LOAD and kept())


@cache
def entrance() -> Callable[..., int]:
    """The compiled function: the place of the memory, what is asked for, two numbers and two floats."""

    def function() -> Callable[..., int]:
        from fawkes.sim.hadoop.compiled.run import run_at

        return run_at

    return kept(function, folder(), (int, int, int, int, float, float))


def kept(
    function: Callable[[], Callable[..., int]], place: Path, takes: Sequence[type[int | float]]
) -> Callable[..., int]:
    """A function, compiled, from a folder where it has been compiled before; kept there if that can be.

    ``function`` is asked for what to compile when nothing is there: to have it takes numba.
    """
    from fawkes.sim.hadoop.compiled import native

    file = _file(place)
    code = _code_in(file)
    if code is None:
        code = native.compiled(function, takes)
        with suppress(OSError, FawkesError):
            place.mkdir(parents=True, exist_ok=True)
            with whole(file) as out:
                out.write(hashlib.sha256(code).digest() + code)
    return native.loaded(code)


def _file(place: Path) -> Path:
    from fawkes.sim.hadoop.compiled import native

    return place / f"{native.processor()}{_SUFFIX}"


def _code_in(file: Path) -> bytes | None:
    """The code in a file; None when there is none, or something that LLVM may end the process for."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    size = hashlib.sha256().digest_size
    digest, code = content[:size], content[size:]
    return code if hashlib.sha256(code).digest() == digest else None
