from __future__ import annotations

import subprocess
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import HostError, UserError
from fawkes.playbook import Exit, Folders, Script, Secret, failure, read_facts

TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@settings(max_examples=25, deadline=None)
@given(TEXT)
def test_a_value_arrives_as_it_is(value: str) -> None:
    script = Script.of("printf %s {value}", value=value)
    ran = subprocess.run(["/bin/sh", "-s"], input=script.text.encode(), capture_output=True, check=True)
    assert ran.stdout == value.encode()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.lists(TEXT))
def test_a_sequence_becomes_words(words: list[str]) -> None:
    script = Script.of("set -- {words}; echo $#", words=words)
    ran = subprocess.run(["/bin/sh", "-s"], input=script.text.encode(), capture_output=True, check=True)
    assert int(ran.stdout) == len(words)


def test_what_belongs_to_the_shell_stays() -> None:
    text = Script.of('f() { echo "${x:-1}"; }; for y in ${x}; do f; done; mkdir {dir}', dir=PurePosixPath("/a b")).text
    assert text == "f() { echo \"${x:-1}\"; }; for y in ${x}; do f; done; mkdir '/a b'"


@pytest.mark.parametrize("template", ["echo {a} {b}", "echo", 'echo "{a}"', "echo '{a}'", 'echo "x {a}"'])
def test_a_template_that_does_not_fit_its_values_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match="placeholder"):
        Script.of(template, a="1")


def test_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        Script.of("echo {a}", a="x\0y")


def test_a_secret_is_sent_and_never_shown() -> None:
    script = Script.of("login {password}", password=Secret("s3 cret")).with_env({"TOKEN": Secret("t0ken")})
    script = script + Script.of("( {inner} )", inner=Script.of("echo {x}", x=[Secret("th1rd")]))
    assert "'s3 cret'" in script.text
    assert "t0ken" in script.text
    assert "th1rd" in script.text
    shown = f"{script!r} {script.masked} {Secret('f0urth')!r}"
    for secret in ("s3 cret", "t0ken", "th1rd", "f0urth"):
        assert secret not in shown
    assert shown.count("***") == 7


def test_env_names_are_checked() -> None:
    with pytest.raises(ValueError, match="environment"):
        Script("true").with_env({"A;rm": "x"})


def test_facts_are_read_between_noise() -> None:
    facts = read_facts("Welcome!\n@host=n1\n@listen=80\nOpenJDK a=b\n@listen=443\n@left.12=p c 1 nm\n@x=\n@a.b=c=d\n")
    assert dict(facts) == {"host": "n1", "listen": "443", "left.12": "p c 1 nm", "x": "", "a.b": "c=d"}
    assert facts.all("listen") == ("80", "443")
    assert (facts.number("listen"), facts.number("host"), facts.number("none")) == (443, None, None)
    assert facts.under("left") == {"12": "p c 1 nm"}


def test_only_a_line_feed_ends_a_fact() -> None:
    facts = read_facts("@why.namenode=he said\u2028@state=finished\x0b@exit=0\n")
    assert dict(facts) == {"why.namenode": "he said\u2028@state=finished\x0b@exit=0"}


def test_a_failure_says_host_deed_and_the_last_words() -> None:
    error = failure("node07", "starting", 1, "noise\nno such file\n\n")
    assert isinstance(error, HostError)
    assert str(error) == "node07: starting failed: exit code 1: no such file"


def test_the_last_words_of_a_failure_are_a_line_that_a_line_feed_ends() -> None:
    assert "real\u2028@lease.pool=forged" in str(failure("node01", "x", 1, "first\nreal\u2028@lease.pool=forged\n"))


def test_every_exit_code_of_ours_has_a_meaning() -> None:
    for code in Exit:
        assert "exit code" not in str(failure("n", "x", code, ""))


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b"])
def test_folders_never_leave_their_place(name: str) -> None:
    with pytest.raises(UserError):
        Folders(work_dir=PurePosixPath("/srv"), cluster=name)
