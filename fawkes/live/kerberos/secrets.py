"""Secrets of jobs: a job file names them, the controller reads them when the job begins, and stores them nowhere.

They go into the configuration of one attempt on the master, which its user alone can read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fawkes.base.errors import UserError
from fawkes.config.clusters.details import ENV_SECRET, FILE_SECRET, SITE_SECRET

FOLDER = "secrets"
"""The folder of a site with its own secrets, one in a file."""
_MOST_BYTES = 65_536
_OTHERS = 0o077


class Secrets:
    """Reads secrets; ``folder`` has those of the site, None: it has none."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def values(self, named: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """The value of each key; UserError, which never holds a value, for one that cannot be had."""
        return {key: self._value(key, reference) for key, reference in named.items()}

    def _value(self, key: str, reference: Mapping[str, str]) -> str:
        kind, name = next(iter(reference.items())) if len(reference) == 1 else ("", str(dict(reference)))
        if kind == ENV_SECRET:
            value = os.environ.get(name)
            if value is None:
                hint = "Set it for `fawkes run`, or name a file of the controller's machine"
                raise UserError(f"the controller has no environment variable {name!r}", where=key, hint=hint)
            return value
        if kind == SITE_SECRET and self._folder is not None:
            return _content(self._folder / name, key)
        if kind == FILE_SECRET:
            return _content(Path(name), key)
        hint = "Write { env = ... }, { file = ... } or { secret = ... }"
        raise UserError(f"there is no secret {name!r}", where=key, hint=hint)


def _content(path: Path, key: str) -> str:
    """The text of a file without its last line feed."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        hint = "Put the secret into this file on the controller's machine"
        raise UserError(f"the secret {path} cannot be read: {error.strerror}", where=key, hint=hint) from None
    if status.st_mode & _OTHERS:
        raise UserError(f"other users can reach the secret {path}", where=key, hint=f"Run `chmod 600 {path}`")
    if len(data) > _MOST_BYTES:
        raise UserError(f"the secret {path} has more than {_MOST_BYTES} bytes", where=key, hint="Name another file")
    try:
        return data.decode().removesuffix("\n")
    except UnicodeDecodeError:
        raise UserError(f"the secret {path} is not text", where=key, hint="Name a file of UTF-8 text") from None
