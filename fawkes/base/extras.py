"""Parts of Fawkes that need packages that a controller does not, and what to type when these are missing.

A verb names its extras with `needs`, so that it ends before it has done anything. `pyproject.toml` has the same
packages.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Mapping
from typing import ParamSpec, TypeVar

from fawkes.base.errors import UserError

DISTRIBUTION = "fawkes-provisioner"
#: for each extra its packages, by the names that are imported; they are installed under the same names
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "offline": ("llvmlite", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "scipy"),
    "lab": ("cryptography", "pyroute2"),
    "kerberos": ("cryptography", "gssapi"),
    "dask": ("distributed",),
    "web": ("prometheus_client", "starlette", "uvicorn"),
}

P = ParamSpec("P")
R = TypeVar("R")


def needs(command: str, *extras: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for the function of a command: it ends as `require` does, before anything is done."""

    def around(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            require(f"`{command}`", *extras)
            return function(*args, **kwargs)

        return checked

    return around


def require(command: str, *extras: str) -> None:
    """UserError when a package of these extras is not installed; it names the packages and the command to type."""
    missing = {extra: absent for extra in extras if (absent := _absent(EXTRAS[extra]))}
    if missing:
        raise _error(command, missing)


def explained(error: ModuleNotFoundError, command: str) -> UserError | None:
    """The command to type for a package that an import did not find; None when the package belongs to no extra."""
    package = (error.name or "").partition(".")[0]
    missing = {extra: (package,) for extra, packages in EXTRAS.items() if package in packages}
    return _error(command, missing) if missing else None


def _absent(packages: tuple[str, ...]) -> tuple[str, ...]:
    """Looks without importing: numba alone takes half a second."""
    return tuple(package for package in packages if importlib.util.find_spec(package) is None)


def _error(command: str, missing: Mapping[str, tuple[str, ...]]) -> UserError:
    packages = sorted({package for absent in missing.values() for package in absent})
    names = " and ".join(filter(None, (", ".join(packages[:-1]), packages[-1])))
    are = "is" if len(packages) == 1 else "are"
    return UserError(
        f"{command} needs {names}, which {are} not installed",
        hint=f"Run: {pip_command(tuple(missing))}",
    )


def pip_command(extras: tuple[str, ...]) -> str:
    """The command that installs these extras for the Python that runs Fawkes, from where Fawkes came from.

    If that place is gone, the command names the packages themselves.
    """
    import shlex
    from importlib import metadata

    try:
        installed = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        words = [package for extra in extras for package in EXTRAS[extra]]
    else:
        text, requires = installed.read_text("direct_url.json"), installed.requires or []
        words = _of_index(extras) if text is None else _of_source(text, extras) or _requirements(requires, extras)
    return shlex.join([sys.executable, "-m", "pip", "install", *words])


def _of_index(extras: tuple[str, ...]) -> list[str]:
    return [f"{DISTRIBUTION}[{','.join(extras)}]"]


def _of_source(direct_url: str, extras: tuple[str, ...]) -> list[str]:
    """The file or the folder that pip noted when it installed Fawkes; nothing if it is not there any more."""
    import json
    from pathlib import Path
    from urllib.parse import unquote, urlsplit

    source = json.loads(direct_url)
    address = urlsplit(source["url"])
    path = Path(unquote(address.path))
    if address.scheme != "file" or not path.exists():
        return []
    editable = ["--editable"] if source.get("dir_info", {}).get("editable") else []
    return [*editable, f"{path}[{','.join(extras)}]"]


def _requirements(requires: list[str], extras: tuple[str, ...]) -> list[str]:
    """The requirements of these extras in the metadata, such as ``pandas>=2.2``."""
    import re

    wanted = re.compile(rf"""extra == ['"]({"|".join(extras)})['"]""")
    parts = (line.partition(";") for line in requires)
    return [requirement.strip() for requirement, _, marker in parts if wanted.search(marker)]
