"""SSH keys of a lab: one for the controller, one for each host. No ssh-keygen needed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fawkes.base.errors import UserError


@dataclass(frozen=True)
class KeyPair:
    """A private key as the text of its file, and the public key as ``ssh-ed25519 AAAA...``."""

    private: str
    public: str


def new_key() -> KeyPair:
    """A fresh ed25519 key without a passphrase."""
    return _pair(Ed25519PrivateKey.generate())


def user_key(file: Path) -> KeyPair:
    """The key in ``file``, or a fresh one when there is no such file; UserError when it holds something else."""
    if not file.exists():
        return new_key()
    text = file.read_text(errors="replace")
    try:
        key = serialization.load_ssh_private_key(text.encode(), password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise UserError(f"this is not a private key that a lab can use ({error})", where=str(file)) from error
    if not isinstance(key, Ed25519PrivateKey):
        raise UserError("this private key is not of the kind ed25519", where=str(file))
    return KeyPair(text, _pair(key).public)


def _pair(key: Ed25519PrivateKey) -> KeyPair:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return KeyPair(private.decode(), public.decode())
