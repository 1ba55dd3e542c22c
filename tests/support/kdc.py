"""A KDC for a lab, of Debian's packages krb5-kdc and krb5-admin-server: a realm that ends with its folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fawkes.base.errors import DeadlineError, UserError
from fawkes.live.lab.spec import CONTROLLER_ADDRESS

REALM = "FAWKES.LAB"
PORT = 10088
_FOLDER = "kdc"

SITE_TABLE = f"""
[kerberos]
realm = "{REALM}"
krb5_conf = "{_FOLDER}/krb5.conf"
"""
"""What `fawkes.toml` says of the realm that `serving_realm` makes in its site folder."""

_PROGRAMS = ("krb5kdc", "kdb5_util", "kadmin.local")
_SBIN = "/usr/sbin"
_UP_WITHIN_S = 20.0
_KRB5 = """\
[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    ticket_lifetime = 24h
[realms]
    {realm} = {{
        kdc = {address}:{port}
    }}
"""
_KDC = """\
[kdcdefaults]
    kdc_listen = {address}:{port}
    kdc_tcp_listen = {address}:{port}
[realms]
    {realm} = {{
        database_name = {folder}/principal
        key_stash_file = {folder}/stash
        acl_file = {folder}/acl
        max_life = 24h
        supported_enctypes = aes256-cts:normal aes128-cts:normal
    }}
[logging]
    kdc = FILE:{folder}/kdc.log
    admin_server = FILE:{folder}/kdc.log
"""


Popen = Callable[..., "subprocess.Popen[Any]"]


@dataclass(frozen=True)
class Kdc:
    """The realm ``REALM`` with its files in one folder; `serving` runs its server, which listens at ``address``."""

    folder: Path
    address: str = CONTROLLER_ADDRESS
    port: int = PORT

    @property
    def krb5_conf(self) -> Path:
        """The configuration file for clients of the realm."""
        return self.folder / "krb5.conf"

    @property
    def environment(self) -> Mapping[str, str]:
        """The environment in which Kerberos's own programs find the realm."""
        path = f"{os.environ.get('PATH', os.defpath)}:{_SBIN}"
        return {"KRB5_CONFIG": str(self.krb5_conf), "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"), "PATH": path}

    def make(self) -> None:
        """An empty realm; UserError with the packages to install when this machine has no KDC."""
        missing = [name for name in _PROGRAMS if shutil.which(name, path=self.environment["PATH"]) is None]
        if missing:
            hint = "As root on Debian: apt-get install krb5-kdc krb5-admin-server krb5-user"
            raise UserError(f"programs of a KDC are missing: {', '.join(missing)}", hint=hint)
        self.folder.mkdir(mode=0o700, parents=True)
        values = {"realm": REALM, "address": self.address, "port": self.port, "folder": self.folder}
        self.krb5_conf.write_text(_KRB5.format(**values))
        (self.folder / "kdc.conf").write_text(_KDC.format(**values))
        (self.folder / "acl").write_text("")
        self._run(["kdb5_util", "create", "-s", "-r", REALM, "-P", "lab"])

    def principals(self, *names: str, options: Sequence[str] = ()) -> None:
        """Create principals with keys that nobody knows; ``options`` are those of `kadmin addprinc`."""
        for name in names:
            self._run(["kadmin.local", "-r", REALM, "addprinc", "-randkey", *options, name])

    def keytab(self, path: Path, *names: str) -> Path:
        """Write the keys of principals into a file that only its owner can read."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._run(["kadmin.local", "-r", REALM, "ktadd", "-norandkey", "-k", str(path), *names])
        path.chmod(0o600)
        return path

    def admin(self, *words: str) -> None:
        """One command of `kadmin.local`."""
        self._run(["kadmin.local", "-r", REALM, *words])

    @contextmanager
    def serving(self, popen: Popen = subprocess.Popen) -> Iterator[None]:
        """Run the KDC while the block lasts; DeadlineError when it does not begin to.

        ``popen`` starts it: the one of a lab, in whose network it then is, or that of this machine.
        """
        log = self.folder / "kdc.log"
        log.write_text("")
        server = popen(
            ["krb5kdc", "-n", "-r", REALM],
            env={**os.environ, **self.environment},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            limit = time.monotonic() + _UP_WITHIN_S
            while "commencing operation" not in log.read_text():
                if time.monotonic() > limit or server.poll() is not None:
                    raise DeadlineError("the KDC does not answer", where=str(log))
                time.sleep(0.05)
            yield
        finally:
            server.kill()
            server.wait()

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """The KDC takes requests while the block lasts, and answers them afterwards."""
        (pid,) = [int(at.parent.name) for at in Path("/proc").glob("[0-9]*/cmdline") if self._serves(at)]
        os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(pid, signal.SIGCONT)

    def _serves(self, cmdline: Path) -> bool:
        with suppress(OSError):
            own = f"KRB5_CONFIG={self.krb5_conf}".encode()
            return cmdline.read_bytes().startswith(b"krb5kdc\0") and own in cmdline.with_name("environ").read_bytes()
        return False

    def _run(self, words: Sequence[str]) -> None:
        subprocess.run(words, env={**os.environ, **self.environment}, check=True, capture_output=True, text=True)


@contextmanager
def serving_realm(site: Path, clusters: Iterable[str], popen: Popen = subprocess.Popen) -> Iterator[Kdc]:
    """Give a site, while the block lasts, a KDC, in its folder, and a keytab for each of these MR-clusters.

    UserError with the packages to install when this machine has no KDC; DeadlineError when it does not answer.
    ``popen`` as in `Kdc.serving`.
    """
    kdc = Kdc(site / _FOLDER)
    kdc.make()
    for name in clusters:
        own = (f"hadoop/{name}", f"HTTP/{name}")
        kdc.principals(*own)
        kdc.keytab(site / "keytabs" / f"{name}.keytab", *own)
    with kdc.serving(popen):
        yield kdc
