from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from fawkes.base.errors import UserError
from fawkes.base.units import SECOND_US
from fawkes.cli.jobs.submit import _job_of_options
from fawkes.config.clusters.details import JobDetails, SleepTasks
from fawkes.config.jobs.jars import main_class_of
from fawkes.config.jobs.jobs import SLEEP_CLASS, job_of, load_jobs, without_tasks
from fawkes.core.values.model import JobSpec
from tests.config.support import Bad, assert_refused, cases, refusals, write


def job(folder: Path, text: str) -> tuple[JobSpec, JobDetails]:
    (spec,) = load_jobs(write(folder, "wc.toml", text), "alpha")
    return spec, JobDetails.of(spec.details)


def test_every_key_of_a_jar_reaches_the_submission(tmp_path: Path) -> None:
    write(tmp_path, "wc.jar", "")
    write(tmp_path, "stop.txt", "")
    text = """
id = "count-1"
title = "Count"
kind = "jar"
jar = "wc.jar"
class = "org.example.Wc"
args = ["/input", "/output/{id}", 4]
input = "/input"
files = ["stop.txt"]
retries = 2
time_limit = "1h"
reference_time = "5m"
tasks = 17
input_size = "1GB"
[properties]
"mapreduce.job.reduces" = 3
"mapreduce.map.speculative" = false
"""
    spec, details = job(tmp_path, text)
    assert spec == JobSpec(
        id=spec.id,
        cluster=spec.cluster,
        retries=2,
        time_limit_us=3600 * SECOND_US,
        reference_us=300 * SECOND_US,
        tasks=17,
        tasks_estimated=False,
        input_bytes=1000**3,
        details=spec.details,
    )
    assert (spec.id, spec.cluster) == ("count-1", "alpha")
    assert details == JobDetails(
        kind="jar",
        title="Count",
        jar=str(tmp_path / "wc.jar"),
        main_class="org.example.Wc",
        args=("/input", "/output/count-1", "4"),
        inputs=("/input",),
        files=(str(tmp_path / "stop.txt"),),
        properties={"mapreduce.job.reduces": "3", "mapreduce.map.speculative": "false"},
    )
    assert json.loads(json.dumps(spec.details)) == spec.details


@pytest.mark.parametrize(("reduces", "deadline"), [(0, "30s"), (1, "31s")])
def test_a_deadline_that_enough_cpus_meet_is_taken(reduces: int, deadline: str, tmp_path: Path) -> None:
    text = f'kind = "sleep"\nmaps = 9\nmap_time = "30s"\nreduces = {reduces}\ndeadline = "{deadline}"'
    spec, _ = job(tmp_path, text)
    assert spec.deadline_us == (30 + reduces) * SECOND_US
    assert without_tasks(spec) == ""


def test_a_deadline_needs_the_number_of_tasks(tmp_path: Path) -> None:
    jar = 'kind = "jar"\njar = "examples"\n'
    assert "counts as 1 task" in without_tasks(job(tmp_path, jar + 'deadline = "20m"')[0])
    assert without_tasks(job(tmp_path, jar + 'deadline = "20m"\ntasks = 4')[0]) == ""
    assert without_tasks(job(tmp_path, jar)[0]) == ""


def test_for_scripts_no_grant_of_cpus_can_be_kept(tmp_path: Path) -> None:
    assert "several at once" in job(tmp_path, 'kind = "script"\ncommand = "yarn jar x"')[0].unkept
    assert job(tmp_path, 'kind = "jar"\njar = "examples"')[0].unkept == ""


def test_a_file_gives_its_name_to_a_job_without_an_id(tmp_path: Path) -> None:
    spec, details = job(tmp_path, 'kind = "jar"\njar = "examples"\nargs = ["pi", "2", "2"]')
    assert (spec.id, spec.tasks, spec.tasks_estimated, spec.input_bytes) == ("wc", 1, True, None)
    assert (details.jar, details.release_jar) == ("", "examples")


def test_streaming_and_scripts(tmp_path: Path) -> None:
    streaming = 'kind = "streaming"\nmapper = "cat"\nreducer = "wc -l"\ninput = ["/a", "/b"]\noutput = "/o/{id}"'
    _, details = job(tmp_path, streaming)
    assert (details.mapper, details.reducer, details.inputs, details.output) == ("cat", "wc -l", ("/a", "/b"), "/o/wc")
    _, details = job(tmp_path, """kind = "script"\ncommand = "pig -p OUT=/o/{id} -f x.pig | awk '{print}'" """)
    assert details.command == "pig -p OUT=/o/wc -f x.pig | awk '{print}'"


