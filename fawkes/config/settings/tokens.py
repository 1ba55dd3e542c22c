"""The tokens of those who may act through the page, and its key: texts in files that their owner alone can read."""

from __future__ import annotations

import hmac
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from fawkes.base.errors import UserError
from fawkes.base.paths import is_name
from fawkes.base.reading import read_text

LOOPBACK = "127.0.0.1"
PORT = 8042
"""Where the page listens if nothing else is said."""
ROLES = ("viewer", "user", "operator")
"""The roles of tokens: the ranks of ``[access]``, each with all rights of those before it."""
_LEAST = 16


class Token(NamedTuple):
    """A holder of a token, and the holder's role."""

    name: str
    role: str


class Tokens:
    """The tokens in a file that its owner alone can read. It is read again when it has changed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._stamp: object = None
        self._holders: Mapping[bytes, Token] = {}

    def holder(self, given: str) -> Token | None:
        """The holder of a token; None for a text that is none. UserError when the file is not fit to be used now."""
        self.read()
        known = [token for text, token in self._holders.items() if hmac.compare_digest(text, given.encode())]
        return known[0] if known else None

    def read(self) -> None:
        """Take the file in if it is new; UserError says what is wrong with it, and then nobody has a token."""
        try:
            status = self._file.stat()
            stamp = (status.st_ino, status.st_ctime_ns, status.st_size)
        except (OSError, ValueError):
            stamp = None
        if stamp is None or stamp != self._stamp:
            self._stamp, self._holders = None, {}
            self._stamp, self._holders = stamp, dict(_tokens(self._file))


def private_text(file: Path) -> str:
    """The text of a file that its owner alone can read; UserError for any other file. It never shows the text."""
    text, status = read_text(file), file.stat()
    if status.st_mode & 0o077 or status.st_uid not in (0, os.geteuid()):
        mode = f"mode {stat.S_IMODE(status.st_mode):04o}, user {status.st_uid}"
        raise UserError(f"others can read it ({mode})", where=str(file), hint=f"It should be yours: chmod 600 {file}")
    return text


def fit_secret(text: str) -> bool:
    """True if a key or token is long enough, and fits into a header."""
    return len(text) >= _LEAST and text.isascii() and text.isprintable() and " " not in text


def _tokens(file: Path) -> Iterator[tuple[bytes, Token]]:
    seen: set[str] = set()
    hint = (
        f"Write NAME ROLE TOKEN: a name in small letters, one of {', '.join(ROLES)}, and {_LEAST} characters or more "
        "(`openssl rand -hex 24`); each name and token once"
    )
    for number, line in enumerate(private_text(file).splitlines(), start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        name, role, text = words if len(words) == 3 else ("", "", "")
        if not is_name(name) or role not in ROLES or not fit_secret(text) or seen & {name, text}:
            raise UserError("this is not the line of a token", where=f"{file}: line {number}", hint=hint)
        seen |= {name, text}
        yield text.encode(), Token(name, role)
    if not seen:
        raise UserError("has no token", where=str(file), hint=hint)
