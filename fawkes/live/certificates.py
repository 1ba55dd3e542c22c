"""A certificate for the web servers of an MR-cluster with Kerberos: made by the controller, which accepts it alone."""

from __future__ import annotations

import datetime
import os
import threading
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from fawkes.core.model import ClusterId
from fawkes.errors import FawkesError
from fawkes.live.hadoop_kerberos import KEYSTORE_PASSWORD

_YEARS = 20
_DAYS = 365


@dataclass(frozen=True, slots=True)
class Certificate:
    """``keystore`` (PKCS #12) has the private key; ``fingerprint`` is SHA-256 in hex; ``pem`` is for everybody."""

    keystore: bytes
    fingerprint: str
    pem: str


class Certificates:
    """The certificates of MR-clusters, one file for each in a folder that only the controller's user can read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._known: dict[ClusterId, Certificate] = {}

    def of(self, cluster: ClusterId) -> Certificate:
        """The certificate of an MR-cluster, made when it has none; FawkesError when the folder cannot be used."""
        with self._lock:
            if cluster not in self._known:
                try:
                    self._known[cluster] = _read(self._folder / f"{cluster}.p12", cluster)
                except (OSError, ValueError) as error:
                    raise FawkesError(
                        f"the certificate of {cluster} cannot be kept ({error})",
                        where=str(self._folder),
                        hint="The controller must be able to write this folder",
                    ) from error
            return self._known[cluster]

    def keep(self, clusters: Collection[ClusterId]) -> None:
        """Remove the certificates of all other MR-clusters: they are gone, and their ids are never used again."""
        for path in self._folder.glob("*"):
            if path.stem not in clusters:
                path.unlink(missing_ok=True)


def _read(path: Path, cluster: str) -> Certificate:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    if not path.exists():
        part = path.with_name(f".{path.name}.new")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(made(cluster))
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    return opened(path.read_bytes())


def made(cluster: str) -> bytes:
    """A new key and its certificate, as PKCS #12 that Java reads."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, cluster)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=_YEARS * _DAYS))
        .sign(key, hashes.SHA256())
    )
    lock = serialization.BestAvailableEncryption(KEYSTORE_PASSWORD.encode())
    return pkcs12.serialize_key_and_certificates(cluster.encode(), key, certificate, None, lock)


def opened(keystore: bytes) -> Certificate:
    """The certificate in a keystore that `made` has made; ValueError for other bytes."""
    _, certificate, _ = pkcs12.load_key_and_certificates(keystore, KEYSTORE_PASSWORD.encode())
    if certificate is None:
        raise ValueError("there is no certificate in it")
    pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
    return Certificate(keystore, certificate.fingerprint(hashes.SHA256()).hex(), pem)
