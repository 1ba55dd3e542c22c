"""One lab, one ledger and two MR-clusters for all tests of `real/`, which run in the order of their files.

`alpha` (Hadoop 3.5.0) grows by transient nodes, `beta` (3.4.2) by transient-core nodes. Each has two core nodes; four
of the eight hosts can move. A test that needs demand makes it (`RealSite.demand`) and takes it back; without demand
nothing moves. Tests may leave nodes wherever they are, but both MR-clusters running, and a controller.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fawkes.core.values.model import ClusterLife
from fawkes.live.lab.spec import CONTROLLER_ADDRESS
from tests.support.site import BLOCKERS, RealSite, real_site

SETTINGS = """
preset = "demo"
period = "5s"
sample_every = "1s"
release_every = "1s"
idle_time = "never"
quarantine = "30s"
deploy_attempts = 2
[timeouts]
membership = "20s"
[ssh]
connect_timeout = "10s"
"""
CLUSTER = f"""
min_nodes = 2
replication = 2
block_size = "1MiB"
max_running_jobs = {BLOCKERS}
growth = "{{growth}}"
hadoop_version = "{{version}}"
data = [{{{{ from = "words", to = "/words" }}}}, {{{{ from = "records", to = "/records" }}}}]
scratch = ["/replay"]
outputs = [{{{{ path = "/output", save_to = "../saved/{{name}}" }}}}]
"""
#: as many map tasks has a Wordcount
FILES = 7


def write_input(folder: Path) -> None:
    """Words in several files, one below a folder; records with keys that come again. The same each time."""
    chance = random.Random(7)
    words = [f"word{n}" for n in range(300)]
    for n in range(FILES):
        path = folder / "words" / ("more" if n == 0 else "") / f"part-{n:02d}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(" ".join(chance.choices(words, k=9)) + "\n" for _ in range(700)))
    (folder / "records").mkdir()
    for n in range(2):
        rows = (f"{chance.randrange(4000):06d}\t{n} {row} {chance.random()}\n" for row in range(6000))
        (folder / "records" / f"part-{n}.txt").write_text("".join(rows))


@contextmanager
def two_clusters(folder: Path) -> Iterator[RealSite]:
    """A controller with both MR-clusters at work, in a lab of its own below a folder."""
    with real_site(folder / "lab", 8, SETTINGS) as site:
        write_input(site.root / "clusters")
        site.write("clusters/alpha.toml", CLUSTER.format(name="alpha", version="3.5.0", growth="TR"))
        beta = CLUSTER.format(name="beta", version="3.4.2", growth="TC")
        site.write("clusters/beta.toml", f'{beta}\nclients = ["{CONTROLLER_ADDRESS}"]\n')
        site.run()
        site.request("alpha", "beta")
        yield site


def at_rest(site: RealSite) -> RealSite:
    """The site with its controller and both MR-clusters at work, no job, and nothing on its way."""
    site.heal()
    site.until_life(ClusterLife.RUNNING, "alpha", "beta")
    site.until_settled()
    return site
