"""The lease of a node, the right to change it: take it for an MR-cluster, give it back, look.

The file ``<work_dir>/lease`` names node, pool, MR-cluster, generation, epoch and controller. Every script that changes
anything checks it under the lock ``<work_dir>/.lock``; so a controller that was replaced, a second state folder or
a restored backup is refused by the node itself. ``closed`` in it is the latest generation that was told to leave:
what was begun for that and comes late, a step of a deployment that was called off, is refused as well. A file that is
no lease (any task of a job can write one) refuses everything on its node, and nothing elsewhere.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import Lease, Script, changing, hand_lease, lease_change, play, reading, task

# A free node on which processes of the pool run, but not of the hand-over that comes: those of another site, whose work
# folder is another one and whose pool has the same name. A wipe would end them.
_UNEXPLAINED = r"""
found=; left=
[ -n "$cluster" ] || found=$(of_pool "$my_pool") ||
    refuse 70 "it is not known which processes of pool $my_pool run here: programs cannot be run"
for pid in $found; do
    file=/proc/$pid/environ
    grep -qzxF "FAWKES_POOL=$my_pool" "$file" || continue
    ! grep -qzxF "FAWKES_CLUSTER=$my_cluster" "$file" ||
        { grep -qz '^FAWKES_GENERATION=' "$file" && ! grep -qzxF "FAWKES_GENERATION=$my_generation" "$file"; } ||
        continue
    left="$left $pid"
done 2>/dev/null
[ -z "$left" ] || refuse 86 "processes of pool $my_pool run here, and the lease in $work does not name them:$left"
"""


def take(lease: Lease) -> Script:
    """Hold a free node for the lease's MR-cluster; taking it again changes nothing.

    Exit HELD where another MR-cluster or generation holds it, CLOSED for one that was told to leave, STRANGER where
    processes of the pool run on a free node. Fact ``lease``
    is ``taken`` or ``kept``, ``place`` the work folder and its mount point (`Lease.place`).
    """
    return lease_change(
        lease,
        _UNEXPLAINED
        + r"""
[ -z "$cluster" ] || [ $mine = yes ] || refuse 79 "the node is held by $cluster, generation $generation"
check_open
write_lease "$my_cluster" "$my_generation"
if [ $mine = yes ]; then fact lease kept; else fact lease taken; fi
fact place "${place:-$(place_of "$work")}"
""",
    )


def close(lease: Lease) -> Script:
    """Let nothing more be begun for the lease's MR-cluster: it leaves the node, only the wipe is to follow.

    A free node is held for it until it was wiped. Exit HELD where another MR-cluster or generation holds it, STRANGER
    as in `take`. Fact ``lease`` is ``closed``.
    """
    return lease_change(
        lease,
        _UNEXPLAINED
        + r"""
[ -z "$cluster" ] || [ $mine = yes ] || refuse 79 "the node is held by $cluster, generation $generation"
[ "$closed" -ge "$my_generation" ] || closed=$my_generation
write_lease "$my_cluster" "$my_generation"
fact lease closed
""",
    )


def release(lease: Lease) -> Script:
    """Give a node back that holds nothing of the MR-cluster any more; for a free node nothing changes.

    Exit CLEAN_FAILED while a process or the folder of the MR-cluster is left. Fact ``lease`` is ``free``, and
    ``place`` as in `take`.
    """
    return lease_change(
        lease,
        r"""
[ -z "$cluster" ] || [ $mine = yes ] || refuse 79 "the node is held by $cluster, generation $generation"
left=$(all_of "$my_pool" "$my_node" "$my_cluster" "$work" "") ||
    refuse 70 "it is not known which processes of $my_cluster run here: programs cannot be run"
[ -z "$left" ] || refuse 70 "processes of $my_cluster are left: $(echo $left)"
[ ! -e {root} ] && [ ! -L {root} ] || refuse 70 "the folder of $my_cluster is left"
[ ! -e {user_file} ] || refuse 70 "it was not shown that nothing is left of the user of $my_cluster"
[ ! -e {group_file} ] || refuse 70 "it was not shown that the control group of $my_cluster is empty"
write_lease '' ''
fact lease free
fact place "${place:-$(place_of "$work")}"
""",
        root=lease.folders.root,
        user_file=lease.folders.user_file,
        group_file=lease.folders.group_file,
    )


def forget(lease: Lease) -> Script:
    """Remove the lease of a free node, and its lock: the pool gives the machine back for good.

    Fact ``lease`` is ``none``. The releases (``dist``) stay in the work folder, and so does what is not ours. The
    folder itself stays as well: nobody knows whether Fawkes or an administrator has made it.
    A damaged lease goes as well where nothing of any MR-cluster is left on the node; else exit HELD names what is.
    """
    return lease_change(
        lease,
        r"""
