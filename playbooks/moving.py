"""The masters of an MR-cluster on a node: do they run, is their image usable, stop them, set their data aside.

Nothing here deletes a NameNode's folder. What a former master leaves is renamed, so that an administrator can still
read it until the node leaves the MR-cluster.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fawkes.playbook import ASIDE, Lease, Script, changing, hand_lease, play, reading_in, task

MASTERS = ("namenode", "resourcemanager", "historyserver", "sparkhistory")
"""The daemons that run on the masters' node alone."""

#: those that keep nothing on their own disk: what they show is in HDFS
_HISTORY = ("historyserver", "sparkhistory")

JOURNALNODE = "journalnode"
"""The daemon of a node of the journal."""

MARK = "fawkes.moved"
"""The file in a NameNode's folder that was brought from another node: where it came from and what it has."""

# `masters`: pid and name of each master daemon of the MR-cluster, found by the marks in its environment: after the
# disk was emptied no pid file tells of a daemon that still runs. `clients`: pids of launchers of jobs, and of what they
# started.
_PROCESSES = r"""
masters() { daemons_of "${masters:-namenode resourcemanager historyserver sparkhistory}"; }
clients() { daemons_of job; }
pids() { cut -d' ' -f1; }
tell_masters() {
    found=$(masters) || exit 70
    printf '%s\n' "$found" | sed -n 's/^\([0-9]*\) \(.*\)/@process.\2=\1/p'
}
"""

# `image FOLDER CLUSTER_ID`: yes, no, or nothing where that cannot be known because the disk does not answer.
_IMAGE = r"""
image() {
    ! away || return 0
    [ -e "$1" ] || { ls "$work" >/dev/null 2>&1 && echo no; return 0; }
    [ -e "$1/current/VERSION" ] || { ls "$1" >/dev/null 2>&1 && echo no; return 0; }
    version=$(cat "$1/current/VERSION" 2>/dev/null) && names=$(ls -r "$1/current" 2>/dev/null) || return 0
    printf '%s\n' "$version" | grep -qxF "clusterID=$2" || { echo no; return 0; }
    for sum in $(printf '%s\n' "$names" | grep -E '^fsimage_[0-9]+[.]md5$'); do
        if (cd "$1/current" && [ -s "${sum%.md5}" ] && md5sum --status -c "$sum" 2>/dev/null); then
            echo yes; return 0
        fi
    done
    echo no
}
"""


def cluster_id(lease: Lease) -> str:
    """The id with which the NameNode of the lease's MR-cluster was formatted."""
    return f"{lease.pool}-{lease.cluster}"


def look(lease: Lease) -> Script:
    """The standing of the masters of the MR-cluster on a node; changes nothing and needs no valid lease.

    Fact ``process.NAME`` is the pid of each master daemon. ``image`` is ``yes`` for a NameNode's folder of this
    MR-cluster with an image whose checksum is right, else ``no``; it is absent when the disk gives no answer.
    ``moved.KEY`` is what `arrived` wrote.
    """
    return reading_in(
        lease.folders,
        r"""
my_pool={pool}; my_cluster={cluster}; work={work}; nn={nn}
my_node={node}; my_generation={generation}; my_place={place}
"""
        + _PROCESSES
        + _IMAGE
        + r"""
tell_masters
usable=$(image "$nn" {id})
[ -z "$usable" ] || fact image "$usable"
[ ! -r "$nn/"{mark} ] || while IFS='=' read -r key value; do fact "moved.$key" "$value"; done <"$nn/"{mark}
:
""",
        pool=lease.pool,
        cluster=lease.cluster,
        work=lease.work_dir,
        nn=lease.folders.nn,
        node=lease.node,
        generation=lease.generation,
        place=lease.place,
        id=cluster_id(lease),
        mark=MARK,
    )


