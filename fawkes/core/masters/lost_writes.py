"""Writes that came after a kept copy was made, by the traces that it has left on the nodes that store data.

Names of files are in the NameNode's data alone, and the copy lacks them. But a DataNode keeps the blocks, and its log
names the client that wrote each: the client of a task is called after the attempt. So the writer is often known where
the file is not. The log of the old NameNode names the files, where its disk still has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from fawkes.base.units import show_bytes
from fawkes.core.jobs.displaced import rows
from fawkes.core.state import alerts
from fawkes.core.state.draft import Draft
from fawkes.core.values.model import ClusterAlert, ClusterState, Facts, JobId, Plain
from fawkes.core.values.tags import job_of

#: rows that are kept in the ledger
NAMED = 200
#: rows in a sentence
_SAID = 5
_TASK = re.compile(r"DFSClient_attempt_(\d+)_(\d+)_")


class NewReplica(NamedTuple):
    """A replica of a block that the copy does not know, and when it was last written to (us)."""

    block: int
    size: int
    at_us: int
    node: str


class BlockTrace(NamedTuple):
    """A line of a DataNode's log: ``client`` wrote a block from the host ``source`` to the host ``target``."""

    block: int
    client: str
    source: str
    target: str


class BlockGiven(NamedTuple):
    """A line of the old NameNode's log: it gave a block to a file."""

    block: int
    path: str


def lost_writes(
    replicas: Iterable[NewReplica],
    traces: Iterable[BlockTrace],
    allocations: Iterable[BlockGiven],
    unlisted: Iterable[str] = (),
) -> dict[str, Plain]:
    """The facts for a `Done` of a move: blocks that the copy does not know, their bytes, writers, and known files.

    The writers with the most bytes come first, each with its ``application``, empty for a client that was no task, or
    its ``host``, empty where that is not known. Each block counts once, however many nodes have it. ``unlisted`` are
    nodes that store data whose blocks were not listed.
    """
    sizes: dict[int, int] = {}
    until: dict[int, int] = {}
    for replica in replicas:
        sizes[replica.block] = max(sizes.get(replica.block, 0), replica.size)
        until[replica.block] = max(until.get(replica.block, 0), replica.at_us)
    of_block: dict[int, list[BlockTrace]] = {}
    for trace in traces:
        of_block.setdefault(trace.block, []).append(trace)
    groups: dict[tuple[str, str], list[int]] = {}
    for block in sizes:
        groups.setdefault(_writer(of_block.get(block, [])), []).append(block)
    order = sorted(groups, key=lambda writer: (-sum(sizes[block] for block in groups[writer]), *writer))
    writers: list[Plain] = [
        {
            "application": application,
            "host": host,
            "blocks": len({_group(block) for block in blocks}),
            "total_bytes": sum(sizes[block] for block in blocks),
            "until_us": max(until[block] for block in blocks),
        }
        for (application, host), blocks in ((writer, groups[writer]) for writer in order)
    ]
    files = sorted({allocation.path for allocation in allocations})
    return {
        "lost_blocks": len({_group(block) for block in sizes}),
        "lost_bytes": sum(sizes.values()),
        "lost_files": list(files[:NAMED]),
        "lost_files_count": len(files),
        "lost_writers": writers[:NAMED],
        "lost_writers_count": len(writers),
        "lost_unlisted": list(unlisted),
    }


def _group(block: int) -> int:
    """The id of a block, or of the erasure-coded group that a cell belongs to."""
    return block & ~0xF if block < 0 else block


def _writer(traces: Sequence[BlockTrace]) -> tuple[str, str]:
    """The application of a task, or the host of another client.

    DataNodes hand a block on to each other, and each logs the host before it: the writer's is none of those, unless
    it writes to its own DataNode.
    """
    for trace in traces:
        if task := _TASK.match(trace.client):
            return f"application_{task[1]}_{task[2]}", ""
    targets = {trace.target for trace in traces}
    hosts = {trace.source for trace in traces if trace.source not in targets}
    hosts = hosts or {trace.source for trace in traces if trace.source == trace.target}
    return "", hosts.pop() if len(hosts) == 1 else ""


def tell(draft: Draft, cluster: ClusterState, facts: Facts) -> ClusterState:
    """Say what a copy lacked; an alert where something is lost or was not counted, until an operator ends it.

    Jobs that the ledger has as ended, although the copy had them at work, may lack output as well.
    """
    blocks, files = facts.get("lost_blocks"), rows(facts, "lost_files")
    jobs = _ended(draft, cluster, rows(facts, "ended"))
    if "lost_blocks" not in facts and not jobs:
        return cluster
    said: dict[str, Plain] = {
        "blocks": blocks,
        "total_bytes": facts.get("lost_bytes"),
        "files": files[:_SAID],
        "files_count": facts.get("lost_files_count"),
        "writers": rows(facts, "lost_writers")[:_SAID],
        "writers_count": facts.get("lost_writers_count"),
        "jobs": jobs[:_SAID],
        "unlisted": rows(facts, "lost_unlisted"),
    }
    if not (blocks or files or jobs or said["unlisted"]):
        return cluster
    draft.say("writes-lost", cluster=cluster.id, **said)
    cluster = alerts.raised(cluster, ClusterAlert.WRITES, _in_short(cluster, said))
    draft.put_cluster(cluster)
    return cluster


def _in_short(cluster: ClusterState, said: Facts) -> str:
    size, blocks = said.get("total_bytes"), said.get("blocks")
    parts = [f"{blocks} blocks ({show_bytes(size)})"] if isinstance(size, int) and blocks else []
    parts += [f"the end of job {job}" for job in rows(said, "jobs")]
    # Files that had a block given and nothing written to it.
    parts = parts or ([f"{said['files_count']} files"] if said.get("files_count") else [])
    parts += [f"what {node} has was not counted" for node in rows(said, "unlisted")]
    return (
        f"{', '.join(parts)}. `fawkes explain --cluster {cluster.id}` lists them, "
        f"and `fawkes retry {cluster.id}` ends this alert"
    )


def _ended(draft: Draft, cluster: ClusterState, ended: Iterable[Plain]) -> list[Plain]:
    """The jobs that have ended by the ledger, of applications that were at work by the copy."""
    names: list[Plain] = []
    waiting = {job.lower() for job in draft.view.jobs_of(cluster.id)}
    for row in ended:
        tags = row.get("tags") if isinstance(row, Mapping) else None
        name = job_of(tags) if isinstance(tags, list | tuple) else ""
        if name and name not in waiting and draft.view.had_job(cluster.id, JobId(name)):
            names.append(name)
    return names
