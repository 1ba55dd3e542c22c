"""Who may change a node: take it for a MR-cluster, give it back, look.

The file ``<work_dir>/lease`` names node, pool, MR-cluster, generation, epoch and controller. Every script that changes
anything checks it under the lock ``<work_dir>/.lock``; so a controller that was replaced, a second state folder or
a restored backup is refused by the node itself. ``closed`` in it is the latest generation that was told to leave:
what was begun for that and comes late, a step of a deployment that was called off, is refused as well.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import Lease, Script, Value, hand_lease, lease_change, play, reading, task


def take(lease: Lease) -> Script:
    """Hold a free node for the lease's MR-cluster; taking it again changes nothing.

    Exit HELD where another MR-cluster or generation holds it, CLOSED for one that was told to leave. Fact ``lease``
    is ``taken`` or ``kept``.
    """
    return lease_change(
        lease,
        r"""
[ -z "$cluster" ] || [ $mine = yes ] || refuse 79 "the node is held by $cluster, generation $generation"
check_open
write_lease "$my_cluster" "$my_generation"
if [ $mine = yes ]; then fact lease kept; else fact lease taken; fi
""",
    )


def close(lease: Lease) -> Script:
    """Let nothing more be begun for the lease's MR-cluster: it leaves the node, only the wipe is to follow.

    A free node is held for it until it was wiped. Exit HELD where another MR-cluster or generation holds it. Fact
    ``lease`` is ``closed``.
    """
    return lease_change(
        lease,
        r"""
[ -z "$cluster" ] || [ $mine = yes ] || refuse 79 "the node is held by $cluster, generation $generation"
[ "$closed" -ge "$my_generation" ] || closed=$my_generation
write_lease "$my_cluster" "$my_generation"
fact lease closed
""",
    )


def release(lease: Lease) -> Script:
    """Give a node back that holds nothing of the MR-cluster any more; for a free node nothing changes.

    Exit CLEAN_FAILED while a process or the folder of the MR-cluster is left. Fact ``lease`` is ``free``.
    """
    return lease_change(
        lease,
        r"""
[ -z "$cluster" ] || [ $mine = yes ] || refuse 79 "the node is held by $cluster, generation $generation"
left=$(marked "$my_pool" "$my_cluster" "$work")
[ -z "$left" ] || refuse 70 "processes of $my_cluster are left: $(echo $left)"
[ ! -e {root} ] || refuse 70 "the folder of $my_cluster is left"
write_lease '' ''
fact lease free
""",
        root=lease.folders.root,
    )


def forget(lease: Lease) -> Script:
    """Remove the lease of a free node: the pool gives the machine back for good. Fact ``lease`` is ``none``."""
    return lease_change(
        lease,
        r"""
[ -z "$cluster" ] || refuse 79 "the node is held by $cluster, generation $generation"
rm -f "$work/lease"
fact lease none
""",
    )


def show(work_dir: PurePosixPath) -> Script:
    """The lease as facts ``lease.node``, ``lease.pool``, ``lease.cluster`` ...; nothing for a node without one."""
    values: dict[str, Value] = {"file": work_dir / "lease"}
    return reading(
        r"""
[ ! -r {file} ] || while IFS='=' read -r key value; do fact "lease.$key" "$value"; done <{file}
""",
        **values,
    )


@task(name="show")
def show_by_hand(context: Any, work_dir: str) -> None:
    """Show the lease of a node."""
    play(context, show(PurePosixPath(work_dir)))


@task(name="release")
def release_by_hand(context: Any, work_dir: str, pool: str, cluster: str, generation: int, epoch: int) -> None:
    """Give a clean node back by hand."""
    play(context, release(hand_lease(context, work_dir, pool, cluster, generation, epoch)))


@task(name="forget")
def forget_by_hand(context: Any, work_dir: str, pool: str, epoch: int) -> None:
    """Remove the lease of a free node by hand, so that a pool with another ledger may have it."""
    play(context, forget(hand_lease(context, work_dir, pool, epoch=epoch)))
