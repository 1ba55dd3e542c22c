"""`fawkes workload`: what it prints and writes, and what it says of bad input."""

from __future__ import annotations

import csv
import gzip
import json
import os
from http.server import HTTPServer
from io import StringIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from tests.support.web import Request, serving

DATA = Path(__file__).parents[2] / "workload" / "data"
SWIM, RUMEN, SWF, SLS = (
    DATA / name for name in ("fb-2009-first20.tsv", "rumen-5jobs.json.gz", "hpc2n-first60.swf", "sls-2jobs.json")
)


def fawkes(*words: str | Path) -> Result:
    return CliRunner(env={"COLUMNS": "200"}).invoke(cli, ["workload", *(str(word) for word in words)])


def test_show_tells_jobs_arrivals_and_sizes() -> None:
    said = fawkes("show", SWIM)
    assert said.exit_code == 0, said.stderr
    assert f"{SWIM} (swim)" in said.stdout
    assert "20, 1 a minute, over 18m56s" in said.stdout
    printed = json.loads(fawkes("show", SWIM, "-o", "json").stdout)
    assert printed["workload"]["map_only"] == 4 / 20
    rows = {row["quantity"]: row for row in printed["rows"]}
    assert rows["maps"]["total"] == 131
    assert rows["input_bytes"]["max"] == 10_274_791_099
    lines = list(csv.DictReader(StringIO(fawkes("show", SWIM, "-o", "csv").stdout)))
    assert [line["quantity"] for line in lines] == list(rows)


def test_one_job_has_no_rate(tmp_path: Path) -> None:
    one = tmp_path / "one.tsv"
    one.write_text(SWIM.read_text().splitlines(keepends=True)[0])
    assert "1, -, over 0s" in fawkes("show", one).stdout


def test_show_tells_what_was_left_out() -> None:
    said = fawkes("show", SWF)
    assert "skipped       6 with a job without run time (first: line 34)" in said.stdout.splitlines()
    assert json.loads(fawkes("show", SWF, "-o", "json").stdout)["workload"]["dropped"] == {
        "with a job without run time": {"count": 6, "first": "line 34"}
    }


@pytest.mark.parametrize(("file", "to"), [(SWIM, "swim"), (RUMEN, "rumen"), (SWF, "swf"), (SLS, "sls")])
def test_convert_to_a_table_and_back(file: Path, to: str, tmp_path: Path) -> None:
    table, back, again = (tmp_path / name for name in ("a.jobs.csv.gz", "b", "c.jobs.csv.gz"))
    said = fawkes("convert", file, "--out", table, "-o", "json")
    assert said.exit_code == 0, said.stderr
    row = json.loads(said.stdout)["rows"][0]
    assert (row["format"], row["not_written"]) == ("table", [])
    assert fawkes("convert", table, "--out", back, "--to", to).exit_code == 0
    assert fawkes("convert", back, "--out", again).exit_code == 0
    assert _jobs(again) == _jobs(table)


def _jobs(path: Path) -> list[str]:
    return [line for line in gzip.decompress(path.read_bytes()).decode().splitlines() if not line.startswith("#")]


def test_convert_says_what_is_lost(tmp_path: Path) -> None:
    said = fawkes("convert", RUMEN, "--out", tmp_path / "a.tsv", "--to", "swim")
    assert said.exit_code == 0
    assert "swim cannot hold user of 5 jobs" in said.stderr
    refused = fawkes("convert", RUMEN, "--out", tmp_path / "a.swf", "--to", "swf")
    assert refused.exit_code == 2
    assert "5 of 5 jobs have no processors, which swf needs (first: job_200910281128_10000)" in refused.stderr
    assert not (tmp_path / "a.swf").exists()


