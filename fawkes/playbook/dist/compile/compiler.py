"""The compiler of Fawkes's own Java: Eclipse's, for the Java that Hadoop runs on need not have one of its own.

Only the standard library: `make` fetches it while Python's packages are still being installed (`scripts/prefetch`).
"""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from fawkes.base.errors import FawkesError
from fawkes.base.paths import cache_dir
from fawkes.playbook.dist import maven

_GROUP, _ARTIFACT, _VERSION = "org.eclipse.jdt", "ecj", "3.38.0"
_NAME = f"{_ARTIFACT}-{_VERSION}.jar"
DIGEST = "97c566b120009c203a2fc8b291f4a9adbc171cf1ccb70f06f6b4e1828c00ce8e"


def compiler(say: maven.Say, resolve: maven.Resolve = maven.resolve) -> Path:
    """The jar of the compiler in the cache, fetched by Maven when it is not there.

    It is kept: after an upgrade of Fawkes, changed sources are compiled without any network. FawkesError when Maven
    cannot fetch it, or gives another file than the pinned one.
    """
    place = cache_dir() / "compiler" / _NAME
    if _is_pinned(place):
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".part-", dir=place.parent) as part:
        resolve(_pom(), Path(part), say)
        fetched = Path(part) / _NAME
        if not _is_pinned(fetched):
            raise FawkesError(
                f"Maven resolved other files than those of the {_NAME} that Fawkes knows",
                hint="Look at the repository that Maven uses",
            )
        fetched.rename(place)
    return place


def _is_pinned(jar: Path) -> bool:
    return jar.is_file() and hashlib.sha256(jar.read_bytes()).hexdigest() == DIGEST


def _pom() -> str:
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>fawkes</groupId>'
        "<artifactId>java-compiler</artifactId><version>1</version><packaging>pom</packaging><dependencies><dependency>"
        f"<groupId>{_GROUP}</groupId><artifactId>{_ARTIFACT}</artifactId><version>{_VERSION}</version>"
        f"</dependency></dependencies><build><defaultGoal>{maven.COPY}</defaultGoal></build></project>\n"
    )
