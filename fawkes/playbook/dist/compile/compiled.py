"""Jars of Fawkes's own Java: compiled once on this machine from its sources, and kept in the cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fawkes.base.errors import FawkesError
from fawkes.base.paths import cache_dir
from fawkes.playbook.dist import cache, maven
from fawkes.playbook.dist.compile.compiler import DIGEST, compiler
from fawkes.playbook.dist.maven import Resolve, Say
from fawkes.playbook.dist.pins import DEFAULT_VERSION, PINS, pin

#: the oldest Java on which a Hadoop of Fawkes runs
_JAVA = "11"
#: archives carry dates: always this one, so that the same sources give the same bytes
_DATE = (1980, 1, 1, 0, 0, 0)
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class JavaCode:
    """Java of ours: its name for `fawkes dist get`, what people call it, and the folder of its sources.

    ``name`` is its name in the cache; ``flags`` are further flags of the compiler. It is compiled against the software
    ``against`` of the cache, or else against Hadoop.
    """

    argument: str
    title: str
    sources: Path
    name: str
    flags: Sequence[str] = ()
    against: str = ""

    @property
    def jar(self) -> str:
        """The name of its jar."""
        return f"fawkes-{self.name}.jar"


_HERE = Path(__file__).parent
# A guarded socket stands beside Java's own sockets, in a package that Java does not show to everybody.
_DOOR_FLAGS = ("--add-exports", "java.base/sun.nio.ch=ALL-UNNAMED")

DOORS = JavaCode("doors", "the door keepers of the daemons", _HERE / "java", "doors", _DOOR_FLAGS)
"""What decides in each daemon who may speak to it (docs/decisions/closed-doors.md)."""

SECURE_IO = JavaCode("kerberos", "the additions for MR-clusters with Kerberos", _HERE / "java-kerberos", "secure-io")
"""What lets NodeManagers with Kerberos serve shuffles without native code, and NameNodes and JournalNodes fetch images
and edits with the keys of their MR-cluster (the decision record on Kerberos says why)."""

LOAD = JavaCode("load", "the load jobs", _HERE / "java-load", "load")
"""The jobs of `fawkes replay` that read, shuffle and write as much as those of a workload."""

TASKS = JavaCode("tasks", "the ApplicationMaster for jobs of tasks", _HERE / "java-tasks", "tasks")
"""The client, the ApplicationMaster and the last step of each task of jobs of kind "tasks"."""

COPIES = JavaCode("copies", "the comparison of copies in another HDFS", _HERE / "java-copies", "copies")
"""The program that compares an output with its copy in another HDFS before the MR-cluster gives its nodes back."""

STREAMS = JavaCode(
    "streams", "the part of streams that is in Spark's driver", _HERE / "java-streams", "streams", against="spark"
)
"""The plugin in the driver of a stream: it tells how the stream stands, and requests executors as Fawkes says."""


def jar_of(code: JavaCode, say: Say = lambda line: None, resolve: Resolve = maven.resolve) -> Path:
    """The jar in the cache, made when it is not there: against a Hadoop of the cache, or else one that is fetched.

    FawkesError when the compiler or Hadoop cannot be fetched by Maven, or are not the pinned ones.
    """
    jar = place_of(code)
    with _ONE_AT_A_TIME:
        if not is_made(code):
            _make(code, jar, say, resolve)
    return jar


def place_of(code: JavaCode) -> Path:
    """The place where the cache has (or would have) the jar; other sources get another place."""
    texts = [source.read_bytes() for source in _sources(code)]
    digest = hashlib.sha256(b"\0".join([DIGEST.encode(), *texts])).hexdigest()
    return cache_dir() / code.name / digest[:16] / code.jar


def is_made(code: JavaCode) -> bool:
    """True if the cache has the jar."""
    return place_of(code).is_file()


def _sources(code: JavaCode) -> list[Path]:
    return sorted(code.sources.rglob("*.java"))


def _make(code: JavaCode, jar: Path, say: Say, resolve: Resolve) -> None:
    tool = compiler(say, resolve)
    jars = _class_path(code, say, resolve)
    jar.parent.mkdir(parents=True, exist_ok=True)
    say(f"compiling {code.title}")
    part = Path(tempfile.mkdtemp(prefix=".part-", dir=jar.parent))
    try:
        classes = part / "classes"
        _compile(code, tool, jars, classes)
        _pack(classes, part / code.jar)
        # Of several processes at once the last one wins, with the same bytes.
        (part / code.jar).rename(jar)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _class_path(code: JavaCode, say: Say, resolve: Resolve) -> Path:
    """The folder of the jars that it is compiled against, which are fetched when the cache does not have them."""
    if code.against:
        software = cache.BESIDE[code.against]
        cache.provide(software, say=say, resolve=resolve)
        return cache.folder_of(software) / "jars"
    there = [wanted for wanted in PINS.values() if cache.is_there(wanted)]
    hadoop = cache.cached(there[0]) if there else cache.get(pin(DEFAULT_VERSION), say=say).release
    return Path(hadoop.root) / "lib"


def _compile(code: JavaCode, tool: Path, jars: Path, into: Path) -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java") or (f"{home}/bin/java" if home else None)
    if java is None:
        raise FawkesError("there is no `java` on the PATH", hint="On Debian: `apt-get install openjdk-17-jre-headless`")
    class_path = os.pathsep.join(str(jar) for jar in sorted(jars.glob("*.jar")))
    argv = [java, "-jar", str(tool), "-source", _JAVA, "-target", _JAVA, "-proc:none", "-nowarn", *code.flags]
    done = subprocess.run(
        [*argv, "-d", str(into), "-classpath", class_path, *map(str, _sources(code))],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise FawkesError(f"{code.title} could not be compiled: {done.stderr.strip() or done.stdout.strip()}")


def _pack(classes: Path, jar: Path) -> None:
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(file.relative_to(classes).as_posix(), _DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, file.read_bytes())