def test_a_sleeping_job_says_the_same_to_hadoop_and_to_the_simulator(tmp_path: Path) -> None:
    spec, details = job(tmp_path, 'kind = "sleep"\nmaps = 4\nmap_time = "20s"\nreduces = 2\nreduce_time = "500ms"')
    assert (spec.tasks, spec.tasks_estimated, spec.input_bytes) == (6, False, 0)
    assert details.sleep == SleepTasks(maps=4, map_us=20 * SECOND_US, reduces=2, reduce_us=SECOND_US // 2)
    assert (details.kind, details.main_class, details.release_jar) == ("class", SLEEP_CLASS, "jobclient-tests")
    assert details.args == ("-m", "4", "-r", "2", "-mt", "20000", "-rt", "500")


def test_a_file_may_have_several_jobs(tmp_path: Path) -> None:
    job_text = '[[job]]\nid = "{}"\nkind = "class"\nclass = "A"\n'
    path = write(tmp_path, "jobs.toml", job_text.format("a") + job_text.format("b"))
    assert [spec.id for spec in load_jobs(path, "alpha")] == ["a", "b"]
    path = write(tmp_path, "jobs.toml", job_text.format("a") + job_text.format("a"))
    assert_refused(Bad("", "job[a].id", "two jobs have the id 'a'"), path, lambda: load_jobs(path, "alpha"))
    path = write(tmp_path, "jobs.toml", "retries = 1\n" + job_text.format("a"))
    assert_refused(Bad("", "retries", "unknown key"), path, lambda: load_jobs(path, "alpha"))
    path = write(tmp_path, "jobs.toml", '[[job]]\nkind = "class"\nclass = "A"\n')
    assert_refused(Bad("", "job[#1].id", "is missing"), path, lambda: load_jobs(path, "alpha"))


JAR = 'kind = "jar"\njar = "{}"\n'


@cases(
    typo=Bad("kind = jar", "line 1, column 8", "not valid TOML"),
    later=Bad('kind = "class"\nclass = "A"\nafter = "wc"', "after", "in a workload alone", "`fawkes replay`"),
    later_of_several=Bad(
        '[[job]]\nid = "a"\nkind = "class"\nclass = "A"\nafter = "b"', "job[a].after", "in a workload alone"
    ),
    no_kind=Bad('jar = "x.jar"', "kind", "is missing", "Give what the job is"),
    unknown_kind=Bad('kind = "storm"', "kind", "'storm' is none of"),
    unknown_key=Bad('kind = "jar"\njr = "x"', "jr", "unknown key", "Did you mean 'jar'?"),
    missing_jar=Bad(JAR.format("wordcount.jar"), "jar", "wordcount.jar'", "or one of examples"),
    no_jar=Bad('kind = "jar"', "jar", "is missing", "A job of kind 'jar' needs jar"),
    no_class=Bad('kind = "class"\nargs = ["x"]', "class", "is missing", "needs class"),
    no_mapper=Bad('kind = "streaming"\ninput = "/a"\noutput = "/b"', "mapper", "is missing", "mapper, input, output"),
    no_output=Bad('kind = "streaming"\ninput = "/a"\nmapper = "cat"', "output", "is missing"),
    no_command=Bad('kind = "script"', "command", "is missing", "needs command"),
    no_maps=Bad('kind = "sleep"\nmap_time = "1s"', "maps", "is missing", "needs maps, map_time"),
    foreign_key=Bad('kind = "class"\nclass = "A"\nmapper = "cat"', "mapper", "means nothing", "It has class, jar"),
    foreign_tasks=Bad('kind = "sleep"\nmaps = 1\nmap_time = "1s"\ntasks = 4', "tasks", "means nothing"),
    missing_file=Bad('kind = "class"\nclass = "A"\nfiles = ["no.txt"]', "files", "no.txt'", "Name a file"),
    args_text=Bad('kind = "class"\nclass = "A"\nargs = "-m 4"', "args", "'-m 4' is no list", '["-m", "4"]'),
    args_float=Bad('kind = "class"\nclass = "A"\nargs = [3.10]', "args", "3.1 is no argument", "quotes"),
    control_character=Bad(
        'kind = "script"\ncommand = "a\\u0001b"', "command", "control character '\\x01'", "Remove it"
    ),
    control_in_a_property=Bad(
        'kind = "class"\nclass = "A"\n[properties]\n"a.b" = "\\u001b"', "properties", "control character '\\x1b'"
    ),
    long_argument=Bad(
        f'kind = "class"\nclass = "A"\nargs = ["x", "{"é" * 60_000}"]', "args[#2]", "120,000 bytes", "102,400"
    ),
    long_command=Bad(f'kind = "script"\ncommand = "{"x" * 102_401}"', "command", "102,401 bytes", "put it into a file"),
    long_mapper=Bad(
        f'kind = "streaming"\ninput = "/a"\noutput = "/b"\nmapper = "{"x" * 102_401}"', "mapper", "102,401 bytes"
    ),
    long_arguments=Bad(
        f'kind = "class"\nclass = "A"\nargs = {["x" * 1000] * 520}', "args", "524,690 bytes in all", "524,288"
    ),
    long_arguments_of_a_spark_program=Bad(
        f'kind = "spark"\npython = "wc.toml"\nargs = ["{"x" * 60_000}", "{"x" * 60_000}"]', "args", "in all", "102,400"
    ),
    long_name=Bad(f'kind = "class"\nclass = "A"\nfiles = ["{"x" * 300}"]', "files", "300 bytes", "at most 240"),
    args_nul=Bad('kind = "class"\nclass = "A"\nargs = ["a\\u0000b"]', "args[#1]", "NUL"),
    no_unit=Bad('kind = "class"\nclass = "A"\ntime_limit = 60', "time_limit", "60 has no unit", '"60s"'),
    negative_retries=Bad('kind = "class"\nclass = "A"\nretries = -1', "retries", "-1 is too small"),
    zero_deadline=Bad('kind = "class"\nclass = "A"\ndeadline = "0s"', "deadline", "0 is too little", "greater than 0"),
    passed_deadline=Bad('kind = "class"\nclass = "A"\ndeadline = "-5m"', "deadline", "'-5m' is not a duration"),
    short_deadline=Bad('kind = "class"\nclass = "A"\ndeadline = "500ms"', "deadline", "0.5s is too small", "1s"),
    long_deadline=Bad('kind = "class"\nclass = "A"\ndeadline = "400d"', "deadline", "400d is too large", "365d"),
    deadline_without_unit=Bad('kind = "class"\nclass = "A"\ndeadline = 20', "deadline", "20 has no unit", '"20s"'),
    deadline_below_a_map=Bad(
        'kind = "sleep"\nmaps = 9\nmap_time = "30s"\nreduces = 0\ndeadline = "29s"',
        "deadline",
        "no number of CPUs could meet 29s: one map takes 30s",
        "Give at least 30s",
    ),
    deadline_below_its_tasks=Bad(
        'kind = "sleep"\nmaps = 9\nmap_time = "30s"\nreduce_time = "10s"\ndeadline = "39s"',
        "deadline",
        "could meet 39s: one map and one reduce take 40s",
    ),
    zero_reference=Bad('kind = "class"\nclass = "A"\nreference_time = "0s"', "reference_time", "too little"),
    relative_input=Bad('kind = "class"\nclass = "A"\ninput = "a"', "input[#1]", "no absolute path"),
    bad_id=Bad('kind = "class"\nclass = "A"\nid = "Count"', "id", "'Count' cannot be a name"),
    dotted_property=Bad(
        'kind = "class"\nclass = "A"\n[properties]\na.b = 1', "properties", "no value", '"mapreduce.map'
    ),
    properties_text=Bad('kind = "class"\nclass = "A"\nproperties = "a=1"', "properties", "is no table"),
)
def test_a_job_that_is_wrong_is_refused(bad: Bad, tmp_path: Path) -> None:
    path = write(tmp_path, "wc.toml", bad.text)
    assert_refused(bad, path, lambda: load_jobs(path, "alpha"))


def test_a_link_arrives_under_its_own_name(tmp_path: Path) -> None:
    write(tmp_path, "real_helper.py", "")
    (tmp_path / "helper.py").symlink_to("real_helper.py")
    _, details = job(tmp_path, 'kind = "script"\ncommand = "python3 helper.py"\nfiles = ["helper.py"]')
    assert details.files == (str(tmp_path / "helper.py"),)


def test_a_dangling_link_is_named_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "helper.py").symlink_to("gone.py")
    path = write(tmp_path, "wc.toml", 'kind = "class"\nclass = "A"\nfiles = ["helper.py"]')
    (error,) = refusals(lambda: load_jobs(path, "alpha"))
    assert (error.what, error.key) == (f"there is no file '{tmp_path}/helper.py'", "files")


