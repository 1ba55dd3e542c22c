"""`fawkes demo` as a user types it, on real Hadoop; a shorter workload than that of `make demo`."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from fawkes.base.units import show_time
from fawkes.config.files.nodeset import expand
from fawkes.config.site.site import Site
from fawkes.core.values.model import Reason
from fawkes.engine import replay
from fawkes.live.lab import name_of_site
from fawkes.policy import compile_policy
from fawkes.policy.preemption import compile_preemption
from fawkes.report.tables.explain import grouped
from fawkes.report.words.sentences import sentence
from fawkes.store.sqlite import LedgerReader
from fawkes.workload.playing.wordcount import saved_counts
from tests.live.lab.support import traces

pytestmark = [pytest.mark.hadoop, pytest.mark.nightly]

WORKLOAD = Path(__file__).with_name("two-clusters.toml")
FAWKES = [sys.executable, "-m", "fawkes"]


class Played(NamedTuple):
    """A demo that has ended: its site, what it said on stdout, and on stderr."""

    site: Site
    told: dict[str, Any]
    stderr: str


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    site = tmp_path_factory.mktemp("e2e") / "demo"
    command = [*FAWKES, "demo", str(WORKLOAD), "--site", str(site), "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=2400, check=False)
    assert done.returncode == 0, done.stderr
    return Played(Site(site), json.loads(done.stdout), done.stderr)


def test_all_jobs_succeeded_on_their_first_attempt(played: Played) -> None:
    assert [row for row in played.told["jobs"] if (row["state"], row["attempt"]) != ("succeeded", 1)] == []
    assert len(played.told["jobs"]) == 6
    assert played.told["problems"] == []


def test_nodes_came_and_went(played: Played) -> None:
    moves = played.told["moves"]
    assert all(row["took_s"] is not None for row in moves)
    grown = {(row["to_cluster"], row["role"]) for row in moves if " join" in row["why"]}
    assert ("a", "transient") in grown
    assert ("b", "transient-core") in grown
    assert any(row["from_cluster"] == "a" and row["to_cluster"] == "b" for row in moves)
    assert played.told["reconfigurations"] >= 2


def test_the_result_is_that_of_a_local_count(played: Played) -> None:
    (result,) = played.told["results"]
    assert (result["job"], result["wrong"]) == ("count", "")
    assert saved_counts(played.site.root / "results/a/words").total() > 100_000


def test_the_picture_is_one(played: Played) -> None:
    assert Path(played.told["picture"]).read_bytes().startswith(b"\x89PNG")


def test_each_change_was_told(played: Played) -> None:
    for text in ("a was requested", "b is deployed", " b as transient-core", "Job count succeeded", "b is gone"):
        assert text in played.stderr


def test_the_ledger_tells_the_same_story_and_decides_the_same_again(played: Played) -> None:
    command = [*FAWKES, "--site", str(played.site.root), "events", "--limit", "all", "-o", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    stored: dict[str, list[Reason]] = {}
    for row in json.loads(done.stdout)["rows"]:
        stored.setdefault(row["time"], []).extend(Reason(one["code"], one["facts"]) for one in row["reasons"])
    for move in played.told["moves"]:
        nodes = set(expand(move["node_set"]))
        # Nodes that leave together may go on to different MR-clusters: then the ledger tells of more than the move.
        reasons = [one for one in stored[show_time(move["begun_us"])] if one.facts.get("node", "") in {"", *nodes}]
        told = [sentence(reason, named) for reason, named in grouped(reasons)]
        assert any(move["why"].startswith(text) for text in told), (move["why"], told)
    with closing(LedgerReader(played.site.state_dir)) as ledger:
        assert ledger.verify() > 100
        assert list(replay(ledger.entries(), compile_policy, load_preemption=compile_preemption)) == []


def test_nothing_is_left_running(played: Played) -> None:
    assert traces(name_of_site(played.site.root)) == []
