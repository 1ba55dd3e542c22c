"""The principals that a keytab has keys for, read without Kerberos's own library, so that `fawkes check` needs none."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from fawkes.base.errors import SiteError, UserError
from fawkes.live.wire.own_faults import own_fault

_VERSION = b"\x05\x02"
_NO_LOGIN, _CLOCK = "failure to login", "Clock skew"
_AS_USUAL = "Make it with `kadmin ktadd -k FILE PRINCIPAL ...`"


class TicketError(SiteError):
    """The controller has no ticket, or a server did not accept it."""


def is_of_site(error: BaseException | None) -> bool:
    """True if an error, or one that it follows from, is a lack of the site: no KDC, no ticket, no keytab.

    So is what the controller's own machine lacks. Daemons say so with Hadoop's words. Only the clock of their own node
    is that node's.
    """
    if error is None:
        return False
    login = _NO_LOGIN in str(error) and _CLOCK not in str(error)
    return login or isinstance(error, SiteError) or bool(own_fault(error)) or is_of_site(error.__cause__)


@dataclass(frozen=True, slots=True, order=True)
class Principal:
    """A name in a realm: ``name`` is ``alice`` or ``hadoop/alpha``."""

    name: str
    realm: str

    def __str__(self) -> str:
        return f"{self.name}@{self.realm}"


def principals_in(keytab: bytes, where: str) -> frozenset[Principal]:
    """The principals of a keytab; UserError, which names the file ``where``, when the bytes are not a keytab."""
    if not keytab.startswith(_VERSION):
        raise UserError("this is not a keytab", where=where, hint=_AS_USUAL)
    try:
        return frozenset(_entries(keytab))
    except (struct.error, UnicodeDecodeError):
        raise UserError("this keytab is cut short or damaged", where=where, hint=_AS_USUAL) from None


def _entries(keytab: bytes) -> list[Principal]:
    principals = []
    at = len(_VERSION)
    while at + 4 <= len(keytab):
        (size,) = struct.unpack_from(">i", keytab, at)
        at += 4
        if size == 0:
            break
        if size > 0:
            if at + size > len(keytab):
                raise struct.error
            principals.append(_principal(keytab[at : at + size]))
        # A negative size is a hole: an entry was removed there.
        at += abs(size)
    return principals


def _principal(entry: bytes) -> Principal:
    (components,) = struct.unpack_from(">H", entry)
    realm, at = _text(entry, 2)
    names = []
    for _ in range(components):
        name, at = _text(entry, at)
        names.append(name)
    return Principal("/".join(names), realm)


def _text(entry: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">H", entry, at)
    end = at + 2 + size
    if end > len(entry):
        raise struct.error
    return entry[at + 2 : end].decode(), end
