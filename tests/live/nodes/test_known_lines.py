"""Lines of known_hosts mean what OpenSSH takes them for; the programs of OpenSSH are asked the same."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.known_hosts import KnownHosts
from fawkes.live.nodes.known_lines import Marker, matches, read_lines
from fawkes.live.nodes.ssh import Result, SshError
from fawkes.playbook import Script
from tests.live.sshd import Sshd, new_key

LINES = Path(__file__).parents[1] / "data" / "known_lines.txt"
NAMES = [f"node{number:02}" for number in range(1, 15)] + [
    *("NODE01", "node", "web.field.example", "login.field.example", "field.example", "x.stolen.example"),
    *("[10.0.0.7]:2201", "[10.0.0.7]:1201", "[10.0.0.9]:2222", "[node05]:2201", "10.0.0.7"),
    *("abcd.example", "axbxcxd.example", "abdc.example", ""),
]


def filled(text: str) -> str:
    key, other = new_key(), new_key()
    for word, part in (("KEY", key), ("OTHER", other)):
        text = text.replace(word, f"{part.get_name()} {part.get_base64()}")
    return text.replace("KIND", key.get_name()).replace("BASE64", key.get_base64())


def numbers_of(file: Path, name: str, marker: Marker) -> set[int]:
    lines = list(read_lines(file.read_bytes()))
    return {line.number for line in lines if line.marker is marker and not line.fault and line.names.has(name.lower())}


def keygen_numbers(file: Path, name: str, mark: str) -> set[int]:
    printed = subprocess.run(["ssh-keygen", "-F", name, "-f", file], capture_output=True, text=True, check=False).stdout
    return {int(number) for number in re.findall(rf"^# Host .* found: line (\d+) ?{mark}$", printed, re.M)}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_the_lines_that_ssh_keygen_finds(tmp_path: Path, name: str) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(filled(LINES.read_text()))
    # ssh-keygen takes no heed of the key itself.
    without_key = {14, 15}
    for marker, mark in ((Marker.NONE, ""), (Marker.AUTHORITY, "CA"), (Marker.REVOKED, "REVOKED")):
        assert numbers_of(file, name, marker) == keygen_numbers(file, name, mark) - without_key


@pytest.mark.slow
@given(st.text("ab.*?", max_size=12), st.text("ab.", max_size=12))
def test_a_pattern_matches_as_its_regular_expression_does(pattern: str, name: str) -> None:
    expression = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in pattern)
    assert matches(pattern, name) == bool(re.fullmatch(expression, name))


@pytest.fixture(scope="module")
def server() -> Iterator[Sshd]:
    with Sshd() as server:
        yield server


def ssh_enters(server: Sshd, key: Path, file: Path) -> bool:
    strict = ("BatchMode=yes", "StrictHostKeyChecking=yes", f"UserKnownHostsFile={file}", "GlobalKnownHostsFile=none")
    options = [word for option in (*strict, "IdentitiesOnly=yes", "IdentityAgent=none") for word in ("-o", option)]
    where = ["-i", str(key), "-p", str(server.port), "tester@127.0.0.1", "true"]
    return subprocess.run(["ssh", "-F", "none", *options, *where], capture_output=True, check=False).returncode == 0


def outcome(server: Sshd, key: Path, file: Path) -> str:
    with Fleet({"node01": server.host(key)}, file) as fleet:
        result = fleet.run_many(["node01"], Script("true"), 20)["node01"]
    assert isinstance(result, Result | SshError)
    return "" if isinstance(result, Result) else str(result)


#: lines (NAME is the host's name with its port), whether ssh goes in, and what Fawkes says ("" when it goes in)
TRIES = {
    "plain": ("NAME KEY", True, ""),
    "a pattern": ("[127.0.0.*]:* KEY", True, ""),
    "all but this address": ("*,!*127.0.0.1* KEY", False, "known_hosts has no line for [127.0.0.1]"),
    "without the port": ("127.0.0.1 KEY", True, ""),
    "of another port": ("[127.0.0.1]:1 KEY", False, "known_hosts has no line for [127.0.0.1]"),
    "revoked everywhere": ("NAME KEY\n@revoked * KEY", False, "revoked: in FILE, line 2 revokes it"),
    "revoked by a pattern": ("@revoked [127.0.0.?]:* KEY\nNAME KEY", False, "revoked: in FILE, line 1 revokes it"),
    "another key is revoked": ("NAME KEY\n@revoked * OTHER", True, ""),
    "only a revoked key": ("@revoked * OTHER", False, "known_hosts has no line for [127.0.0.1]"),
    "a certificate authority": (
        "@cert-authority [127.0.0.1]:* KEY",
        False,
        "in FILE, line 1 trusts a certificate authority, which Fawkes does not support; it shows",
    ),
    "authority and another key": ("@cert-authority * KEY\nNAME OTHER", False, "has CHANGED: FILE has"),
    "a new kind of key": (
        f"NAME sk-ssh-ed25519@openssh.com AAAAGnNrLXNzaC1lZDI1NTE5QG9wZW5zc2guY29t{'A' * 64}",
        False,
        "line 1 has a key of the kind sk-ssh-ed25519@openssh.com, which Fawkes does not support",
    ),
    # Here Fawkes is stricter than ssh: an exception is one, and a line that may be a revocation counts as one.
    "all but this port": ("*,!NAME KEY", True, "known_hosts has no line for [127.0.0.1]"),
    "revoked without the port": ("NAME KEY\n@revoked 127.0.0.1 KEY", True, "revoked: in FILE, line 2"),
    "a misspelled marker": ("NAME KEY\n@Revoked * KEY", True, "line 2 begins with a marker that is not one of"),
    "a revoked key that is cut off": ("NAME KEY\n@revoked * KIND AAAA", True, "line 2 is not a host key"),
    "a revocation for nobody knows whom": ("NAME KEY\n@revoked |1|x|y KEY", True, "line 2 has a hashed name"),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TRIES)
def test_ssh_and_fawkes_trust_the_same_lines(server: Sshd, key: Path, tmp_path: Path, kind: str) -> None:
    text, ssh_goes_in, says = TRIES[kind]
    file, shown, other = tmp_path / "known_hosts", server.host_key, new_key()
    text = text.replace("NAME", f"[127.0.0.1]:{server.port}").replace("KIND", shown.get_name())
    for word, part in (("KEY", shown), ("OTHER", other)):
        text = text.replace(word, f"{part.get_name()} {part.get_base64()}")
    file.write_text(f"{text}\n")
    assert ssh_enters(server, key, file) == ssh_goes_in
    said = outcome(server, key, file)
    assert said == "" if not says else says.replace("FILE", str(file)) in said


@pytest.mark.slow
def test_a_file_of_10000_lines_and_a_line_of_a_megabyte_are_read(tmp_path: Path) -> None:
    key = new_key()
    text = f"{key.get_name()} {key.get_base64()}"
    many = "".join(f"rack{number}-*.example,!rack{number}-9.example {text}\n" for number in range(10_000))
    long = ",".join(f"*h{number}*?*" for number in range(80_000))
    stars = ",".join("*a" * 500 + "b" for _ in range(100))
    file = tmp_path / "known_hosts"
    file.write_text(f"{many}{long} {text}\n{stars} {text}\n@revoked {long},*-7.* {text}\n")
    known = KnownHosts(file)
    assert [(row.line, row.revoked) for row in known.about("rack77-8.example", 22).keys] == [(78, False)]
    assert [row.line for row in known.about("rack77-9.example", 22).keys] == []
    assert [(row.line, row.revoked) for row in known.about("rack5-7.example", 22).keys] == [(6, False), (10_003, True)]
    assert known.about("a" * 60, 22).faults == []
