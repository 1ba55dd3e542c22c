"""``[web]`` in ``fawkes.toml``: where the page listens, and the tokens of those who may act through it."""

from __future__ import annotations

import hmac
import os
import ssl
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from fawkes.base.errors import ConfigError, UserError
from fawkes.base.reading import read_text
from fawkes.config.files.fields import Host, is_name
from fawkes.config.files.loader import Strict, wrong
from fawkes.config.files.nodeset import is_host_name

LOOPBACK = "127.0.0.1"
PORT = 8042
ROLES = ("viewer", "user", "operator")
"""The roles of tokens: the ranks of ``[access]``, each with all rights of those before it."""
_LEAST = 16


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not is_host_name(host) or not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536):
        raise wrong(f"{text!r} is not an address to listen on", f'Write a host and a port, such as "{LOOPBACK}:{PORT}"')
    return text


class WebTable(Strict):
    """``[web]``: `fawkes run` serves the page as well."""

    address: Annotated[str, AfterValidator(_address)] = Field(
        default=f"{LOOPBACK}:{PORT}", description="the host and port that the page listens on"
    )
    tokens: str = Field(min_length=1, description="the file with the tokens, mode 0600: a name, role and token a line")
    tls_cert: str | None = Field(default=None, min_length=1, description="the file with the certificate, in PEM")
    tls_key: str | None = Field(default=None, min_length=1, description="the file with its key, in PEM")
    names: list[Host] = Field(default=[], description="further names by which browsers or a proxy ask for the page")

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if bool(self.tls_cert) != bool(self.tls_key):
            raise wrong("tls_cert and tls_key belong together", "Give both, or neither")
        if not self.tls_cert and self.host != "localhost" and not self.host.startswith("127."):
            hint = f"Give tls_cert and tls_key, or listen on {LOOPBACK} behind a proxy with TLS"
            raise wrong(f"tokens would cross the network to {self.address} without TLS", hint)
        if self.host == "0.0.0.0" and not self.names:  # noqa: S104
            raise wrong("names is missing", 'A page for all addresses needs its names: names = ["pool.example.org"]')
        return self

    @property
    def host(self) -> str:
        """The host of its address."""
        return self.address.rpartition(":")[0]

    @property
    def url(self) -> str:
        """The address with its scheme."""
        return f"http{'s' * bool(self.tls_cert)}://{self.address}/"

    def tls(self, base: Path) -> tuple[Path, Path] | None:
        """The files of the certificate and its key, relative to ``base``; None without TLS."""
        return (base / self.tls_cert, base / self.tls_key) if self.tls_cert and self.tls_key else None

    def check(self, file: Path) -> None:
        """UserError for files that the page could not use; ``file`` has the settings."""
        Tokens(file.parent / self.tokens).read()
        if tls := self.tls(file.parent):
            try:
                # Without a password, even an empty one, it would ask for it on the terminal.
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*tls, password="")
            except OSError as error:
                what = f"{tls[0]} with the key {tls[1]} cannot be used: {error}"
                hint = "Give the certificate and its key without a password, both in PEM"
                raise ConfigError(what, file=str(file), key="web.tls_cert", hint=hint) from None


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
