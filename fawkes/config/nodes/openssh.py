"""The user's OpenSSH configuration, read when ``[ssh] config`` names it."""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from fawkes.base.errors import cut
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
#: paramiko takes a condition that it does not know, or in capitals, for one that is met
_ALONE, _CONDITIONS = {"all", "canonical", "final"}, {"host", "originalhost", "user", "localuser"}
_SETTING = re.compile(r"\s*(\w+)(?:\s*=\s*|\s+)(.+)")
#: words, which may have quotes; what begins with a hash behind them is a comment
_WORDS = re.compile(r"""(?:\s*(?!\#)(?:"[^"]*"|'[^']*'|[^\s"'])+)*""")
#: ssh gives the text of these to a shell
_COMMANDS = {"proxycommand", "localcommand", "remotecommand", "knownhostscommand"}
_NEXT = "\x1f"
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
        self._configs: dict[str | None, Any] = {}
        text = read_text(path, hint=_NO_FILE)
        lines = [self._line(f"line {number}", line) for number, line in enumerate(text.splitlines(), 1)]
        self.faults.refuse()
        self._text = "\n".join(lines)
        self._of(None)
        self.faults.refuse()

    def complete(self, said: Mapping[str, Any], *, jumps: bool) -> dict[str, Any]:
        """A host with what the file has for it, where ``said`` has nothing: user, port, key and proxy_jump.

        The file is asked about the ``address``, and gives the one to use. Without ``jumps`` nobody needs a way there.
        """
        host, jumps = said["address"], jumps and "proxy_jump" not in said
        try:
            options: dict[str, Any] = dict(self._of(said.get("user")).lookup(host))
        except Exception as error:  # as above
            self._add(f"cannot be used for {host}: {error}", "", _BY_SSH)
            return dict(said)
        place = f"Host {host}"
        # As with ssh, the first one of the two counts, also where it says "none".
        way = next((word for word in options if word in ("proxycommand", "proxyjump")), None)
        if jumps and way == "proxycommand" and options[way]:
            self._add("ProxyCommand is not supported", place, "Write ProxyJump there, or proxy_jump into the inventory")
        if options.get("revokedhostkeys", NONE).lower() != NONE:
            hint = "Write the keys into the file of known_hosts, each behind @revoked and *"
            self._add("RevokedHostKeys is not supported", place, hint)
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
            "proxy_jump": self._proxy_jump(options, place) if jumps and way == "proxyjump" else None,
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
        first, *more = text.split(_NEXT)
        if more:
            hint = "Write the lines of all of them into one file: ssh refuses a key that any of them revokes"
            self._add("UserKnownHostsFile names several files, which is not supported", place, hint)
            return None
        if first.lower() in ("", NONE, os.devnull):
            return None
        path = Path(os.path.expanduser(first))
        if "%" in first or not path.is_absolute():
            self._add(f"UserKnownHostsFile {first!r} is not supported", place, "Write known_hosts into [ssh] instead")
            return None
        return path

    def _of(self, user: str | None) -> Any:
        """The file as paramiko reads it for who logs in as ``user``, which comes first as ``ssh -l`` does."""
        if user not in self._configs:
            config = _parser()
            try:
                config.parse(io.StringIO(f"User {user}\n{self._text}" if user else self._text))
            except Exception as error:  # a damaged file raises what paramiko's parser happens to raise
                self.faults.add(f"cannot be read: {error}", hint=_BY_SSH)
            self._configs[user] = config
        return self._configs[user]

    def _line(self, place: str, line: str) -> str:
        """A line in words that paramiko understands as ssh does; what it would take for something else is a fault."""
        setting = _SETTING.match(line)
        keyword = "" if setting is None or line.lstrip().startswith("#") else setting[1].lower()
        if keyword in _NOT_READ:
            self._add(_NOT_READ[keyword][0], place, _NOT_READ[keyword][1])
        if setting is None or not keyword or keyword in _COMMANDS:
            return line
        value = _without_comment(setting[2])
        if keyword not in ("host", "match", "userknownhostsfile"):
            return f"{keyword} {value}"
        try:
            words = shlex.split(value)
        except ValueError as error:
            self._add(f"cannot be read: {error}", place, _BY_SSH)
            return ""
        if keyword == "userknownhostsfile":
            return f"{keyword} {_NEXT.join(words)}"
        if keyword == "match":
            words = self._conditions(place, words)
        if any("[" in word for word in words):
            self._add("brackets are letters for ssh, and are not supported", place, "Use * and ?, or name the hosts")
        return f"{keyword} {shlex.join(words)}"

    def _conditions(self, place: str, words: Sequence[str]) -> list[str]:
        """The words of Match, with conditions in small letters."""
        known, left = [], iter(words)
        for word in left:
            condition = word.lower()
            name = condition.removeprefix("!")
            if name.partition("=")[0] == "exec":
                self._add(_NO_EXEC, place, _NOT_READ["include"][1])
            elif name not in _ALONE | _CONDITIONS:
                self._add(f"Match {cut(name)} is not supported", place, _NOT_READ["include"][1])
            known += [condition, *([] if name in _ALONE else [next(left, "")])]
        return known

    def _add(self, what: str, place: str, hint: str) -> None:
        if (what, place) not in self._reported:
            self._reported.add((what, place))
            self.faults.add(what, place, hint)


def _without_comment(value: str) -> str:
    words = _WORDS.match(value)
    end = words.end() if words else 0
    return value[:end] if value[end:].lstrip().startswith("#") else value


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
