"""Files that a workload is written to: packed when their name ends in .gz."""

from __future__ import annotations

import contextlib
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from fawkes.base import writing


@contextlib.contextmanager
def whole(path: Path) -> Iterator[BinaryIO]:
    """A file to write as `fawkes.base.writing.whole` does. The same bytes written give the same file, packed or not."""
    with writing.whole(path) as out:
        if path.suffix != ".gz":
            yield out
            return
        # Name and time of the file would go into its bytes.
        with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0, compresslevel=6) as packed:
            yield cast(BinaryIO, packed)
