"""The playbooks that the live world plays: those that came with Fawkes, and those of the site that it asks for by name.

A file in the site's ``playbooks/`` runs with the controller's rights. So it counts only when ``playbooks`` in
``fawkes.toml`` names it.
"""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fawkes.base.catalog import Catalog, CatalogFile, Kind, Origin, load_module
from fawkes.base.errors import ConfigError, RefusedError
from fawkes.base.reading import is_file

NAMES = ("lease", "node", "hadoop", "job", "kept", "moving", "quota", "restoring", "standby", "tasks")
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


class _Book:
    """A playbook by its name, looked up when it is used: the site is known by then."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(_playing[self._name], attribute)


_ours: Mapping[str, ModuleType] = {name: load_module(Catalog().find(Kind.PLAYBOOK, name)) for name in NAMES}
_playing: dict[str, ModuleType] = dict(_ours)
if TYPE_CHECKING:
    from playbooks import hadoop, job, kept, lease, moving, node, quota, restoring, standby, tasks
else:
    lease, node, hadoop, job, kept, moving, quota, restoring, standby, tasks = map(_Book, NAMES)

__all__ = [
    "NAMES",
    "hadoop",
    "job",
    "kept",
    "lease",
    "moving",
    "node",
    "played",
    "quota",
    "restoring",
    "site_playbooks",
    "standby",
    "tasks",
    "unused",
]


def site_playbooks(names: Iterable[str], root: Path, file: Path) -> tuple[CatalogFile, ...]:
    """The files of a site that replace ours, as its settings name them.

    ConfigError with file and key for a name that is none of ours, or without a file; RefusedError for a file that
    others could change.
    """
    playbooks = []
    for name in names:
        place = root / Kind.PLAYBOOK.value / f"{name}.py"
        what, hint = "", ""
        if name not in NAMES:
            what, hint = f"there is no playbook {name!r}", f"A site may replace {', '.join(NAMES)}"
        elif not is_file(place):
            what, hint = f"the site has no file {place}", "Write it, or take its name out of the list"
        if what:
            raise ConfigError(what, file=str(file), key="playbooks", hint=hint)
        _check_owner(place)
        playbooks.append(CatalogFile(Kind.PLAYBOOK, name, place, Origin.SITE))
    return tuple(playbooks)


def unused(names: Iterable[str], root: Path) -> tuple[Path, ...]:
    """Files that have the name of a playbook, and that the settings do not name: they replace nothing."""
    places = (root / Kind.PLAYBOOK.value / f"{name}.py" for name in NAMES if name not in set(names))
    return tuple(place for place in places if is_file(place) and not _is_ours(place))


@contextmanager
def played(playbooks: Iterable[CatalogFile]) -> Iterator[None]:
    """Play these files in the place of ours, until the end of the ``with``.

    UserError when one cannot be loaded, ConfigError when it lacks something that ours has.
    """
    before = dict(_playing)
    try:
        for playbook in playbooks:
            module = load_module(playbook)
            _check_complete(playbook, module)
            _playing[playbook.name] = module
        yield
    finally:
        _playing.update(before)


def _is_ours(place: Path) -> bool:
    """True for files of ours: in a checkout that is a site as well, our own files are in the place of the site's."""
    return any(module.__file__ is not None and place.samefile(module.__file__) for module in _ours.values())


def _check_owner(place: Path) -> None:
    for path in (place, place.parent):
        status = path.stat()
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & _OTHERS_WRITE:
            raise RefusedError(
                "other users can change this, and it runs with the controller's rights",
                where=str(path),
                hint="Make it yours, and writable by you alone: `chown` and `chmod go-w`",
            )


def _check_complete(playbook: CatalogFile, module: ModuleType) -> None:
    """Refuses a playbook without a function or a parameter that the live world uses: it would fail within a step."""
    for name, ours in vars(_ours[playbook.name]).items():
        if name.startswith("_") or getattr(ours, "__module__", None) != _ours[playbook.name].__name__:
            continue
        if inspect.isfunction(ours) and _parameters(getattr(module, name, None)) != _parameters(ours):
            wanted = f"{name}{inspect.signature(ours)}"
            raise ConfigError(
                f"this playbook does not have {name} as Fawkes calls it",
                file=str(playbook.path),
                key=name,
                hint=f"Write def {wanted}, as in {_ours[playbook.name].__file__}",
            )


def _parameters(function: object) -> list[str] | None:
    return list(inspect.signature(function).parameters) if callable(function) else None
