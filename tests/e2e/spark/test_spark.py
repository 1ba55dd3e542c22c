"""Spark on an MR-cluster that grows and shrinks under it: one application, with the right result; and what fails."""

from __future__ import annotations

import ast
import json
import shlex
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, Role
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from fawkes.playbook.dist import pieces
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
WORDS = f'data = [{{ from = "words", to = "/words" }}]\nclients = ["{CONTROLLER_ADDRESS}"]'
DOCS = PROJECT / "docs"
ROUNDS, TASKS, SECONDS = 3, 24, 3
FAILS = "raise ValueError('the input has no rows')\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    pieces.provide(pieces.of_name("spark"))
    with real_site(tmp_path_factory.mktemp("spark") / "lab", 4, SETTINGS, memory_mb=2500) as site:
        site.write("clusters/s.toml", CLUSTER.format(name="s", nodes=2, software='["spark"]', more=WORDS))
        site.write("clusters/other.toml", CLUSTER.format(name="other", nodes=2, software="[]", more=""))
        site.write("clusters/words/part.txt", "one two two\n" * 50)
        site.write("jobs/words.py", (Path(__file__).parent / "words.py").read_text())
        site.write("jobs/fails.py", FAILS)
        site.run()
        site.request("s")
        yield site


def spark_job(site: RealSite, name: str, *words: str, keys: str = "") -> Path:
    return site.write(f"jobs/{name}.toml", f'id = "{name}"\nkind = "spark"\nargs = {list(words)}\n{keys}')


def expected(rounds: int, tasks: int) -> Counter[str]:
    return Counter(f"word{(task * 7 + n) % 13}" for task in range(tasks) for n in range(1000) for _ in range(rounds))


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


def test_the_program_of_the_docs_counts_words(site: RealSite) -> None:
    page = (DOCS / "howto" / "spark.md").read_text()
    program = site.write("jobs/count.py", page.partition("```python\n")[2].partition("```")[0])
    site.fawkes("submit", "s", "--id", "count", "--python", program, "--wait", "--", "/words", "/out/count")


def test_the_notebook_of_the_docs_runs_after_env(site: RealSite) -> None:
    cells = json.loads((DOCS / "notebooks" / "spark.ipynb").read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    program = site.write("notebook.py", code + "\nprint(counts)\n")
    script = f'eval "$({shlex.join(FAWKES)} --site {site.root} env s)"; exec {sys.executable} {program}'
    argv = ["env", f"DRIVER_HOST={CONTROLLER_ADDRESS}", "sh", "-c", script]
    done = site.lab.exec(argv, cwd=PROJECT, timeout_s=LIMIT_S)
    assert done.returncode == 0, done.stderr
    said = ast.literal_eval(done.stdout.strip().splitlines()[-1])
    assert said == {n: 143 if n < 6 else 142 for n in range(7)}


def test_an_mr_cluster_without_spark_takes_no_application(site: RealSite) -> None:
    site.until_life(ClusterLife.RUNNING, "other")
    path = spark_job(site, "elsewhere", keys='python = "words.py"\n')
    assert "the nodes of other have no Spark" in site.command("submit", "other", path, code=2).stderr


def test_what_was_counted_is_what_there_was(site: RealSite) -> None:
    site.fawkes("release", "s", "--yes")
    site.until_life(ClusterLife.GONE, "s")
    rows = [
        line.split("\t")
        for part in (site.root / "saved/s/words").glob("part-*")
        for line in part.read_text().split("\n")
    ]
    counted = {row[0]: int(row[1]) for row in rows if len(row) == 2}

    assert counted == expected(ROUNDS, TASKS)
    text = "".join(part.read_text() for part in (site.root / "saved/s/count").glob("part-*"))
    assert dict(line.split("\t") for line in text.splitlines()) == {"one": "50", "two": "100"}
