from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, UserError
from fawkes.workload.formats.formats import FORMATS, read_workload

DATA = Path(__file__).parents[1] / "data"
FILES = {
    "fb-2009-first20.tsv": ("swim", 20),
    "hpc2n-first60.swf": ("swf", 31),
    "rumen-5jobs.json.gz": ("rumen", 5),
    "opendc-trace.gwf": ("gwf", 63),
    "sls-2jobs.json": ("sls", 2),
    "sls-synth.json": ("synth", 10),
}


@pytest.mark.parametrize("name", FILES)
def test_a_format_is_recognised_by_content_whatever_the_name(name: str, tmp_path: Path) -> None:
    text = (DATA / name).read_bytes()
    plain = gzip.decompress(text) if name.endswith(".gz") else text
    for file, content in (("one.txt", plain), ("two.tsv", gzip.compress(plain))):
        (tmp_path / file).write_bytes(content)
        trace = read_workload(tmp_path / file)
        assert (trace.format, len(trace.jobs)) == FILES[name]
        assert trace == read_workload(tmp_path / file, format=trace.format)


@pytest.mark.parametrize("name", FILES)
def test_a_byte_order_mark_changes_nothing(name: str, tmp_path: Path) -> None:
    text = (DATA / name).read_bytes()
    plain, file = gzip.decompress(text) if name.endswith(".gz") else text, tmp_path / "jobs"
    file.write_bytes(plain)
    without = read_workload(file)
    for content in (b"\xef\xbb\xbf" + plain, gzip.compress(b"\xef\xbb\xbf" + plain)):
        file.write_bytes(content)
        assert read_workload(file) == without


def test_a_table_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_text("# fawkes jobs 1\nid,submit_s\na,1\n", encoding="utf-8-sig")
    assert read_workload(path).format == "table"


def test_a_job_larger_than_what_is_looked_at_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_text('{"jobID": "a", "submitTime": 1, "x": "' + "y" * 100_000 + '"}')
    assert read_workload(path).format == "rumen"
    path.write_text("\t".join(["a", "1", "1", "5", "0", "7"]) + "\n" + "x" * 100_000)
    assert read_workload(path).format == "swim"


@pytest.mark.parametrize("text", [b"hello\n", b"a,b\n1,2\n", b'{"some": "thing"}', b"\x00\xff" * 40_000, b"1 2 3\n"])
def test_what_is_not_known_is_refused_with_what_was_looked_for(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(text)
    with pytest.raises(ConfigError, match="is not in a known workload format") as caught:
        read_workload(path)
    assert all(form.name in caught.value.hint and form.sign in caught.value.hint for form in FORMATS)


def test_nothing_and_nobody(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(b" \n")
    with pytest.raises(ConfigError, match="is empty"):
        read_workload(path)
    with pytest.raises(ConfigError, match="there is no such file"):
        read_workload(tmp_path / "missing")
    with pytest.raises(UserError, match=r"there is no format 'swin'.*Did you mean 'swim'"):
        read_workload(DATA / "fb-2009-first20.tsv", format="swin")


def test_a_format_that_is_asked_for_counts_what_does_not_fit(tmp_path: Path) -> None:
    path = tmp_path / "jobs"
    path.write_text("column names\n1 2 3\n")
    with pytest.raises(ConfigError, match="2 lines without 18 columns"):
        read_workload(path, format="swf")
