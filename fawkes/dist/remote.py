"""What this package asks of whoever runs scripts on nodes, and the questions it has for one node."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import BinaryIO, Protocol

from fawkes.dist.release import DESCRIPTION, LISTING_FOLDERS, Release
from fawkes.errors import HostError, UserError

_MARK = "fawkes\t"
_QUESTION_S = 60.0


class Ran(Protocol):
    """How a script ended: its exit code and what it wrote."""

    @property
    def exit(self) -> int: ...  # noqa: D102
    @property
    def stdout(self) -> str: ...  # noqa: D102
    @property
    def stderr(self) -> str: ...  # noqa: D102


class RemoteShell(Protocol):
    """Runs POSIX shell scripts on nodes."""

    def run(self, host: str, script: str, *, stream: BinaryIO | None = None, deadline_s: float) -> Ran:
        """Run ``script`` by `/bin/sh` on ``host``; HostError when it cannot be reached, DeadlineError when late.

        Without ``stream`` the script goes over stdin (`/bin/sh -s`). With it the script goes as the one quoted
        argument of `/bin/sh -c`, and its stdin is what ``stream.read`` gives until that is empty.
        """
        ...


def ask(
    shell: RemoteShell,
    host: str,
    script: str,
    values: Mapping[str, str],
    *,
    doing: str,
    stream: BinaryIO | None = None,
    deadline_s: float = _QUESTION_S,
) -> list[list[str]]:
    """The fields of each line that ``script`` wrote with the mark ``fawkes`` before them, split at tabs.

    ``values`` become variables of the script, quoted. HostError with the last line of stderr and ``doing`` when the
    script fails. What else a node writes to stdout (a banner, say) is left out.
    """
    given = "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())
    ran = shell.run(host, given + script, stream=stream, deadline_s=deadline_s)
    if ran.exit != 0:
        said = ran.stderr.strip().splitlines() or [f"exit {ran.exit}"]
        room = "Make room on its disk and try again" if "No space left on device" in ran.stderr else ""
        raise HostError(f"{doing} failed: {said[-1]}", host=host, hint=room)
    return list(_marked(ran.stdout))


def release_on(shell: RemoteShell, host: str, root: str) -> Release:
    """The release that a node has in the folder ``root``; HostError when there is none."""
    rows = ask(
        shell,
        host,
        _LISTING,
        {"root": root, "folders": " ".join(LISTING_FOLDERS), "description": DESCRIPTION},
        doing=f"looking at {root}",
    )
    names = [fields[1] for fields in rows if fields[0] == "name"]
    lines = [fields[1] for fields in rows if fields[0] == "line"]
    try:
        return Release.from_listing(root, names, "\n".join(lines) if lines else None)
    except UserError as error:
        raise HostError(error.what, host=f"{host}: {error.where}", hint=error.hint) from error


_LISTING = r"""
[ -d "$root" ] || { echo "there is no folder $root" >&2; exit 1; }
cd "$root" || exit 1
for folder in $folders; do
    for path in "$folder"/*; do
        [ ! -e "$path" ] || printf 'fawkes\tname\t%s\n' "$path"
    done
done
[ ! -f "$description" ] || while IFS= read -r line; do
    printf 'fawkes\tline\t%s\n' "$line"
done < "$description"
"""


def _marked(text: str) -> Iterator[list[str]]:
    for line in text.splitlines():
        if line.startswith(_MARK):
            yield line.removeprefix(_MARK).split("\t")
