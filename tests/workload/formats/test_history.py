from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from fawkes.base.errors import ConfigError
from fawkes.live.wire.rest import UnreadableError
from fawkes.workload.formats import historyserver
from fawkes.workload.formats.history import read
from fawkes.workload.model import TraceJob

DATA = Path(__file__).parents[1] / "data"
WORDCOUNT, SLEEP, FAILED = (DATA / "history" / f"job_1795255534329_000{number}.jhist.gz" for number in (1, 2, 3))
ANSWERS = json.loads((DATA / "historyserver.json").read_text())
JOBS = "/ws/v1/history/mapreduce/jobs"


def test_a_history_in_avros_bytes() -> None:
    assert gzip.decompress(WORDCOUNT.read_bytes()).startswith(b"Avro-Binary\n")
    trace = read(WORDCOUNT)
    assert trace.jobs == (
        TraceJob(
            id="job_1795255534329_0001",
            submit_us=0,
            application="word count",
            input_bytes=2_333_487,
            shuffle_bytes=41_763,
            output_bytes=10_918,
            maps=3,
            reduces=2,
            map_us=11_273_667,
            reduce_us=9_627_000,
            run_us=28_340_000,
            user="root",
        ),
    )
    assert trace.header == {"start": "2026-11-21T10:05:52.248Z"}


def test_a_history_in_avros_json() -> None:
    assert gzip.decompress(SLEEP.read_bytes()).startswith(b"Avro-Json\n")
    (job,) = read(SLEEP).jobs
    # Three maps of 2 s and a reduce of 1 s; the rest is what a container takes to start on a busy machine.
    assert (job.maps, job.map_us, job.reduces, job.reduce_us) == (3, 12_440_333, 1, 4_816_000)
    assert (job.application, job.output_bytes) == ("Sleep job", 0)


def test_a_job_that_failed_is_kept_and_counted() -> None:
    trace = read(FAILED)
    (job,) = trace.jobs
    assert (job.maps, job.reduces, job.map_us, job.input_bytes, job.run_us) == (3, 1, None, None, 24_098_000)
    assert trace.mended.counts == {"that did not succeed": 1}


def test_a_folder_of_histories_is_a_workload(tmp_path: Path) -> None:
    day = tmp_path / "done" / "2026"
    shutil.copytree(DATA / "history", day)
    (day / "job_1795255534329_0001.jhist.gz").rename(day / "later.jhist.gz")
    (day / "broken.jhist").write_text("no history\n")
    (day / "job_1795255534329_0001_conf.xml").write_text("<xml/>")
    trace = read(tmp_path)
    assert [(job.id[-4:], job.submit_us) for job in trace.jobs] == [
        ("0001", 0),
        ("0002", 50_494_000),
        ("0003", 87_234_000),
    ]
    assert str(trace.dropped) == "1 job that cannot be read (first: done/2026/broken.jhist)"
    assert str(trace.mended).endswith("(first: done/2026/job_1795255534329_0003.jhist.gz)")
    with pytest.raises(ConfigError, match="has no job"):
        read(_empty(tmp_path))


def test_a_job_in_two_folders_is_one_job(tmp_path: Path) -> None:
    for folder in ("done", "intermediate"):
        (tmp_path / folder).mkdir()
        shutil.copy(WORDCOUNT, tmp_path / folder)
    trace = read(tmp_path)
    assert trace.jobs == read(WORDCOUNT).jobs
    assert str(trace.dropped) == f"1 job that another file tells as well (first: intermediate/{WORDCOUNT.name})"


def test_of_two_files_of_a_job_the_one_that_tells_its_end_counts(tmp_path: Path) -> None:
    events = gzip.decompress(SLEEP.read_bytes()).splitlines(keepends=True)
    (tmp_path / "a-first-attempt.jhist").write_bytes(b"".join(events[:6]))
    shutil.copy(SLEEP, tmp_path / "b-second-attempt.jhist.gz")
    trace = read(tmp_path)
    assert trace.jobs == read(SLEEP).jobs
    assert str(trace.dropped) == "1 job that another file tells as well (first: a-first-attempt.jhist)"
    assert trace.mended.total == 0


def _empty(tmp_path: Path) -> Path:
    folder = tmp_path / "empty"
    folder.mkdir()
    return folder


def test_a_history_that_is_cut_or_wrong_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.jhist"
    events = gzip.decompress(SLEEP.read_bytes()).splitlines(keepends=True)
    for text, key, says in (
        (gzip.decompress(WORDCOUNT.read_bytes())[:-9], "line 3", "cannot be decoded"),
        (b"".join(events[:5]) + events[6][:99], "line 6", "is not an event"),
        (b"".join(events[:2]) + b"[1]\n", "line 3", "is not an event"),
        (b"".join(events[:2]) + b'{"type": "JOB_INITED", "event": 5}\n', "line 3", "is not an event"),
        (b"".join(events[:2]), "", "does not say which job was submitted when"),
        (b"Avro-Binary\n{}\nx", "line 3", "is not an Avro schema"),
        (b"Avro-Text\n", "line 1", "does not begin like the history of a job"),
    ):
        path.write_bytes(text)
        with pytest.raises(ConfigError) as caught:
            read(path)
        assert says in caught.value.what
        assert caught.value.key == key
    path.write_bytes(SLEEP.read_bytes()[:-20])
    with pytest.raises(ConfigError, match="ends too early"):
        read(path)


def test_the_server_tells_what_its_files_have() -> None:
    urls: list[str] = []

    def fetch(url: str) -> Any:
        urls.append(url)
        return ANSWERS[url.removeprefix("http://master:19888").partition("?")[0]]

    trace = historyserver.read("http://master:19888/", fetch)
    assert trace.jobs == read(DATA / "history").jobs
    assert trace.mended.counts == {"that did not succeed": 1}
    assert len(urls) == 7
    historyserver.read("http://master:19888", fetch, started_from_ms=7)
    assert urls[7] == f"http://master:19888{JOBS}?startedTimeBegin=7"


def test_a_server_that_knows_little_or_nonsense() -> None:
    killed = {"id": "job_1", "submitTime": 5, "state": "KILLED", "mapsTotal": 0}
    answers: dict[str, Any] = {
        JOBS: {"jobs": {"job": [killed, {"id": "job_2"}]}},
        f"{JOBS}/job_1/counters": {"jobCounters": {"id": "job_1"}},
        f"{JOBS}/job_1/tasks": {"tasks": None},
    }
    trace = historyserver.read("http://m", lambda url: answers[url.removeprefix("http://m")])
    assert trace.jobs == (TraceJob(id="job_1", submit_us=0, maps=0, reduces=0, shuffle_bytes=0),)
    assert trace.dropped.counts == {"without an id or a submit time": 1}
    with pytest.raises(UnreadableError, match="no 'jobs'"):
        historyserver.read("http://m", lambda url: {})
    with pytest.raises(ConfigError, match="has no job"):
        historyserver.read("http://m", lambda url: {"jobs": None})
