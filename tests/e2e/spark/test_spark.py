"""Spark on an MR-cluster that grows and shrinks under it: one application, with the right result; and what fails."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, Role
from fawkes.live.hadoop.setup import SPARK
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
from fawkes.playbook.dist.cache import cached_spark
from fawkes.playbook.dist.compile.compiled import JavaCode, _compile, _pack
from fawkes.playbook.dist.compile.compiler import compiler
from tests.e2e.real.test_6_grants import TWO
from tests.e2e.spark.support import WORDS, counted, expected, history, spark_job, stages, tasks_run
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = 'preset = "demo"\nperiod = "10s"\nsample_every = "2s"\nrelease_every = "1s"\nidle_time = "never"\n'
CLUSTER = """
min_nodes = {nodes}
replication = 1
block_size = "1MiB"
software = {software}
outputs = [{{ path = "/out", save_to = "../saved/{name}" }}]
{more}
"""
INPUT = f'data = [{{ from = "words", to = "/words" }}]\nclients = ["{CONTROLLER_ADDRESS}"]'
DOCS = PROJECT / "docs"
ROUNDS, TASKS, SECONDS = 3, 24, 3
FAILS = "raise ValueError('the input has no rows')\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    for name in ("spark", "3.4.2"):
        pieces.provide(pieces.of_name(name))
    with real_site(tmp_path_factory.mktemp("spark") / "lab", 4, SETTINGS, memory_mb=2500) as site:
        site.write("clusters/s.toml", CLUSTER.format(name="s", nodes=2, software='["spark"]', more=INPUT))
        site.write("clusters/other.toml", CLUSTER.format(name="other", nodes=2, software="[]", more=""))
        site.write("clusters/words/part.txt", "one two two\n" * 50)
        site.write("jobs/words.py", WORDS.read_text())
        site.write("jobs/fails.py", FAILS)
        site.write("jobs/endless.py", (Path(__file__).parent / "endless.py").read_text())
        site.run()
        site.request("s")
        yield site


def in_shell(site: RealSite, command: str) -> str:
    """The output of a command of a user's shell, after `fawkes env`."""
    script = f'eval "$({shlex.join(FAWKES)} --site {site.root} env s)"; {command}'
    done = site.lab.exec(["sh", "-c", script], cwd=PROJECT, timeout_s=LIMIT_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


def jar_of(source: Path, jar: Path) -> None:
    """Compile a Spark program in Java."""
    code = JavaCode("", source.name, source.parent, "")
    _compile(code, compiler(print), Path(cached_spark(SPARK).root) / "jars", jar.parent / "classes")
    _pack(jar.parent / "classes", jar)


def running(site: RealSite, job: str) -> bool:
    """True if YARN runs executors of a job."""
    return any(row["state"] == "RUNNING" and row["runningContainers"] > 1 for row in site.applications("s", job))


def test_one_application_lives_through_a_grow_a_shrink_and_a_lost_controller(site: RealSite) -> None:
    words = (str(ROUNDS), str(TASKS), str(SECONDS), "/out/words")
    site.fawkes("submit", "s", spark_job(site, "words", *words, keys='python = "words.py"\n'))
    site.until_serving("s", Role.TRANSIENT, 2)
    site.kill()
    site.run()
    site.fawkes("request", "other")
    site.until("the end of both transient nodes", lambda: not site.serving("s", Role.TRANSIENT))
    (job,) = site.until_ended("words")

    assert (job.life, job.attempt, job.why) == (JobLife.SUCCEEDED, 1, "")
    (application,) = site.applications("s", "words")
    assert (application["applicationType"], application["finalStatus"]) == ("SPARK", "SUCCEEDED")
    waiting = [
        r.tasks_waiting for e in site.ledger.entries for r in getattr(e.event, "readings", ()) if r.cluster == "s"
    ]
    assert max(waiting) > TASKS / 2
    has, ran = tasks_run(stages(site, "s", "words"))
    assert ROUNDS * TASKS < has <= ran
    assert in_shell(site, 'echo "$SPARK_HISTORY"').strip() == f"http://{site.master('s')}:18080"


def test_a_program_that_fails_says_why_in_its_own_words(site: RealSite) -> None:
    site.fawkes("submit", "s", spark_job(site, "fails", keys='python = "fails.py"\nretries = 0\n'))
    (job,) = site.until_ended("fails")

    assert job.life is JobLife.FAILED
    assert job.why.endswith("ValueError: the input has no rows")


def test_what_the_pool_can_never_give_is_refused(site: RealSite) -> None:
    keys = 'python = "words.py"\n[properties]\n"spark.executor.memory" = "40g"\n'
    site.fawkes("submit", "s", spark_job(site, "large", keys=keys))
    (job,) = site.until_ended("large")

    assert job.life is JobLife.FAILED
    assert "spark.executor.memory: it asks for a container of" in job.why


def test_a_class_of_a_jar_runs_with_its_arguments_files_and_properties(site: RealSite) -> None:
    jar_of(Path(__file__).parent / "Count.java", site.root / "jobs/count.jar")
    site.write("jobs/skipped.txt", "one\n")
    keys = 'jar = "count.jar"\nclass = "org.example.Count"\nfiles = ["skipped.txt"]\ntasks = 4\ndeadline = "20m"\n'
    path = spark_job(site, "jar", "/words", "/out/{id}", keys=keys + '[properties]\n"spark.example.times" = "3"\n')
    site.fawkes("submit", "s", path)
    (job,) = site.until_ended("jar")

    assert (job.life, job.attempt, job.met) == (JobLife.SUCCEEDED, 1, True), site.story()


def test_a_class_that_is_not_there_is_named(site: RealSite) -> None:
    keys = 'jar = "count.jar"\nclass = "org.example.Cuont"\nretries = 0\n'
    site.fawkes("submit", "s", spark_job(site, "misspelt", keys=keys))
    (job,) = site.until_ended("misspelt")

    assert job.life is JobLife.FAILED
    (application,) = site.applications("s", "misspelt")
    assert "org.example.Cuont" in job.why, application["diagnostics"]


def test_a_program_that_never_ends_is_ended_by_cancel_and_by_its_time_limit(site: RealSite) -> None:
    site.fawkes("submit", "s", spark_job(site, "endless", keys='python = "endless.py"\n'))
    site.until("its tasks", lambda: running(site, "endless"))
    site.fawkes("cancel", "endless", "--wait")
    site.fawkes("submit", "s", spark_job(site, "limited", keys='python = "endless.py"\ntime_limit = "30s"\n'))
    cancelled, limited = site.until_ended("endless", "limited")

    assert (cancelled.life, limited.life) == (JobLife.CANCELLED, JobLife.FAILED), site.story()
    assert limited.stop is not None
    assert limited.stop.code == "over-limit"
    for name in ("endless", "limited"):
        (application,) = site.applications("s", name)
        assert (application["state"], application["finalStatus"]) == ("KILLED", "KILLED")
        assert application["id"] in site.fawkes("logs", "s", "--job", name, "--lines", "0")
    # The words of the driver are where those of tasks are.
    assert "it never ends" in in_shell(site, f"yarn logs -applicationId {cancelled.application}")


def test_the_program_of_the_docs_counts_words(site: RealSite) -> None:
    page = (DOCS / "howto" / "spark.md").read_text()
    program = site.write("jobs/count.py", page.partition("```python\n")[2].partition("```")[0])
    site.fawkes("submit", "s", "--id", "count", "--python", program, "--wait", "--", "/words", "/out/count")


def test_the_notebook_of_the_docs_runs_after_env(site: RealSite) -> None:
    cells = json.loads((DOCS / "notebooks" / "spark.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    program = site.write("notebook.py", code + "\nprint(counts)\n")
    words = in_shell(site, f"DRIVER_HOST={CONTROLLER_ADDRESS} exec {sys.executable} {program}")
    said = ast.literal_eval(words.strip().splitlines()[-1])
    assert said == {n: 143 if n < 6 else 142 for n in range(7)}


def test_a_grant_is_the_most_executors_and_the_work_is_not_known(site: RealSite) -> None:
    site.stop()
    site.write("policies/admission/two.py", TWO)
    site.write("fawkes.toml", f'admission = "two"\n{SETTINGS}')
    site.run()
    keys = 'python = "words.py"\ntasks = 8\ndeadline = "20m"\n'
    site.fawkes("submit", "s", spark_job(site, "granted", "1", "8", "2", "/out/granted", keys=keys))
    (job,) = site.until_ended("granted")
    executors = {row["id"] for row in history(site, "s", "granted", "allexecutors")} - {"driver"}
    assert (job.life, job.granted, job.met, len(executors)) == (JobLife.SUCCEEDED, 2, True, 2), site.story()
    (reason,) = site.until("the work", lambda: site.ledger.reasons("work-not-known"))
    assert "SPARK has no counters of MapReduce" in str(reason.facts["error"])
    site.stop()
    site.write("fawkes.toml", SETTINGS)
    site.run()


def test_an_mr_cluster_without_spark_takes_no_application(site: RealSite) -> None:
    site.until_life(ClusterLife.RUNNING, "other")
    path = spark_job(site, "elsewhere", keys='python = "words.py"\n')
    assert "the nodes of other have no Spark" in site.command("submit", "other", path, code=2).stderr


def test_the_history_server_answers_its_own_nodes_alone_and_moves_with_the_masters(site: RealSite) -> None:
    def asked_from(cluster: str) -> str:
        url = f"http://{site.master('s')}:18080/api/v1/applications"
        ask = f"import urllib.request as u; print(len(u.urlopen('{url}', timeout=30).read()) > 2)"
        host = next(node.node.id for node in site.nodes_of(cluster) if site.hosts[node.node.id] != site.master("s"))
        return site.on(host, f'python3 -c "{ask}" 2>/dev/null || echo closed').strip()

    assert (asked_from("s"), asked_from("other")) == ("True", "closed")
    before, known, began = site.master("s"), stages(site, "s", "words"), site.now()
    site.fawkes("move-masters", "s")
    site.until("the move", lambda: site.ledger.reasons("masters-moved", after=began))
    assert site.master("s") != before
    assert sorted(map(str, stages(site, "s", "words"))) == sorted(map(str, known))
    assert (asked_from("s"), asked_from("other")) == ("True", "closed")


def test_data_outside_of_the_declared_outputs_is_somebody_s_all_the_same(site: RealSite) -> None:
    program = site.root / "jobs/count.py"
    site.fawkes("submit", "s", "--id", "outside", "--python", program, "--wait", "--", "/words", "/elsewhere")
    assert "/elsewhere" in site.command("release", "s", "--yes", code=6).stderr
    in_shell(site, "hdfs dfs -rm -r -skipTrash /elsewhere")


def test_what_was_counted_is_what_there_was(site: RealSite) -> None:
    site.fawkes("release", "s", "--yes")
    site.until_life(ClusterLife.GONE, "s")
    assert counted(site.root / "saved/s/words") == expected(ROUNDS, TASKS)
    assert counted(site.root / "saved/s/count") == {"one": 50, "two": 100}
    assert counted(site.root / "saved/s/jar") == {"two": 300}


def test_it_runs_on_the_hadoop_before_as_well(site: RealSite) -> None:
    """Its own client of Hadoop is of another version than either."""
    more = f'hadoop_version = "3.4.2"\n{INPUT}'
    site.write("clusters/old.toml", CLUSTER.format(name="old", nodes=2, software='["spark"]', more=more))
    site.request("old")
    site.fawkes("submit", "old", "--id", "older", "--python", site.root / "jobs/count.py", "--", "/words", "/out/older")
    (job,) = site.until_ended("older")
    assert (job.life, job.attempt) == (JobLife.SUCCEEDED, 1), site.story()
    has, ran = tasks_run(stages(site, "old", "older"))
    assert 0 < has == ran
    site.fawkes("release", "old", "--yes")
    site.until_life(ClusterLife.GONE, "old")
    assert counted(site.root / "saved/old/older") == {"one": 50, "two": 100}
