"""JSON objects one after another in one file, as Rumen and SLS write them, each in its turn."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError
from fawkes.base.reading import MIB
from fawkes.workload.reading.traces import pieces

_SPACE = re.compile(r"[ \t\r\n]*")
_LARGEST_OBJECT = 512 * MIB
_LONGEST_TOKEN = 32
"""An error nearer to the end than this may be a number, a word or an escape that was cut; none of them is longer."""


def objects(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with the line on which each begins, plain or gzip; one at a time is held in memory.

    ConfigError with the line when something is no JSON, is no object, or the file ends within an object.
    """
    decode = json.JSONDecoder().raw_decode
    source = _Text(path)
    while source.begins():
        try:
            value, end = decode(source.text, source.at)
        except json.JSONDecodeError as error:
            if source.is_cut(error) and source.more():
                continue
            raise source.broken(error) from None
        except (RecursionError, ValueError):
            what = "has objects too deep inside of each other, or a number with too many digits"
            raise ConfigError(what, file=str(path), key=f"line {source.line}", hint="Is it the right file?") from None
        if not isinstance(value, dict):
            raise ConfigError(
                "is not an object in braces",
                file=str(path),
                key=f"line {source.line}",
                hint="One object follows another",
            )
        yield source.line, value
        source.go(end)


class _Text:
    """A part of the file as text, from ``at`` on not yet used; ``line`` is the one of ``at``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text, self.at, self.line = "", 0, 1
        self._pieces = pieces(path)
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._ended = False

    def begins(self) -> bool:
        """Goes to the next object; False when there is none."""
        while True:
            match = _SPACE.match(self.text, self.at)
            self.go(match.end() if match else self.at)
            if self.at < len(self.text):
                return True
            if not self.more():
                return False

    def go(self, end: int) -> None:
        """Go on to ``end``: what is before it has been used."""
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def more(self) -> bool:
        """Reads as much again as there is, so that a large object is not tried too often; False at the end."""
        if self._ended:
            return False
        kept = [self.text[self.at :]]
        wanted = len(kept[0])
        self.at = 0
        while wanted >= 0:
            piece = next(self._pieces, None)
            self._ended = piece is None
            kept.append(self._decoder.decode(piece or b"", final=piece is None))
            wanted -= len(kept[-1]) or 1
            if self._ended:
                break
        self.text = "".join(kept)
        if len(self.text) > _LARGEST_OBJECT:
            what = f"the object that begins here is larger than {_LARGEST_OBJECT // MIB} MiB"
            raise ConfigError(what, file=str(self.path), key=f"line {self.line}", hint="Is it the right file?")
        return True

    def is_cut(self, error: json.JSONDecodeError) -> bool:
        """True if more of the file may mend it."""
        return error.msg.startswith("Unterminated string") or len(self.text) - error.pos < _LONGEST_TOKEN

    def broken(self, error: json.JSONDecodeError) -> ConfigError:
        """The error that says what is wrong where."""
        line = self.line + self.text.count("\n", self.at, error.pos)
        if self.is_cut(error):
            what = f"the file ends within the object that begins on line {self.line}"
            return ConfigError(what, file=str(self.path), key=f"line {line}", hint="Fetch the file again")
        return ConfigError(f"is not JSON ({error.msg})", file=str(self.path), key=f"line {line}")
