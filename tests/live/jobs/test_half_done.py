from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.live.jobs import half_done
from fawkes.live.wire.masters import YarnApplication
from fawkes.live.wire.webhdfs import Hdfs
from tests.live.fake_hdfs import FakeHdfs, running

SETTINGS = {"mapred-site": {"yarn.app.mapreduce.am.staging-dir": "/staging"}}
FOLDER = "/staging/alice/.staging/job_1_0007"
CONF = (
    '<?xml version="1.0"?><configuration>\n'
    "<property><name>mapreduce.job.name</name><value>words</value></property>\n"
    "<property><name>mapreduce.output.fileoutputformat.outputdir</name>\n"
    "<value>hdfs://10.0.0.1:8020/output/a&amp;b</value><final>false</final></property></configuration>"
)


@pytest.fixture
def server() -> Iterator[FakeHdfs]:
    with running() as hdfs:
        yield hdfs


@pytest.fixture
def hdfs(server: FakeHdfs) -> Hdfs:
    hdfs = Hdfs.of(server.masters())
    put(server, f"{FOLDER}/job.xml", CONF)
    put(server, "/output/a&b/part-0", "half of it")
    return hdfs


def put(server: FakeHdfs, path: str, text: str = "") -> None:
    server.put(path, text.encode())


def names(hdfs: Hdfs, folder: str) -> set[str]:
    return {file.path for file in hdfs.below(folder) if not file.folder}


def test_where_an_application_master_keeps_its_files() -> None:
    assert half_done.staging(YarnApplication(id="application_1_0007", user="alice"), SETTINGS) == FOLDER


def test_an_output_that_is_not_whole_is_set_aside(server: FakeHdfs, hdfs: Hdfs) -> None:
    put(server, "/output/a&b/_temporary/1/part-1", "being written")
    assert half_done.set_aside(hdfs, FOLDER) == f"{FOLDER}/output"
    assert hdfs.status("/output/a&b") is None
    assert names(hdfs, f"{FOLDER}/output") == {f"{FOLDER}/output/part-0", f"{FOLDER}/output/_temporary/1/part-1"}
    assert half_done.set_aside(hdfs, FOLDER) == ""


def test_one_that_was_set_aside_before_stays(server: FakeHdfs, hdfs: Hdfs) -> None:
    put(server, f"{FOLDER}/output/part-0", "earlier")
    put(server, f"{FOLDER}/COMMIT_STARTED")
    assert half_done.set_aside(hdfs, FOLDER) == f"{FOLDER}/output-2"


def test_a_folder_in_which_no_task_has_begun_to_write_is_left_alone(hdfs: Hdfs) -> None:
    assert half_done.set_aside(hdfs, FOLDER) == ""
    assert names(hdfs, "/output") == {"/output/a&b/part-0"}


def test_the_output_of_an_application_that_has_failed_makes_way(hdfs: Hdfs) -> None:
    assert half_done.make_way(hdfs, "hdfs://10.0.0.1:8020/output/a&b/", f"{FOLDER}9") == f"{FOLDER}9/output"
    assert names(hdfs, "/") == {f"{FOLDER}/job.xml", f"{FOLDER}9/output/part-0"}
    assert half_done.make_way(hdfs, "/output/a&b", f"{FOLDER}9") == ""
    assert half_done.make_way(hdfs, "", f"{FOLDER}9") == ""


def test_jobs_without_output_and_jobs_that_were_never_submitted(server: FakeHdfs, hdfs: Hdfs) -> None:
    put(server, f"{FOLDER}2/job.xml", "<configuration></configuration>")
    assert half_done.set_aside(hdfs, f"{FOLDER}2") == ""
    assert half_done.set_aside(hdfs, f"{FOLDER}3") == ""


def test_an_output_counts_when_its_application_master_has_committed_it(server: FakeHdfs, hdfs: Hdfs) -> None:
    put(server, f"{FOLDER}/COMMIT_STARTED")
    assert not half_done.committed(hdfs, FOLDER)
    put(server, f"{FOLDER}/COMMIT_SUCCESS")
    assert half_done.committed(hdfs, FOLDER)
