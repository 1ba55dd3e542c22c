"""Output of other programs: ``ansible-inventory``, ``scontrol``, and ClusterShell's groups."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from fawkes.base.errors import UserError, cut
from fawkes.base.reading import MIB, decoded

MOST_OUTPUT = 64 * MIB
"""The longest output, and the largest file with one: 100,000 nodes, each with 600 bytes of variables."""

_LIMITED = ("/bin/sh", "-c", f'ulimit -f {MOST_OUTPUT // 512} && exec "$@"', "sh")
_GROUP_S = 10.0
_CONFIGURED = ("/etc/clustershell", "~/.local/etc/clustershell")
_FIRST = f"{_CONFIGURED[0]}/groups.conf"


def output_of(
    command: Sequence[str], *, within_s: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> str:
    """The text that a program prints on its standard output.

    UserError when it is not installed, fails, prints too much, or takes longer than ``within_s``: then it is killed.
    Its standard error is dropped, since it may quote secrets of the files that it reads.
    """
    shown = cut(shlex.join(command), 200)
    if shutil.which(command[0]) is None:
        raise UserError(f"there is no program {command[0]!r}", hint="Install it, or name a file with its output")
    with tempfile.TemporaryFile() as out:
        program = subprocess.Popen(
            [*_LIMITED, *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env={**os.environ, **(environment or {})},
            start_new_session=True,
        )
        try:
            status = program.wait(within_s)
        except subprocess.TimeoutExpired:
            hint = "Run it by hand to see why"
            raise UserError(f"`{shown}` did not end within {within_s:.0f} s", hint=hint) from None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()
        if status:
            what = f"`{shown}` failed, or printed more than {MOST_OUTPUT // MIB} MiB (exit code {status})"
            raise UserError(what, hint="Run it by hand to see why")
        out.seek(0)
        return decoded(out.read(), Path(shown))


@cache
def clustershell_group(name: str) -> tuple[str, ...]:
    """The nodes of a group of ClusterShell's configuration, such as ``rack1`` or ``slurm:batch``.

    ValueError when there are none. A group may be answered by a command of that configuration, so its time is limited.
    """
    # Examples come along with ClusterShell below sys.prefix, and would win over the groups of the site.
    own = os.environ.get("XDG_CONFIG_HOME", "~/.config") + "/clustershell"
    folders = (*_CONFIGURED, own, os.environ.get("CLUSTERSHELL_CFGDIR", own))
    files = [file for folder in folders if os.path.isfile(file := os.path.expanduser(f"{folder}/groups.conf"))]
    if not files:
        raise ValueError(f"'@{name}' is a group of ClusterShell, which has no groups here: there is no {_FIRST}")
    command = [sys.executable, "-m", "ClusterShell.CLI.Nodeset", f"--groupsconf={files[-1]}", "-e", "-S", "\n"]
    try:
        names = output_of([*command, f"@{name}"], within_s=_GROUP_S).split()
    except UserError as error:
        why = "did not answer in time" if "did not end" in error.what else "cannot be read"
        raise ValueError(f"the group '@{name}' of ClusterShell {why}: look with `nodeset -f @{name}`") from None
    if not names:
        raise ValueError(f"ClusterShell has no nodes in the group '@{name}': `nodeset -LL` shows its groups")
    return tuple(names)
