"""``[web]`` in ``fawkes.toml``: where the page listens, and the files that it uses."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from fawkes.base.errors import ConfigError
from fawkes.config.files.fields import Host
from fawkes.config.files.loader import Strict, wrong
from fawkes.config.files.nodeset import is_host_name
from fawkes.config.settings.tokens import LOOPBACK, PORT, Tokens


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
    def port(self) -> int:
        """The port of its address."""
        return int(self.address.rpartition(":")[2])

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
