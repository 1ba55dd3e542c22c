"""Shell scripts as values: quoted by construction, secrets masked, and the facts that they print.

Part of what playbooks import; they take it from :mod:`fawkes.playbook`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath

_PLACEHOLDER = re.compile(r"(?<![$\w])\{([a-z_][a-z0-9_]*)\}")
_FACT = re.compile(r"@([A-Za-z0-9_.:-]+)=(.*)")


class Secret:
    """A value that is sent but never shown: logs and ``repr`` have ``***`` in its place."""

    def __init__(self, value: str) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "Secret(***)"


@dataclass(frozen=True, repr=False)
class Script:
    """Text for ``/bin/sh``; ``masked`` is the same with ``***`` for each secret.

    ``Script.of`` puts quoted values into a template; ``+`` puts one script after another. One that is ``brief`` neither
    waits for anything nor starts a process: a shell that is kept runs it without a watch over its time, which would be
    most of its cost.
    """

    text: str
    masked: str = ""
    brief: bool = False

    def __post_init__(self) -> None:
        if "\0" in self.text:
            raise ValueError("a script must not contain a NUL character")
        if not self.masked:
            object.__setattr__(self, "masked", self.text)

    @classmethod
    def of(cls, template: str, **values: Value) -> Script:
        """The template with each ``{name}`` replaced by its value, quoted for the shell.

        A sequence becomes words with blanks between them; a Script goes in as it is. ``${name}`` and ``{ list; }`` are
        the shell's own. A name without a value, a value without a name, and a placeholder inside quotes are errors:
        quotes would end where the value's own begin.
        """
        names = set(_PLACEHOLDER.findall(template))
        if names != set(values):
            wrong = ", ".join(sorted(names ^ set(values)))
            raise ValueError(f"placeholders and values of a script differ: {wrong}")
        for match in _PLACEHOLDER.finditer(template):
            if _inside_quotes(template[: match.start()].rpartition("\n")[2]):
                raise ValueError(f"the placeholder {match[0]} is inside quotes; it adds its own quotes")
        plain = {name: _words(value, hide=False) for name, value in values.items()}
        hidden = {name: _words(value, hide=True) for name, value in values.items()}
        return cls(
            _PLACEHOLDER.sub(lambda match: plain[match[1]], template),
            _PLACEHOLDER.sub(lambda match: hidden[match[1]], template),
        )

    @classmethod
    def join(cls, scripts: Iterable[Script]) -> Script:
        """All of them in order, each on lines of its own."""
        parts = list(scripts)
        return cls("\n".join(part.text for part in parts), "\n".join(part.masked for part in parts))

    def __add__(self, other: Script) -> Script:
        return Script.join((self, other))

    def with_env(self, env: Mapping[str, str | Secret]) -> Script:
        """The same after ``export NAME=value`` for each of ``env``."""
        for name in env:
            if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
                raise ValueError(f"{name!r} is not a valid name of an environment variable")
        exports = (Script.of(f"export {name}={{value}}", value=value) for name, value in env.items())
        return Script.join((*exports, self))

    def __repr__(self) -> str:
        return f"Script({self.masked!r})"


Value = str | int | float | PurePath | Secret | Script | Sequence["str | PurePath | Secret"]


def _inside_quotes(line: str) -> bool:
    """True if a quote that the start of a line opened is still open."""
    bare = re.sub(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", "", line)
    return "'" in bare or '"' in bare


def _words(value: Value, *, hide: bool) -> str:
    if isinstance(value, Script):
        return value.masked if hide else value.text
    if isinstance(value, Secret):
        return "***" if hide else shlex.quote(value.value)
    if isinstance(value, str | int | float | PurePath):
        return shlex.quote(str(value))
    return " ".join(_words(word, hide=hide) for word in value)


class Facts(Mapping[str, str]):
    """The facts that a script printed as ``@key=value``; the last value of a key counts, ``all`` has every one."""

    def __init__(self, pairs: Sequence[tuple[str, str]]) -> None:
        self._pairs = tuple(pairs)
        self._last = dict(pairs)

    def __getitem__(self, key: str) -> str:
        return self._last[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._last)

    def __len__(self) -> int:
        return len(self._last)

    def all(self, key: str) -> tuple[str, ...]:
        """Every value of a key, in the order in which they were printed."""
        return tuple(value for name, value in self._pairs if name == key)

    def number(self, key: str) -> int | None:
        """A value as an integer; None where it is missing or no number."""
        text = self._last.get(key, "")
        return int(text) if re.fullmatch(r"-?\d+", text) else None

    def under(self, prefix: str) -> dict[str, str]:
        """The keys that begin with ``prefix.``, without it."""
        return {k.removeprefix(f"{prefix}."): v for k, v in self._last.items() if k.startswith(f"{prefix}.")}

    def __repr__(self) -> str:
        return f"Facts({self._last})"


def read_facts(text: str) -> Facts:
    """The facts in what a script printed; every other line is ignored."""
    # Not `splitlines`: a U+2028 in a value, such as a daemon's last words, would begin a line there.
    matches = (_FACT.fullmatch(line) for line in text.split("\n"))
    return Facts([(match[1], match[2]) for match in matches if match])
