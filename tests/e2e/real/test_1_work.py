"""Real jobs on MR-clusters that grow and shrink meanwhile; their results are compared with what was counted here."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import cast

import pytest

from fawkes.core.values.decision import AddSample
from fawkes.core.values.model import ClusterState, JobLife, JobState, NodeLife, Reason, Role
from fawkes.engine.ports import Entry
from fawkes.report import history
from fawkes.store.sqlite import LedgerReader
from tests.e2e.two_clusters import FILES
from tests.support.site import FAWKES, LIMIT_S, PROJECT, RealSite, differences

pytestmark = pytest.mark.hadoop

# One map at a time: it lasts long enough for nodes to come and go, and the others wait, which is demand.
COUNT = f"""
kind = "jar"
jar = "examples"
args = ["wordcount", "/words", "/output/{{id}}"]
tasks = {FILES + 1}
reference_time = "10s"
[properties]
"mapreduce.job.running.map.limit" = "1"
"mapreduce.input.fileinputformat.input.dir.recursive" = "true"
"""
SORT = """
kind = "jar"
jar = "examples"
args = [
    "sort", "-r", "1",
    "-inFormat", "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat",
    "-outFormat", "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat",
    "-outKey", "org.apache.hadoop.io.Text", "-outValue", "org.apache.hadoop.io.Text",
    "/records", "/output/{id}",
]
"""
NAP = 'kind = "sleep"\nmaps = 2\nmap_time = "1s"\nreduces = 0\n'


@dataclass(frozen=True)
class Story:
    """A part that was played: the numbers of its first and last step, and how a move in it was told right after it."""

    site: RealSite
    begin: int
    end: int
    move: history.Move
    told: str

    def steps(self) -> list[Entry]:
        return self.site.ledger.entries[self.begin : self.end]

    def job(self, name: str) -> JobState:
        return self.site.ledger.jobs[name]

    def moves_during(self, job: str, cluster: str, code: str) -> set[str]:
        """The nodes that an MR-cluster got or gave while a job waited and ran: on a busy machine it begins late."""
        began, ended = self.job(job).submitted_us, self.job(job).finished_us or 0
        return {
            str(reason.facts["node"])
            for entry in self.steps()
            if began < entry.event.at_us < ended
            for reason in entry.decision.reasons
            if reason.code == code and reason.facts.get("cluster") == cluster
        }


@pytest.fixture(scope="module")
def story(running: RealSite) -> Story:
    """Both MR-clusters count words, one after the other: the free nodes go to the first, then across, then back.

    The controller is killed while the first nodes join; once it is back, all goes on.
    """
    site = running
    begin = site.now()
    site.fawkes("submit", "alpha", site.job("count-a", COUNT))
    site.until("nodes on their way to alpha under its job", lambda: joining(site) and runs(site))
    site.fawkes("submit", "beta", site.job("starts", NAP))
    site.until("the other job to start", lambda: site.ledger.jobs["starts"].life is JobLife.STARTING)
    site.kill()
    site.until("the job to go on without a controller", lambda: runs(site))
    site.run()
    site.until_serving("alpha", Role.TRANSIENT, 4)
    site.fawkes("submit", "beta", site.job("count-b", COUNT))
    site.until("nodes of alpha in beta", lambda: site.serving("beta", Role.TRANSIENT_CORE))
    with site.demand("alpha"):
        site.until("nodes of beta in alpha", lambda: site.ledger.reasons("evacuated", after=begin))
        move, told = site.until("a node that went from one to the other, and is explained", lambda: explained(site))
        site.fawkes("submit", "beta", site.job("sort-b", SORT))
        site.until_ended("count-a", "starts", "count-b", "sort-b")
    site.until_settled()
    return Story(site, begin, site.now(), move, told)


def joining(site: RealSite) -> bool:
    return any(n.life is NodeLife.JOINING and n.owner == "alpha" for n in site.state.nodes.values())


def runs(site: RealSite) -> bool:
    return [row["state"] for row in site.applications("alpha", "count-a")] == ["RUNNING"]


def explained(site: RealSite) -> tuple[history.Move, str] | None:
    """A move across and how it was told, if the node did not move again before that was read."""
    move = across(site)
    if move is None:
        return None
    told = site.fawkes("explain", "--node", move.node)
    return (move, told) if across(site, move.node) == move else None


def across(site: RealSite, *nodes: str) -> history.Move | None:
    """The latest move of some node, if that went from one MR-cluster to the other and has ended."""
    with closing(LedgerReader(site.site.state_dir)) as ledger:
        latest = [moves[-1] for node in nodes or site.hosts if (moves := history.moves(ledger, node))]
    return next((m for m in latest if {m.source, m.target} == {"alpha", "beta"} and m.ended_us is not None), None)


def words_here(site: RealSite) -> Counter[str]:
    return Counter(
        word for path in (site.root / "clusters" / "words").rglob("*.txt") for word in path.read_text().split()
    )


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_the_input_is_loaded_and_spread_over_the_core_nodes(story: Story, name: str) -> None:
    (loaded,) = [r for r in story.site.ledger.reasons("loaded") if r.facts["cluster"] == name]
    sets = loaded.facts["sets"]
    assert isinstance(sets, list)
    assert [(one["to"], one["files"], one["thin"], one["uneven"]) for one in sets] == [
        ("/words", FILES, 0, ""),
        ("/records", 2, 0, ""),
    ]
    core = {n.node.id for n in story.site.nodes_of(name) if n.role is Role.CORE}
    for one in sets:
        assert set(one["node_bytes"]) == core
        assert sum(one["node_bytes"].values()) == 2 * one["size"]
        assert 1 <= one["skew"] < 1.25
    state: ClusterState = story.site.ledger.clusters[name]
    assert state.wait_us is not None
    assert min(state.deploy_us or 0, state.load_us or 0) > 0


@pytest.mark.parametrize(("job", "cluster"), [("count-a", "alpha"), ("count-b", "beta")])
def test_wordcount_is_what_was_counted_here(story: Story, job: str, cluster: str) -> None:
    assert story.job(job).life is JobLife.SUCCEEDED, story.job(job).why
    texts = story.site.hdfs(cluster, "read", f"/output/{job}")
    rows = [line.split("\t") for text in texts.values() for line in text.splitlines()]
    assert {word: int(count) for word, count in rows} == words_here(story.site)


@pytest.mark.parametrize(("job", "cluster"), [("count-a", "alpha"), ("starts", "beta")])
def test_a_killed_controller_finds_the_job_that_ran_and_the_one_that_was_starting(
    story: Story, job: str, cluster: str
) -> None:
    assert (story.job(job).life, story.job(job).attempt) == (JobLife.SUCCEEDED, 1), story.job(job).why
    (application,) = story.site.applications(cluster, job)
    assert application["finalStatus"] == "SUCCEEDED"


def test_nodes_came_and_went_while_it_counted(story: Story) -> None:
    assert len(story.moves_during("count-a", "alpha", "grow")) >= 3
    assert story.moves_during("count-a", "alpha", "shrink")
    assert story.moves_during("count-b", "beta", "grow")
    assert story.moves_during("count-b", "beta", "shrink")


def test_sorted_records_are_sorted_and_complete(story: Story) -> None:
    assert story.job("sort-b").life is JobLife.SUCCEEDED, story.job("sort-b").why
    texts = story.site.hdfs("beta", "read", "/output/sort-b")
    rows = [line for _, text in sorted(texts.items()) for line in text.splitlines()]
    keys = [row.split("\t")[0] for row in rows]
    assert len([text for text in texts.values() if text]) == 1
    assert keys == sorted(keys)
    folder = story.site.root / "clusters" / "records"
    assert Counter(rows) == Counter(line for path in folder.iterdir() for line in path.read_text().splitlines())


def test_slowdown_and_times_of_a_job_are_recorded(story: Story) -> None:
    row = next(row for row in story.site.rows("jobs", "alpha") if row["job"] == "count-a")
    job = story.job("count-a")
    assert job.wait_us is not None
    assert job.run_us is not None
    assert job.slowdown == pytest.approx((job.wait_us + job.run_us) / 10_000_000)
    assert row["slowdown"] == pytest.approx(job.slowdown)


def test_the_nodes_agree_with_the_ledger(story: Story) -> None:
    assert differences(story.site) == []


def test_a_move_is_explained(story: Story) -> None:
    text = story.site.fawkes("explain", "--last")
    assert "The discrimination exceeds the threshold: nodes will move" in text
    assert re.search(r"Global discrimination \(raw\) [\d.]+ against tau 0\.069", text), text
    assert re.search(r"node[\d\[\],-]+ (\(transient(-core)?\) leave|join)s? (alpha|beta)", text), text
    move, text = story.move, story.told
    assert re.search(f"It went from {move.source} to {move.target} at .*, within ", text), text
    assert f"{move.node} is wiped, verified and free" in text
    assert re.search(r"It was decided at tick \d+, ", text), text


def _unread(tick: Reason) -> bool:
    """True if an MR-cluster had not been measured: one that runs since a moment ago."""
    clusters = cast(dict[str, dict[str, object]], tick.facts["clusters"])
    return any(figures["unreadable"] for figures in clusters.values())


def test_a_tick_in_which_nothing_moved_is_explained(story: Story) -> None:
    site = story.site
    still = site.until(
        "a tick in which nobody wants anything",
        lambda: [
            r.facts["tick"]
            for r in site.ledger.reasons("tick", after=story.begin)
            if r.facts["verdict"] == "no-weights" and r.facts["clusters"] and not _unread(r)
        ],
    )
    text = site.fawkes("explain", str(still[-1]))
    assert text.startswith(f"Tick {still[-1]}, ")
    assert "The policy TD measures 0 everywhere, so weights are undefined: all keep their nodes" in text
    assert re.search(r"Policy TD over the last 5 s; 8 nodes in service", text), text


@pytest.mark.nightly
def test_what_users_submit_by_themselves_counts_in_both_versions(site: RealSite) -> None:
    """In alpha on one of its own nodes; in beta on a machine that its file names as a client."""
    began = site.now()
    env = " ".join([*FAWKES, "--site", str(site.root), "env"])
    # One map at a time: the others wait.
    sleep = "org.apache.hadoop.mapreduce.SleepJob -Dmapreduce.job.running.map.limit=1 -m 4 -r 0 -mt 3000"
    hadoop = f"{site.site.inventory().nodes[0].software_dir}/hadoop-3.5.0/bin/hadoop"
    on_node = f"export HADOOP_CONF_DIR=/srv/fawkes/clusters/alpha/conf; {hadoop} version; {hadoop} {sleep}"
    node = site.serving("alpha", Role.CORE)[-1]
    commands = {
        "alpha": ["ssh", "-F", str(site.root / "ssh_config"), "-o", "BatchMode=yes", node, on_node],
        "beta": ["/bin/sh", "-ec", f'eval "$({env} beta)"; hadoop version; hadoop {sleep}'],
    }
    with ExitStack() as stack:
        processes = {
            name: stack.enter_context(
                site.lab.popen(
                    command,
                    cwd=PROJECT,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
            for name, command in commands.items()
        }
        said = {name: process.communicate(timeout=LIMIT_S)[0] for name, process in processes.items()}
    site.ledger.catch_up()
    for name, version in (("alpha", "3.5.0"), ("beta", "3.4.2")):
        assert processes[name].returncode == 0, said[name]
        assert f"Hadoop {version}\n" in said[name]
        samples = [
            change.sample
            for entry in site.ledger.entries[began:]
            for change in entry.decision.changes
            if isinstance(change, AddSample) and change.cluster == name
        ]
        assert max(sample.jobs_running or 0 for sample in samples) == 1
        assert max(sample.tasks_waiting or 0 for sample in samples) >= 2
        assert {job for job, state in site.ledger.jobs.items() if state.submitted_us > samples[0].at_us} == set()
