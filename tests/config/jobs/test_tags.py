"""A job's own tags stand beside Fawkes's, by which the job is found again after a crash."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fawkes.base.errors import ConfigError
from fawkes.config.jobs.jobs import load_jobs
from fawkes.config.jobs.tags import own_tags, sets_tags, tagged_args, tagged_properties

OURS = "fawkes-q-1"
TAG = st.from_regex(r"[a-z0-9.-]{1,9}", fullmatch=True)


@pytest.mark.slow
@given(st.lists(TAG, max_size=4), st.lists(TAG, max_size=4))
def test_ours_is_added_wherever_a_job_names_its_own(properties: list[str], flag: list[str]) -> None:
    said = {"a": "b", "mapreduce.job.tags": ", ".join(properties)}
    for args in ([f"-Dmapreduce.job.tags={','.join(flag)}"], ["-D", f"mapreduce.job.tags={','.join(flag)}", "/in"]):
        tagged = tagged_args(args, OURS)
        assert own_tags(tagged_properties(said, OURS), []) == [*properties, *([OURS] if OURS not in properties else [])]
        assert own_tags({}, tagged) == [*flag, *([OURS] if OURS not in flag else [])]
        assert len(tagged) == len(args)


def test_other_arguments_stay_as_they_are() -> None:
    args = ["-Dmapreduce.job.reduces=2", "mapreduce.job.tags=x", "-D", "a=b", "-conf", "x.xml", "--tags"]
    assert tagged_args(args, OURS) == args
    assert tagged_properties({}, OURS) == {"mapreduce.job.tags": OURS}


@pytest.mark.parametrize(
    ("line", "sets"),
    [
        ("hadoop jar x.jar -Dmapreduce.job.tags=nightly /in", True),
        ("SET mapreduce.job.tags 'nightly';", True),
        ("set mapreduce.job.tags=nightly;", True),
        ("<property><name>mapreduce.job.tags</name><value>x</value></property>", True),
        ('conf.set("mapreduce.job.tags", "x")', True),
        ('hadoop jar x.jar "-Dmapreduce.job.tags=nightly,$FAWKES_TAG"', False),
        ("# -Dmapreduce.job.tags=nightly", False),
        ("-- SET mapreduce.job.tags 'x';", False),
        ("hdfs getconf -confKey mapreduce.job.tags", False),
    ],
)
def test_a_script_that_sets_tags_is_seen(line: str, sets: bool) -> None:
    assert sets_tags(f"first\n{line}\nlast") == (2 if sets else None)


CASES = {
    "command": ('kind = "script"\ncommand = "hadoop jar x -Dmapreduce.job.tags=y"\n', "command: "),
    "a file of a script": ('kind = "script"\ncommand = "sh sets.sh"\nfiles = ["sets.sh"]\n', "files: "),
    "Pig Latin": ('kind = "pig"\npig = "sets.pig"\n', "pig: "),
    "a file of configuration": (
        'kind = "jar"\njar = "examples"\nfiles = ["sets.xml"]\nargs = ["-conf", "sets.xml"]\n',
        "files: ",
    ),
    "too many": (
        'kind = "jar"\njar = "examples"\n[properties]\n"mapreduce.job.tags" = "a,b,c,d,e,f,g,h,i,j"\n',
        "properties: ",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_would_hide_a_job_from_us_is_refused_at_its_submission(tmp_path: Path, case: str) -> None:
    (tmp_path / "sets.sh").write_text("mapred streaming -D mapreduce.job.tags=x\n")
    (tmp_path / "sets.pig").write_text("SET mapreduce.job.tags 'x';\n")
    (tmp_path / "sets.xml").write_text("<configuration><property><name>mapreduce.job.tags</name></property>\n")
    text, where = CASES[case]
    (tmp_path / "q.toml").write_text(f'id = "q"\n{text}')

    with pytest.raises(ConfigError) as caught:
        load_jobs(tmp_path / "q.toml", "c")

    assert f"q.toml: {where}" in str(caught.value)


def test_own_tags_in_properties_and_arguments_are_welcome(tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(
        'id = "q"\nkind = "jar"\njar = "examples"\nargs = ["-Dmapreduce.job.tags=x"]\n'
        '[properties]\n"mapreduce.job.tags" = "a,b,c,d,e,f,g,h"\n'
    )
    assert len(load_jobs(tmp_path / "q.toml", "c")) == 1


def test_two_files_of_one_name_are_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words.txt").touch()
    (tmp_path / "q.toml").write_text(
        'id = "q"\nkind = "script"\ncommand = "true"\nfiles = ["a/words.txt", "a/words.txt", "b/words.txt"]\n'
    )
    with pytest.raises(ConfigError, match=r"files: .*have the same name"):
        load_jobs(tmp_path / "q.toml", "c")
