"""The class that a jar starts by itself: `hadoop jar` then takes no other, and a class becomes the first argument."""

from __future__ import annotations

import re
import zipfile
import zlib
from pathlib import Path

from fawkes.base.errors import ConfigError
from fawkes.base.reading import opened

_MANIFEST = "META-INF/MANIFEST.MF"
_MOST_BYTES = 1 << 20
#: Hadoop's own jars: examples, streaming, jobclient-tests
RELEASE_JARS = ("examples", "streaming", "jobclient-tests")
#: a line of a manifest ends after 72 bytes and goes on behind a space
_FOLDED = re.compile(r"\r?\n ")
_MAIN = re.compile(r"^Main-Class:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)


def main_class_of(jar: Path) -> str:
    """The main class that the manifest of a jar names; empty when it names none, or cannot be read."""
    try:
        with opened(jar) as source, zipfile.ZipFile(source) as archive, archive.open(_MANIFEST) as manifest:
            text = manifest.read(_MOST_BYTES).decode("utf-8", "replace")
    except (ConfigError, OSError, KeyError, ValueError, NotImplementedError, RuntimeError, EOFError):
        return ""
    except (zipfile.BadZipFile, zlib.error):
        return ""
    match = _MAIN.search(_FOLDED.sub("", text))
    return match[1] if match else ""


def starts_itself(jar: str, folder: Path) -> str:
    """The class that a jar starts whatever class is named, or words for it; empty when it starts none."""
    if jar in RELEASE_JARS:
        return f"the programs of Hadoop's {jar} jar"
    return main_class_of(folder / Path(jar).expanduser())
