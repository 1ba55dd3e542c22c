"""``proxy_jump`` of the inventory, in OpenSSH's syntax: the hosts that SSH passes on its way to a node."""

from __future__ import annotations

import re
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from fawkes.config.files.fields import is_user
from fawkes.config.files.loader import wrong
from fawkes.config.files.nodeset import is_host_name

NONE = "none"
_HOP = re.compile(r"(?:(?P<user>[^@]*)@)?(?P<name>[^@:]*)(?::(?P<port>\d{1,5}))?")
_SYNTAX = 'Write "login", "user@login.example:2222", several as "first,second", or "none"'


class Hop(NamedTuple):
    """One host of a ``proxy_jump``; what it leaves out is None."""

    name: str
    user: str | None
    port: int | None


def hops(text: str) -> tuple[Hop, ...]:
    """The hosts of a ``proxy_jump``, the first one first; none for "none". The error for a validator if it is none."""
    if text.strip().lower() == NONE:
        return ()
    passed: list[Hop] = []
    for part in text.split(","):
        match = _HOP.fullmatch(part.strip())
        if not part.strip():
            raise wrong(f"{text!r} has an empty element", _SYNTAX)
        user, port = (match["user"], match["port"]) if match else (None, None)
        if not match or not is_host_name(match["name"]) or (user is not None and not is_user(user)):
            raise wrong(f"{part.strip()!r} is not a jump host", _SYNTAX)
        if port is not None and not 0 < int(port) < 1 << 16:
            raise wrong(f"{port} is not a port", _SYNTAX)
        if match["name"] in [hop.name for hop in passed]:
            raise wrong(f"{match['name']!r} is its own jump host", "Name each host once")
        passed.append(Hop(match["name"], user, None if port is None else int(port)))
    return tuple(passed)


def _proxy_jump(text: str) -> str:
    hops(text)
    return text


ProxyJump = Annotated[str, AfterValidator(_proxy_jump)]
