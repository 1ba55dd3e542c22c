"""Open files whose writers have ended."""

from __future__ import annotations

import pytest

from fawkes.errors import FawkesError
from fawkes.live import left_open

ENDED = "application_1795220018027_0001"
STAGED = "/tmp/staging/u/.staging/job_1795220018027_0001/job_1795220018027_0001_1.jhist"
TASK = "/output/a/_temporary/1/_temporary/attempt_1795220018027_0001_r_000003_0/part-r-00003"


@pytest.mark.parametrize(
    ("path", "theirs"),
    [
        (STAGED, True),
        (TASK, True),
        (TASK.replace("0001", "10001"), False),
        (TASK.replace("attempt_1795220018027_0001", "attempt_1795220018027_00010"), False),
        ("/user/ann/notes", False),
        ("/user/ann/1795220018027_0001", False),
        (f"/backup/job_1795220018027_0002{STAGED}", False),
    ],
)
def test_files_of_an_application_that_has_ended(path: str, theirs: bool) -> None:
    assert left_open.of_ended([path], [ENDED]) == ([path] if theirs else [])
    assert left_open.of_ended([path], []) == []


def test_what_cannot_be_closed_is_left_to_hdfs() -> None:
    asked = []

    def tell(path: str) -> None:
        asked.append(path)
        if path == STAGED:
            raise FawkesError("it was refused")

    assert left_open.close([STAGED, TASK], tell, "c-1") == [TASK]
    assert asked == [STAGED, TASK]
