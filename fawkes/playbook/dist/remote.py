"""The interface to whoever runs scripts on nodes, and the questions that this package has for one node."""

from __future__ import annotations

from typing import BinaryIO, Protocol

from fawkes.base.errors import HostError, UserError
from fawkes.playbook import Facts, Script
from fawkes.playbook.dist.release import DESCRIPTION, LISTING_FOLDERS, Release

_QUESTION_S = 60.0


class Ran(Protocol):
    """The end of a script on a node."""

    def check(self, doing: str) -> Facts:
        """The facts that it printed; HostError with ``doing`` and its last words when it failed."""


class RemoteShell(Protocol):
    """Runs POSIX shell scripts on nodes; `live.nodes.fleet.Fleet` is the real one."""

    def run(self, node: str, script: Script, deadline_s: float, stdin: BinaryIO | None = None) -> Ran:
        """Run a script, with ``stdin`` to its end; HostError when the node is not reached, DeadlineError when late."""


def release_on(shell: RemoteShell, host: str, root: str) -> Release:
    """The release that a node has in the folder ``root``; HostError when there is none."""
    script = Script.of(_LISTING, root=root, folders=LISTING_FOLDERS, description=DESCRIPTION)
    facts = shell.run(host, script, _QUESTION_S).check(f"reading {root}")
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