def test_what_is_there_is_only_replaced_when_told(tmp_path: Path) -> None:
    out = tmp_path / "a.jobs.csv"
    out.write_text("mine")
    refused = fawkes("convert", SWIM, "--out", out)
    assert (refused.exit_code, refused.stdout, out.read_text()) == (6, "", "mine")
    assert fawkes("convert", SWIM, "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("# fawkes jobs 1\n")


@pytest.mark.vectors
@pytest.mark.slow
def test_a_workload_is_made_changed_and_drawn(tmp_path: Path) -> None:
    made, small, shaken, folded, both = (tmp_path / f"{name}.jobs.csv" for name in ("made", "small", "p", "f", "both"))
    assert fawkes("make", "facebook", "--set", "jobs=200", "--seed", "3", "--out", made).exit_code == 0
    assert fawkes("scale", made, "--machines", "600:20", "--time", "1/3", "--out", small).exit_code == 0
    assert fawkes("perturb", small, "--spread", "30s", "--sizes", "0.2", "--out", shaken).exit_code == 0
    assert fawkes("fold", shaken, "--cycle", "5m", "--duration", "10m", "--out", folded).exit_code == 0
    merged = fawkes("merge", f"c-1={folded}", f"c-2={small}", "--out", both, "-o", "json")
    assert merged.exit_code == 0, merged.stderr
    printed = json.loads(fawkes("show", both, "-o", "json").stdout)["workload"]
    assert printed["jobs"] == json.loads(merged.stdout)["rows"][0]["jobs"] > 200
    assert printed["clusters"]["c-2"] == 200
    sampled = fawkes("sample", both, "--jobs", "50", "--until", "8m", "--out", tmp_path / "s.csv", "-o", "csv")
    assert next(csv.DictReader(StringIO(sampled.stdout)))["jobs"] == "50"
    for name in ("one", "two"):
        drawn = fawkes("plot", both, "--out", tmp_path / name / "picture")
        assert drawn.exit_code == 2
        (tmp_path / name).mkdir()
        assert fawkes("plot", both, "--out", tmp_path / name / "picture").exit_code == 0
    for kind, begins in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        first, two = ((tmp_path / name / f"picture.{kind}").read_bytes() for name in ("one", "two"))
        assert first.startswith(begins)
        assert first == two
    again = fawkes("plot", both, "--out", tmp_path / "one" / "picture.png")
    assert again.exit_code == 6


@pytest.mark.slow
def test_the_same_command_writes_the_same_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert fawkes("make", "paper", "--set", "workload=WKLD-E", "--out", tmp_path / f"{name}.gz").exit_code == 0
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    printed = json.loads(fawkes("show", tmp_path / "a.gz", "-o", "json").stdout)["workload"]
    assert printed["clusters"] == {"c-1": 359, "c-2": 26, "c-3": 559}


class _Answers(Request):
    """A JobHistory server that says what a real one said."""

    def answer(self) -> None:
        answer = json.loads((DATA / "historyserver.json").read_text()).get(self.path)
        self.send(json.dumps(answer).encode(), 404 if answer is None else 200)


@pytest.mark.slow
def test_a_jobhistory_server_is_a_workload(tmp_path: Path) -> None:
    with serving(HTTPServer(("127.0.0.1", 0), _Answers)) as server:
        said = fawkes("convert", f"http://127.0.0.1:{server.server_port}", "--out", tmp_path / "a.csv", "-o", "json")
        wrong = fawkes("show", f"http://127.0.0.1:{server.server_port}/elsewhere")
    assert said.exit_code == 0, said.stderr
    assert "mended 1 job that did not succeed (first: job_1795255534329_0003)" in said.stderr
    assert json.loads(said.stdout)["rows"][0]["jobs"] == 3
    assert (wrong.exit_code, wrong.stdout) == (1, "")
    assert "answered 404" in wrong.stderr


def test_a_folder_of_histories_is_a_workload() -> None:
    printed = json.loads(fawkes("show", DATA / "history", "-o", "json").stdout)["workload"]
    assert (printed["format"], printed["jobs"]) == ("history", 3)
    assert printed["mended"]["that did not succeed"]["first"] == "job_1795255534329_0003.jhist.gz"


def test_make_lists_its_makers() -> None:
    rows = json.loads(fawkes("make", "-o", "json").stdout)["rows"]
    assert {"paper", "mix", "facebook", "like"} <= {row["maker"] for row in rows}
    assert all(row["keys"] for row in rows)


BAD = {
    "columns.tsv": (b"a\t1\t1\t5\t0\n" * 3, ["is not in a known workload format", "swim (lines of 6"]),
    "negative.tsv": (b"a\t-1\t1\t5\t0\t1\n", ["is not in a known workload format"]),
    "cut.json": (b'{"jobID": "a", "submitTime": 5,\n "mapTasks": [', ["line 2: the file ends within the object"]),
    "cut.gz": (gzip.compress(SWIM.read_bytes())[:100], ["the compressed file ends too early", "line 1"]),
    "cycle.csv": (
        b"# fawkes jobs 1\nid,submit_s,after\na,1,b\nb,2,a\n",
        ["line 3: jobs wait for each other: 'a' after 'b' after 'a'"],
    ),
    "empty": (b"", ["is empty"]),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_with_its_place_and_nothing_is_written(name: str, tmp_path: Path) -> None:
    path, out = tmp_path / name, tmp_path / "out.jobs.csv"
    text, says = BAD[name]
    path.write_bytes(text)
    for words in (
        ("show", path),
        ("convert", path, "--out", out),
        ("scale", path, "--size", "2", "--out", out),
        ("plot", path, "--out", out),
        ("merge", SWIM, path, "--out", out),
    ):
        said = fawkes(*words)
        assert (said.exit_code, said.stdout) == (2, "")
        assert all(part in said.stderr for part in (str(path), *says)), said.stderr
    assert [file.name for file in tmp_path.iterdir()] == [name]


def test_lines_that_are_wrong_are_counted_and_the_others_written(tmp_path: Path) -> None:
    path, out = tmp_path / "some.tsv", tmp_path / "out.jobs.csv"
    path.write_bytes(b"a\t9\t1\t5\t0\t1\nb\t2\t1\t-5\t0\t1\nc\t3\t1\t5\t0\t1\nd\t5\t0\n")
    said = fawkes("convert", path, "--out", out, "-o", "json")
    assert said.exit_code == 0
    assert "skipped 1 line with a negative size (first: line 2); 1 line with a wrong number of columns" in said.stderr
    assert "mended 1 line whose time goes back (first: line 3)" in said.stderr
    assert json.loads(said.stdout)["rows"][0]["skipped"] == 2


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "missing"), "there is no such file"),
        (("show", SWIM, "--format", "swin"), "'swin' is not one of"),
        (("convert", SWIM), "--out"),
        (("convert", SWIM, "--out", "x", "--to", "synth"), "'synth' is not one of"),
        (("scale", SWIM, "--out", "x", "--size", "0"), "'0' is not a factor"),
        (("scale", SWIM, "--out", "x", "--size", "2", "--machines", "6:2"), "give one of them"),
        (("scale", SWIM, "--out", "x", "--machines", "6"), "'6' is not FROM:TO"),
        (("scale", SWIM, "--out", "x", "--per-reducer", "1GB"), "--per-reducer goes with --machines"),
        (("fold", SWIM, "--out", "x", "--cycle", "0s"), "--cycle must be greater than 0"),
        (("fold", SWIM, "--out", "x", "--cycle", "5m", "--starts-after", "9d"), "no job is left to fold"),
        (("sample", SWIM, "--out", "x"), "Give --jobs"),
        (("sample", SWIM, "--out", "x", "--jobs", "99"), "there are 20 jobs, but 99 were requested"),
        (("perturb", SWIM, "--out", "x"), "Give --spread or --sizes"),
        (("make", "nothing", "--out", "x"), "there is no maker 'nothing'"),
        (("make", "facebook"), "--out"),
        (("make", "facebook", "--out", "x", "--set", "job=3"), "Did you mean 'jobs'?"),
        (("make", "like", "--out", "x"), "file is missing: the trace"),
        (("make", "mix", "--out", "x", "--set", "jobs=3"), "write sizes with numbers of jobs"),
        (("make", "mix", "--out", "x", "--set", "apps=XX"), "there is no application 'XX'"),
    ],
)
def test_a_wrong_command_says_what_is_wrong(words: tuple[str | Path, ...], says: str) -> None:
    said = fawkes(*words)
    assert (said.exit_code, said.stdout) == (2, "")
    assert says in said.stderr
    assert not Path("x").exists()


@pytest.mark.slow
def test_a_workload_goes_through_a_pipe() -> None:
    to = ("--out", "-", "--to", "swim")
    straight = fawkes("convert", SWIM, *to)
    assert straight.exit_code == 0, straight.stderr
    assert "20 jobs written as swim" in straight.stderr
    piped = CliRunner().invoke(cli, ["workload", "convert", "-", *to], input=SWIM.read_bytes())
    assert (piped.exit_code, piped.stdout) == (0, straight.stdout)
    shown = CliRunner().invoke(cli, ["workload", "show", "-"], input=straight.stdout)
    assert "standard input (swim)" in shown.stdout


def test_force_replaces_no_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    said = fawkes("convert", SWIM, "--out", tmp_path / "pipe", "--force")
    assert (said.exit_code, "is a named pipe and is not replaced" in said.stderr) == (6, True)
