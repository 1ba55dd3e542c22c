"""Finds policies, playbooks, workloads and inventories by name and tells where each came from.

A path given by hand comes first, then the site's folder (``SITE/policies``) and what came with Fawkes. Nothing comes
from a user's home: what is there replaces nothing by accident. Names count without regard to capital letters.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from fawkes.base.errors import ConfigError, UserError
from fawkes.base.reading import is_file, not_opened, read_text


class Kind(StrEnum):
    """Kinds of things in the catalog; the value is the folder's name."""

    POLICY = "policies"
    ADMISSION = "policies/admission"
    QUOTA = "policies/quota"
    PREEMPTION = "policies/preemption"
    PLAYBOOK = "playbooks"
    WORKLOAD = "workloads"
    INVENTORY = "inventory"


class Origin(StrEnum):
    """The place where something came from, in the order in which it is looked for."""

    GIVEN = "given"
    SITE = "site"
    BUNDLED = "bundled"


_SUFFIX = {
    Kind.POLICY: ".py",
    Kind.ADMISSION: ".py",
    Kind.QUOTA: ".py",
    Kind.PREEMPTION: ".py",
    Kind.PLAYBOOK: ".py",
    Kind.WORKLOAD: ".toml",
    Kind.INVENTORY: ".toml",
}
_OWN_NAME = re.compile(r"""^NAME\s*(?::\s*\w+\s*)?=\s*["'](\w+)["']""", re.MULTILINE)
_NAMED = {
    Kind.POLICY: "policy",
    Kind.ADMISSION: "admission policy",
    Kind.QUOTA: "quota policy",
    Kind.PREEMPTION: "preemption policy",
}
_PARTS = {Kind.POLICY: ("", "weighting")}


@dataclass(frozen=True)
class CatalogFile:
    """One file with its name, its origin, and the files of the same name that it hides."""

    kind: Kind
    name: str
    path: Path
    origin: Origin
    hides: tuple[Path, ...] = ()

    @property
    def title(self) -> str:
        """The name in the capitals that a policy gives itself (``TD`` for td.py); else the name."""
        match = _OWN_NAME.search(self.text()) if self.kind in _NAMED else None
        return match[1] if match and match[1].casefold() == self.name.casefold() else self.name

    def text(self) -> str:
        """The text of the file; ConfigError when it cannot be read."""
        return read_text(self.path)


