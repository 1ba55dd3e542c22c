"""Reading the files that users name: the one place that opens them.

A user's file may be anything: a pipe that nobody writes into, a device without an end, a link to itself, text of
another encoding. Each of these ends with one ConfigError at once; nothing here blocks.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from fawkes.base.errors import ConfigError
from fawkes.base.paths import kind_of

MIB = 1 << 20
MOST_BYTES = 8 * MIB
"""The largest file of configuration: a pool of 100,000 nodes, each described by itself, needs less."""

_OTHER_ENCODINGS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
_AS_UTF8 = "Save the file as UTF-8 text"


def opened(path: Path, *, hint: str = "") -> BinaryIO:
    """A regular file, open for reading bytes; links are followed.

    ConfigError when the file cannot be opened, or is something other than a regular file. ``hint`` is the remedy when
    there is no such file.
    """
    try:
        # Opening a device can already do something to it, so its kind is looked at first.
        _refuse_special(path, os.stat(path).st_mode)
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise not_opened(path, error, hint) from None
    try:
        _refuse_special(path, os.fstat(handle).st_mode)
    except BaseException:
        os.close(handle)
        raise
    return os.fdopen(handle, "rb")


def read_bytes(path: Path, *, most: int = MOST_BYTES, hint: str = "") -> bytes:
    """All bytes of a file; ConfigError as ``opened``, and when it has more than ``most`` bytes."""
    with opened(path, hint=hint) as source:
        try:
            data = source.read(most + 1) if os.fstat(source.fileno()).st_size <= most else None
        except OSError as error:
            raise not_opened(path, error, hint) from None
    if data is None or len(data) > most:
        raise ConfigError(
            f"is larger than {most // MIB} MiB",
            file=str(path),
            hint="Is it the right file? No file of this kind is so large",
        )
    return data


def read_text(path: Path, *, most: int = MOST_BYTES, hint: str = "") -> str:
    """The text of a file in UTF-8, without its byte order mark; ends of lines stay as they are.

    ConfigError as ``read_bytes``, and when the file is not text in UTF-8.
    """
    return decoded(read_bytes(path, most=most, hint=hint), path)


def decoded(data: bytes, path: Path) -> str:
    """The text in the bytes of a file, as ``read_text``."""
    for mark, encoding in _OTHER_ENCODINGS:
        if data.startswith(mark):
            raise ConfigError(f"is {encoding}, not UTF-8", file=str(path), hint=_AS_UTF8)
    at = data.find(b"\0")
    if at >= 0:
        raise ConfigError(
            f"is not text: byte {at} is NUL", file=str(path), key=f"line {data.count(10, 0, at) + 1}", hint=_AS_UTF8
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + (len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0)
        line = data.count(10, 0, at) + 1
        raise ConfigError(f"is not UTF-8 text (byte {at})", file=str(path), key=f"line {line}", hint=_AS_UTF8) from None


def is_file(path: Path) -> bool:
    """True if there is a regular file; False for whatever cannot be a path."""
    return os.path.isfile(path)


def _refuse_special(path: Path, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = kind_of(mode)
    raise ConfigError(f"is {kind}, not a file", file=str(path), hint="Name a regular file")


def not_opened(path: Path, error: OSError | ValueError, hint: str = "") -> ConfigError:
    """The error of a file or folder that cannot be read; ``hint`` is the remedy when there is none of that name."""
    shown = str(path) if len(str(path)) <= 200 else f"{str(path)[:197]}..."
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):
            return ConfigError("is a link to a file that does not exist", file=shown, hint="Repair or remove the link")
        return ConfigError("there is no such file", file=shown, hint=hint)
    if isinstance(error, ValueError):
        return ConfigError("cannot be the path of a file", file=repr(shown), hint="Remove the NUL character")
    if error.errno == errno.ELOOP:
        return ConfigError("is a link that leads back to itself", file=shown, hint="Repair or remove the link")
    why = (error.strerror or str(error)).lower()
    remedy = "Make it readable for the user who runs Fawkes" if error.errno == errno.EACCES else ""
    return ConfigError(f"cannot be read ({why})", file=shown, hint=remedy)
