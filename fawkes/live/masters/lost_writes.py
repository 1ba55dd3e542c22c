"""Blocks on nodes that a kept copy does not know, and what logs say of them; see `core.lost_writes`."""

from __future__ import annotations

import base64
import gzip
import logging
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fawkes.base.errors import FawkesError
from fawkes.base.units import SECOND_US
from fawkes.core.masters.lost_writes import Allocation, LostWrites, NewReplica, Trace, lost_writes, rows
from fawkes.core.values.model import ClusterId, Facts, NodeId, Plain
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


@dataclass(frozen=True, slots=True)
class Found:
    """What was found on the nodes that could be read, and which nodes could not, or have more than was listed."""

    lost: LostWrites
    unread: tuple[NodeId, ...]

    def facts(self, unasked: Sequence[NodeId], addresses: MasterAddresses) -> Facts:
        """The facts for a `Done`, with names and users of applications as the new ResourceManager knows them."""
        told = rows(self.lost, sorted({*self.unread, *unasked}))
        writers = told["lost_writers"]
        if not isinstance(writers, list) or not any(row["application"] for row in writers):
            return told
        try:
            known = {
                one.id: one for one in masters.all_applications(addresses, Deadline.after(limits.MASTERS_S), tag="")
            }
        except UnreadableError as error:
            _log.warning("the names of applications whose writes are lost are not known: %s", error)
            known = {}
        named: list[Plain] = []
        for row in writers:
            one = known.get(row["application"])
            named.append(row if one is None else {**row, "name": one.name, "user": one.user})
        return {**told, "lost_writers": named}


def find(ground: Ground, cluster: ClusterId, nodes: Sequence[NodeId], pool: str, stamp: int, skipped: int) -> Found:
    """The blocks of a block pool that are newer than ``stamp``, but not those of the new masters, which skip some.

    A node that cannot be read is named, and no reason to give up.
    """
    scripts = {
        node: book.newer(ground.folders(node, cluster), pool, after=stamp, until=stamp + skipped, limit=_MOST)
        for node in nodes
    }
    names = {name: node for node in ground.nodes for name in (node, ground.nodes[node].data_address)}
    lines: list[NewReplica | Trace | Allocation] = []
    unread: list[NodeId] = []
    for node, outcome in ground.run_on(scripts, "listing blocks", within_s=limits.NEW_BLOCKS_S).items():
        try:
            if isinstance(outcome, FawkesError):
                raise outcome
            lines += _lines(outcome, node, names)
        except (FawkesError, OSError, EOFError, zlib.error, ValueError) as error:
            _log.warning("%s: what its disk has of lost files is not known: %s", node, error)
            unread.append(node)
            continue
        if outcome.get("more") != "no":
            unread.append(node)
    return Found(
        lost_writes(
            [one for one in lines if isinstance(one, NewReplica)],
            [one for one in lines if isinstance(one, Trace)],
            [one for one in lines if isinstance(one, Allocation)],
        ),
        tuple(unread),
    )


def _lines(facts: NodeFacts, node: NodeId, names: Mapping[str, NodeId]) -> Iterator[NewReplica | Trace | Allocation]:
    text = gzip.decompress(base64.b64decode(facts.get("rows", ""), validate=True)).decode(errors="replace")
    for line in text.splitlines():
        match line.split(" ", 2):
            case ["R", number, rest]:
                size, seconds = rest.split()
                yield NewReplica(int(number), int(size), int(seconds) * SECOND_US, node)
            case ["W", number, rest]:
                client, source, target = rest.split()
                yield Trace(int(number), client, _host(source, names), _host(target, names))
            case ["A", number, path]:
                yield Allocation(int(number), path)
            case [""]:
                pass
            case _:
                raise ValueError(f"a line of an unknown form: {line!r}")


def _host(address: str, names: Mapping[str, NodeId]) -> str:
    """The node of an address as a DataNode logs it (``/10.0.0.1:9866``); any other host by its address."""
    host = address.removeprefix("/").rpartition(":")[0].strip("[]")
    return names.get(host, host)
