"""A Hadoop release as a value: which jars it has, what it runs on and how each of its programs is started.

Two layouts serve: the one that Fawkes makes of Maven's artifacts (``release.json``, ``lib/``, ``web/``) and that of
Apache's own tarball (``share/hadoop/``), which is what a site has installed. Both give the same value, so that
nothing else in Fawkes knows which it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import ClassVar, Self

from pydantic import TypeAdapter

from fawkes.base.errors import UserError
from fawkes.playbook.dist.pins import Pin

DESCRIPTION = "release.json"
_LAYOUT = 1

ARTIFACTS = "artifacts"
TARBALL = "tarball"

# Hadoop reaches into these packages by reflection; Java 17 forbids it otherwise.
JAVA_FLAGS = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang",
        "java.nio",
        "java.util",
        "java.io",
        "java.net",
        "java.util.concurrent",
        "sun.nio.ch",
    )
)

# Where many JVMs share few cores: quicker to start, slower under load. Verifying Hadoop's own classes, whose checksums
# are known, takes an eighth of what a start costs.
QUICK_FLAGS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:-UsePerfData",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
# The same for daemons and clients, and smaller. Never for tasks: a job that names a collector of its own would stop
# with "Multiple garbage collectors selected".
LIGHT_FLAGS = ("-XX:+UseSerialGC", *QUICK_FLAGS)

PROGRAMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "namenode": ("org.apache.hadoop.hdfs.server.namenode.NameNode",),
        "namenode-format": ("org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-nonInteractive"),
        "namenode-bootstrap": (
            "org.apache.hadoop.hdfs.server.namenode.NameNode",
            "-bootstrapStandby",
            "-nonInteractive",
        ),
        "namenode-share": (
            "org.apache.hadoop.hdfs.server.namenode.NameNode",
            "-initializeSharedEdits",
            "-nonInteractive",
        ),
        "journalnode": ("org.apache.hadoop.hdfs.qjournal.server.JournalNode",),
        "checkpoint": ("org.apache.hadoop.hdfs.server.namenode.SecondaryNameNode", "-checkpoint", "force"),
        "datanode": ("org.apache.hadoop.hdfs.server.datanode.DataNode",),
        "resourcemanager": ("org.apache.hadoop.yarn.server.resourcemanager.ResourceManager",),
        "nodemanager": ("org.apache.hadoop.yarn.server.nodemanager.NodeManager",),
        "historyserver": ("org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer",),
        "fs": ("org.apache.hadoop.fs.FsShell",),
        "jar": ("org.apache.hadoop.util.RunJar",),
        "application": ("org.apache.hadoop.yarn.client.cli.ApplicationCLI", "application"),
        "job": ("org.apache.hadoop.mapred.JobClient",),
        "rmadmin": ("org.apache.hadoop.yarn.client.cli.RMAdminCLI",),
        "dfsadmin": ("org.apache.hadoop.hdfs.tools.DFSAdmin",),
        "oiv": ("org.apache.hadoop.hdfs.tools.offlineImageViewer.OfflineImageViewerPB",),
        "storagepolicies": ("org.apache.hadoop.hdfs.tools.StoragePolicyAdmin",),
        "sleep": ("org.apache.hadoop.mapreduce.SleepJob",),
    }
)
"""Program -> its class and the arguments that it always has; daemons first, then clients."""

# In the order of `hadoop classpath`; the last two are what `yarn` adds for its daemons.
_TARBALL_CLASS_PATH = (
    "share/hadoop/common/lib/*",
    "share/hadoop/common/*",
    "share/hadoop/hdfs",
    "share/hadoop/hdfs/lib/*",
    "share/hadoop/hdfs/*",
    "share/hadoop/mapreduce/*",
    "share/hadoop/yarn",
    "share/hadoop/yarn/lib/*",
    "share/hadoop/yarn/*",
    "share/hadoop/yarn/timelineservice/*",
    "share/hadoop/yarn/timelineservice/lib/*",
)
_TARBALL_COMMON = "share/hadoop/common/hadoop-common-*.jar"
_TARBALL_NEEDED = (
    "share/hadoop/hdfs/hadoop-hdfs-[0-9]*.jar",
    "share/hadoop/yarn/hadoop-yarn-server-resourcemanager-*.jar",
    "share/hadoop/yarn/hadoop-yarn-server-nodemanager-*.jar",
    "share/hadoop/mapreduce/hadoop-mapreduce-client-jobclient-*.jar",
)
_VERSION = re.compile(r"hadoop-common-(\d+\.\d+\.\d+\S*?)\.jar")
_EXTRA_PARTS = ("-tests.jar", "-sources.jar", "-javadoc.jar", "-test-sources.jar")

_NATIVE = "lib/native"

LISTING_FOLDERS = (
    "share/hadoop/common",
    "share/hadoop/hdfs",
    "share/hadoop/yarn",
    "share/hadoop/mapreduce",
    "share/hadoop/tools/lib",
    _NATIVE,
)
"""The folders whose file names tell all that there is to know about a release in the tarball's layout."""


