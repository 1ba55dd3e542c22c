from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from fawkes.errors import UserError
from fawkes.live.known_hosts import KnownHosts, forget, remember
from tests.live.sshd import new_key


def test_a_key_is_remembered_once_and_found_by_address_and_port(tmp_path: Path) -> None:
    file = tmp_path / "site" / "known_hosts"
    key, other = new_key(), new_key()
    for _ in range(2):
        remember(file, "10.0.0.1", 22, key)
    remember(file, "10.0.0.1", 2222, other)
    known = KnownHosts(file)
    assert [(one.key, one.line) for one in known.keys("10.0.0.1", 22)] == [(key, 1)]
    assert [(one.key, one.line) for one in known.keys("10.0.0.1", 2222)] == [(other, 2)]
    assert list(known.keys("10.0.0.2", 22)) == []


def test_a_file_that_is_not_there_knows_nobody_until_it_is(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    known = KnownHosts(file)
    assert list(known.keys("a", 22)) == []
    remember(file, "a", 22, new_key())
    assert len(known.keys("a", 22)) == 1
    forget(file, "a", 22)
    assert list(known.keys("a", 22)) == []


def test_what_ssh_keygen_writes_is_read(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    key = new_key()
    remember(file, "node01", 22, key)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    assert "node01" not in file.read_text()
    assert [one.key for one in KnownHosts(file).keys("node01", 22)] == [key]


def test_comments_certificates_and_revoked_keys(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    key = new_key()
    text = f"{key.get_name()} {key.get_base64()}"
    file.write_text(f"# a comment\n\n@cert-authority * {text}\n@revoked a {text}\na,b {text} somebody\n")
    known = KnownHosts(file)
    assert [(one.line, one.revoked) for one in known.keys("a", 22)] == [(4, True), (5, False)]
    assert [one.line for one in known.keys("b", 22)] == [5]
    assert list(known.keys("*", 22)) == []


@pytest.mark.parametrize("line", ["node01", "node01 ssh-ed25519 !!!!", "node01 ssh-ed25519 AAAA"])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"# first\n{line}\n")
    with pytest.raises(UserError, match="line 2"):
        KnownHosts(file).keys("node01", 22)


def test_many_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    key = new_key()
    writers = [threading.Thread(target=remember, args=(file, f"n{i}", 22, key)) for i in range(20)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(file.read_text().splitlines()) == 20
