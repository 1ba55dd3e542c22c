"""Data from and to an HDFS outside of the pool: whole, spread, verified, and nothing is ever overwritten there."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from fawkes.core.model import ClusterLife, Role
from tests.support.site import RealSite
from tests.support.storage import Storage, storage

pytestmark = pytest.mark.hadoop

SETS = "/sets/in"
RESULTS = "/results/far"
CLUSTER = f"""
min_nodes = 2
max_nodes = 2
replication = 1
block_size = "1MiB"
data = [
    {{{{ from = "{{rpc}}{SETS}", to = "/in" }}}},
    {{{{ from = "webhdfs://{{web}}{SETS}", to = "/web" }}}},
]
outputs = [{{{{ path = "/output", save_to = "{{rpc}}{RESULTS}" }}}}]
"""
FILES = 4
SIZE = 3_500_000


@pytest.fixture(scope="module")
def far(running: RealSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """A MR-cluster ``far`` whose input came from a storage that is still there."""
    with storage(running, tmp_path_factory.mktemp("storage") / "hdfs") as place:
        for n in range(FILES):
            place.ask("write", f"{SETS}/{n % 2}/part-{n}", place.datanode, str(SIZE), "1")
        web = place.web.removeprefix("http://")
        running.write("clusters/far.toml", CLUSTER.format(rpc=place.rpc, web=web))
        running.request("far")
        yield place


def below(digests: dict[str, list[str]], folder: str) -> dict[str, list[str]]:
    return {path.removeprefix(folder): found for path, found in digests.items()}


def test_input_is_loaded_whole_and_its_place_is_looked_at(running: RealSite, far: Storage) -> None:
    there = below(far.ask("digests", SETS), SETS)
    assert len(there) == FILES
    assert below(running.hdfs("far", "digests", "/in"), "/in") == there
    assert below(running.hdfs("far", "digests", "/web"), "/web") == there

    (reason,) = [r for r in running.ledger.reasons("loaded") if r.facts["cluster"] == "far"]
    core = {n.node.id for n in running.nodes_of("far") if n.role is Role.CORE}
    copied, read = cast("list[dict[str, Any]]", reason.facts["sets"])
    for found in (copied, read):
        assert (found["files"], found["size"], found["thin"]) == (FILES, FILES * SIZE, 0)
        assert set(found["node_bytes"]) == core
        assert sum(found["node_bytes"].values()) == FILES * SIZE
    assert read["uneven"] == ""


def test_outputs_are_saved_where_nothing_is_and_a_save_that_failed_is_tried_anew(
    running: RealSite, far: Storage
) -> None:
    core = next(n for n in running.nodes_of("far") if n.role is Role.CORE)
    running.hdfs("far", "write", "/output/words/part-0", f"{running.hosts[core.node.id]}:9864", str(SIZE), "1")
    before = below(running.hdfs("far", "digests", "/output"), "/output")
    far.ask("write", f"{RESULTS}/words/part-0", far.datanode, "1000", "1")
    somebodys = far.ask("digests", RESULTS)

    running.fawkes("release", "far", "--yes")
    running.until("the save to fail", lambda: "exist" in running.ledger.clusters["far"].alert)
    assert running.ledger.clusters["far"].life is ClusterLife.SAVING
    assert len(running.nodes_of("far")) == 2
    assert far.ask("digests", RESULTS) == somebodys

    far.ask("remove", RESULTS)
    running.until_life(ClusterLife.GONE, "far")
    assert below(far.ask("digests", RESULTS), RESULTS) == before
    assert (running.ledger.clusters["far"].save_us or 0) > 0
