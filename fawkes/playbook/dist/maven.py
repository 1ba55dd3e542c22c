"""Maven, as the one who fetches jars: it knows the site's mirrors, proxies and passwords, and Fawkes need not."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Timer

from fawkes.base.errors import DeadlineError, FawkesError

_DEADLINE_S = 3600
_SHOWN_LINES = 3
_JARS_TOLD = 20

_DOWNLOADED = re.compile(r"Downloaded from \S+: \S+\.jar\b")
_EMPTY_TALK = re.compile(r"\[ERROR\] *($|\[Help|Re-run Maven|To see the full|For more information)")
_CAUSE = re.compile(r"Could not (?:transfer|find) artifact .*")
_REPEATED = re.compile(r": transfer failed for \S+(?=: )")
_LOGIN_IN_URL = re.compile(r"(?<=://)[^/@\s]+@")

Say = Callable[[str], None]
Resolve = Callable[[str, Path, Say], None]

COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
"""The goal of a POM that asks for nothing but its dependencies."""


def resolve(pom: str, into: Path, say: Say, *, deadline_s: float = _DEADLINE_S) -> None:
    """Let Maven do a POM's default goals, which put the jars of its runtime dependencies into the folder ``into``.

    ``say`` gets a line now and then about what had to be downloaded. FawkesError when Maven or Java is missing, or with
    the last lines of what Maven said; DeadlineError after ``deadline_s``.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise FawkesError("Maven is not installed (no `mvn` on the PATH)", hint=_install("maven"))
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise FawkesError(
            "Maven needs Java, and there is none (no `java` on the PATH, no JAVA_HOME)",
            hint=_install("openjdk-17-jre-headless"),
        )
    with tempfile.TemporaryDirectory(prefix="pom-", dir=into.parent) as folder:
        file = Path(folder) / "pom.xml"
        file.write_text(pom)
        _run(
            [
                maven,
                "--batch-mode",
                "-Dstyle.color=never",
                f"--file={file}",
                "-DincludeScope=runtime",
                f"-DoutputDirectory={into}",
            ],
            say,
            deadline_s,
        )


def _run(argv: list[str], say: Say, deadline_s: float) -> None:
    expired = Event()
    with _process(argv, expired, deadline_s) as maven:
        assert maven.stdout is not None
        heard: list[str] = []
        downloaded = 0
        for line in maven.stdout:
            if _DOWNLOADED.search(line):
                downloaded += 1
                if downloaded % _JARS_TOLD == 0:
                    say(f"{downloaded} jars downloaded")
            elif line.strip() and "Downloading from" not in line:
                heard.append(_LOGIN_IN_URL.sub("***@", line.rstrip()))
                del heard[:-200]
        status = maven.wait()
    if expired.is_set():
        raise DeadlineError(f"Maven did not finish within {deadline_s:g} s", hint="Look at its mirror and proxy")
    if status != 0:
        raise FawkesError(f"Maven failed (exit {status}): {_cause(heard)}", hint=_advice(heard))


@contextlib.contextmanager
def _process(argv: list[str], expired: Event, deadline_s: float) -> Iterator[subprocess.Popen[str]]:
    """Maven running; it and all its children end with the block, or before when its time is up (``expired``)."""
    with subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as maven:

        def expire() -> None:
            expired.set()
            _end(maven)

        timer = Timer(deadline_s, expire)
        timer.start()
        try:
            yield maven
        finally:
            timer.cancel()
            _end(maven)


def _end(maven: subprocess.Popen[str]) -> None:
    if maven.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(maven.pid, signal.SIGKILL)


def _cause(heard: list[str]) -> str:
    """The cause: the artifact that could not be had, and why; else Maven's first complaints, or its last words."""
    errors = [line for line in heard if line.startswith("[ERROR]") and not _EMPTY_TALK.match(line)]
    lines = [line.removesuffix(" -> [Help 1]") for line in errors[:_SHOWN_LINES] or heard[-_SHOWN_LINES:]]
    for line in lines:
        if cause := _CAUSE.search(line):
            return _REPEATED.sub("", cause[0])
    return "\n    ".join(lines) or "it reported nothing"


def _advice(heard: list[str]) -> str:
    text = "\n".join(heard)
    if "No space left on device" in text:
        return "Make room on the disk and try again"
    return "Set a mirror or proxy in Maven's settings.xml; without any network, copy the cache of a machine that has it"


def put(parent: ET.Element, **texts: str) -> None:
    """Put elements with these texts into an element of a POM."""
    for tag, text in texts.items():
        ET.SubElement(parent, tag).text = text


def depend(parent: ET.Element, artifact: str, version: str, *, classifier: str = "", alone: bool = False) -> None:
    """Put an artifact (``GROUP:NAME``) into the dependencies of a POM; ``alone`` leaves its own dependencies out."""
    group, _, name = artifact.partition(":")
    dependency = ET.SubElement(parent, "dependency")
    put(dependency, groupId=group, artifactId=name, version=version)
    if classifier:
        put(dependency, classifier=classifier)
    if alone:
        put(ET.SubElement(ET.SubElement(dependency, "exclusions"), "exclusion"), groupId="*", artifactId="*")


def _install(package: str) -> str:
    return f"On Debian and Ubuntu: `apt-get install {package}`"
