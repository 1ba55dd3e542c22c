"""Kerberos for the MR-clusters that want it: what the site has is checked, and becomes files, tickets and settings."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from fawkes.base.errors import ConfigError, UserError
from fawkes.base.extras import require
from fawkes.base.reading import read_bytes, read_text
from fawkes.config.clusters.details import KERBEROS, ClusterDetails
from fawkes.config.files.loader import read_toml
from fawkes.config.settings.kerberos import KerberosSite
from fawkes.core.values.events import Event, Requested
from fawkes.core.values.model import ClusterId
from fawkes.live.kerberos.hadoop_kerberos import KEYSTORE, KEYTAB, KRB5_CONF, SECURE_IO_JAR, Secured, auth_to_local
from fawkes.live.kerberos.keytab import TicketError, principals_in

if TYPE_CHECKING:
    from fawkes.live.kerberos.certificates import Certificates
    from fawkes.live.kerberos.tickets import GssapiSession, Tickets

_OTHERS = 0o077
_MOST_BYTES = 1 << 20


def secured(site: KerberosSite | None, cluster: ClusterId, details: ClusterDetails) -> Secured | None:
    """The MR-cluster's part of the configuration for Kerberos; None without Kerberos.

    ConfigError when the site has no realm.
    """
    if details.security != KERBEROS:
        return None
    if site is None:
        raise ConfigError(
            f"{cluster} has security = {KERBEROS!r}, but the site names no realm",
            file="fawkes.toml",
            key="kerberos",
            hint='Add a table [kerberos] with realm = "EXAMPLE.ORG"',
        )
    return Secured(realm=site.realm, cluster=cluster, users=details.kerberos_users)


def check_files(site: KerberosSite | None, files: Iterable[Path], daemons: Collection[str]) -> list[str]:
    """Checks that the MR-clusters of files can have the Kerberos that they want; a line for each.

    ``daemons`` are the Unix users on the nodes. UserError as `Kerberos.check`, for the first that cannot.
    """
    lines = []
    kerberos = Kerberos(site, daemons=lambda: daemons)
    for file in files:
        table = read_toml(file)
        if table.get("security") == KERBEROS:
            users = table.get("kerberos_users", [])
            names = tuple(map(str, users)) if isinstance(users, list) else ()
            details = ClusterDetails(security=KERBEROS, kerberos_users=names, run_as=str(table.get("run_as", "")))
            cluster = ClusterId(str(table.get("id", file.stem)))
            kerberos.check(cluster, details)
            if (wanted := secured(site, cluster, details)) is not None:
                lines.append(f"{cluster}: the KDC gives tickets to {wanted.service}")
    return lines


def read_keytab(site: KerberosSite, wanted: Secured) -> bytes:
    """The keytab of an MR-cluster; UserError when a key is missing, or other users can read it."""
    path = site.keytabs / f"{wanted.cluster}.keytab"
    needed = {wanted.service, wanted.web}
    names = " ".join(str(principal) for principal in sorted(needed))
    make = f"Make it with `kadmin ktadd -k {path} {names}`"
    content = read_bytes(path, most=_MOST_BYTES, hint=make)
    status = path.stat()
    if stat.S_IMODE(status.st_mode) & _OTHERS:
        raise UserError("other users can read this keytab", where=str(path), hint=f"Run `chmod 600 {path}`")
    if status.st_uid not in (os.geteuid(), 0):
        hint = f"Run `chown {os.geteuid()} {path}`"
        raise UserError("this keytab belongs to another user than the controller's", where=str(path), hint=hint)
    there = principals_in(content, str(path))
    realms = {principal.realm for principal in there}
    if there and wanted.realm not in realms:
        raise ConfigError(
            f"the keytab {path} is of the realm {', '.join(sorted(realms))}, not of {wanted.realm}",
            file=site.file,
            key="kerberos.realm",
            hint="Correct the realm, or make the keytab at the KDC of that realm",
        )
    if missing := sorted(needed - there):
        raise UserError(
            f"the keytab has no key of {' and '.join(map(str, missing))}",
            where=str(path),
            hint=f"Create what is missing at the KDC with `kadmin addprinc -randkey`. {make}",
        )
    return content


@dataclass(frozen=True, slots=True)
class Login:
    """The proof of who the controller is to the masters of one MR-cluster."""

    tickets: Tickets
    wanted: Secured
    fingerprint: str
    key: str = field(repr=False)

    def header(self) -> str:
        """The value of an Authorization header for one request; TicketError."""
        return f"Negotiate {self.tickets.proof(self.wanted.web)}"

    def session(self) -> GssapiSession:
        """The beginning of a conversation over RPC; TicketError."""
        return self.tickets.session(self.wanted.service)


class Kerberos:
    """The site's Kerberos, for all of its MR-clusters; safe for any thread."""

    def __init__(
        self,
        site: KerberosSite | None = None,
        folder: Path = Path("tls"),
        daemons: Callable[[], Collection[str]] = tuple,
        jar: Callable[[], Path] | None = None,
    ) -> None:
        """``folder`` keeps the certificates of MR-clusters; without a ``site`` none can have Kerberos.

        ``daemons`` gives the Unix users on the nodes; ``jar`` gives the path of ``SECURE_IO_JAR``, which it may make.
        """
        self._jar = jar
        self._daemons = daemons
        self._site = site
        self._folder = folder
        self._lock = threading.Lock()
        self._logins: dict[ClusterId, Login] = {}
        self._kept: Certificates | None = None

    def secured(self, cluster: ClusterId, details: ClusterDetails) -> Secured | None:
        """Calls the function of that name."""
        return secured(self._site, cluster, details)

    def refuse(self, event: Event) -> None:
        """UserError as `check` when an event asks for an MR-cluster that cannot have its Kerberos."""
        if isinstance(event, Requested):
            self.check(event.spec.id, ClusterDetails.of(event.spec.details))

    def check(self, cluster: ClusterId, details: ClusterDetails) -> None:
        """UserError, with file and key, unless the MR-cluster can have the Kerberos that it wants; no node is asked."""
        wanted = self.secured(cluster, details)
        if wanted is None or self._site is None:
            return
        _require()
        for user in {details.run_as} if details.run_as else sorted(self._daemons()):
            auth_to_local(wanted, user)
        read_text(self._site.krb5_conf, hint="Name the file that says where the KDCs are in kerberos.krb5_conf")
        read_keytab(self._site, wanted)
        self._tickets(wanted).check()

    def check_again(self, cluster: ClusterId, details: ClusterDetails) -> None:
        """The same for an MR-cluster that has passed: what it lacks by now is the site's, so that is a TicketError."""
        with _at_work():
            self.check(cluster, details)

    def login(self, cluster: ClusterId, details: ClusterDetails, key: str) -> Login | None:
        """The proof of who the controller is, beside the ``key`` of its door; None without Kerberos."""
        wanted = self.secured(cluster, details)
        if wanted is None:
            return None
        _require()
        with self._lock:
            login = self._logins.get(cluster)
            if login is None or login.key != key:
                fingerprint = self._certificates().of(cluster).fingerprint
                login = self._logins[cluster] = Login(self._tickets(wanted), wanted, fingerprint, key)
            return login

    def files(self, cluster: ClusterId, details: ClusterDetails) -> Mapping[str, str | bytes]:
        """The files of a node's configuration folder besides Hadoop's own; empty without Kerberos.

        TicketError when the keytab or the file of the KDCs cannot be used.
        """
        wanted = self.secured(cluster, details)
        if wanted is None or self._site is None:
            return {}
        with self._lock:
            keystore = self._certificates().of(cluster).keystore
        jar = {} if self._jar is None else {SECURE_IO_JAR: self._jar().read_bytes()}
        with _at_work():
            secrets: dict[str, str | bytes] = {
                KEYTAB: read_keytab(self._site, wanted),
                KRB5_CONF: read_text(self._site.krb5_conf),
            }
        return {**jar, **secrets, KEYSTORE: keystore}

    def keep(self, clusters: Collection[ClusterId]) -> None:
        """Forget the certificates of all other MR-clusters, and what proved who the controller is to them."""
        with self._lock:
            self._logins = {name: login for name, login in self._logins.items() if name in clusters}
        if self._folder.exists():
            self._certificates().keep(clusters)

    def _certificates(self) -> Certificates:
        from fawkes.live.kerberos.certificates import Certificates

        if self._kept is None:
            self._kept = Certificates(self._folder)
        return self._kept

    def _tickets(self, wanted: Secured) -> Tickets:
        from fawkes.live.kerberos.tickets import Tickets, use_krb5_conf

        assert self._site is not None
        use_krb5_conf(self._site.krb5_conf)
        return Tickets(wanted.service, self._site.keytabs / f"{wanted.cluster}.keytab")


@contextmanager
def _at_work() -> Iterator[None]:
    """A file that became unusable after it was checked is a lack of the site, for all MR-clusters: TicketError."""
    try:
        yield
    except UserError as error:
        raise TicketError(error.what, where=error.where, hint=error.hint) from error


def _require() -> None:
    """UserError with the command to type when the packages of the extra are missing."""
    require(f"security = {KERBEROS!r}", KERBEROS)
