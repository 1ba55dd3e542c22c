"""Blocks on nodes that a kept copy does not know, and what logs say of them; see `core.lost_writes`."""

from __future__ import annotations

import base64
import gzip
import logging
import zlib
from collections.abc import Iterator, Mapping

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.core.masters.lost_writes import BlockGiven, BlockTrace, NewReplica, lost_writes
from fawkes.core.values.model import ClusterId, Facts, NodeId
from fawkes.live.base import limits
from fawkes.live.nodes.ground import Ground
from fawkes.live.nodes.playbooks import restoring as book
from fawkes.live.wire import masters
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.rest import Deadline, UnreadableError
from fawkes.playbook import Facts as NodeFacts

_log = logging.getLogger(__name__)
#: blocks of one node that are listed: more are not written in the seconds that a copy lacks
_MOST = 20_000


def find(
    ground: Ground, cluster: ClusterId, nodes: Mapping[NodeId, bool], pool: str, stamp: int, skipped: int
) -> Facts:
    """The facts for a `Done` about the blocks of a block pool that are newer than ``stamp``.

    Without those of the new masters, which have ``skipped`` so many. Nodes that do not answer (False), that could not
    be read, or that have more than was listed are named, and no reason to give up.
    """
    scripts = {
        node: book.newer(ground.folders(node, cluster), pool, after=stamp, until=stamp + skipped, limit=_MOST)
        for node, answers in nodes.items()
        if answers
    }
    names = {name: node for node in ground.nodes for name in (node, ground.nodes[node].data_address)}
    lines: list[NewReplica | BlockTrace | BlockGiven] = []
    unread = {node for node, answers in nodes.items() if not answers}
    for node, outcome in ground.run_on(scripts, "listing blocks", within_s=limits.NEW_BLOCKS_S).items():
        try:
            if isinstance(outcome, FawkesError):
                raise outcome
            lines += _lines(outcome, node, names)
        except (FawkesError, OSError, EOFError, zlib.error, ValueError) as error:
            _log.warning("%s: what its disk has of lost files is not known: %s", node, error)
            unread.add(node)
            continue
        if outcome.get("more") != "no":
            unread.add(node)
    replicas = [line for line in lines if isinstance(line, NewReplica)]
    traces = [line for line in lines if isinstance(line, BlockTrace)]
    allocations = [line for line in lines if isinstance(line, BlockGiven)]
    return lost_writes(replicas, traces, allocations, sorted(unread))


def named(lost: Facts, addresses: MasterAddresses) -> Facts:
    """The same facts with names and users of applications as the new ResourceManager knows them."""
    writers = lost.get("lost_writers")
    if not isinstance(writers, list) or not any(row["application"] for row in writers):
        return lost
    try:
        listed = masters.all_applications(addresses, Deadline.after(limits.MASTERS_S), tag="")
    except UnreadableError as error:
        _log.warning("the names of applications whose writes are lost are not known: %s", error)
        return lost
    known = {each.id: {"name": each.name, "user": each.user} for each in listed}
    return {**lost, "lost_writers": [{**row, **known.get(row["application"], {})} for row in writers]}


def _lines(
    facts: NodeFacts, node: NodeId, names: Mapping[str, NodeId]
) -> Iterator[NewReplica | BlockTrace | BlockGiven]:
    text = gzip.decompress(base64.b64decode(facts.get("rows", ""), validate=True)).decode(errors="replace")
    for line in text.splitlines():
        match line.split(" ", 2):
            case ["R", number, rest]:
                size, seconds = rest.split()
                yield NewReplica(int(number), int(size), int(seconds) * SECOND_US, node)
            case ["W", number, rest]:
                client, source, target = rest.split()
                yield BlockTrace(int(number), client, _host(source, names), _host(target, names))
            case ["A", number, path]:
                yield BlockGiven(int(number), path)
            case [""]:
                pass
            case _:
                raise ValueError(f"a line of an unknown form: {line!r}")


def _host(address: str, names: Mapping[str, NodeId]) -> str:
    """The node of an address as a DataNode logs it (``/10.0.0.1:9866``); any other host by its address."""
    host = address.removeprefix("/").rpartition(":")[0].strip("[]")
    return names.get(host, host)
