"""Open files whose writers have ended."""

from __future__ import annotations

import pytest

from fawkes.live.data.left_open import OpenFile, of_ended

ENDED = "application_1795220018027_0001"
STAGED = "/tmp/staging/u/.staging/job_1795220018027_0001/job_1795220018027_0001_1.jhist"
TASK = "/output/a/_temporary/1/_temporary/attempt_1795220018027_0001_r_000003_0/part-r-00003"
USER = "DFSClient_NONMAPREDUCE_-1234_1"
CLIENT = "DFSClient_attempt_1795220018027_0001_r_000003_0_-77_1"


@pytest.mark.parametrize(
    ("path", "client", "theirs"),
    [
        (STAGED, USER, True),
        (TASK, USER, True),
        (TASK.replace("0001", "10001"), USER, False),
        (TASK.replace("attempt_1795220018027_0001", "attempt_1795220018027_00010"), USER, False),
        ("/user/ann/notes", USER, False),
        ("/user/ann/1795220018027_0001", USER, False),
        (f"/backup/job_1795220018027_0002{STAGED}", USER, False),
        ("/user/ann/notes", CLIENT, True),
        ("/user/ann/notes", CLIENT.replace("0001", "0002"), False),
        (TASK, CLIENT.replace("0001", "0002"), False),
    ],
)
def test_files_of_an_application_that_has_ended(path: str, client: str, theirs: bool) -> None:
    file = OpenFile(path, client, "10.0.0.1")
    assert of_ended([file], [ENDED]) == ([file] if theirs else [])
    assert of_ended([file], []) == []
