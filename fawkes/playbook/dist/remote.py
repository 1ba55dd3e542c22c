"""The interface to whoever runs scripts on nodes, and the questions that this package has for one node."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from fawkes.base.errors import HostError, UserError
from fawkes.playbook import Facts, Script, failure, read_facts
from fawkes.playbook.dist.release import DESCRIPTION, LISTING_FOLDERS, Release

_QUESTION_S = 60.0


class Ran(Protocol):
    """The end of a script: its exit code and what it wrote."""

    @property
    def exit(self) -> int: ...  # noqa: D102
    @property
    def stdout(self) -> str: ...  # noqa: D102
    @property
    def stderr(self) -> str: ...  # noqa: D102


class RemoteShell(Protocol):
    """Runs POSIX shell scripts on nodes."""

    def run(self, host: str, script: str, *, input: BinaryIO | None = None, deadline_s: float) -> Ran:  # noqa: A002
        """Run ``script`` by `/bin/sh` on ``host``; HostError when it cannot be reached, DeadlineError when late.

        Without ``input`` the script goes over stdin (`/bin/sh -s`). With it the script goes as the one quoted
        argument of `/bin/sh -c`, and its stdin is what ``input.read`` gives until that is empty.
        """


def ask(
    shell: RemoteShell,
    host: str,
    script: Script,
    *,
    doing: str,
    input: BinaryIO | None = None,  # noqa: A002
    deadline_s: float = _QUESTION_S,
) -> Facts:
    """The facts that ``script`` printed on ``host``; HostError with ``doing`` and its last words when it failed."""
    ran = shell.run(host, script.text, input=input, deadline_s=deadline_s)
    if ran.exit != 0:
        raise failure(host, doing, ran.exit, ran.stderr)
    return read_facts(ran.stdout)


def release_on(shell: RemoteShell, host: str, root: str) -> Release:
    """The release that a node has in the folder ``root``; HostError when there is none."""
    script = Script.of(_LISTING, root=root, folders=LISTING_FOLDERS, description=DESCRIPTION)
    facts = ask(shell, host, script, doing=f"reading {root}")
    description = "\n".join(facts.all("line")) if "line" in facts else None
    try:
        return Release.from_listing(root, facts.all("name"), description)
    except UserError as error:
        raise HostError(error.what, host=f"{host}: {error.where}", hint=error.hint) from error


_LISTING = r"""
cd {root} || exit 1
for folder in {folders}; do
    for path in "$folder"/*; do
        [ ! -e "$path" ] || printf '@name=%s\n' "$path"
    done
done
description={description}
[ ! -f "$description" ] || while IFS= read -r line; do
    printf '@line=%s\n' "$line"
done <"$description"
"""
