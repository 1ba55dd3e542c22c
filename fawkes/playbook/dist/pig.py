"""Pig: the version that runs Pig Latin on the Hadoop releases that Fawkes gets, made of Maven's artifacts as they are.

The published Pig is made for a Hadoop of its own. Of its dependencies only those come along that Hadoop has not: its
old guava, slf4j, commons-cli, commons-logging, commons-codec and servlet jars would shadow those of Hadoop.
RoaringBitmap, which Pig expects under a name of its own and does not bring, is renamed by Maven's shade plugin.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from fawkes.playbook.dist import maven
from fawkes.playbook.dist.manifest import Pinned
from fawkes.playbook.dist.maven import put
from fawkes.playbook.dist.release import Placed, Release

DEFAULT_PIG = "0.18.0"
MAIN = "org.apache.pig.Main"

_RELOCATED = "roaringbitmap-for-pig"
_OLD, _NEW = "org.roaringbitmap", "org.apache.pig.org.roaringbitmap"
_PLUGINS = "org.apache.maven.plugins"
_GOALS = (
    f"{_PLUGINS}:maven-jar-plugin:3.4.2:jar",
    f"{_PLUGINS}:maven-shade-plugin:3.6.0:shade",
    maven.COPY,
)


@dataclass(frozen=True)
class PigPin(Pinned):
    """A version of Pig: ``own`` are the artifacts that come with their dependencies, ``roaringbitmap`` its version."""

    software = "Pig"
    own: Mapping[str, str]
    roaringbitmap: str
    shipped: Sequence[str]
    """Jars that tasks need and that neither Hadoop nor Pig's own job jars bring them, without version."""

    def pom(self) -> str:
        """A Maven project whose default goals put Pig's jars into ``-DoutputDirectory``."""
        project = ET.Element("project", xmlns="http://maven.apache.org/POM/4.0.0")
        put(project, modelVersion="4.0.0", groupId="fawkes", artifactId=_RELOCATED, version=self.roaringbitmap)
        # Without a fixed time each run would make another jar of the same classes, and its digest could not be pinned.
        put(ET.SubElement(project, "properties"), **{"project.build.outputTimestamp": "2020-01-01T00:00:00Z"})
        dependencies = ET.SubElement(project, "dependencies")
        maven.depend(dependencies, "org.apache.pig:pig", self.version, alone=True)
        for artifact, version in {**self.own, f"{_OLD}:RoaringBitmap": self.roaringbitmap}.items():
            maven.depend(dependencies, artifact, version)
        self._build(ET.SubElement(project, "build"))
        ET.indent(project)
        return ET.tostring(project, encoding="unicode") + "\n"

    def _build(self, build: ET.Element) -> None:
        put(build, defaultGoal=" ".join(_GOALS))
        plugins = ET.SubElement(build, "plugins")
        shade = _plugin(plugins, "maven-shade-plugin")
        put(
            shade,
            createDependencyReducedPom="false",
            outputFile="${outputDirectory}/" + f"{_RELOCATED}-{self.roaringbitmap}.jar",
        )
        included = ET.SubElement(ET.SubElement(shade, "artifactSet"), "includes")
        put(included, include=f"{_OLD}:*")
        relocation = ET.SubElement(ET.SubElement(shade, "relocations"), "relocation")
        put(relocation, pattern=_OLD, shadedPattern=_NEW)
        every = ET.SubElement(ET.SubElement(shade, "filters"), "filter")
        put(every, artifact="*:*")
        left_out = ET.SubElement(every, "excludes")
        put(left_out, exclude="META-INF/**")
        put(left_out, exclude="module-info.class")
        put(_plugin(plugins, "maven-dependency-plugin"), excludeGroupIds=_OLD)


def _plugin(plugins: ET.Element, artifact: str) -> ET.Element:
    plugin = ET.SubElement(plugins, "plugin")
    put(plugin, groupId=_PLUGINS, artifactId=artifact)
    return ET.SubElement(plugin, "configuration")


@dataclass(frozen=True)
class PigRelease(Placed):
    """Pig in one folder of one machine."""

    software = "Pig"
    jars: tuple[str, ...]
    shipped: tuple[str, ...]

    def argv(
        self, hadoop: Release, *, java_home: str, conf_dir: str, heap_mb: int, extra: Sequence[str] = ()
    ) -> list[str]:
        """The arguments that start Pig as a client of an MR-cluster; whoever calls appends those of the script.

        Hadoop's own classes come first. What tasks need beyond Hadoop's goes with each job.
        """
        *start, class_path, _ = hadoop.daemon_argv(
            "jar", java_home=java_home, conf_dir=conf_dir, heap_mb=heap_mb, extra=extra
        )
        at = start.index("-cp")
        flag = f"-Dpig.additional.jars={':'.join(f'{self.root}/{jar}' for jar in self.shipped)}"
        return [*start[:at], flag, "-cp", f"{class_path}:{self.root}/lib/*", MAIN]


def pig_release(pin: PigPin, root: str) -> PigRelease:
    """Pig as it is when its folder is whole."""
    jars = tuple(sorted(pin.jars()))
    shipped = tuple(jar for jar in jars if any(jar.startswith(f"lib/{name}-") for name in pin.shipped))
    return PigRelease(pin.version, root, jars, shipped)


PIG_PINS: Mapping[str, PigPin] = MappingProxyType(
    {
        DEFAULT_PIG: PigPin(
            DEFAULT_PIG,
            own=MappingProxyType(
                {
                    "org.antlr:antlr-runtime": "3.4",
                    "org.antlr:ST4": "4.0.4",
                    "joda-time:joda-time": "2.14.0",
                    "jline:jline": "2.11",
                    "dk.brics.automaton:automaton": "1.11-8",
                    "commons-collections:commons-collections": "3.2.2",
                    "commons-lang:commons-lang": "2.6",
                    "org.codehaus.jackson:jackson-mapper-asl": "1.9.13",
                }
            ),
            roaringbitmap="0.7.45",
            shipped=("commons-collections", _RELOCATED),
        )
    }
)
