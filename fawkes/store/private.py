"""The state folder is its controller's alone: what is in it says more than other users should read or lock."""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterator
from pathlib import Path

from fawkes.base.errors import RefusedError, UserError

FOLDER_MODE, FILE_MODE = 0o700, 0o600
PART = ".part"
"""How the name of a file ends that is not whole yet."""

_OTHERS = 0o077


def make_private(folder: Path) -> int:
    """Make a state folder, or take what is in one away from other users; how many entries they could reach until now.

    RefusedError when the folder, or something in it, belongs to another user: then it is not this controller's.
    UserError when the system does not allow it. Links are not followed.
    """
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        # The folder first: from then on nobody else reaches what is in it.
        return sum(_take(path) for path in _entries(folder))
    except OSError as error:
        hint = "The controller must own its state folder and all that is in it"
        raise UserError(f"cannot be made private: {error.strerror}", where=str(folder), hint=hint) from None


def _entries(folder: Path) -> Iterator[Path]:
    yield folder
    for parent, folders, files in os.walk(folder):
        yield from (Path(parent, name) for name in (*folders, *files))


def _take(path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    if status.st_uid != os.geteuid():
        owner = user_name(status.st_uid)
        raise RefusedError(
            f"belongs to {owner}, and this controller runs as {user_name(os.geteuid())}",
            where=str(path),
            hint=f"Run `fawkes run` as {owner}; or, if you trust what is in it, `chown` it",
        )
    if stat.S_ISLNK(status.st_mode) or not status.st_mode & _OTHERS:
        return False
    os.chmod(path, stat.S_IMODE(status.st_mode) & ~_OTHERS)
    return True


def private_folder(folder: Path) -> None:
    """Make a folder in a state folder; parents are their user's alone too, not as the umask says. OSError."""
    missing = [each for each in folder.parents if not each.exists()]
    for each in (*reversed(missing), folder):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)


def user_name(uid: int) -> str:
    """The name of a user, or ``uid N`` for one without."""
    with contextlib.suppress(KeyError):
        return pwd.getpwuid(uid).pw_name
    return f"uid {uid}"


def private(path: str, flags: int) -> int:
    """An opener for `open`: a file that it makes is its user's alone."""
    return os.open(path, flags, FILE_MODE)


def write_private(path: Path, data: bytes, *, sync: bool = True) -> None:
    """Put a file in its place whole or not at all, also if the machine crashes; ``sync``: that does not take it back.

    OSError.
    """
    new = path.with_name(f".{path.name}{PART}")
    with open(new, "wb", opener=private) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    new.rename(path)
    if sync:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Puts on the disk what was renamed, made and removed in a folder; OSError."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
