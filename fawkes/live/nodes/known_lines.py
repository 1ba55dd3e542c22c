"""Lines of a known_hosts file as OpenSSH reads them: a marker, names and patterns of hosts, and a key."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase

import paramiko
from paramiko.pkey import UnknownKeyType

_HASHED = "|"
_MOST_NAME_CHARS = 1023
"""A longer name makes OpenSSH skip the whole line."""


class Marker(StrEnum):
    """The first word of a line that begins with @; ``UNKNOWN`` stands for words that OpenSSH does not know either."""

    NONE = ""
    REVOKED = "@revoked"
    AUTHORITY = "@cert-authority"
    UNKNOWN = "@"


@dataclass(frozen=True)
class Names:
    """The hosts of a line: names in lower case, patterns with * and ?, those after a !, or one hashed name."""

    plain: frozenset[str] = frozenset()
    patterns: tuple[tuple[str, str], ...] = ()
    """Each with its longest part without * and ?, which rules most names out at once."""
    without: tuple[tuple[str, str], ...] = ()
    salt: bytes = b""
    digest: bytes = b""
    unreadable: bool = False

    @property
    def is_plain(self) -> bool:
        """True if the line names its hosts letter by letter, so that a dictionary finds them."""
        return not (self.patterns or self.without or self.salt or self.unreadable)

    def has(self, name: str) -> bool:
        """True if the line is about the host with this name (in lower case); False for names that cannot be read."""
        if self.salt:
            return hmac.digest(self.salt, name.encode(), hashlib.sha1) == self.digest
        return (name in self.plain or _any(self.patterns, name)) and not self.excludes(name)

    def excludes(self, name: str) -> bool:
        """True if a name or pattern after a ! fits the host."""
        return _any(self.without, name)


@dataclass(frozen=True)
class KnownHostsLine:
    """One line. Without a key, either ``fault`` says what is wrong in it or ``unsupported`` what Fawkes does not do."""

    number: int
    marker: Marker
    names: Names
    key: paramiko.PKey | None = None
    fault: str = ""
    unsupported: str = ""

    @property
    def is_against(self) -> bool:
        """True if the line speaks against its hosts, or cannot be read and may do so."""
        return self.marker in (Marker.REVOKED, Marker.UNKNOWN)


def read_lines(data: bytes) -> Iterable[KnownHostsLine]:
    """The lines of a file that are neither empty nor comments."""
    for number, raw in enumerate(data.split(b"\n"), start=1):
        # Only these two end a word, and text that is not UTF-8 may stand in the comment of a line.
        text = raw.decode("utf-8", "surrogateescape").strip(" \t\r")
        if text and not text.startswith("#"):
            yield _read(number, text)


def matches(pattern: str, name: str) -> bool:
    """True if a pattern with * and ? fits the whole name; brackets are letters like others."""
    return fnmatchcase(name, pattern.replace("[", "[[]"))


def _read(number: int, text: str) -> KnownHostsLine:
    marker, text = _marker(text)
    words = text.replace("\t", " ").split(" ", 1)
    names = _names(words[0])
    rest = words[1].split() if len(words) > 1 else []
    key, fault, unsupported = None, _fault_of(marker, words[0], names), ""
    if not fault and len(rest) < 2:
        fault = "is too short for a host key"
    if not fault:
        key, fault, unsupported = _key(rest[0], rest[1])
    if key and marker is Marker.AUTHORITY:
        key, unsupported = None, "trusts a certificate authority, which Fawkes does not support"
    return KnownHostsLine(number, marker, names, key, fault, unsupported)


def _marker(text: str) -> tuple[Marker, str]:
    """The marker and what follows it. Two markers, or one that is misspelled, are ``UNKNOWN``."""
    marker = Marker.NONE
    while text.startswith("@"):
        word, _, text = text.replace("\t", " ", 1).partition(" ")
        known = word in (Marker.REVOKED, Marker.AUTHORITY) and marker is Marker.NONE
        marker, text = Marker(word) if known else Marker.UNKNOWN, text.lstrip(" \t")
    return marker, text


def _names(field: str) -> Names:
    if field.startswith(_HASHED):
        return _hashed(field)
    words = [word.lower() for word in field.split(",")]
    return Names(
        frozenset(word for word in words if not word.startswith("!") and not _is_pattern(word)),
        tuple(_with_part(word) for word in words if not word.startswith("!") and _is_pattern(word)),
        tuple(_with_part(word[1:]) for word in words if word.startswith("!")),
        unreadable=not field,
    )


def _with_part(pattern: str) -> tuple[str, str]:
    return max(pattern.replace("?", "*").split("*"), key=len), pattern


def _any(patterns: Iterable[tuple[str, str]], name: str) -> bool:
    return any(part in name and matches(pattern, name) for part, pattern in patterns)


def _is_pattern(word: str) -> bool:
    return "*" in word or "?" in word


def _hashed(field: str) -> Names:
    """The one hashed name of a line: ``|1|SALT|DIGEST``, both in base64."""
    try:
        _, kind, salt, digest = field.split("|")
        names = Names(salt=base64.b64decode(salt, validate=True), digest=base64.b64decode(digest, validate=True))
    except (ValueError, binascii.Error):
        return Names(unreadable=True)
    sound = kind == "1" and len(names.salt) == len(names.digest) == hashlib.sha1(usedforsecurity=False).digest_size
    return names if sound else Names(unreadable=True)


def _fault_of(marker: Marker, field: str, names: Names) -> str:
    if marker is Marker.UNKNOWN:
        return f"begins with a marker that is not one of {Marker.REVOKED} and {Marker.AUTHORITY}, alone"
    if names.unreadable:
        return "has a hashed name that is not one (|1|SALT|HASH)" if field else "names no host"
    if any(len(word.removeprefix("!")) > _MOST_NAME_CHARS for word in field.split(",")):
        return f"has a name of more than {_MOST_NAME_CHARS:,} characters, so ssh skips the whole line"
    return ""


def _key(kind: str, text: str) -> tuple[paramiko.PKey | None, str, str]:
    """The key of a line, or what is wrong with it, or why Fawkes cannot use it."""
    try:
        data = base64.b64decode(text, validate=True)
        length = int.from_bytes(data[:4], "big")
        inner = data[4 : 4 + length].decode("ascii")
        if inner != kind:
            return None, f"is not a host key ({kind[:40]!a} stands before a key of another kind)", ""
        return paramiko.PKey.from_type_string(kind, data), "", ""
    except UnknownKeyType:
        return None, "", f"has a key of the kind {kind[:60]}, which Fawkes does not support"
    except Exception as error:  # paramiko and cryptography raise several kinds for a broken key
        return None, f"is not a host key ({str(error)[:100] or type(error).__name__})", ""
