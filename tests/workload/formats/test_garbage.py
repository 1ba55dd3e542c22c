"""Whatever stands in a file: jobs, or one error that names the file; never something else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError
from fawkes.workload.formats.formats import NAMES, read_workload

DATA = Path(__file__).parents[1] / "data"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**15) | st.floats() | st.sampled_from(["", "x", "7"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "name", "val"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def plain(name: str) -> bytes:
    text = (DATA / name).read_bytes()
    return gzip.decompress(text) if name.endswith(".gz") else text


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place of a document."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(place for key, item in inner for place in places(item, (*at, key)))]


def put(document: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    document = document.copy()
    document[place[0]] = put(document[place[0]], place[1:], value)
    return document


FIRST = json.JSONDecoder().raw_decode
DOCUMENTS = {
    "rumen": FIRST(plain("rumen-5jobs.json.gz").decode())[0],
    "sls": FIRST(plain("sls-2jobs.json").decode())[0],
    "synth": FIRST(plain("sls-synth.json").decode())[0],
}
HISTORY = plain("history/job_1795255534329_0002.jhist.gz").splitlines(keepends=True)
EVENTS = [(at, json.loads(line)) for at, line in enumerate(HISTORY) if at > 1 and line.strip()]


def read(path: Path, form: str) -> None:
    try:
        jobs = read_workload(path, format=form).jobs
    except ConfigError as error:
        where = error.file
    else:
        assert jobs
        assert all(job.submit_us >= 0 and (job.map_us or 0) >= 0 for job in jobs)
        return
    assert where == str(path)


@pytest.mark.parametrize("form", DOCUMENTS)
@given(st.data())
@settings(max_examples=50, deadline=None)
def test_any_value_at_any_place_of_a_document(
    form: str, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("garbage") / "file"
    document = DOCUMENTS[form]
    changed = put(document, data.draw(st.sampled_from(places(document))), data.draw(VALUES))
    path.write_text(json.dumps(changed))
    read(path, form)


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_any_value_at_any_place_of_a_history(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("garbage") / "file"
    at, event = data.draw(st.sampled_from(EVENTS))
    changed = put(event, data.draw(st.sampled_from(places(event))), data.draw(VALUES))
    path.write_bytes(b"".join([*HISTORY[:at], json.dumps(changed).encode() + b"\n", *HISTORY[at + 1 :]]))
    read(path, "history")


@given(st.sampled_from(NAMES), st.data())
@settings(max_examples=60, deadline=None)
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, form: str, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("garbage") / "file"
    names = ["fb-2009-first20.tsv", "hpc2n-first60.swf", "sls-2jobs.json", "history/job_1795255534329_0001.jhist.gz"]
    source = plain(data.draw(st.sampled_from(names)))
    begin, end = sorted(data.draw(st.tuples(*[st.integers(0, len(source))] * 2)))
    path.write_bytes(source[:begin] + data.draw(st.binary(max_size=30)) + source[end:])
    read(path, form)
