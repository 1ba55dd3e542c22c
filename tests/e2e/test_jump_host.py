"""A pool behind a jump host: data, a job, a drain, a lost jump host, and results, all through it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fawkes.core.values.model import ClusterLife, JobLife, Role
from tests.support.site import RealSite, real_site

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = """
preset = "demo"
sample_every = "2s"
idle_time = "never"
[timeouts]
membership = "10s"
"""
WORDS = "a b a\n" * 1000
JOB = """
id = "count"
kind = "streaming"
mapper = "./words.sh"
reducer = "uniq -c"
files = ["words.sh"]
input = "/input"
output = "/output/{id}"
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with real_site(tmp_path_factory.mktemp("jump") / "lab", 3, SETTINGS, jump_hosts=1) as site:
        site.run()
        yield site


def test_a_pool_behind_a_jump_host_works_from_request_to_release(site: RealSite) -> None:
    words = site.write("input/words.txt", WORDS).parent
    results = site.lab.site / "results"
    site.write(
        "clusters/far.toml",
        "min_nodes = 2\nmax_nodes = 2\nreplication = 2\n"
        f'data = [{{ from = "{words}", to = "/input" }}]\n'
        f'outputs = [{{ path = "/output", save_to = "{results}" }}]\n',
    )
    site.request("far")

    script = site.write("words.sh", "#!/bin/sh\ntr ' ' '\\n'\n")
    script.chmod(0o755)
    site.fawkes("submit", "far", site.write("count.toml", JOB))
    (job,) = site.until_ended("count")
    assert job.life is JobLife.SUCCEEDED

    master = site.ledger.clusters["far"].master
    site.lab.kill("login")
    site.until("the masters not to be read", lambda: "its masters cannot be read" in site.fawkes("status"))
    site.lab.start("login")
    site.until("the masters to be read again", lambda: "cannot be read" not in site.fawkes("status"))
    site.until_serving("far", Role.CORE, 2)
    assert site.ledger.clusters["far"].master == master

    (worker,) = {"node01", "node02", "node03"} - {node.node.id for node in site.nodes_of("far")}
    site.fawkes("drain", worker, "--reason", "a new fan", "--wait")
    site.fawkes("release", "far", "--yes")
    site.until_life(ClusterLife.GONE, "far")
    (part,) = (results / "count").glob("part-*")
    assert [line.split() for line in part.read_text().splitlines()] == [["2000", "a"], ["1000", "b"]]