def running(lease: Lease, daemons: Sequence[str]) -> Script:
    """Fact ``process.NAME`` is the pid of each of these daemons that runs on a node; needs no valid lease.

    Daemons are found by the marks in their environment, so a node that has lost its disk says the same. Fact ``other``
    is there where another node answers at this address, by its lease.
    """
    return reading_in(
        lease.folders,
        "my_pool={pool}; my_cluster={cluster}; my_node={node}; work={work}; masters={daemons}\n"
        + _PROCESSES
        + "tell_masters\n"
        + 'read_lease "$work"; [ "${node:-$my_node}" = "$my_node" ] || fact other "$node"\n',
        pool=lease.pool,
        cluster=lease.cluster,
        work=lease.work_dir,
        node=lease.node,
        daemons=" ".join(daemons),
    )


_STOP = (
    _PROCESSES
    + r"""
run={run}; tries={tenths}; brief=20; masters={all}; keepers={keepers}
found=$(masters) || exit 70
set -- $found; count=$(($# / 2))
# Nobody cancelled these: if the move goes back they begin again.
for job in {jobs}/*/; do [ ! -d "$job" ] || [ -e "$job/result" ] || : >"$job/displaced"; done
kill -TERM $(masters | pids) $(clients | pids) 2>/dev/null
# A history server that still starts would wait ten seconds for the NameNode that has ended.
waited_for() { daemons_of "$keepers"; clients; [ $brief -le 0 ] || masters; }
while [ $tries -gt 0 ] && [ -n "$(waited_for)" ]; do tries=$((tries - 1)); brief=$((brief - 1)); sleep 0.1; done
tries=50
while [ $tries -gt 0 ] && kill -KILL $(masters | pids) $(clients | pids) 2>/dev/null; do
    tries=$((tries - 1)); sleep 0.1
done
left=$(masters && clients) || exit 70
[ -z "$left" ] || { echo "masters or clients of $my_cluster cannot be stopped:" $left >&2; exit 70; }
for name in {names}; do rm -f "$run/$name.pid"; done
# An attempt that was never begun never will be: its client would submit to masters that have moved away.
for job in {jobs}/*/; do
    if [ -d "$job" ] && mkdir "$job/begun" 2>/dev/null; then
        printf 'exit=143\n' >"$job/result.new" && mv -f "$job/result.new" "$job/result"
    fi
done
fact stopped "$count"
"""
)


def stop(lease: Lease, *, grace_s: float = 10.0) -> Script:
    """Stop the master daemons of the MR-cluster on a node and the clients of jobs beside them; again does no harm.

    TERM, ``grace_s`` later KILL, for history servers two seconds; fact ``stopped`` says how many masters ran. Exit
    CLEAN_FAILED if one is still there.
    """
    return changing(lease, "{stop}", stop=_stop(lease, grace_s))


def demote(lease: Lease, *, second: bool, grace_s: float = 10.0) -> Script:
    """Make a former masters' node a plain node of the journal: stop the masters there; what they have on disk stays.

    With ``second`` its NameNode goes on, because it is the second one. Fact ``stopped`` says how many masters ran. Exit
    CLEAN_FAILED if one cannot be stopped.
    """
    return changing(lease, "{stop}", stop=_stop(lease, grace_s, MASTERS[1:] if second else MASTERS))


def _stop(lease: Lease, grace_s: float, names: Sequence[str] = MASTERS) -> Script:
    return Script.of(
        _STOP,
        run=lease.folders.run,
        jobs=lease.folders.jobs,
        names=list(names),
        all=" ".join(names),
        keepers=" ".join(name for name in names if name not in _HISTORY),
        tenths=max(1, round(grace_s * 10)),
    )


def retire(lease: Lease, *, grace_s: float = 10.0) -> Script:
    """Make a former masters' node a plain member: stop the masters there and set their data aside.

    A JournalNode there is stopped as well. The folders of the NameNode, of the journal, of the ResourceManager's state
    and of the member lists get names that end in ``.before-N``. Nothing is deleted. Fact ``aside`` names each folder
    that was renamed; on a node that was not the masters' there is none. Exit CLEAN_FAILED if a master cannot be
    stopped: nothing is renamed then.
    """
    return changing(
        lease,
        ASIDE
        + r"""
{stop}
aside {nn}
aside {journal}
aside {rm_state}
aside {members}
mkdir -p {rm_state} {members} || { echo "cannot make "{members} >&2; exit 73; }
""",
        stop=_stop(lease, grace_s, (*MASTERS, JOURNALNODE)),
        nn=lease.folders.nn,
        journal=lease.folders.journal,
        rm_state=lease.folders.rm_state,
        members=lease.folders.members,
    )


