"""Event logs of Spark applications in HDFS: which files they are, and what of them is sent."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.base.errors import UserError
from fawkes.live.jobs.event_log import event_lines
from fawkes.live.wire.webhdfs import Hdfs, HdfsFailedError
from tests.live.fake_hdfs import FakeHdfs, running

APP = "application_1_0007"
FOLDER = f"/history/spark/eventlog_v2_{APP}_1"
SECRET = b'{"Event":"SparkListenerEnvironmentUpdate","Spark Properties":{"key":"s3"}}\n'


def event(number: int) -> bytes:
    return b'{"Event":"SparkListenerTaskEnd","Stage ID":%d}\n' % number


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with running() as server:
        yield server


def read(server: FakeHdfs, application: str = APP) -> str:
    return "".join(event_lines(Hdfs.of(server.masters()), application))


def test_the_files_of_a_rolling_log_follow_each_other_by_number(server: FakeHdfs) -> None:
    for number in (10, 9, 1):
        server.put(f"{FOLDER}/events_{number}_{APP}_1", event(number), SECRET, event(number)[:-1])
    server.put(f"{FOLDER}/appstatus_{APP}_1", b"")
    server.put(f"/history/spark/{APP}0_1", event(0))
    assert read(server) == "".join((event(n) + event(n)).decode()[:-1] for n in (1, 9, 10))


def test_of_several_attempts_the_last_one_counts(server: FakeHdfs) -> None:
    server.put(f"/history/spark/{APP}_1", event(1))
    server.put(f"/history/spark/{APP}_2", event(2), b"no event\n")
    assert read(server) == event(2).decode() + "no event\n"


@pytest.mark.parametrize(
    ("path", "application", "says"),
    [
        ("/history/spark/other", APP, "there is no event log of application_1_0007"),
        ("/elsewhere", APP, "there is no event log of application_1_0007"),
        (f"/history/spark/{APP}_1.inprogress", APP, "still writes its event log"),
        (f"{FOLDER}/appstatus_{APP}_1.inprogress", APP, "still writes its event log"),
        ("/history/spark/x", "../x", "'../x' is not an application of YARN"),
        ("/history/spark/x", "", "'' is not an application of YARN"),
    ],
)
def test_what_is_no_log_is_refused(server: FakeHdfs, path: str, application: str, says: str) -> None:
    server.put(path, event(1))
    with pytest.raises(UserError) as caught:
        read(server, application)
    assert says in caught.value.what
    assert caught.value.hint


def test_a_file_that_cannot_be_read_is_an_error(server: FakeHdfs) -> None:
    server.put(f"/history/spark/{APP}", event(1))
    server.unreadable = {f"/history/spark/{APP}"}
    with pytest.raises(HdfsFailedError):
        read(server)
