"""Commands of `tests.support.inside` that go on while a test does something else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tests.support.site import PROJECT, RealSite


@contextmanager
def meanwhile(
    site: RealSite, cluster: str, command: str, addresses: Sequence[str], folder: str
) -> Iterator[dict[str, Any]]:
    """While the block lasts, a command writes below a folder of an HDFS; afterwards its answer."""
    key = site.key(cluster)
    ended, outcome = site.root / f"{folder.strip('/').replace('/', '-')}.ended", dict[str, Any]()
    ended.unlink(missing_ok=True)
    words = [
        sys.executable,
        "-m",
        "tests.support.inside",
        key,
        command,
        ",".join(addresses),
        "root",
        folder,
        str(ended),
    ]
    with site.lab.popen(words, cwd=PROJECT, stdout=subprocess.PIPE) as process:
        try:
            yield outcome
        except BaseException:
            # What it has to say is of no use, and would hide why.
            process.kill()
            raise
        ended.touch()
        out, _ = process.communicate()
        outcome |= json.loads(out)
