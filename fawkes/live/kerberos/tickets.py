"""Tickets of the controller for one MR-cluster, from the keytab of that MR-cluster.

This is the only module that uses the library of Kerberos (extra ``kerberos``).
"""

from __future__ import annotations

import base64
import itertools
import math
import os
import threading
import time
from concurrent.futures import Future
from pathlib import Path

import gssapi
from gssapi.raw.misc import GSSError

from fawkes.live.base import limits
from fawkes.live.kerberos.keytab import Principal, TicketError

_caches = itertools.count(1)


def use_krb5_conf(path: Path) -> None:
    """Let this process find the site's KDCs; before the first ticket."""
    os.environ["KRB5_CONFIG"] = str(path)


class Tickets:
    """Gets and renews tickets of one principal; safe for any thread."""

    def __init__(self, principal: Principal, keytab: Path) -> None:
        self._principal = principal
        self._keytab = keytab
        self._lock = threading.Lock()
        #: the cache of the newest ticket, its whole life, and the wall time of its end, by which servers refuse it too
        self._own = ""
        self._life_s, self._ends_s = 0.0, -math.inf
        #: the latest try to get a ticket, and when it failed
        self._latest: Future[str] = Future()
        self._latest.cancel()
        self._ended_s = -math.inf

    def check(self) -> None:
        """Get a ticket; TicketError with the reason of the KDC or the library."""
        self._ticket()

    def proof(self, server: Principal) -> str:
        """A new SPNEGO token for a web server, in base64, for one request; TicketError."""
        context = self._context(server, gssapi.OID.from_int_seq("1.3.6.1.5.5.2"))
        return base64.b64encode(_step(context, None, self._keytab) or b"").decode()

    def session(self, server: Principal) -> GssapiSession:
        """The beginning of a private conversation over RPC; TicketError."""
        return GssapiSession(self._context(server, gssapi.MechType.kerberos), self._keytab)

    def _context(self, server: Principal, mechanism: gssapi.OID) -> gssapi.SecurityContext:
        name = gssapi.Name(str(server), gssapi.NameType.kerberos_principal)
        # A context that waits for the KDC has the lock of its credentials: whoever shares them waits too.
        cache = self._ticket()
        try:
            own = gssapi.Credentials(usage="initiate", store={"ccache": cache})
        except GSSError as error:
            raise _no_ticket(error, self._keytab) from error
        return gssapi.SecurityContext(name=name, creds=own, usage="initiate", mech=mechanism)

    def _ticket(self) -> str:
        """The cache of a ticket that is good. While one is, nobody waits for the KDC."""
        with self._lock:
            own, renewal, left_s = self._own, self._renewal(), self._left_s()
        if left_s > 0:
            return own
        try:
            return renewal.result(limits.TICKET_S)
        except GSSError as error:
            raise _no_ticket(error, self._keytab) from error
        except TimeoutError as error:
            why = f"the KDC did not answer within {limits.TICKET_S:g} s"
            raise TicketError(why, where=str(self._keytab), hint=_HINTS["cannot contact any kdc"]) from error

    def _left_s(self) -> float:
        """The time for which the ticket is still good; less than nothing without one."""
        return self._ends_s - time.time()

    def _renewal(self) -> Future[str]:
        """The latest try to get a ticket; another one begins when it is time for it."""
        left_s = self._left_s()
        # A site may issue tickets that live for less than what is to spare of others.
        due = left_s < min(limits.TICKET_SPARE_S, self._life_s / 2)
        again_s = limits.TICKET_AGAIN_S if left_s > 0 else limits.NO_TICKET_AGAIN_S
        if due and self._latest.done() and time.monotonic() - self._ended_s >= again_s:
            self._latest = Future()
            # A KDC that hangs must not hold up the end of the process.
            threading.Thread(target=self._renew, args=(self._latest,), name="ticket", daemon=True).start()
        return self._latest

    def _renew(self, latest: Future[str]) -> None:
        cache = f"MEMORY:fawkes-{os.getpid()}-{next(_caches)}"
        try:
            new = gssapi.Credentials(
                name=gssapi.Name(str(self._principal), gssapi.NameType.kerberos_principal),
                usage="initiate",
                store={"client_keytab": f"FILE:{self._keytab}", "ccache": cache},
            )
            # Only here: whoever reads it waits, with all other threads, for a context that waits for the KDC.
            now_s, life_s = int(time.time()), float(new.lifetime)
        except Exception as error:
            # The KDC may be down, and what is to spare of the old ticket is for that.
            self._ended_s = time.monotonic()
            latest.set_exception(error)
            return
        with self._lock:
            self._own, self._life_s, self._ends_s, self._ended_s = cache, life_s, now_s + life_s, -math.inf
        latest.set_result(cache)


