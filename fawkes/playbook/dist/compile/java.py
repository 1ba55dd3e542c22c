"""Java on a node: where it is, which version, and whether a release runs on it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from fawkes.base.errors import HostError
from fawkes.playbook import Script
from fawkes.playbook.dist.remote import RemoteShell

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?([^"]*)"')


class NeedsJava(Protocol):
    """Software that runs on Java: a Release or a Pin."""

    @property
    def version(self) -> str: ...  # noqa: D102
    @property
    def min_java(self) -> int: ...  # noqa: D102
    @property
    def max_java(self) -> int | None: ...  # noqa: D102


@dataclass(frozen=True)
class Java:
    """One Java of a node: its home, absolute; ``major`` (17) is None when it did not run, ``said`` is what it wrote."""

    home: str
    major: int | None
    said: str


def major_of(text: str) -> int | None:
    """17 for what `java -version` of Java 17 writes, 8 for ``1.8.0_402``; None when no version is in it."""
    match = _VERSION.search(text)
    if match is None:
        return None
    # Until 8, Java called itself 1.x.
    return int(match[2]) if match[1] == "1" and match[2] else int(match[1])


def find_java(
    shell: RemoteShell, host: str, needs: NeedsJava, *, java_home: str | None = None, deadline_s: float = 60
) -> Java:
    """The Java of ``host`` on which ``needs`` runs: the inventory's ``java_home``, or the first that fits.

    Without ``java_home`` it is looked for in $JAVA_HOME, on the PATH and in the usual folders, in this order.
    HostError, naming the versions that would do, when there is none.
    """
    script = Script.of(_PROBE, given=java_home or "")
    facts = shell.run(host, script, deadline_s).check("looking for Java")
    pairs = zip(facts.all("home"), facts.all("said"), strict=True)
    return choose([Java(home, major_of(said), said) for home, said in pairs], needs, host, java_home)


def choose(javas: Sequence[Java], needs: NeedsJava, host: str, java_home: str | None = None) -> Java:
    """The first of ``found`` on which ``needs`` runs; HostError when there is none."""
    for java in javas:
        if java.major is not None and _fits(java.major, needs):
            return java
    wanted = f"Hadoop {needs.version} needs Java {_range(needs)}"
    if java_home is not None:
        what = _unfit(javas[0]) if javas else f"there is no Java in {java_home} (no bin/java that can be run)"
        raise HostError(what, host=host, hint=f"{wanted}; correct java_home of the node in inventory.toml")
    what = "; ".join(_unfit(java) for java in javas) or "no Java was found"
    raise HostError(
        what,
        host=host,
        hint=f"{wanted}: install it (`apt-get install openjdk-{needs.min_java}-jre-headless`), "
        "or name it as java_home of the node in inventory.toml",
    )


def _fits(major: int, needs: NeedsJava) -> bool:
    return needs.min_java <= major and (needs.max_java is None or major <= needs.max_java)


def _range(needs: NeedsJava) -> str:
    return f"{needs.min_java} or newer" if needs.max_java is None else f"{needs.min_java} to {needs.max_java}"


def _unfit(java: Java) -> str:
    if java.major is None:
        return f"the Java in {java.home} does not run ({java.said[:120] or 'it wrote nothing'})"
    return f"the Java in {java.home} is version {java.major}"


# `readlink -f` finds the home behind /usr/bin/java, and that two ways lead to the same Java.
# The file `release` tells the version without the cost of a JVM.
_PROBE = r"""
given={given}
seen=:
try() {
    [ -x "$1/bin/java" ] || return 0
    real=$(readlink -f -- "$1/bin/java")
    case $seen in *:"$real":*) return 0 ;; esac
    seen=$seen$real:
    said=$(sed -n 's/^JAVA_VERSION=/version /p' "$1/release" 2>/dev/null)
    if [ -z "$said" ]; then
        all=$("$1/bin/java" -version 2>&1)
        said=$(printf '%s\n' "$all" | grep ' version "' | head -n 1)
        [ -n "$said" ] || said=$(printf '%s\n' "$all" | head -n 1)
    fi
    printf '@home=%s\n@said=%s\n' "$1" "$said"
}
if [ -n "$given" ]; then
    try "$given"
    exit 0
fi
[ -z "${JAVA_HOME-}" ] || try "$JAVA_HOME"
java=$(command -v java) && java=$(readlink -f -- "$java") && try "${java%/bin/java}"
for home in /usr/lib/jvm/* /usr/java/*; do
    try "$home"
done
exit 0
"""
