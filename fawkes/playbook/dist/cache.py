"""The releases in the cache of this machine: made once, whole or not at all, and checked.

A release is made in a hidden folder beside its place and renamed into it, under a lock; a folder with the name of a
release is therefore always whole. What its manifest must be is known before anything is fetched: the digests of its
jars are pinned, its other files are part of Fawkes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from fawkes.base.errors import FawkesError, UserError
from fawkes.base.paths import cache_dir
from fawkes.base.units import show_bytes
from fawkes.playbook.dist import manifest, maven
from fawkes.playbook.dist.maven import Resolve, Say
from fawkes.playbook.dist.pig import DEFAULT_PIG, PIG_PINS, PigPin, PigRelease, pig_release
from fawkes.playbook.dist.pins import PINS, Pin
from fawkes.playbook.dist.release import DESCRIPTION, JAVA_FLAGS, Release, describe
from fawkes.playbook.dist.spark import DEFAULT_SPARK, SPARK_PINS, SparkPin, SparkRelease, fetch

_FILES = Path(__file__).parent / "files"
# The HDFS jar of Maven has no web pages, and its daemons refuse to start without these folders on their class path.
_WEB_APPS = ("datanode", "hdfs", "journal", "router", "secondary")

Wanted = Pin | PigPin | SparkPin

BESIDE: Mapping[str, PigPin | SparkPin] = MappingProxyType(
    {pin.argument: pin for pin in (PIG_PINS[DEFAULT_PIG], SPARK_PINS[DEFAULT_SPARK])}
)
"""The software that Fawkes gets besides Hadoop, by its name for `fawkes dist get`."""


@dataclass(frozen=True)
class Got:
    """The end of a `get`: the release in the cache, and whether it had to be made."""

    release: Release
    made: bool


@dataclass(frozen=True)
class Cached:
    """A folder in the cache: its jars, the size of all its files, and how it differs from what it must be.

    ``java`` are the versions of Java that it runs on, for people.
    """

    wanted: Wanted
    folder: str
    java: str
    jars: int
    size_bytes: int
    faults: tuple[manifest.Fault, ...]


def dist_dir() -> Path:
    """The folder of the releases in the cache; it may not exist yet."""
    return cache_dir() / "dist"


def folder_of(wanted: Wanted) -> Path:
    """The place where the cache has (or would have) a release."""
    return dist_dir() / wanted.name


def cached(wanted: Pin) -> Release:
    """The release of the cache; UserError when it is not there, with what to type."""
    if not is_there(wanted):
        raise _absent(wanted)
    return Release.from_folder(folder_of(wanted))


def get(wanted: Pin, *, again: bool = False, say: Say = lambda line: None, resolve: Resolve = maven.resolve) -> Got:
    """The release of the cache, made if it is not there; ``again`` makes it anew even so.

    ``say`` gets a line for each step. FawkesError when the jars cannot be
    had or are not the pinned ones; nothing is left then. Of several at once, one makes it and the others wait for it.
    """
    made = provide(wanted, again=again, say=say, resolve=resolve)
    return Got(Release.from_folder(folder_of(wanted)), made)


def cached_pig(wanted: PigPin) -> PigRelease:
    """The Pig of the cache; UserError when it is not there, with what to type."""
    if not is_there(wanted):
        raise _absent(wanted)
    return pig_release(wanted, str(folder_of(wanted)))


def cached_spark(wanted: SparkPin) -> SparkRelease:
    """The Spark of the cache; UserError when it is not there, with what to type."""
    if not is_there(wanted):
        raise _absent(wanted)
    return SparkRelease(wanted.version, str(folder_of(wanted)))


def provide(
    wanted: Wanted, *, again: bool = False, say: Say = lambda line: None, resolve: Resolve = maven.resolve
) -> bool:
    """Make what is wanted if the cache does not have it, or ``again``; whether it was made. As ``get``."""
    folder = folder_of(wanted)
    with _disk_errors(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _lock(folder, say):
            if not again and is_there(wanted):
                return False
            _make(folder, wanted, say, resolve)
    return True


def is_there(wanted: Wanted) -> bool:
    """True if the cache has the release, made by this version of Fawkes, with every file (by name alone)."""
    folder = folder_of(wanted)
    text = folder / manifest.NAME
    if not text.is_file() or text.read_text(errors="replace") != wanted_manifest(wanted):
        return False
    return all((folder / path).is_file() for path in _files_of(wanted))


def look(wanted: Wanted) -> Cached:
    """The wanted piece in the cache, with every file read and compared; UserError when there is not even a folder."""
    folder = folder_of(wanted)
    if not folder.is_dir():
        raise _absent(wanted)
    sizes = {path: (folder / path).lstat().st_size for path in manifest.files_in(folder)}
    faults = manifest.faults(folder, _files_of(wanted))
    text = folder / manifest.NAME
    if not text.is_file():
        faults.append(manifest.Fault(manifest.NAME, "missing"))
    elif text.read_text(errors="replace") != wanted_manifest(wanted):
        faults.append(manifest.Fault(manifest.NAME, "damaged"))
    java = Release.from_listing(str(folder), (), describe(wanted)).java_range if isinstance(wanted, Pin) else ""
    jars = sum(path.endswith(".jar") for path in sizes)
    return Cached(wanted, str(folder), java, jars, sum(sizes.values()), tuple(faults))


def there() -> list[Wanted]:
    """The pins that have a folder in the cache, in the order in which Fawkes lists what it can get."""
    known: list[Wanted] = [*PINS.values(), *BESIDE.values()]
    return [wanted for wanted in known if folder_of(wanted).is_dir()]


def unreadable_jars(folder: str) -> list[str]:
    """The jars below a folder that are no zip files or whose directory is damaged, relative to it."""
    root = Path(folder)
    return [path for path in manifest.files_in(root) if path.endswith(".jar") and not _opens(root / path)]


def _opens(jar: Path) -> bool:
    try:
        zipfile.ZipFile(jar).close()
    except (zipfile.BadZipFile, OSError):
        return False
    return True


def _absent(wanted: Wanted) -> UserError:
    return UserError(
        f"{wanted.title} is not in the cache (or is incomplete there, or was made by another version of Fawkes)",
        where=str(folder_of(wanted)),
        hint=f"`fawkes dist get {wanted.argument}` makes it",
    )


def wanted_manifest(wanted: Wanted) -> str:
    """The manifest of a release made by this version of Fawkes; its digest names the release on a node."""
    return manifest.render(_files_of(wanted))


def _files_of(wanted: Wanted) -> dict[str, str]:
    own = {path: manifest.digest_of_text(text) for path, text in _texts(wanted).items()}
    return wanted.jars() | own


def _texts(wanted: Wanted) -> dict[str, str]:
    """The files that Fawkes brings itself: path -> text. A release of Hadoop has some, others none."""
    if not isinstance(wanted, Pin):
        return {}
    ours = {path: (_FILES / path).read_text() for path in manifest.files_in(_FILES)}
    # A placeholder, for not every way to copy a folder keeps empty ones.
    web = {f"web/webapps/{name}/.keep": "" for name in _WEB_APPS}
    flags = "".join(f"{flag}\n" for flag in JAVA_FLAGS)
    return {**ours, **web, "libexec/java-flags": flags, DESCRIPTION: describe(wanted)}


def _make(folder: Path, wanted: Wanted, say: Say, resolve: Resolve) -> None:
    for left in folder.parent.glob(f".{wanted.name}.part-*"):
        shutil.rmtree(left, ignore_errors=True)
    part = Path(tempfile.mkdtemp(prefix=f".{wanted.name}.part-", dir=folder.parent))
    try:
        made = part / "made"
        made.mkdir()
        if isinstance(wanted, SparkPin):
            fetch(wanted, made, say)
        else:
            (made / "lib").mkdir()
            say("resolving with Maven")
            resolve(wanted.pom(), made / "lib", say)
        say(f"checking {len(wanted.jars())} files")
        _check_jars(made, wanted)
        for path, text in _texts(wanted).items():
            _write(made / path, text, executable=path.startswith("bin/"))
        _write(made / manifest.NAME, wanted_manifest(wanted), executable=False)
        _flush(made)
        if folder.exists():
            folder.rename(part / "old")
        made.rename(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _check_jars(made: Path, wanted: Wanted) -> None:
    faults = manifest.faults(made, wanted.jars())
    if not faults:
        return
    rows = "; ".join(f"{Path(fault.path).name} is {_RESOLVED[fault.what]}" for fault in faults[:5])
    more = f" and {len(faults) - 5} more" if len(faults) > 5 else ""
    local = [str(path) for fault in faults if fault.what == "damaged" for path in _in_maven(Path(fault.path).name)]
    tool = "pip" if isinstance(wanted, SparkPin) else "Maven"
    hint = f"Delete {', '.join(local[:5])} and try again" if local else f"Look at the repository that {tool} uses"
    raise FawkesError(
        f"{tool} brought other files than those of the {wanted.title} that Fawkes knows: {rows}{more}",
        hint=f"{hint}; if this happens again, the repository has other files than Maven Central",
    )


_RESOLVED = {"damaged": "not the file that is pinned", "missing": "missing", "surplus": "not part of it"}


def _in_maven(jar: str) -> list[Path]:
    """The place where Maven's own store, if it is in its usual place, has a jar of this name."""
    return sorted((Path.home() / ".m2" / "repository").rglob(jar))


def _write(path: Path, text: str, *, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755 if executable else 0o644)


def _flush(folder: Path) -> None:
    """Onto the disk before the rename: after a power failure the name must not stand for empty files."""
    for path in manifest.files_in(folder):
        descriptor = os.open(folder / path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def _lock(folder: Path, say: Say) -> Iterator[None]:
    with (folder.parent / f".{folder.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another `fawkes dist get` is making {folder.name}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise FawkesError(
                f"{error.strerror or error}", where=str(error.filename or folder), hint="$FAWKES_CACHE moves the cache"
            ) from error
        raise FawkesError(
            f"the disk is full ({show_bytes(_free(folder))} free)",
            where=str(folder),
            hint="A release takes about 110 MB, Spark 850 MB while it is made; make room, or set $FAWKES_CACHE to a "
            "folder on another disk",
        ) from error


def _free(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return 0
