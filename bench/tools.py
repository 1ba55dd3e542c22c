"""ClusterShell's clush and Ansible, in a virtual environment of their own that is made when it is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from bench.figures import Say
from fawkes.base.errors import FawkesError, UserError

_VENV = Path(__file__).parents[1] / ".venv-bench"
_PACKAGES = ("ansible-core", "clustershell")


def tools(say: Say) -> Path:
    """The folder with `clush` and `ansible`; UserError says what is missing on the machine."""
    if shutil.which("ssh") is None:
        raise UserError(
            "there is no OpenSSH client, which clush and Ansible use",
            hint="On Debian, as root: apt-get install openssh-client",
        )
    folder = _VENV / "bin"
    if not all((folder / name).exists() for name in ("clush", "ansible")):
        say(f"making {_VENV.name} with {' and '.join(_PACKAGES)}")
        run_or_fail(_VENV, sys.executable, "-m", "venv", str(_VENV))
        (_VENV / ".gitignore").write_text("*\n")
        run_or_fail(_VENV, str(folder / "python"), "-m", "pip", "install", "--quiet", *_PACKAGES)
    return folder


def versions(folder: Path) -> str:
    """The versions of both, for people."""
    names = ("ClusterShell", "ansible-core")
    code = f"from importlib.metadata import version as v; print(*(f'{{n}} {{v(n)}}' for n in {names}), sep=', ')"
    done = subprocess.run([folder / "python", "-c", code], stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def run_or_fail(made: Path, *command: str) -> None:
    """Run a command that makes an environment; FawkesError has its last line."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        last = next(reversed(done.stdout.strip().splitlines()), f"it ended with {done.returncode}")
        raise FawkesError(f"{command[0]} failed: {last}", hint=f"Remove {made.name} and try again")