@dataclass(frozen=True)
class Placed:
    """Software of one version in one folder of one machine; ``root`` is that folder, absolute."""

    software: ClassVar[str]
    version: str
    root: str

    @property
    def name(self) -> str:
        """The name of its folder in a cache and on a node, such as ``hadoop-3.5.0``."""
        return f"{self.software.lower()}-{self.version}"

    def at(self, root: str) -> Self:
        """The same in another folder, such as that of a node."""
        return replace(self, root=root)


@dataclass(frozen=True)
class Release(Placed):
    """One Hadoop release in one folder of one machine.

    ``layout`` is ``artifacts`` or ``tarball``; the class path entries and the jars and the folder of native
    libraries are relative to ``root`` (empty what the release lacks); ``max_java`` is None without limit.
    """

    software = "Hadoop"
    layout: str
    class_path: tuple[str, ...]
    task_class_path: tuple[str, ...]
    java_flags: tuple[str, ...]
    min_java: int
    max_java: int | None
    examples: str
    streaming: str
    jobclient_tests: str
    native: str = ""

    @staticmethod
    def from_folder(path: Path | str) -> Release:
        """The release in a folder of this machine; UserError when there is none, with what was looked for."""
        folder = Path(path).expanduser().absolute()
        description = folder / DESCRIPTION
        text = description.read_text() if description.is_file() else None
        return Release.from_listing(folder.as_posix(), _names(folder), text)

    @staticmethod
    def from_listing(root: str, names: Iterable[str], description: str | None) -> Release:
        """The release whose files are ``names`` (relative to ``root``), on whichever machine ``root`` is.

        ``description`` is the text of its ``release.json``, None when it has none. UserError when it is no release.
        """
        if description is not None:
            return _described(root, description)
        return _recognised(root, sorted(names))

    @property
    def java_range(self) -> str:
        """The versions of Java that it runs on, for people: ``17+`` or ``11-22``."""
        return f"{self.min_java}+" if self.max_java is None else f"{self.min_java}-{self.max_java}"

    @property
    def makes_queues(self) -> bool:
        """True if its YARN makes a queue when a job asks for it, and can run the jobs of one in turn: since 3.4."""
        return _at_least(self.version, (3, 4))

    @property
    def bin_dir(self) -> str:
        """The folder with `hadoop`, `hdfs`, `yarn` and `mapred`."""
        return f"{self.root}/bin"

    @property
    def examples_jar(self) -> str:
        """Wordcount, Sort, TeraSort and so on; UserError when the release lacks it."""
        return self._jar(self.examples, "hadoop-mapreduce-examples")

    @property
    def streaming_jar(self) -> str:
        """Hadoop Streaming; UserError when the release lacks it."""
        return self._jar(self.streaming, "hadoop-streaming")

    @property
    def jobclient_tests_jar(self) -> str:
        """SleepJob, TestDFSIO and so on; UserError when the release lacks it."""
        return self._jar(self.jobclient_tests, "hadoop-mapreduce-client-jobclient tests")

    def own_jar(self, name: str) -> str:
        """The jar that job files call ``examples``, ``streaming`` or ``jobclient-tests``; empty for no name."""
        return str(getattr(self, f"{name.replace('-', '_')}_jar")) if name else ""

    def classpath(self, conf_dir: str) -> str:
        """The class path of a daemon or client, the configuration first; the JVM expands its wildcards."""
        return ":".join((conf_dir, *(f"{self.root}/{entry}" for entry in self.class_path)))

    def environment(self, java_home: str, conf_dir: str) -> dict[str, str]:
        """The variables that a daemon, a client or the release's own scripts want to find in their environment."""
        homes = ("HADOOP_HOME", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_YARN_HOME", "HADOOP_MAPRED_HOME")
        return {
            "JAVA_HOME": java_home,
            **dict.fromkeys(homes, self.root),
            "HADOOP_CONF_DIR": conf_dir,
            "YARN_CONF_DIR": conf_dir,
        }

    def daemon_argv(
        self, program: str, *, java_home: str, conf_dir: str, heap_mb: int, extra: Sequence[str] = ()
    ) -> list[str]:
        """The arguments that start one of PROGRAMS; whoever calls appends the program's own arguments.

        ``extra`` are further flags of the JVM and come last, so that they win over these. Start it with
        ``environment``; a shell must get the list quoted, for the class path has wildcards.
        """
        main, *always = PROGRAMS[program]
        return [
            f"{java_home}/bin/java",
            f"-Dproc_{program}",
            f"-Xmx{heap_mb}m",
            *self.java_flags,
            f"-Dhadoop.home.dir={self.root}",
            *([f"-Djava.library.path={self.root}/{self.native}"] if self.native else []),
            *extra,
            "-cp",
            self.classpath(conf_dir),
            main,
            *always,
        ]

    def _jar(self, path: str, what: str) -> str:
        if not path:
            raise UserError(
                f"Hadoop {self.version} there has no jar of {what}",
                where=self.root,
                hint="Name the jar by its path, or use a release that has it (`fawkes dist get`)",
            )
        return f"{self.root}/{path}"


def describe(pin: Pin) -> str:
    """The text of ``release.json`` for a release made of Maven's artifacts; the same bytes for the same pin."""
    facts = {
        "layout": _LAYOUT,
        "version": pin.version,
        "class_path": ["etc", "web", "lib/*"],
        "task_class_path": ["lib/*"],
        "java_flags": list(JAVA_FLAGS),
        "min_java": pin.min_java,
        "max_java": pin.max_java,
        "examples": pin.examples_jar,
        "streaming": pin.streaming_jar,
        "jobclient_tests": pin.jobclient_tests_jar,
    }
    return json.dumps(facts, indent=2) + "\n"


def _described(root: str, text: str) -> Release:
    where = f"{root}/{DESCRIPTION}"
    try:
        facts = json.loads(text)
        layout = facts["layout"]
        if layout == _LAYOUT:
            return TypeAdapter(Release).validate_python({**facts, "layout": ARTIFACTS, "root": root})
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(
            "not the description of a release",
            where=where,
            hint="`fawkes dist get --again` makes the release again",
        ) from error
    raise UserError(
        f"the release has layout {layout!r}, this version of Fawkes knows {_LAYOUT}",
        where=where,
        hint="Use the version of Fawkes that made it, or `fawkes dist get --again`",
    )


def _recognised(root: str, names: list[str]) -> Release:
    common = _first(names, _TARBALL_COMMON)
    version = _VERSION.fullmatch(PurePosixPath(common).name)
    if version is None:
        raise UserError(
            "this is not a Hadoop release",
            where=root,
            hint=f"It would have {DESCRIPTION} (made by `fawkes dist get`) or {_TARBALL_COMMON} "
            "(an unpacked tarball of Apache Hadoop; name the folder that has bin, sbin and share in it)",
        )
    missing = [pattern for pattern in _TARBALL_NEEDED if not _first(names, pattern)]
    if missing:
        raise UserError(
            f"the Hadoop {version[1]} there is not complete: no {', no '.join(missing)}",
            where=root,
            hint="Unpack the tarball again",
        )
    mapreduce = "share/hadoop/mapreduce/"
    return Release(
        version=version[1],
        layout=TARBALL,
        root=root,
        class_path=_TARBALL_CLASS_PATH,
        task_class_path=_TARBALL_CLASS_PATH,
        java_flags=JAVA_FLAGS,
        min_java=17 if _at_least(version[1], (3, 5)) else 11,
        max_java=None if _at_least(version[1], (3, 5)) else 22,
        examples=_first(names, f"{mapreduce}hadoop-mapreduce-examples-*.jar"),
        streaming=_first(names, "share/hadoop/tools/lib/hadoop-streaming-*.jar"),
        jobclient_tests=_first(names, f"{mapreduce}hadoop-mapreduce-client-jobclient-*-tests.jar", whole_only=False),
        native=_NATIVE if any(name.startswith(f"{_NATIVE}/") for name in names) else "",
    )


def _first(names: list[str], pattern: str, *, whole_only: bool = True) -> str:
    """The first name that fits, ``whole_only`` without jars of tests or sources; empty when none does."""
    depth = pattern.count("/")
    for name in names:
        if whole_only and name.endswith(_EXTRA_PARTS):
            continue
        if name.count("/") == depth and fnmatch(name, pattern):
            return name
    return ""


def _names(folder: Path) -> Iterator[str]:
    for inside in LISTING_FOLDERS:
        if (folder / inside).is_dir():
            yield from (f"{inside}/{entry.name}" for entry in (folder / inside).iterdir())


def _at_least(version: str, least: tuple[int, int]) -> bool:
    major, minor = version.split(".")[:2]
    return (int(major), int(minor)) >= least
