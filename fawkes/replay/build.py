"""The jar of load jobs, compiled from the sources beside this file."""

from __future__ import annotations

from pathlib import Path

from fawkes.dist import maven
from fawkes.dist.compiled import JavaCode, Resolve, Say, jar_of

JAR = "fawkes-load.jar"
CLIENT = Path(__file__).parent / "java" / "load.sh"

_LOAD = JavaCode(sources=Path(__file__).parent / "java", title="the load jobs", jar=JAR, folder="load")


def load_jar(say: Say = lambda line: None, resolve: Resolve = maven.resolve) -> Path:
    """The jar in the cache, made when it is not there; FawkesError as by `jar_of`."""
    return jar_of(_LOAD, say, resolve)
