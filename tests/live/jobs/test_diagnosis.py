"""Which words of a failed job are told, where there are many."""

from __future__ import annotations

import pytest

from fawkes.core.values.sight import ClientCause
from fawkes.live.jobs.diagnosis import cause_of, why_failed
from fawkes.live.wire.masters import MasterAddresses, YarnApplication
from fawkes.live.wire.rest import Deadline

NOBODY = MasterAddresses(resource_manager="", namenode="", history="", user="root", nodes={})
DISTCP = """
2026-11-22 01:16:47,119 INFO client.DefaultNoHARMFailoverProxyProvider: Connecting to ResourceManager at /10.98.1.5:8032
2026-11-22 01:16:47,560 ERROR tools.DistCp: Invalid input:
org.apache.hadoop.tools.CopyListing$InvalidInputException: Target path for atomic-commit already exists: hdfs://far/x.
\tat org.apache.hadoop.tools.SimpleCopyListing.validatePaths(SimpleCopyListing.java:174)
2026-11-22 01:16:47,582 INFO util.ExitUtil: Exiting with status -1: ExitException
"""
CLIENT = """
Exception in thread "main" java.lang.RuntimeException: outer
    at Main.main(Main.java:3)
Caused by: java.io.FileNotFoundException: /no/such
    at Main.open(Main.java:9)
"""


@pytest.mark.parametrize(
    ("stderr", "told"),
    [
        (DISTCP, "InvalidInputException: Target path for atomic-commit already exists: hdfs://far/x."),
        (CLIENT, "java.io.FileNotFoundException: /no/such"),
        ("usage: x\nno such option\n", "no such option"),
        ("", ""),
    ],
)
def test_the_client_s_last_telling_words(stderr: str, told: str) -> None:
    why = why_failed(NOBODY, (), stderr, Deadline.after(1))
    assert why.endswith(told)
    assert bool(why) is bool(told)
    assert "ExitUtil" not in why


def test_the_resource_manager_is_believed_before_the_client() -> None:
    ended = YarnApplication(
        id="application_1_1", state="FAILED", final_status="FAILED", diagnostics="too much memory\nmore"
    )
    assert why_failed(NOBODY, (ended,), CLIENT, Deadline.after(1)) == "too much memory"


@pytest.mark.parametrize("mark", ["\u2028", "\u0085", "\x0b", "\x0c", "\x1e", "\r"])
def test_only_a_line_feed_ends_a_line_of_what_a_job_said(mark: str) -> None:
    said = f"error: one{mark}error: two"
    assert why_failed(NOBODY, (), f"{said}\n", Deadline.after(1)) == said
    ended = YarnApplication(id="application_1_1", state="FAILED", final_status="FAILED", diagnostics=f"{said}\nmore")
    assert why_failed(NOBODY, (ended,), "", Deadline.after(1)) == said


EXISTS = "Output directory hdfs://10.98.1.1:8020/output/x already exists"


@pytest.mark.parametrize(
    ("stderr", "cause", "words"),
    [
        (
            f"org.apache.hadoop.mapred.FileAlreadyExistsException: {EXISTS}\n",
            ClientCause.OUTPUT_EXISTS,
            "folder /output/x e",
        ),
        (
            f"1 2 ERROR streaming.StreamJob: Error Launching job : {EXISTS}\n",
            ClientCause.OUTPUT_EXISTS,
            "folder /output/x e",
        ),
        (
            "Exception in thread main java.lang.ClassNotFoundException: org.A\n",
            ClientCause.NO_CLASS,
            "no class org.A in",
        ),
        ("Error: Could not find or load main class org.A\n", ClientCause.NO_CLASS, "no class org.A in"),
        (
            "org.apache.hadoop.security.KerberosAuthException: failure to login: for principal: a from keytab k "
            "javax.security.auth.login.LoginException: Connection refused\n"
            "Caused by: java.net.ConnectException: Connection refused\n",
            ClientCause.NO_LOGIN,
            "could not log in at the KDC: Connection refused. Check",
        ),
        ("InvalidInputException: Input path does not exist: hdfs://a/b\n", ClientCause.NOT_KNOWN, ""),
        ("", ClientCause.NOT_KNOWN, ""),
    ],
)
def test_what_a_client_said_that_gave_nothing_to_yarn(stderr: str, cause: ClientCause, words: str) -> None:
    cause_words = cause_of(stderr)
    assert cause_words[0] is cause
    assert words in cause_words[1]
    assert bool(words) is bool(cause_words[1])
