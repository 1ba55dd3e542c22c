"""Jobs of kind "stream": what their files may say, and the settings that come out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError
from fawkes.base.units import SECOND_US
from fawkes.config.jobs import spark
from fawkes.config.jobs.jobs import load_jobs
from fawkes.core.streams.values import Thresholds
from fawkes.core.values.model import JobSpec, StreamSpec

LIMITS = 'executors = 2\nmost_executors = 6\nbatch = "5s"\n'


def job(folder: Path, text: str) -> JobSpec:
    (folder / "events.py").touch()
    (folder / "q.toml").write_text(f'id = "q"\nkind = "stream"\npython = "events.py"\n{text}')
    (spec,) = load_jobs(folder / "q.toml", "c")
    return spec


def test_a_stream_has_limits_thresholds_and_the_highest_priority(tmp_path: Path) -> None:
    thresholds = Thresholds(cpu=0.9, memory=None, network=None, least_workers=2)
    spec = job(tmp_path, LIMITS)
    assert spec.stream == StreamSpec(least=2, most=6, batch_us=5 * SECOND_US, guarantee=1.0, thresholds=thresholds)
    assert (spec.priority, spec.unkept) == (9, "a stream has no end")
    assert job(tmp_path, LIMITS + "priority = 3\n").priority == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "executors: is missing"),
        (LIMITS.replace("2", "7"), "executors: 7 is more than most_executors (6)"),
        (LIMITS + 'deadline = "1h"\n', "deadline: means nothing for a stream"),
        (LIMITS + "guarantee = 1.5\n", "guarantee: 1.5"),
        (LIMITS + "[monitor]\nidle = 0.95\n", "monitor: idle (0.95) must be below overload (0.9)"),
        (LIMITS + '[monitor]\npause = "5s"\n', "monitor: lasting (10.0) must be from 0 to pause (5.0)"),
        (LIMITS + '[properties]\n"spark.executor.instances" = 3\n', "the monitor says how many executors"),
        (LIMITS + '[properties]\n"spark.plugins" = "x"\n', "spark.plugins cannot be given"),
    ],
)
def test_what_a_stream_cannot_be_is_refused_with_its_key(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        job(tmp_path, text)
    assert says in str(refused.value)


def test_a_job_of_another_kind_has_no_executors(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(f'kind = "sleep"\nmaps = 1\nmap_time = "1s"\n{LIMITS}')
    with pytest.raises(ConfigError, match="executors: means nothing for a job of kind 'sleep'"):
        load_jobs(tmp_path / "q.toml", "c")


def test_a_stream_begins_with_its_least_executors_and_keeps_listeners_of_its_own(tmp_path: Path) -> None:
    stream = job(tmp_path, LIMITS).stream
    assert stream is not None
    key = "spark.sql.streaming.streamingQueryListeners"
    values = spark.of_stream({key: "org.example.Mine"}, stream, "hdfs://m/staging/streams/t", 9)
    assert values[key] == "org.example.Mine,fawkes.streams.Batches"
    assert (values["spark.executor.instances"], values["spark.dynamicAllocation.enabled"]) == ("2", "false")
    assert (values["spark.yarn.priority"], values["spark.fawkes.folder"]) == ("9", "hdfs://m/staging/streams/t")
