"""Jump hosts: ``proxy_jump`` of the inventory, in OpenSSH's syntax, and the hosts that SSH passes on its way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field

from fawkes.config.files.fields import Host, LocalPath, Port, UserName
from fawkes.config.files.loader import Strict
from fawkes.config.nodes.hops import Hop, hops
from fawkes.config.nodes.openssh import OpenSsh
from fawkes.core.values.model import Plain

_SSH_PORT = 22


@dataclass(frozen=True, kw_only=True)
class Jump:
    """A host that SSH passes on the way to a node. ``before`` is the jump host before it, None for the first one."""

    name: str
    address: str
    user: str
    port: int
    key: Path | None
    before: Jump | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of this jump host and of those before it, the first one first."""
        return (*(self.before.names if self.before else ()), self.name)

    def plain(self) -> dict[str, Plain]:
        """Plain data for the ledger."""
        key = None if self.key is None else str(self.key)
        return {**vars(self), "key": key, "before": self.before and self.before.plain()}


def jump_of(plain: Mapping[str, Any] | None) -> Jump | None:
    """The jump host behind plain data (`Jump.plain`); TypeError when it is none."""
    if plain is None:
        return None
    key = plain["key"]
    return Jump(**{**plain, "key": None if key is None else Path(key), "before": jump_of(plain["before"])})


class JumpTable(Strict):
    """A ``[jump.NAME]`` table: a jump host that is not reached as the nodes behind it are."""

    address: Host | None = Field(default=None, description="the address for SSH; default: the name")
    user: UserName | None = Field(default=None, description="the user for SSH; default: that of the node behind it")
    port: Port | None = Field(default=None, description="the port of sshd; default: 22")
    key: LocalPath | None = Field(default=None, description="the private key file; default: that of the node behind it")


class WayError(ValueError):
    """A ``proxy_jump`` that leads nowhere; the text says why, ``hint`` what to write."""

    def __init__(self, what: str, hint: str) -> None:
        super().__init__(what)
        self.hint = hint


class Ways:
    """Finds the jump hosts of nodes.

    ``tables`` are the ``[jump.NAME]`` tables by name, with absolute paths. ``node`` gives what the inventory says about
    a node of the pool (address, user, port, key, proxy_jump), and None for other names.
    """

    def __init__(
        self,
        tables: Mapping[str, Mapping[str, Any]],
        node: Callable[[str], Mapping[str, Any] | None],
        openssh: OpenSsh | None,
    ) -> None:
        self._tables = tables
        self._node = node
        self._openssh = openssh
        self._ports: dict[str, tuple[str, int]] = {}
        self._known: dict[tuple[str, str, Path | None], Jump | None] = {}

    def last(self, name: str, text: str | None, user: str, key: Path | None) -> Jump | None:
        """The last jump host before a node whose ``proxy_jump`` is ``text``; None without one. WayError."""
        if text is None:
            return None
        if (text, user, key) not in self._known:
            self._known[text, user, key] = self._chain(text, user, key, ())
        jump = self._known[text, user, key]
        if jump is not None and name in jump.names:
            raise _own(name)
        return jump

    def _chain(self, text: str, user: str, key: Path | None, behind: tuple[str, ...]) -> Jump | None:
        jump: Jump | None = None
        for hop in hops(text):
            if hop.name in behind or (jump is not None and hop.name in jump.names):
                raise _own(hop.name)
            jump = self._jump(hop, user, key, jump, (*behind, hop.name))
        return jump

    def _jump(self, hop: Hop, user: str, key: Path | None, before: Jump | None, behind: tuple[str, ...]) -> Jump:
        node = self._node(hop.name)
        if node is None:
            node = {"address": hop.name, **self._tables.get(hop.name, {})}
            if self._openssh is not None:
                node = self._openssh.complete(node, jumps=before is None)
        said = {**node, **{key: value for key, value in hop._asdict().items() if value is not None}}
        jump = Jump(
            name=hop.name,
            address=said["address"],
            user=said.get("user", user),
            port=said.get("port", _SSH_PORT),
            key=said.get("key", key),
        )
        # Only the first one of a list is reached in its own way; ssh goes to the others from the one before.
        if before is None and said.get("proxy_jump"):
            before = self._chain(said["proxy_jump"], jump.user, jump.key, behind)
        place = (jump.address, jump.port)
        if self._ports.setdefault(hop.name, place) != place:
            hint = "Give the second one a name of its own, by a table [jump.NAME] with `address` and `port`"
            raise WayError(f"the jump host {hop.name!r} is named with two ports or addresses", hint)
        return Jump(**{**vars(jump), "before": before})


def _own(name: str) -> WayError:
    return WayError(
        f"{name!r} would be its own jump host", f'Write proxy_jump = "none" for {name}, or name another one'
    )
