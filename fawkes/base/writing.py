"""Writing the files that users name: whole or not at all, and never in the place of anything but a regular file."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from fawkes.base.errors import RefusedError, UserError
from fawkes.base.paths import kind_of


def refuse_there(path: Path, *, force: bool) -> None:
    """RefusedError when something is at a place that is to be written.

    With ``force`` a regular file may be replaced, also one that a link leads to; anything else may not.
    """
    if not force and os.path.lexists(path):
        raise RefusedError("exists already", where=str(path), hint="Give another name, or --force to replace it")
    place_of(path)


def place_of(path: Path) -> Path:
    """The place where a file is to be written: the path, or the regular file that a link leads to.

    RefusedError when there is anything but a regular file, such as a device, and when a link leads nowhere.
    """
    hint = "Give another name, or `--out -` for standard output where the command has it"
    try:
        place = path.resolve(strict=True) if path.is_symlink() else path
        mode = place.stat().st_mode
    except (OSError, RuntimeError):
        if path.is_symlink():
            raise RefusedError("is a link that leads to no file", where=str(path), hint=hint) from None
        # Nothing is there, or the folder cannot be looked into: then writing says why.
        return path
    if stat.S_ISREG(mode):
        return place
    kind = kind_of(mode)
    raise RefusedError(f"is {kind} and is not replaced", where=str(path), hint=hint)


@contextlib.contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write, which gets its name when all of it is on the disk; after an error nothing is left of it.

    A regular file that was there is replaced. RefusedError when something else is there, UserError when the system
    refuses to write.
    """
    place = place_of(path)
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    except OSError as error:
        raise _refused(path, error) from None
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(draft).chmod(0o644)
        os.replace(draft, place_of(path))
    except OSError as error:
        raise _refused(path, error) from None
    finally:
        Path(draft).unlink(missing_ok=True)


def _refused(path: Path, error: OSError) -> UserError:
    return UserError(f"cannot be written ({error.strerror or error})", where=str(path))
