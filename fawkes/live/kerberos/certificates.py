"""A certificate for the web servers of an MR-cluster with Kerberos: made by the controller, which accepts it alone."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

from fawkes.live.base.own_files import OwnFiles
from fawkes.live.kerberos.hadoop_kerberos import KEYSTORE_PASSWORD

_YEARS = 20
_DAYS = 365


@dataclass(frozen=True, slots=True)
class Certificate:
    """``keystore`` (PKCS #12) has the private key; ``fingerprint`` is SHA-256 in hex; ``pem`` is for everybody."""

    keystore: bytes
    fingerprint: str
    pem: str


class Certificates(OwnFiles[Certificate]):
    """The certificates of MR-clusters."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, "certificate", made, opened, suffix=".p12")


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
