"""The facts that the checks want, of a drill on real Hadoop: read from masters, nodes, the ledger and saved files."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from drills.checks import Copies, Failure, JobFacts, OwnerFacts, files_kept
from drills.plan import Story
from fawkes.core.values.model import ClusterId, JobId, JobLife, NodeId, NodeLife
from tests.support.site import RealSite

#: folders with input, and the folders of HDFS that they are loaded into
INPUTS = ("words", "records")


@dataclass(frozen=True, slots=True)
class RealFacts:
    """Reads them when it is asked. ``counts`` is what each word count must give; ``robbed`` lost files to a fault."""

    site: RealSite
    story: Story
    counts: Mapping[str, int]
    robbed: Collection[ClusterId] = ()
    away: Collection[NodeId] = ()
    inputs: Sequence[str] = INPUTS

    def _running(self) -> Iterator[ClusterId]:
        """The MR-clusters whose masters can be asked: not those that a fault took for good."""
        for cluster in self.site.state.clusters.values():
            lost = cluster.master is not None and self.site.node(cluster.master).life is NodeLife.LOST
            if cluster.active and cluster.master not in self.away and not (cluster.id in self.robbed and lost):
                yield cluster.id

    def at_rest(self) -> list[Failure]:
        """The files of all MR-clusters that run: as they were loaded, and outputs as one run writes them."""
        return files_kept([copy for cluster in self._running() for copy in self._copies(cluster)])

    def _copies(self, cluster: ClusterId) -> Iterator[Copies]:
        excused = cluster in self.robbed
        for name in self.inputs:
            found = self._hdfs(cluster, "digests", f"/{name}")
            for path in sorted((self.site.root / "clusters" / name).iterdir()):
                target = f"/{name}/{path.name}"
                digest = found.get(target)
                yield Copies(
                    cluster=cluster,
                    path=target,
                    wanted=hashlib.sha256(path.read_bytes()).hexdigest(),
                    found=None if digest is None else digest[1],
                    excused=excused,
                )
        for job in self._written(cluster):
            right = self._right(cluster, job)
            yield Copies(
                cluster=cluster,
                path=f"/output/{job}",
                wanted="right",
                found="right" if right else None,
                excused=excused,
            )

    def _hdfs(self, cluster: str, command: str, folder: str) -> dict[str, list[str]]:
        """The answer of an HDFS; nothing when it cannot be given, because a file is missing."""
        try:
            # First, because a client waits for minutes for a block that is nowhere.
            places = self.site.hdfs(cluster, "places", folder)
            if not all(hosts for blocks in places.values() for hosts in blocks):
                return {}
            found: dict[str, list[str]] = self.site.hdfs(cluster, command, folder)
        except AssertionError:
            return {}
        return found

    def _written(self, cluster: str) -> Iterator[JobId]:
        """The jobs of an MR-cluster with output that have ended well."""
        writers = {job.name for job in self.story.jobs if job.writes}
        for job in self.site.ledger.jobs.values():
            if job.cluster == cluster and job.life is JobLife.SUCCEEDED and job.id in writers:
                yield job.id

    def _right(self, cluster: str, job: str) -> bool:
        texts = self._hdfs(cluster, "read", f"/output/{job}")
        return counted("".join(text for path, text in texts.items() if "/part-" in path)) == self.counts  # type: ignore[misc]

    def missing(self) -> dict[ClusterId, list[str]]:
        """How many blocks of each running MR-cluster are nowhere, by the NameNode's own list."""
        found = {}
        for cluster in self._running():
            url = f"http://{self.site.master(cluster)}:9870/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo"
            try:
                count = self.site.inside(cluster, "get", url)["beans"][0]["NumberOfMissingBlocks"]
            except (AssertionError, LookupError):
                continue
            found[cluster] = [f"{count} blocks"] if count else []
        return found

    def jobs(self) -> list[JobFacts]:
        """How each job of a running MR-cluster ended, and the applications of each of its attempts."""
        running, rows = set(self._running()), []
        for job in self.site.ledger.jobs.values():
            if job.cluster not in running or job.id not in {plan.name for plan in self.story.jobs if plan.writes}:
                continue
            counts, well = {}, []
            for attempt in range(1, job.attempt + 1):
                applications = self.site.applications(job.cluster, job.id, attempt)
                counts[attempt] = len(applications)
                well += [attempt for row in applications if row["finalStatus"] == "SUCCEEDED"]
            rows.append(JobFacts(job=job.id, life=job.life, applications=counts, succeeded=tuple(well)))
        return rows

    def owners(self) -> Iterator[OwnerFacts]:
        """Whom each node that answers belongs to: by the ledger, by its lease, and by what runs on it."""
        answering = [host.host for host in self.site.lab.status() if host.state == "on" and host.network == "ok"]
        for name, there in self.site.on_nodes(answering).items():
            state = self.site.node(name)
            lease = there.lease.get("cluster") or None
            workers = tuple(ClusterId(each) for each in sorted(there.processes))
            yield OwnerFacts(
                node=NodeId(name),
                life=NodeLife(state.life),
                ledger=state.owner,
                lease=None if lease is None else ClusterId(lease),
                working_for=workers,
            )

    def saved(self) -> list[Failure]:
        """The outputs of all MR-clusters that are gone, as they were saved."""
        gone = [c.name for c in self.story.clusters if ClusterId(c.name) not in self.site.state.clusters]
        found = []
        for cluster in gone:
            for job in self._written(cluster):
                folder = self.site.root / "saved" / cluster
                files = [path for path in folder.rglob("part-*") if job in path.parts]
                right = counted("".join(path.read_text() for path in files)) == self.counts
                found.append(
                    Copies(
                        cluster=ClusterId(cluster),
                        path=str(Path("saved", cluster, job)),
                        wanted="right",
                        found="right" if right else None,
                        excused=ClusterId(cluster) in self.robbed,
                    )
                )
        return files_kept(found)

    def verified(self) -> list[Failure]:
        """Whether the ledger gives its decisions again, by the command for that."""
        done = self.site.try_command("verify")
        return [] if done.returncode == 0 else [Failure("ledger does not verify", done.stderr.strip()[-300:])]


def counted(text: str) -> dict[str, int]:
    """The result of a word count."""
    rows = (line.split("\t") for line in text.splitlines())
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
