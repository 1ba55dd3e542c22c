from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from fawkes.workload.hibench.programs import folder


def make(out: Path, *words: str) -> Path:
    """Data by data.py in a folder."""
    done = subprocess.run(
        [sys.executable, str(folder() / "data.py"), *words, "--out", str(out)],
        check=True,
        capture_output=True,
        text=True,
    )
    assert int(done.stdout) == sum(file.stat().st_size for file in out.iterdir())
    return out


def streaming(
    read: Path, written: Path, program: str, mapper: str, reducer: str = "", side: Path | None = None
) -> None:
    """Streams as Hadoop does: a mapper for each file, all sorted by key, a reducer; with a file beside them."""
    written.mkdir(parents=True)
    work = written.parent / f"{written.name}.work"
    work.mkdir()
    if side is not None:
        (work / side.name.replace("part-00000", mapper_side(program))).write_bytes(side.read_bytes())

    def run(words: str, text: bytes) -> bytes:
        argv = [sys.executable, str(folder() / program), *words.split()]
        return subprocess.run(argv, input=text, capture_output=True, check=True, cwd=work).stdout

    outputs = [run(mapper, file.read_bytes()) for file in sorted(read.glob("part-*"))]
    if not reducer:
        for number, text in enumerate(outputs):
            (written / f"part-{number:05d}").write_bytes(text)
        return
    rows = sorted(b"".join(outputs).splitlines(keepends=True), key=lambda line: line.split(b"\t")[0])
    (written / "part-00000").write_bytes(run(reducer, b"".join(rows)))


def mapper_side(program: str) -> str:
    """The name under which a program finds the file beside it."""
    return "dangling" if program == "pagerank.py" else "centres"
