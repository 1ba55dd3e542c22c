"""`fawkes web` as a process of its own, on a free port."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_SCRIPT = """
import sys
from pathlib import Path
from fawkes.report.web import app, looks, serve
if steps := int(sys.argv[4]):
    looks.STEPS_AT_ONCE, app.ALIVE_S = steps, 3600.0
serve.REQUEST_S = float(sys.argv[2])
files = (Path(sys.argv[3]), Path(sys.argv[3])) if sys.argv[3] else None
serve.serve(Path(sys.argv[1]), port=0, key="", names=(), ready=lambda port: print(port, flush=True), tls=files)
"""


@contextmanager
def served(
    folder: Path, request_s: float = 10.0, pem: Path | None = None, steps: int = 0
) -> Iterator[tuple[str, Callable[[], object]]]:
    """The address of the page of a state folder, and a function that ends its process.

    A connection without a whole request is closed after ``request_s``. ``pem`` has a certificate and its key.
    With ``steps`` so many are read at once, and streams are silent while there is no news.
    """
    command = [sys.executable, "-c", _SCRIPT, str(folder), str(request_s), str(pem or ""), str(steps)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())

            def end() -> object:
                process.kill()
                return process.wait()

            yield f"http{'s' * bool(pem)}://127.0.0.1:{port}/", end
        finally:
            process.kill()


def certified(folder: Path) -> Path:
    """A certificate of this machine, and its key, in one file."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "page")])
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now)
        .not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .sign(key, hashes.SHA256())
    )
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "page.pem"
    file.write_bytes(key.private_bytes(*form) + certificate.public_bytes(serialization.Encoding.PEM))
    return file
