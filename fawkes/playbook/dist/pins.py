"""The Hadoop versions that Fawkes can get by Maven, with the digest of every jar of each.

Apache publishes no tarball on Maven Central, only the jars. Which jars make a release that runs is decided here; the
digests say that what a repository (or a site's mirror of it) hands out today is what was tried then.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from fawkes.base.errors import UserError
from fawkes.playbook.dist import maven
from fawkes.playbook.dist.manifest import Pinned

DEFAULT_VERSION = "3.5.0"

GROUP = "org.apache.hadoop"
# Without -timelineservice the ResourceManager dies of ClassNotFound TimelineCollectorManager.
_ARTIFACTS = (
    "hadoop-common",
    "hadoop-hdfs",
    "hadoop-hdfs-client",
    "hadoop-yarn-server-resourcemanager",
    "hadoop-yarn-server-nodemanager",
    "hadoop-yarn-server-timelineservice",
    "hadoop-mapreduce-client-jobclient",
    "hadoop-mapreduce-client-shuffle",
    "hadoop-mapreduce-client-app",
    "hadoop-mapreduce-client-hs",
    "hadoop-distcp",
)
_SLEEP_JOB = "hadoop-mapreduce-client-jobclient"
EXAMPLES = "hadoop-mapreduce-examples"
STREAMING = "hadoop-streaming"


@dataclass(frozen=True)
class Pin(Pinned):
    """One version: the Java it runs on (``max_java`` None: no limit known), what it borrows from another version.

    ``borrowed`` maps an artifact that was not published at this version to the version to take instead; a
    borrowed artifact comes without its dependencies, which would be those of the other version.
    """

    software = "Hadoop"
    min_java: int
    max_java: int | None = None
    borrowed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def argument(self) -> str:
        """The argument of `fawkes dist get`."""
        return self.version

    def jar(self, artifact: str, classifier: str = "") -> str:
        """The path inside a release of one of Hadoop's own jars."""
        tail = f"-{classifier}" if classifier else ""
        return f"lib/{artifact}-{self.borrowed.get(artifact, self.version)}{tail}.jar"

    @property
    def examples_jar(self) -> str:
        """Wordcount, Sort, TeraSort and so on."""
        return self.jar(EXAMPLES)

    @property
    def streaming_jar(self) -> str:
        """Hadoop Streaming."""
        return self.jar(STREAMING)

    @property
    def jobclient_tests_jar(self) -> str:
        """SleepJob, TestDFSIO and so on."""
        return self.jar(_SLEEP_JOB, "tests")

    def pom(self) -> str:
        """A Maven project whose runtime dependencies are the release; its default goal copies them."""
        project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
        named = {"groupId": "fawkes", "artifactId": "hadoop-release", "version": self.version}
        maven.put(project, modelVersion="4.0.0", **named, packaging="pom")
        dependencies = ET.SubElement(project, "dependencies")
        for artifact in (*_ARTIFACTS, EXAMPLES, STREAMING):
            self._depend(dependencies, artifact)
        self._depend(dependencies, _SLEEP_JOB, classifier="tests")
        maven.put(ET.SubElement(project, "build"), defaultGoal=maven.COPY)
        ET.indent(project)
        return ET.tostring(project, encoding="unicode") + "\n"

    def _depend(self, dependencies: ET.Element, artifact: str, classifier: str = "") -> None:
        version = self.borrowed.get(artifact, self.version)
        alone = artifact in self.borrowed
        maven.depend(dependencies, f"{GROUP}:{artifact}", version, classifier=classifier, alone=alone)


# Hadoop before 3.5 asks the JVM for Subject.getSubject, which throws from Java 23 on. The flags that open the
# JVM's packages are unknown to Java 8.
PINS: Mapping[str, Pin] = MappingProxyType(
    {
        "3.5.0": Pin("3.5.0", min_java=17, borrowed={EXAMPLES: "3.4.2", STREAMING: "3.4.2"}),
        "3.4.2": Pin("3.4.2", min_java=11, max_java=22),
    }
)


def pin(version: str) -> Pin:
    """The pin of ``version``; UserError tells which versions are known."""
    release = PINS.get(version)
    if release is None:
        raise UserError(
            f"Hadoop {version!r} is not a version that Fawkes can get",
            hint=f"Known are {', '.join(PINS)}; to use another release, name its folder on the nodes",
        )
    return release