def test_two_files_of_one_name_are_refused_links_or_not(tmp_path: Path) -> None:
    write(tmp_path, "a/x", "")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x").symlink_to("../a/y")
    write(tmp_path, "a/y", "")
    path = write(tmp_path, "wc.toml", 'kind = "class"\nclass = "A"\nfiles = ["a/x", "b/x", "b/../a/x"]')
    (error,) = refusals(lambda: load_jobs(path, "alpha"))
    assert "have the same name" in error.what


def test_an_argument_may_have_a_separator_that_cannot_be_seen(tmp_path: Path) -> None:
    _, details = job(tmp_path, 'kind = "script"\ncommand = "cut \\"$@\\""\nargs = ["-d\\u0001"]')
    assert details.args == ("-d\x01",)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "wc.toml", 'kind = "jar"\njar = "no.jar"\nmapper = "x"\nfiles = ["a", "b"]')
    assert [error.key for error in refusals(lambda: load_jobs(path, "alpha"))] == ["mapper", "files", "files", "jar"]


def test_a_job_of_the_command_line_names_no_file(tmp_path: Path) -> None:
    (error,) = refusals(
        lambda: job_of({"kind": "jar", "jar": "x.jar", "id": "a"}, cluster="alpha", file="options", folder=tmp_path)
    )
    assert str(error).startswith(f"options: jar: there is no file '{tmp_path}/x.jar'")


