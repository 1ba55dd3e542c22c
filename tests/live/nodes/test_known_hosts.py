from __future__ import annotations

import subprocess
import threading
from pathlib import Path

import pytest

from fawkes.live.nodes.known_hosts import KnownHosts, remember
from tests.live.sshd import new_key


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "known_hosts"


def test_a_key_is_remembered_once_and_found_by_address_and_port(tmp_path: Path) -> None:
    file = tmp_path / "site" / "known_hosts"
    key, other = new_key(), new_key()
    for _ in range(2):
        remember(file, "10.0.0.1", 22, key)
    remember(file, "10.0.0.1", 2222, other)
    known = KnownHosts(file)
    assert [(row.key, row.line) for row in known.about("10.0.0.1", 22).keys] == [(key, 1)]
    assert [(row.key, row.line) for row in known.about("10.0.0.1", 2222).keys] == [(other, 2)]
    assert list(known.about("10.0.0.2", 22).keys) == []


def test_a_file_that_is_not_there_knows_nobody_until_it_is(file: Path) -> None:
    known = KnownHosts(file)
    assert list(known.about("a", 22).keys) == []
    remember(file, "a", 22, new_key())
    assert len(known.about("a", 22).keys) == 1


def test_what_ssh_keygen_writes_is_read(file: Path) -> None:
    key = new_key()
    remember(file, "node01", 22, key)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    assert "node01" not in file.read_text()
    assert [row.key for row in KnownHosts(file).about("node01", 22).keys] == [key]


def test_comments_certificates_and_revoked_keys(file: Path) -> None:
    key = new_key()
    text = f"{key.get_name()} {key.get_base64()}"
    file.write_text(f"# a comment\n\n@cert-authority * {text}\n@revoked a {text}\na,b {text} somebody\n")
    known = KnownHosts(file)
    assert [(row.line, row.revoked) for row in known.about("a", 22).keys] == [(4, True), (5, False)]
    assert [row.line for row in known.about("b", 22).keys] == [5]
    assert list(known.about("*", 22).keys) == []


BAD = {
    "too short": b"node01",
    "no base64": b"node01 ssh-ed25519 !!!!",
    "a key that is cut off": b"node01 ssh-ed25519 AAAA",
    "garbage": b"\x00\xff\xfe garbage that goes on",
    "a hashed name that is none": b"|1|bad|bad ssh-ed25519 AAAA",
    "no line feed but U+2028": "node01 ssh-ed25519 \u2028 AAAA".encode(),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BAD)
def test_a_bad_line_costs_itself_alone_and_is_named(file: Path, kind: str, caplog: pytest.LogCaptureFixture) -> None:
    key, hashed = new_key(), new_key()
    remember(file, "node03", 22, hashed)
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True, capture_output=True)
    good = f"node02 {key.get_name()} {key.get_base64()}\n".encode()
    file.write_bytes(b"# first\n" + BAD[kind] + b"\n" + good + file.read_bytes())
    known = KnownHosts(file)
    for _ in range(2):
        assert [row.key for row in known.about("node02", 22).keys] == [key]
        assert [row.key for row in known.about("node03", 22).keys] == [hashed]
        assert list(known.about("node01", 22).keys) == []
    assert [message.startswith(f"{file}, line 2, ") for message in caplog.messages] == [True]
    assert known.about("node02", 22).faults == []


def test_a_host_is_told_which_line_of_its_own_is_bad(file: Path) -> None:
    key = new_key()
    file.write_text(f"node01,10.0.0.1 ssh-ed25519 AAAA\nnode01 {key.get_name()} {key.get_base64()}\n")
    known = KnownHosts(file)
    assert [row.key for row in known.about("node01", 22).keys] == [key]
    assert list(known.about("10.0.0.1", 22).keys) == []
    assert [fault.startswith("line 1 is not a host key") for fault in known.about("10.0.0.1", 22).faults] == [True]


def test_a_revocation_that_cannot_be_read_trusts_no_key_of_its_host(file: Path) -> None:
    key = new_key()
    text = f"{key.get_name()} {key.get_base64()}"
    file.write_text(f"@revoked a ssh-ed25519 AAAA\na {text}\nb {text}\n")
    known = KnownHosts(file)
    assert list(known.about("a", 22).keys) == []
    assert [row.key for row in known.about("b", 22).keys] == [key]


def test_a_file_that_cannot_be_read_is_a_reason_for_each_host(file: Path) -> None:
    file.mkdir()
    known = KnownHosts(file)
    assert list(known.about("a", 22).keys) == []
    assert known.about("a", 22).faults == ["it is a folder, not a file"]
    file.rmdir()
    remember(file, "a", 22, new_key())
    assert len(known.about("a", 22).keys) == 1
    assert known.about("a", 22).faults == []


def test_lines_that_are_no_text_stay_when_a_key_is_added(file: Path) -> None:
    odd = b"# caf\xe9 \xe2\x80\xa8 here\n\xff\xfe\n"
    file.write_bytes(odd)
    remember(file, "a", 22, new_key())
    assert file.read_bytes().startswith(odd)
    assert len(KnownHosts(file).about("a", 22).keys) == 1


def test_many_writers_at_once_lose_nothing(file: Path) -> None:
    key = new_key()
    writers = [threading.Thread(target=remember, args=(file, f"n{i}", 22, key)) for i in range(20)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(file.read_text().splitlines()) == 20
