from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from fawkes.base.errors import HostError
from fawkes.live.nodes.ssh import Result
from fawkes.playbook import Script
from fawkes.playbook.dist.maven import Say


def jar(text: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr(zipfile.ZipInfo("Class.class"), text)
    return made.getvalue()


JARS = {"lib/hadoop-common-1.0.0.jar": jar("common"), "lib/guava-9.jar": jar("guava" * 1000)}


def give(pom: str, into: Path, say: Say) -> None:
    """Acts as Maven does when all is well."""
    for path, content in JARS.items():
        (into.parent / path).write_bytes(content)


@dataclass
class LocalShell:
    """Scripts run on this machine in the place of each host; ``env`` and ``before`` are what a node is like."""

    env: Mapping[str, str] = field(default_factory=lambda: {"PATH": os.environ["PATH"]})
    before: Mapping[str, str] = field(default_factory=dict)
    copies: list[str] = field(default_factory=list)

    def run(self, node: str, script: Script, deadline_s: float, stdin: BinaryIO | None = None) -> Result:
        text = self.before.get(node, "") + "\n" + script.text
        argv = ["/bin/sh", "-s"] if stdin is None else ["/bin/sh", "-c", text]
        with subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(self.env)
        ) as shell:
            assert shell.stdin is not None
            if stdin is None:
                out, err = shell.communicate(text.encode(), timeout=deadline_s)
            else:
                self.copies.append(node)
                with contextlib.suppress(BrokenPipeError):
                    shutil.copyfileobj(stdin, shell.stdin)
                out, err = shell.communicate(timeout=deadline_s)
        return Result(node, shell.returncode, out.decode(), err.decode())


@dataclass
class FaultyShell(LocalShell):
    """A shell on which streams to some hosts meet a fault: host -> what becomes of the bytes."""

    faults: Mapping[str, Callable[[bytes], bytes]] = field(default_factory=dict)
    cut_off: frozenset[str] = frozenset()

    def run(self, node: str, script: Script, deadline_s: float, stdin: BinaryIO | None = None) -> Result:
        if stdin is not None and node in self.cut_off:
            raise HostError("the connection was lost", host=node)
        if stdin is not None and node in self.faults:
            stdin = io.BytesIO(self.faults[node](stdin.read()))
        return super().run(node, script, deadline_s, stdin)
