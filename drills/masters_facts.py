"""What became of a loss of masters: files, jobs, users' applications, sentences, seconds."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from drills.checks import Copies, Failure, files_kept, loss_told
from drills.loss import CLUSTER, LossPlan, Phase
from fawkes.base.units import SECOND_US
from fawkes.core.values.model import ClusterId, JobLife, NodeId, Promise, Reason, Role
from tests.support.site import PROJECT, RealSite

_ENDED = ("FINISHED", "FAILED", "KILLED")
_MAPS, _MAP_MS = 1, 90_000
#: a client that goes on to ask masters that are gone ends after this
_CLIENT_S = 200


def all_digests(site: RealSite, folder: str) -> dict[str, str | None]:
    """Of each file below a folder the SHA-256 of its bytes; None where a block of it is on no node."""
    found: dict[str, str | None] = site.hdfs(CLUSTER, "readable", folder)
    return found


@dataclass(slots=True)
class OwnApplication:
    """An application that a user starts on a core node, without Fawkes."""

    site: RealSite
    name: str
    id: str = ""
    computes: bool = False
    attempts: int = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Its client runs while the block lasts."""
        node = next(n for n in self.site.serving(CLUSTER, Role.CORE) if n != self.site.ledger.clusters[CLUSTER].master)
        conf = f"/srv/fawkes/clusters/{CLUSTER}/conf"
        sleep = f"-Dmapreduce.job.tags={self.name} -m {_MAPS} -r 0 -mt {_MAP_MS}"
        command = (
            f". {conf}/hadoop-env.sh; export HADOOP_CONF_DIR={conf}; "
            f'exec timeout -s KILL {_CLIENT_S} "$HADOOP_HOME/bin/hadoop" org.apache.hadoop.mapreduce.SleepJob {sleep}'
        )
        ssh = ["ssh", "-F", str(self.site.root / "ssh_config"), "-o", "BatchMode=yes", node, command]
        log = self.site.root / f"{self.name}.log"
        quiet = {"stdin": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        with log.open("w") as out, self.site.lab.popen(ssh, cwd=PROJECT, stdout=out, **quiet) as process:
            try:
                yield
            finally:
                process.kill()

    def look(self) -> None:
        """Which application it is, and whether a task of it runs."""
        for row in self.rows():
            self.id = str(row["id"])
            self.computes = int(row["runningContainers"]) > 1
            attempts = self.site.yarn(CLUSTER, f"apps/{self.id}/appattempts")["appAttempts"]
            self.attempts = len(attempts["appAttempt"]) if attempts else 0

    def rows(self) -> list[dict[str, Any]]:
        """Its applications as the ResourceManager knows them now."""
        apps = self.site.yarn(CLUSTER, f"apps?applicationTags={self.name}")["apps"]
        return list(apps["app"]) if apps else []

    def ended(self) -> bool:
        """Whether YARN has none that still runs."""
        return all(row["state"] in _ENDED for row in self.rows())


@dataclass(slots=True)
class LossFacts:
    """One loss, from step ``began`` of the ledger on; ``before`` is what HDFS had by then, as SHA-256 by path."""

    site: RealSite
    plan: LossPlan
    began: int = 0
    before: Mapping[str, str | None] = field(default_factory=dict)
    lost_s: float = 0.0
    over_s: float = 0.0
    _node: NodeId | None = None
    _step: int = 0

    def lost(self, node: NodeId) -> None:
        """The host of the masters is about to be lost."""
        self._node, self._step = node, len(self.site.ledger.entries)

    def left(self, master: NodeId) -> bool:
        """Whether the masters are not those any more that were lost."""
        return master != self._node or any(row.facts["node"] == master for row in self._moved())

    def answered(self) -> bool:
        """Whether NameNode and ResourceManager of the ledger's masters answer now."""
        try:
            root = f"http://{self.site.master(CLUSTER)}:9870/webhdfs/v1/?op=LISTSTATUS&user.name=root"
            return bool(self.site.inside(CLUSTER, "get", root)) and bool(self.site.yarn(CLUSTER, "info"))
        except AssertionError:
            return False

    def decided(self) -> bool:
        """Whether other masters are to take over."""
        return bool(self.site.ledger.reasons("masters-move", after=self._step))

    def held(self) -> bool:
        """Whether Fawkes waits for an operator."""
        cluster = self.site.ledger.clusters[CLUSTER]
        waits = cluster.moving is not None and not cluster.moving.begun
        return waits and bool(self.site.ledger.reasons("masters-held", after=self._step))

    def given_up(self) -> bool:
        """Whether the MR-cluster has failed for good before it was loaded."""
        return bool(self.site.ledger.reasons("gave-up", after=self._step))

    def _moved(self) -> list[Reason]:
        return self.site.ledger.reasons("masters-moved", after=self._step)

    # --- sentences and seconds

    def explained(self) -> list[Failure]:
        """Whether `fawkes explain` has the move, and what it has cost."""
        text = self.site.fawkes("explain", "--cluster", CLUSTER)
        wanted = [f"serve on {row.facts['node']} instead of {row.facts['instead_of']}" for row in self._moved()[-1:]]
        if self.site.ledger.reasons("writes-lost", after=self._step):
            wanted.append("lost what was written last before its masters were lost")
        if self.given_up():
            wanted.append("before anything was copied")
        return [
            Failure("not explained", f"{CLUSTER}: no sentence with '{each}'") for each in wanted if each not in text
        ]

    def measured(self, answers: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        """When the decision came, and how long HDFS and YARN were away since the loss and since the decision (s)."""
        found = {}
        decided = self._decided_s()
        if decided is not None:
            found["decided"] = decided - self.lost_s
        for name, key in (("HDFS", "folders"), ("YARN", "yarn")):
            at = sorted(answers.get(key, {}).values())
            last, first = max((s for s in at if s <= self.lost_s), default=None), _next(at, self.lost_s)
            if first is not None:
                found[name] = first - (self.lost_s if last is None else last)
            if decided is not None and (first := _next(at, decided)) is not None:
                found[f"{name} since"] = first - decided
        return found

    def _decided_s(self) -> float | None:
        for entry in self.site.ledger.entries[self._step :]:
            if any(reason.code == "masters-move" for reason in entry.decision.reasons):
                return entry.event.at_us / SECOND_US
        return None

    # --- files

    def kept(self) -> list[Failure]:
        """What was there before the loss is there, byte for byte; a Sort of the drill has sorted."""
        now = all_digests(self.site, "/output")
        cluster = ClusterId(CLUSTER)
        copies = [
            Copies(cluster=cluster, path=path, wanted=digest or "", found=now.get(path))
            for path, digest in self.before.items()
        ]
        if self.plan.loss.phase is Phase.JOBS:
            right = self._sorted()
            copies.append(
                Copies(cluster=cluster, path=f"/output/{self._sort}", wanted="right", found="right" if right else None)
            )
        return files_kept(copies)

    @property
    def _sort(self) -> str:
        return f"sort-{self.plan.seed}"

    def _sorted(self) -> bool:
        texts = self.site.hdfs(CLUSTER, "read", f"/output/{self._sort}")
        lines = [line.rstrip("\t") for path, text in texts.items() if "/part-" in path for line in text.splitlines()]
        records = (self.site.root / "clusters" / "records").iterdir()
        return lines == sorted(line for file in records for line in file.read_text().splitlines())

    def saved(self) -> list[Failure]:
        """What was there before the release is in the folder that it was to be saved to."""
        folder = self.site.root / "saved" / CLUSTER
        return files_kept(
            Copies(cluster=ClusterId(CLUSTER), path=f"saved{path}", wanted=digest or "", found=_digest(folder, path))
            for path, digest in self.before.items()
        )

    def written(self, acknowledged: Mapping[str, float], figures: dict[str, float]) -> list[Failure]:
        """The files that were written all the time: each is there, or its loss is told. None counts before a load."""
        if self.given_up():
            return []
        now = all_digests(self.site, f"/users/{self.plan.seed}/files")
        there = {path for path in acknowledged if now.get(path) == hashlib.sha256(path.encode()).hexdigest()}
        lost = self.site.ledger.reasons("writes-lost", after=self._step)
        told = sum(_count(row, "blocks") for row in lost) + sum(_count(row, "missing_files") for row in self._moved())
        figures |= {"written": len(acknowledged), "lost": len(acknowledged) - len(there), "told": told}
        self.site.hdfs(CLUSTER, "remove", f"/users/{self.plan.seed}")
        if any(row.facts.get("unlisted") for row in lost):
            told = len(acknowledged)
        return loss_told(acknowledged, there, list(self._lacking()), told)

    def _lacking(self) -> Iterator[tuple[float, float]]:
        """From when to when (s since 1970) a copy lacked what was written, for each move by copy."""
        for entry in self.site.ledger.entries[self.began :]:
            for reason in entry.decision.reasons:
                if reason.code == "masters-moved" and not reason.facts.get("by_standby"):
                    until_s = entry.event.at_us / SECOND_US
                    copied_us = entry.event.at_us - _count(reason, "took_us") - _count(reason, "lacks_us")
                    yield copied_us / SECOND_US, until_s

    # --- jobs

    def jobs_done(self) -> list[Failure]:
        """Each job of the drill has succeeded."""
        names = [job.name for job in self.plan.story.jobs]
        if self.plan.loss.phase is Phase.JOBS:
            names.append(self._sort)
        jobs = [self.site.ledger.jobs[name] for name in names]
        return [
            Failure("job not done", f"{job.id} is {job.life}: {job.why}")
            for job in jobs
            if job.life is not JobLife.SUCCEEDED
        ]

    def own_application(self, own: OwnApplication) -> list[Failure]:
        """The user's application went on where that is promised; else its end was told by name."""
        rows = own.rows()
        well = [row["id"] for row in rows if row["finalStatus"] == "SUCCEEDED"]
        if len(rows) == 1 and well == [own.id]:
            return []
        told = [app for row in self._moved() for app in _rows(row, "ended") if app.get("id") == own.id]
        if self.plan.loss.promise is Promise.STANDBY:
            if own.attempts > 1:
                # A slow machine had cost it an attempt before the loss; YARN gives it two.
                return []
            states = ", ".join(f"{row['id']} {row['finalStatus']}: {row['diagnostics']}" for row in rows)
            return [Failure("application ended", f"{own.name}: {states or 'YARN does not know it'}")]
        return [] if told else [Failure("application not told", f"{own.name} ({own.id}) ended, and no reason names it")]


def _next(at: Sequence[float], after_s: float) -> float | None:
    return next((s for s in at if s > after_s), None)


def _digest(folder: Path, path: str) -> str | None:
    file = folder / Path(path).relative_to("/output")
    with suppress(OSError):
        return hashlib.sha256(file.read_bytes()).hexdigest()
    return None


def _count(reason: Reason, name: str) -> int:
    value = reason.facts.get(name)
    return value if isinstance(value, int) else 0


def _rows(reason: Reason, name: str) -> list[Mapping[str, Any]]:
    rows = reason.facts.get(name)
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list | tuple) else []