def test_details_that_are_no_job_are_refused() -> None:
    with pytest.raises(UserError, match=r"details\.args: 3"):
        JobDetails.of({"kind": "class", "args": 3})


def jar(folder: Path, manifest: str | None) -> Path:
    path = folder / "wc.jar"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("org/example/Wc.class", "")
        if manifest is not None:
            archive.writestr("META-INF/MANIFEST.MF", manifest)
    return path


@pytest.mark.parametrize(
    ("manifest", "starts"),
    [
        ("Manifest-Version: 1.0\r\nMain-Class: org.example.Main\r\n", "org.example.Main"),
        ("Main-Class: org.example.with.a.long.\r\n name.Main\r\n", "org.example.with.a.long.name.Main"),
        ("Manifest-Version: 1.0\n", ""),
        (None, ""),
    ],
)
def test_a_class_beside_a_jar_that_starts_another_is_refused(manifest: str | None, starts: str, tmp_path: Path) -> None:
    """`hadoop jar` would start the jar's own class, and give it the name of the other as an argument."""
    assert main_class_of(jar(tmp_path, manifest)) == starts
    path = write(tmp_path, "wc.toml", 'kind = "jar"\njar = "wc.jar"\nclass = "org.example.Wc"')
    if starts:
        bad = Bad("", "class", f"org.example.Wc would not run: the jar starts {starts}", 'kind = "class"')
        assert_refused(bad, path, lambda: load_jobs(path, "alpha"))
    else:
        assert load_jobs(path, "alpha")
    for rest in ('kind = "class"\nclass = "org.example.Wc"', 'kind = "jar"'):
        assert load_jobs(write(tmp_path, "wc.toml", f'jar = "wc.jar"\n{rest}'), "alpha")


def test_hadoop_s_own_jars_start_their_own_programs(tmp_path: Path) -> None:
    path = write(tmp_path, "wc.toml", 'kind = "jar"\njar = "examples"\nclass = "A"')
    assert_refused(
        Bad("", "class", "A would not run: the jar starts the programs of"), path, lambda: load_jobs(path, "a")
    )


def test_a_class_on_the_command_line_runs_though_the_jar_starts_another(tmp_path: Path) -> None:
    path = jar(tmp_path, "Main-Class: org.example.Main\n")
    options = {"jar": str(path), "main_class": "org.example.Wc", "name": "a"}
    assert JobDetails.of(_job_of_options("alpha", (), options).details).kind == "class"
    plain = {"jar": str(path), "name": "a"}
    assert JobDetails.of(_job_of_options("alpha", (), plain).details).kind == "jar"


def test_what_is_no_jar_starts_nothing(tmp_path: Path) -> None:
    assert main_class_of(write(tmp_path, "x.jar", "text")) == main_class_of(tmp_path / "none.jar") == ""
