"""Profiles of a site: ``profiles/NAME/VERSION.json``, found by ``NAME`` (the newest) or ``NAME:VERSION``."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from math import fsum
from pathlib import Path

from fawkes.base.errors import ConfigError, UserError, cut
from fawkes.base.paths import is_name
from fawkes.base.reading import decoded, read_bytes
from fawkes.base.values import replace
from fawkes.base.writing import whole
from fawkes.core.quota.planner import HeldExecutors, shortages
from fawkes.core.quota.profile import ApplicationProfile, profile_of
from fawkes.core.quota.values import Parameters

_MAKE = "Make it with `fawkes profile run JOBFILE --cluster NAME`; `fawkes profile list` shows those there are"


def parted(reference: str) -> tuple[str, int | None]:
    """Name and version of ``NAME`` or ``NAME:VERSION`` (None: the newest); UserError for what is neither."""
    name, colon, version = reference.partition(":")
    sound = not colon or (version.isascii() and version.isdigit() and 0 < len(version) < 10 and int(version) > 0)
    if not is_name(name) or not sound:
        raise UserError(f"{cut(reference)!r} is not a profile", hint="Write NAME, or NAME:3 for its version 3")
    return name, int(version) if colon else None


def versions(folder: Path, name: str) -> list[int]:
    """The versions of a profile, from the oldest; empty when there is none."""
    try:
        names = os.listdir(folder / name)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", where=str(folder / name)) from None
    stems = (each.removesuffix(".json") for each in names if each.endswith(".json"))
    return sorted(int(stem) for stem in stems if stem.isascii() and stem.isdigit())


def every(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Each profile of a site by name, with its versions."""
    for name in sorted(os.listdir(folder)) if folder.is_dir() else ():
        if known := versions(folder, name):
            yield name, known


def load(folder: Path, reference: str) -> ApplicationProfile:
    """The profile of that reference; ConfigError or UserError names its file and the next command."""
    name, version = parted(reference)
    known = versions(folder, name)
    if not known or (version is not None and version not in known):
        there = f"it has {', '.join(map(str, known))}" if known else ""
        what = f"there is no profile {name!r}" if not known else f"there is no version {version} of {name}: {there}"
        raise UserError(what, where=str(folder / name), hint=_MAKE)
    return read(folder / name / f"{version or known[-1]}.json")


def read(path: Path) -> ApplicationProfile:
    """The profile in a file; ConfigError names the file and the key of what is wrong."""
    try:
        plain = json.loads(decoded(read_bytes(path, hint=_MAKE), path))
    except (ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict):
        raise ConfigError("is not a profile: its text is not a table in JSON", file=str(path), hint=_MAKE)
    return profile_of(plain, str(path))


def ready(folder: Path, name: str) -> Path:
    """The folder of a profile, made if it is not there; UserError when this user cannot write into it."""
    place = folder / parted(name)[0]
    hint = "The user who makes profiles must be able to write into this folder"
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"cannot be made ({error.strerror})", where=str(place), hint=hint) from None
    if not os.access(place, os.W_OK | os.X_OK):
        raise UserError("cannot be written", where=str(place), hint=hint)
    return place


def keep(folder: Path, profile: ApplicationProfile) -> ApplicationProfile:
    """The profile as the next version of its name; UserError when it cannot be written."""
    place = ready(folder, profile.name)
    kept = replace(profile, version=max(versions(folder, profile.name), default=0) + 1)
    write(place / f"{kept.version}.json", kept)
    return kept


def write(path: Path, profile: ApplicationProfile) -> None:
    """Write a profile into a file; UserError or RefusedError when that cannot be."""
    with whole(path) as out:
        out.write(json.dumps(profile.plain(), indent=1).encode() + b"\n")


def infeasible(
    profile: ApplicationProfile, size: float, deadline_s: float, nodes: int | None, cores: int | None
) -> str:
    """A warning when a deadline looks too early for ``nodes`` of ``cores`` each, or one is not known; else empty."""
    if nodes is None or cores is None:
        lacks = "the most nodes of its MR-cluster" if nodes is None else "the cores of its nodes"
        return f"nobody can say whether its deadline can be met: {lacks} cannot be told from here"
    short = shortages(profile, deadline_s, HeldExecutors(executors=nodes, node_cores=cores), Parameters(), size)
    if not short:
        return ""
    first = short[0]
    least = f"needs {first.cores} cores" if first.cores is not None else "would have no time left"
    took = fsum(stage.duration_s for stage in profile.stages)
    return (
        f"its deadline looks too early: by version {profile.version} of the profile {profile.name} (stages of "
        f"{took:.0f} s) stage {first.stage!r} {least}, and its MR-cluster can have {first.of:g}. It is submitted all "
        "the same"
    )