[ -z "$cluster" ] || refuse 79 "the node is held by $cluster, generation $generation"
if [ -n "$damage" ]; then
    left=; found=$(of_pool "$my_pool") ||
        refuse 70 "it is not known which processes of pool $my_pool run here: programs cannot be run"
    for folder in "$work"/clusters/* "$work"/users/* "$work"/groups/* "$work"/quotas/*; do
        case "$left " in *" ${folder##*/} "*) continue ;; esac
        [ ! -e "$folder" ] && [ ! -L "$folder" ] || left="$left ${folder##*/}"
    done
    for pid in $found; do left="$left process $pid"; done
    [ -z "$left" ] || refuse 79 "the lease does not say who holds the node, and there is something on it:$left"
fi
rm -rf "$work/lease" "$work/beat" "$work/.lease.new" "$work/.beat.new" && sync "$work" ||
    { echo "cannot remove $work/lease" >&2; exit 73; }
for folder in clusters users groups quotas; do rmdir "$work/$folder" 2>/dev/null; done
# Whoever waits for this lock looks afterwards whether its file is still there, and takes the new one.
rm -f "$work/.lock" || { echo "cannot remove $work/.lock" >&2; exit 73; }
fact lease none
""",
        mends=True,
    )


def claim(lease: Lease) -> Script:
    """Write the controller of the lease into the node's lease, whoever holds the node. Fact ``lease`` is ``claimed``.

    A newer controller, or another one of the same epoch, is refused as everywhere (exit FENCED).
    """
    return changing(lease, "fact lease claimed")


def beat(lease: Lease, count: int) -> Script:
    """Leave a sign of life on a node of the pool: the file ``beat`` with the controller's id and a number.

    Takes no lock, because a long step may hold it. Exit FENCED when a newer controller has taken over; a node without
    a lease of this pool is left alone.
    """
    return reading(
        r"""
work={work}
read_lease "$work"
[ $leased = yes ] && [ -z "$damage" ] && [ "$pool" = {pool} ] || exit 0
if [ "$epoch" -gt {epoch} ] || { [ "$epoch" = {epoch} ] && [ "$controller" != {controller} ]; }; then
    expose "$work"; [ -z "$damage" ] || exit 0
    echo "epoch $epoch of controller $controller is newer" >&2; exit 78
fi
printf '%s %s\n' {controller} {count} >"$work/.beat.new" && mv -fT "$work/.beat.new" "$work/beat" ||
    { echo "cannot write $work/beat" >&2; exit 73; }
""",
        work=lease.work_dir,
        pool=lease.pool,
        epoch=lease.epoch,
        controller=lease.controller,
        count=count,
    )


def repair(lease: Lease) -> Script:
    """Write a lease in the place of a damaged one, which is kept as ``lease.damaged``. Fact ``lease``: ``repaired``.

    Exit HELD for a lease that is whole, or where there is none: those have nothing to repair.
    """
    return lease_change(
        lease,
        r"""
[ $leased = yes ] || refuse 79 "the node has no lease, so that there is nothing to repair"
[ -n "$damage" ] || refuse 79 "the lease is whole, so that there is nothing to repair: the node is held by \
${cluster:-nobody}"
rm -rf "$work/lease.damaged" && mv -T "$work/lease" "$work/lease.damaged" ||
    { echo "cannot write $work/lease.damaged" >&2; exit 73; }
if [ -n "$my_cluster" ]; then write_lease "$my_cluster" "$my_generation"; else write_lease '' ''; fi
fact lease repaired
""",
        mends=True,
    )


def show(work_dir: PurePosixPath) -> Script:
    """The lease as facts ``lease.node``, ``lease.pool``, ``lease.cluster`` ...; nothing for a node without one.

    Of a damaged one fact ``lease.damage`` says what is wrong with it. ``folder`` is there for each MR-cluster that has
    one on the node, ``beat`` where a controller has left a sign of life. ``group`` is whether the one that holds the
    node has a control group (``yes`` or ``no``), ``group.why`` why not.
    """
    return reading(
        r"""
work={work}
read_lease "$work"
lease_facts
if [ -f "$work/beat" ]; then fact beat "$(head -c 200 "$work/beat" | tr -cd 'A-Za-z0-9 ._-')"; fi
for folder in "$work"/clusters/*; do [ ! -d "$folder" ] && [ ! -L "$folder" ] || fact folder "${folder##*/}"; done
if [ -n "$cluster" ] && [ -z "$damage" ]; then
    if [ -f "$work/groups/$cluster" ] && ! grep -q '^none' "$work/groups/$cluster"; then fact group yes
    else fact group no; fact group.why "none was made when $cluster came there"
    fi
fi
""",
        work=work_dir,
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


@task(name="repair")
def repair_by_hand(
    context: Any, work_dir: str, pool: str, cluster: str = "", generation: int = 0, epoch: int = 0
) -> None:
    """Replace a damaged lease; without an MR-cluster the node is free. Epoch 0 is older than that of any controller."""
    play(context, repair(hand_lease(context, work_dir, pool, cluster, generation, epoch)))