def image(lease: Lease) -> Script:
    """A check that the masters can be started: fact ``image`` is ``yes`` when a NameNode runs or its image is usable.

    ``no``: the folder has no image of this MR-cluster; the fact is absent when the disk gives no answer.
    """
    return reading_in(
        lease.folders,
        _IMAGE
        + r"""
work={work}
if alive {run}/namenode.pid; then fact image yes; exit 0; fi
usable=$(image {nn} {id})
[ -z "$usable" ] || fact image "$usable"
""",
        work=lease.work_dir,
        run=lease.folders.run,
        nn=lease.folders.nn,
        id=cluster_id(lease),
    )


def ends_with(name: str, size: int, at: int, data: bytes) -> Script:
    """A file of the NameNode's image or edits, which has ``size`` bytes, gets ``data`` from the byte ``at`` on.

    For `arrived`. A repetition finds it longer and leaves it; exit NOT_EMPTY where it has another size. An image has a
    file with its checksum beside it, which is written anew.
    """
    return Script.of(
        r"""
file=$nn/current/{name}; now=$(wc -c 2>/dev/null <"$file") || now=0
if [ "$now" -eq {size} ]; then
    : >"$file.new" && { [ {at} -eq 0 ] || head -c {at} "$file" >"$file.new"; } &&
        printf %s {data} | base64 -d >>"$file.new" && chmod 600 "$file.new" && sync "$file.new" &&
        mv -fT "$file.new" "$file" || { echo "cannot write $file" >&2; exit 73; }
elif [ "$now" -ne {whole} ]; then
    echo "$file has $now bytes instead of "{size} >&2; exit 80
fi
case {name} in fsimage_*)
    sum=$(md5sum "$file") && printf '%s *%s\n' "${sum%% *}" {name} >"$file.md5.new" && sync "$file.md5.new" &&
        mv -fT "$file.md5.new" "$file.md5" || { echo "cannot write $file.md5" >&2; exit 73; }
esac
""",
        name=name,
        size=size,
        at=at,
        whole=at + len(data),
        data=base64.b64encode(data).decode(),
    )


def arrived(lease: Lease, facts: Mapping[str, str | int], changes: Iterable[Script] = ()) -> Script:
    """Note in the NameNode's folder where its image came from, once it is whole there.

    ``changes`` (`ends_with`) are made to its files first. Exit NOT_EMPTY where a NameNode runs already.
    """
    return changing(
        lease,
        _PROCESSES
        + r"""
nn={nn}
found=$(masters) || exit 70
[ -z "$found" ] || { echo "masters of $my_cluster run already on this node" >&2; exit 80; }
{append}
printf %s {text} >"$nn/"{mark}.new && sync "$nn/"{mark}.new && mv -fT "$nn/"{mark}.new "$nn/"{mark} ||
    { echo "cannot write $nn" >&2; exit 73; }
fact moved yes
""",
        nn=lease.folders.nn,
        append=Script.join(changes),
        text="".join(f"{key}={value}\n" for key, value in sorted(facts.items())),
        mark=MARK,
    )


def following(lease: Lease, daemons: Sequence[str], masters: str) -> Script:
    """Note that running daemons have begun to work for the masters at an address; see ``follows`` of `hadoop.Daemon`.

    Fact ``following`` names each; one that does not run is left out.
    """
    return changing(
        lease,
        r"""
run={run}
for daemon in {daemons}; do
    if alive "$run/$daemon.pid"; then
        echo {masters} >"$run/$daemon.follows.new" && mv -f "$run/$daemon.follows.new" "$run/$daemon.follows" ||
            { echo "cannot write $run" >&2; exit 73; }
        fact following "$daemon"
    fi
done
""",
        run=lease.folders.run,
        daemons=list(daemons),
        masters=masters,
    )


@task(name="look")
def look_by_hand(context: Any, work_dir: str, pool: str, cluster: str) -> None:
    """Show which masters of an MR-cluster run on a node, and whether an image of its NameNode is there."""
    play(context, look(hand_lease(context, work_dir, pool, cluster)))
