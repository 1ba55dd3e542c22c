"""Data from and to an HDFS outside of the pool: whole, spread, verified, and nothing is ever overwritten there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from fawkes.core.values.model import ClusterLife, Role
from tests.support.site import RealSite, real_site
from tests.support.storage import Storage, storage

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

SETTINGS = """
preset = "demo"
sample_every = "2s"
idle_time = "never"
[timeouts]
membership = "10s"
"""
SETS = "/sets/in"
ALL_RESULTS = "/results"
RESULTS = f"{ALL_RESULTS}/far"
CLUSTER = f"""
min_nodes = 2
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
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealSite]:
    with real_site(tmp_path_factory.mktemp("storage") / "lab", 2, SETTINGS) as site:
        site.run()
        yield site


@pytest.fixture(scope="module")
def far(site: RealSite, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """An MR-cluster ``far`` whose input came from a storage that is still there."""
    with storage(site, tmp_path_factory.mktemp("storage") / "hdfs") as place:
        for n in range(FILES):
            place.ask("write", f"{SETS}/{n % 2}/part-{n}", place.datanode, str(SIZE), "1")
        web = place.web.removeprefix("http://")
        site.write("clusters/far.toml", CLUSTER.format(rpc=place.rpc, web=web))
        site.request("far")
        yield place


def below(digests: dict[str, list[str]], folder: str) -> dict[str, list[str]]:
    return {path.removeprefix(folder): found for path, found in digests.items()}


def test_input_is_loaded_whole_and_its_place_is_looked_at(site: RealSite, far: Storage) -> None:
    there = below(far.ask("digests", SETS), SETS)
    assert len(there) == FILES
    assert below(site.hdfs("far", "digests", "/in"), "/in") == there
    assert below(site.hdfs("far", "digests", "/web"), "/web") == there

    (reason,) = [r for r in site.ledger.reasons("loaded") if r.facts["cluster"] == "far"]
    core = {n.node.id for n in site.nodes_of("far") if n.role is Role.CORE}
    copied, read = cast("list[dict[str, Any]]", reason.facts["sets"])
    for found in (copied, read):
        assert (found["files"], found["size"], found["thin"]) == (FILES, FILES * SIZE, 0)
        assert set(found["node_bytes"]) == core
        assert sum(found["node_bytes"].values()) == FILES * SIZE
    assert read["uneven"] == ""


def test_outputs_are_saved_where_nothing_is_and_a_save_that_failed_is_tried_anew(site: RealSite, far: Storage) -> None:
    core = next(n for n in site.nodes_of("far") if n.role is Role.CORE)
    site.hdfs("far", "write", "/output/words/part-0", f"{site.hosts[core.node.id]}:9864", str(SIZE), "1")
    before = below(site.hdfs("far", "digests", "/output"), "/output")
    far.ask("write", f"{RESULTS}/words/part-0", far.datanode, "1000", "1")
    somebodys = far.ask("digests", RESULTS)

    site.fawkes("release", "far", "--yes")
    site.until("the save to fail", lambda: "exist" in site.ledger.clusters["far"].alert)
    assert site.ledger.clusters["far"].life is ClusterLife.SAVING
    assert len(site.nodes_of("far")) == 2
    assert far.ask("digests", RESULTS) == somebodys

    # With the folder above: a first save finds none.
    far.ask("remove", ALL_RESULTS)
    site.until_life(ClusterLife.GONE, "far")
    assert below(far.ask("digests", RESULTS), RESULTS) == before
    assert (site.ledger.clusters["far"].save_us or 0) > 0


def test_a_copy_whose_blocks_are_lost_is_not_saved_until_it_is_made_anew(
    site: RealSite, far: Storage, tmp_path: Path
) -> None:
    """DistCp leaves it as it is: the target gives no checksum to compare."""
    target, blocks = f"{ALL_RESULTS}/lost", set(far.folder.rglob("blk_*"))
    before = saved_but_blocked(site, far, "lost", target, tmp_path)
    for block in set(far.folder.rglob("blk_*")) - blocks:
        block.unlink()
    far.ask("write", f"{target}/more", far.datanode, "1000", "1")
    (tmp_path / "blocked").rename(tmp_path / "theirs")
    site.until(
        "the save to fail for the lost file", lambda: "without a checksum there: part-0" in alert_of(site, "lost")
    )
    assert "there, but not in /output: more" in alert_of(site, "lost")
    assert (site.ledger.clusters["lost"].life, len(site.nodes_of("lost"))) == (ClusterLife.SAVING, 2)

    for name in ("part-0", "more"):
        far.ask("remove", f"{target}/{name}")
    site.fawkes("retry", "lost")
    site.until_life(ClusterLife.GONE, "lost")
    assert below(far.ask("digests", target), target) == before


def test_a_copy_that_has_gone_since_an_earlier_try_is_made_again(site: RealSite, far: Storage, tmp_path: Path) -> None:
    """Its note says that it is done, and nothing but HDFS has the data by then."""
    again = f"{ALL_RESULTS}/again"
    before = saved_but_blocked(site, far, "again", again, tmp_path)
    far.ask("remove", ALL_RESULTS)
    (tmp_path / "blocked").rename(tmp_path / "theirs")
    site.until_life(ClusterLife.GONE, "again")
    assert below(far.ask("digests", again), again) == before
    assert (tmp_path / "blocked/part-0").stat().st_size == SIZE


def saved_but_blocked(site: RealSite, far: Storage, name: str, target: str, folder: Path) -> dict[str, list[str]]:
    """The output of an MR-cluster that was saved to a target by a first try, which failed for another output."""
    (folder / "blocked").mkdir()
    (folder / "blocked/theirs").write_text("somebody's")
    outputs = [("/output", f"{far.rpc}{target}"), ("/two", str(folder / "blocked"))]
    rows = ", ".join(f'{{ path = "{path}", save_to = "{to}" }}' for path, to in outputs)
    site.write(f"clusters/{name}.toml", f'min_nodes = 2\nreplication = 1\nblock_size = "1MiB"\noutputs = [{rows}]\n')
    site.request(name)
    core = next(n for n in site.nodes_of(name) if n.role is Role.CORE)
    for path in ("/output/part-0", "/two/part-0"):
        site.hdfs(name, "write", path, f"{site.hosts[core.node.id]}:9864", str(SIZE), "1")
    before = below(site.hdfs(name, "digests", "/output"), "/output")
    site.fawkes("release", name, "--yes")
    site.until("the save to fail", lambda: "theirs" in alert_of(site, name) or "exists already" in alert_of(site, name))
    assert below(far.ask("digests", target), target) == before
    return before


def alert_of(site: RealSite, name: str) -> str:
    return site.ledger.clusters[name].alert