@dataclass(frozen=True)
class Catalog:
    """The folders to look in: ``record`` before ``site``, both site folders; ``bundled`` is for tests to replace."""

    site: Path | None = None
    bundled: Path | None = None
    record: Path | None = None

    def all(self, kind: Kind) -> tuple[CatalogFile, ...]:
        """Everything of a kind by name, hidden files left out.

        UserError for two of a name in one place; ConfigError for a folder that cannot be listed.
        """
        places = [(origin, _files(folder, kind)) for origin, folder in self._folders(kind)]
        by_name: dict[str, CatalogFile] = {}
        for origin, files in places:
            for key, path in files.items():
                first = by_name.get(key)
                if first is None:
                    by_name[key] = CatalogFile(kind, path.stem, path, origin)
                elif not path.samefile(first.path):
                    by_name[key] = CatalogFile(kind, first.name, first.path, first.origin, (*first.hides, path))
        return tuple(by_name[key] for key in sorted(by_name))

    def find(
        self, kind: Kind, name: str | os.PathLike[str], *, base: Path | None = None, file: str = "", key: str = ""
    ) -> CatalogFile:
        """The one of that name or at that path (relative to ``base``, by default the current folder).

        When there is none: ConfigError with ``file`` and ``key`` if these say where the name stands, else
        UserError; both list what there is.
        """
        try:
            name = os.fspath(name)
        except TypeError:
            what = f"{name!r} is not the name of a {_singular(kind)}"
            raise _error(what, file, key, "Give a name, or the path of a file") from None
        if "/" in name or name.endswith(_SUFFIX[kind]):
            return self._given(kind, name, base or Path(), file, key)
        by_name = {known.name.casefold(): known for known in self.all(kind)}
        if name.casefold() in by_name:
            return by_name[name.casefold()]
        near = difflib.get_close_matches(name.casefold(), by_name, n=1, cutoff=0.5)
        names = ", ".join(known.name for known in by_name.values()) or "none"
        advice = f"Did you mean {by_name[near[0]].name!r}? " if near else ""
        hint = f"{advice}Known: {names}; or give the path of a {_SUFFIX[kind]} file"
        raise _error(f"there is no {_singular(kind)} {name!r}", file, key, hint)

    def came_with_fawkes(self, file: CatalogFile) -> bool:
        """True if a file is the one that came with Fawkes, or its unchanged copy found by name.

        A checkout is a site as well for whoever calls an installed Fawkes there.
        """
        ours = (self.bundled or bundled_dir(file.kind)) / file.kind.value / file.path.name
        if not ours.is_file():
            return False
        return file.path.samefile(ours) or (file.origin is Origin.SITE and file.text() == read_text(ours))

    def _given(self, kind: Kind, name: str, base: Path, file: str, key: str) -> CatalogFile:
        path = base / os.path.expanduser(name)
        if is_file(path) and path.suffix == _SUFFIX[kind]:
            return CatalogFile(kind, path.stem, path, Origin.GIVEN)
        what = "is not a file" if not is_file(path) else f"is not a {_SUFFIX[kind]} file"
        form = _singular(kind)
        article = "an" if form.startswith("a") else "a"
        raise _error(f"{str(path)!r} {what}", file, key, f"Give the path of {article} {form}, or a name")

    def _folders(self, kind: Kind) -> Iterator[tuple[Origin, Path]]:
        for folder in (self.record, self.site):
            if folder is not None:
                yield Origin.SITE, folder / kind.value
        yield Origin.BUNDLED, (self.bundled or bundled_dir(kind)) / kind.value


def bundled_dir(kind: Kind, package: Path | None = None) -> Path:
    """The folder that holds what came with Fawkes: inside the wheel, else beside the package in a checkout."""
    package = package or Path(__file__).parents[1]
    inside = package / "_bundled"
    return inside if (inside / kind.value).is_dir() else package.parent


def load_module(file: CatalogFile) -> ModuleType:
    """The Python file as a module of its own, off ``sys.path``; UserError with line when it cannot be loaded."""
    digest = hashlib.sha256(str(file.path.resolve()).encode()).hexdigest()[:12]
    name = f"fawkes_{file.kind.value}.{file.path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, file.path)
    if spec is None or spec.loader is None:
        raise UserError("is not a Python file", where=str(file.path))
    module = importlib.util.module_from_spec(spec)
    # Dataclasses with postponed annotations look their own module up there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise UserError(
            f"this {_singular(file.kind)} cannot be loaded: {type(error).__name__}: {error}", where=str(file.path)
        ) from error
    return module


def _files(folder: Path, kind: Kind) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for part in _PARTS.get(kind, ("",)):
        for path in _shown(folder / part, _SUFFIX[kind]):
            key = path.stem.casefold()
            if key in files:
                raise UserError(
                    f"two files are {_singular(kind)} {path.stem!r}: {files[key]} and {path}",
                    where=str(folder),
                    hint="Rename one of them",
                )
            files[key] = path
    return files


def _shown(folder: Path, suffix: str) -> list[Path]:
    """The files in a folder with that suffix, by name, without hidden ones; none where it is no folder.

    ConfigError when it cannot be listed: what it has might come before what came with Fawkes.
    """
    try:
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
    except OSError as error:
        raise not_opened(folder, error) from None
    return [folder / name for name in names if name.endswith(suffix) and not name.startswith(("_", "."))]


def _singular(kind: Kind) -> str:
    return _NAMED.get(kind, kind.value.removesuffix("s"))


def _error(what: str, file: str, key: str, hint: str) -> UserError:
    return ConfigError(what, file=file, key=key, hint=hint) if file else UserError(what, hint=hint)
