"""Reading workloads, in processor time of fresh processes: SWIM, a large log of rigid jobs, Rumen beside json alone.

The SWIM and Rumen files are made from what the tests have; with FAWKES_TRACES, a folder, Facebook's own file and
Hadoop's 59 jobs are taken from it.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import Figure, Say, figures_of, fresh, peak_mb
from fawkes.workload.changing.writers import write
from fawkes.workload.formats.formats import read_workload
from fawkes.workload.making.facebook import like_facebook
from fawkes.workload.reading.objects import objects

GROUP = "Reading workloads"
FACEBOOK_JOBS = 5_894
SWF_JOBS = 1_000_000
RUMEN_BYTES = 50_000_000
_DATA = Path(__file__).parents[1] / "tests" / "workload" / "data"
_MB = 1_000_000


def figures(rounds: int, say: Say) -> list[Figure]:
    """Measure; ``rounds`` fresh processes for each figure."""
    given = os.environ.get("FAWKES_TRACES")
    with tempfile.TemporaryDirectory() as folder:
        say("readers: making the files")
        swim, swf, rumen = (Path(folder) / name for name in ("swim.tsv", "log.swf", "rumen.json"))
        swim = _swim(swim, given)
        _write_swf(swf)
        _write_rumen(rumen, _rumen_source(given))
        measured = {name: [_fresh(name, path, say) for _ in range(rounds)] for name, path in
                 (("swim", swim), ("swf", swf), ("rumen", rumen), ("json", rumen))}  # fmt: skip

    def values(name: str, key: str) -> list[float]:
        return [run[key] for run in measured[name]]

    rumen_json = f"Rumen, {RUMEN_BYTES // _MB} MB of JSON"
    rigid = f"SWF, {SWF_JOBS:,} jobs"
    lines = [
        (f"SWIM, {FACEBOOK_JOBS:,} jobs", "s", values("swim", "seconds"), 0.2),
        (rigid, "s", values("swf", "seconds"), 10),
        (f"{rigid}: memory", "MB", values("swf", "megabytes"), 500),
        (f"{rumen_json}: memory", "MB", values("rumen", "megabytes"), None),
    ]
    beside = Figure(
        group=GROUP,
        what=rumen_json,
        unit="s",
        ours=values("rumen", "seconds"),
        other=values("json", "seconds"),
        than="Python's json alone",
        at_most=1,
    )
    *before, memory = figures_of(GROUP, lines)
    return [*before, beside, memory]


def _swim(path: Path, given: str | None) -> Path:
    files = sorted(Path(given).rglob("FB-2009*_0.tsv")) if given else []
    if files:
        return files[0]
    write(like_facebook(FACEBOOK_JOBS), path, "swim")
    return path


def _write_swf(path: Path) -> None:
    chance = random.Random(1)
    at = 0
    with path.open("w") as out:
        out.write("; Version: 2.2\n; MaxProcs: 512\n")
        for number in range(1, SWF_JOBS + 1):
            at += chance.randint(0, 60)
            run, processors, user = chance.randint(1, 99_999), chance.randint(1, 512), chance.randint(1, 300)
            limit = 3600 * chance.randint(1, 48)
            out.write(
                f"{number} {at} {chance.randint(0, 9999)} {run} {processors} {run} -1 {processors} {limit} -1 1 "
                f"{user} 1 {user % 40} 1 -1 -1 -1\n"
            )


def _rumen_source(given: str | None) -> bytes:
    files = sorted(Path(given).rglob("folder-input-trace.json.gz")) if given else []
    return gzip.decompress((files[0] if files else _DATA / "rumen-5jobs.json.gz").read_bytes())


def _write_rumen(path: Path, jobs: bytes) -> None:
    """The jobs again and again, each time with ids of their own."""
    with path.open("wb") as out:
        number = 0
        while out.tell() < RUMEN_BYTES:
            out.write(jobs.replace(b'"job_', b'"job_%d_' % number))
            number += 1


def _fresh(name: str, path: Path, say: Say) -> dict[str, float]:
    measured = fresh("bench.readers", name, str(path))
    say(f"readers: {name} {measured['seconds']:.2f} s")
    return measured


# --- in the fresh process


def _measured(name: str, path: Path) -> dict[str, float]:
    began = time.process_time()
    if name == "json":
        count = sum(1 for _ in objects(path))
    else:
        trace = read_workload(path)
        assert trace.format == name
        count = len(trace.jobs)
    seconds = time.process_time() - began
    assert count >= FACEBOOK_JOBS or name in ("rumen", "json")
    return {"seconds": seconds, "megabytes": peak_mb()}


if __name__ == "__main__":
    json.dump(_measured(sys.argv[1], Path(sys.argv[2])), sys.stdout)
