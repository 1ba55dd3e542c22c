"""``[web]`` and the file of tokens: what is taken, and what is refused with file and key, and without a secret."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.config.settings.settings import load_settings
from fawkes.config.settings.tokens import Token, Tokens
from fawkes.config.settings.web import WebTable

SECRET = "s3cr3t-s3cr3t-s3cr3t"
LINE = f"alice operator {SECRET}\n"


def web(site: Path, text: str) -> WebTable:
    (site / "fawkes.toml").write_text(f'[web]\ntokens = "tokens"\n{text}\n')
    found = load_settings(site / "fawkes.toml").web
    assert found is not None
    return found


def tokens(folder: Path, text: str = LINE, mode: int = 0o600) -> Path:
    file = folder / "tokens"
    file.write_text(text)
    file.chmod(mode)
    return file


def test_a_site_has_no_page_of_its_own_by_default(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "fawkes.toml").web is None


def test_paths_are_those_of_the_site(tmp_path: Path) -> None:
    found = web(tmp_path, 'address = "10.0.0.1:8443"\ntls_cert = "a.pem"\ntls_key = "/etc/b.pem"\nnames = ["pool.org"]')
    assert (found.host, found.url, found.names) == ("10.0.0.1", "https://10.0.0.1:8443/", ["pool.org"])
    assert found.tls(tmp_path) == (tmp_path / "a.pem", Path("/etc/b.pem"))


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ('address = "8042"', "web.address", "is not an address"),
        ('address = ":8042"', "web.address", "is not an address"),
        ('address = "127.0.0.1:0"', "web.address", "is not an address"),
        ('address = "127.0.0.1:65536"', "web.address", "is not an address"),
        ('address = "127.0.0.1:²"', "web.address", "is not an address"),
        ("address = 8042", "web.address", "not text"),
        ('address = "0.0.0.0:8042"', "web", "without TLS"),
        ('address = "pool.example.org:8042"', "web", "without TLS"),
        ('tls_cert = "a.pem"', "web", "belong together"),
        ('tls_key = "a.pem"', "web", "belong together"),
        ('tls_key = ""', "web.tls_key", "at least 1"),
        ('address = "0.0.0.0:1"\ntls_cert = "a"\ntls_key = "b"', "web", "names is missing"),
        ('names = ["a/b"]', "web.names", "host name"),
        ("port = 1", "web.port", "unknown key"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(tmp_path: Path, text: str, key: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says) as caught:
        web(tmp_path, text)
    assert f"{tmp_path}/fawkes.toml: {key}" in str(caught.value)


def test_files_of_tls_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    tokens(tmp_path)
    (tmp_path / "a.pem").write_text("no certificate")
    found = web(tmp_path, 'tls_cert = "a.pem"\ntls_key = "missing.pem"')
    with pytest.raises(ConfigError, match=r"missing\.pem cannot be used") as caught:
        found.check(tmp_path / "fawkes.toml")
    assert caught.value.key == "web.tls_cert"


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "tokens/below", "loop"])
def test_a_file_of_tokens_that_cannot_be_looked_at_is_named(tmp_path: Path, name: str) -> None:
    tokens(tmp_path)
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UserError) as caught:
        Tokens(tmp_path / name).read()
    assert str(tmp_path) in str(caught.value)


def test_tokens_have_names_and_roles(tmp_path: Path) -> None:
    file = tokens(tmp_path, f"# who\n\nvera viewer {'v' * 16}\n{LINE}")
    held = Tokens(file)
    assert held.holder(SECRET) == Token("alice", "operator")
    assert held.holder("v" * 16) == Token("vera", "viewer")
    for other in ("", "alice", SECRET[:-1], f"{SECRET}x", "\u00e9", "v" * 15):
        assert held.holder(other) is None


def test_a_file_that_has_changed_counts_at_once(tmp_path: Path) -> None:
    held = Tokens(tokens(tmp_path))
    assert held.holder(SECRET)
    tokens(tmp_path, f"bob user {'b' * 16}\n")
    assert held.holder(SECRET) is None
    assert held.holder("b" * 16) == Token("bob", "user")
    os.remove(tmp_path / "tokens")
    with pytest.raises(UserError):
        held.holder("b" * 16)
    tokens(tmp_path)
    assert held.holder(SECRET)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "has no token"),
        ("# nobody\n", "has no token"),
        (f"alice {SECRET}\n", "line 1: this"),
        (f"alice operator {SECRET} x\n", "line 1: this"),
        (f"{SECRET}\n", "line 1: this"),
        (f"alice root {SECRET}\n", "line 1: this"),
        (f"Alice operator {SECRET}\n", "line 1: this"),
        (f"{LINE}alice user {'u' * 16}\n", "line 2: this"),
        (f"{LINE}bob user {SECRET}\n", "line 2: this"),
        ("\n# x\nalice operator short\n", "line 3: this"),
        (f"alice operator {SECRET}\u00e9\n", "line 1: this"),
    ],
)
def test_a_file_that_is_wrong_is_refused_by_line_and_shows_no_secret(tmp_path: Path, text: str, says: str) -> None:
    file = tokens(tmp_path, text)
    with pytest.raises(UserError, match=says) as caught:
        Tokens(file).read()
    assert str(file) in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o601])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    with pytest.raises(UserError, match="others can read it") as caught:
        Tokens(tokens(tmp_path, mode=mode)).read()
    assert "chmod 600" in str(caught.value)