class GssapiSession:
    """The client's side of SASL's GSSAPI mechanism (RFC 4752), and what it encrypts afterwards."""

    def __init__(self, context: gssapi.SecurityContext, keytab: Path) -> None:
        self._context = context
        self._keytab = keytab
        self._wraps = False

    def begin(self) -> bytes:
        """The first token for the server; TicketError."""
        return _step(self._context, None, self._keytab) or b""

    def answer(self, token: bytes) -> bytes:
        """The answer to a token of the server; TicketError."""
        if not self._context.complete:
            return _step(self._context, token, self._keytab) or b""
        return self._choose(token)

    def _choose(self, token: bytes) -> bytes:
        """The server offers its levels of protection; the strongest is taken."""
        offer = self.unwrap(token)
        if len(offer) != _OFFER_BYTES:
            raise TicketError("the offer of the server is not one of SASL")
        level = max((bit for bit in _LEVELS if offer[0] & bit), default=0)
        if not level:
            raise TicketError("the server offers no protection that SASL knows")
        self._wraps = level != _PLAIN
        most = offer[1:] if self._wraps else b"\0\0\0"
        return bytes(self._context.wrap(bytes([level]) + most, False).message)

    @property
    def wraps(self) -> bool:
        """True if what follows must be wrapped."""
        return self._wraps

    def wrap(self, data: bytes) -> bytes:
        """The encrypted form of what is sent."""
        return bytes(self._context.wrap(data, True).message)

    def unwrap(self, data: bytes) -> bytes:
        """The received data; TicketError when they were changed on their way."""
        try:
            return bytes(self._context.unwrap(data).message)
        except GSSError as error:
            raise TicketError(f"the answer cannot be decrypted ({_reason(error)})") from error


_OFFER_BYTES = 4
_PLAIN = 1
_LEVELS = (_PLAIN, 2, 4)


def _step(context: gssapi.SecurityContext, token: bytes | None, keytab: Path) -> bytes | None:
    try:
        answer: bytes | None = context.step(token)
        return answer
    except GSSError as error:
        raise _no_ticket(error, keytab) from error


def _no_ticket(error: GSSError, keytab: Path) -> TicketError:
    if not os.access(keytab, os.R_OK):
        # The library goes on without it, and complains of something else.
        why = "the controller cannot read this keytab" if keytab.exists() else "this keytab is not there"
        hint = f"Put it back, or make it with `kadmin ktadd -k {keytab} PRINCIPAL ...`"
        return TicketError(why, where=str(keytab), hint=hint)
    reason = _reason(error)
    return TicketError(f"the KDC gave no ticket: {reason}", where=str(keytab), hint=_hint(reason.lower()))


def _hint(reason: str) -> str:
    for words, hint in _HINTS.items():
        if words in reason:
            return hint
    return "Try `kinit -k -t` with that keytab on this machine"


_HINTS = {
    "expired": "Extend the principal's life at the KDC (`kadmin modprinc -expire`), or make a new keytab",
    "preauthentication failed": "Its keys are older than the KDC's: make the keytab again with `kadmin ktadd`",
    "password incorrect": "Its keys are older than the KDC's: make the keytab again with `kadmin ktadd`",
    "not found in kerberos database": "Create the principal at the KDC with `kadmin addprinc -randkey`",
    "cannot contact any kdc": "Check [realms] in krb5.conf, and that a KDC runs there",
    "cannot find kdc": "Name the realm's KDC in [realms] of krb5.conf",
    "clock skew": "Let chrony or ntpd set the clock of this machine and that of the KDC",
}


def _reason(error: GSSError) -> str:
    """The library's words about the mechanism, which are the useful half."""
    parts = error.get_all_statuses(error.min_code, False) if error.min_code else []
    return "; ".join(part for part in parts if part) or str(error)
