"""The user's OpenSSH configuration, read when ``[ssh] config`` names it."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from fawkes.base.reading import is_file, read_text
from fawkes.config.files.fields import is_user
from fawkes.config.files.loader import Faults
from fawkes.config.files.nodeset import is_host_name
from fawkes.config.nodes.hops import NONE, hops

_NO_FILE = 'Name the file, such as config = "~/.ssh/config", or leave `config` out of [ssh]'
_NOT_READ = {
    "include": ("Include is not supported", "Copy the lines about the pool's hosts into a file, and name that one"),
    "canonicalizehostname": ("CanonicalizeHostname is not supported", "Write the full names into the inventory"),
}
_NO_EXEC = "Match exec would run a command, and is not supported"
_BY_SSH = "`ssh -G HOST` shows what ssh makes of it"
_MOST_PORT = 65_535


class OpenSsh:
    """The words of the file about hosts. ``faults`` collects what is wrong in it; a fault is told once."""

    def __init__(self, path: Path) -> None:
        """Read the file; ConfigError when that is not possible, or it has what paramiko does not read as ssh does."""
        self.path = path
        self.faults = Faults(path)
        self.known_hosts: set[Path | None] = set()
        """The UserKnownHostsFile of each host that was asked for; None for a host without one."""
        self._reported: set[tuple[str, str]] = set()
        self._config = _parser()
        text = read_text(path, hint=_NO_FILE)
        for number, line in enumerate(text.splitlines(), 1):
            self._refuse(f"line {number}", line.replace("=", " ", 1).split())
        self.faults.refuse()
        try:
            self._config.parse(io.StringIO(text))
        except Exception as error:  # a damaged file raises what paramiko's parser happens to raise
            self.faults.add(f"cannot be read: {error}", hint=_BY_SSH)
            self.faults.refuse()

    def complete(self, said: Mapping[str, Any], *, jumps: bool) -> dict[str, Any]:
        """A host with what the file has for it, where ``said`` has nothing: user, port, key and proxy_jump.

        The file is asked about the ``address``, and gives the one to use. Without ``jumps`` nobody needs a way there.
        """
        host, jumps = said["address"], jumps and "proxy_jump" not in said
        try:
            options: dict[str, Any] = dict(self._config.lookup(host))
        except Exception as error:  # as above
            self._add(f"cannot be used for {host}: {error}", "", _BY_SSH)
            return dict(said)
        place = f"Host {host}"
        if jumps and options.get("proxycommand"):
            self._add("ProxyCommand is not supported", place, "Write ProxyJump there, or proxy_jump into the inventory")
        address, user = options["hostname"], options.get("user")
        if not is_host_name(address):
            self._add(f"HostName {address!r} is not a host name or an IPv4 address", place, "Correct it")
        if user is not None and not is_user(user):
            self._add(f"User {user!r} cannot be a user name", place, "Correct it")
        self.known_hosts.add(self._known_hosts(options.get("userknownhostsfile", ""), place))
        file = {
            "user": user,
            "port": self._port(options, place),
            "key": _first_key(options.get("identityfile", [])),
            "proxy_jump": self._proxy_jump(options, place) if jumps else None,
        }
        return {**{key: value for key, value in file.items() if value is not None}, **said, "address": address}

    def _proxy_jump(self, options: Mapping[str, Any], place: str) -> str | None:
        text: str | None = options.get("proxyjump")
        try:
            hops(text or NONE)
        except PydanticCustomError as error:
            self._add(f"ProxyJump {text!r}: {error.message()}", place, "Correct it")
            return None
        return text

    def _port(self, said: Mapping[str, Any], place: str) -> int | None:
        text = str(said.get("port", 22))
        if not (text.isascii() and text.isdigit() and 0 < int(text[:6]) <= _MOST_PORT):
            self._add(f"Port {text!r} is not a port", place, "Write a number from 1 to 65,535")
            return None
        return int(text) if "port" in said else None

    def _known_hosts(self, text: str, place: str) -> Path | None:
        first = next(iter(text.split()), "none").strip('"')
        if first.lower() in ("none", os.devnull):
            return None
        path = Path(os.path.expanduser(first))
        if "%" in first or not path.is_absolute():
            self._add(f"UserKnownHostsFile {first!r} is not supported", place, "Write known_hosts into [ssh] instead")
            return None
        return path

    def _refuse(self, place: str, words: list[str]) -> None:
        keyword = words[0].lower() if words else ""
        if keyword in _NOT_READ:
            self._add(_NOT_READ[keyword][0], place, _NOT_READ[keyword][1])
        if keyword == "match" and any(word.lower().lstrip("!") == "exec" for word in words):
            self._add(_NO_EXEC, place, _NOT_READ["include"][1])

    def _add(self, what: str, place: str, hint: str) -> None:
        if (what, place) not in self._reported:
            self._reported.add((what, place))
            self.faults.add(what, place, hint)


def _first_key(names: list[str]) -> Path | None:
    """The first key file that is there, as ssh passes over the others; the first name if none is."""
    paths = [Path(name) for name in names if name.lower() != "none"]
    return next((path for path in paths if is_file(path)), paths[0] if paths else None)


def _parser() -> Any:
    """paramiko's parser; it is loaded here, because runs of the simulator read inventories and connect to no host."""
    import paramiko

    class Config(paramiko.SSHConfig):
        # paramiko asks the name service for this machine's name (%l, %C) even where no line has these tokens.
        TOKENS_BY_CONFIG_KEY = {
            **paramiko.SSHConfig.TOKENS_BY_CONFIG_KEY,
            "identityfile": ["~", "%d", "%h", "%u", "%r"],
        }

    return Config()
