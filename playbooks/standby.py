"""The second NameNode of an MR-cluster and its part of the journal on a node: what is there, how it gets there.

Nothing here deletes a folder of a NameNode or of a JournalNode: what is in the way is renamed. Nothing formats one: a
second NameNode asks the first one for its image, and a part of the journal begins with the files of another part.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from fawkes.playbook import ASIDE, Folders, Lease, Script, changing, hand_lease, play, reading_in, task

JOURNAL_FILES = ("VERSION", "last-promised-epoch", "last-writer-epoch")
"""What a part of a journal is known by: whose journal it is, and whom it has promised to take edits from."""

# By the marks in their environment: after a disk was emptied no pid file tells of a daemon that still runs.
_DAEMONS = r"""
of_daemons() { daemons_of "$1" | cut -d' ' -f1; }
end_daemons() {
    tries={tenths}
    kill -TERM $(of_daemons "$1") 2>/dev/null
    while [ $tries -gt 0 ] && [ -n "$(of_daemons "$1")" ]; do tries=$((tries - 1)); sleep 0.1; done
    tries=50
    while [ $tries -gt 0 ] && kill -KILL $(of_daemons "$1") 2>/dev/null; do tries=$((tries - 1)); sleep 0.1; done
    left=$(daemons_of "$1") || exit 70
    [ -z "$left" ] || { echo "$1 of $my_cluster cannot be stopped:" $left >&2; exit 70; }
    for name in $1; do rm -f "$run/$name.pid"; done
}
"""


def look(folders: Folders, nameservice: str) -> Script:
    """The data of the NameNode and the journal on a node, and its daemons; changes nothing.

    Facts: ``namenode`` and ``journalnode`` are ``running`` or ``absent``; ``nn`` is the VERSION in the NameNode's
    folder and ``journal`` that of the journal (base64), absent where there is none.
    """
    return reading_in(
        folders,
        r"""
nn={nn}; journal={journal}
for name in namenode journalnode; do
    if alive {run}/$name.pid; then fact "$name" running; else fact "$name" absent; fi
done
[ ! -r "$nn" ] || fact nn "$(base64 -w0 "$nn")"
[ ! -r "$journal" ] || fact journal "$(base64 -w0 "$journal")"
""",
        run=folders.run,
        nn=folders.nn / "current" / "VERSION",
        journal=folders.journal / nameservice / "current" / "VERSION",
    )


def own_edits(folders: Folders) -> Script:
    """The edits and images that the NameNode of a node has on its own disk, whatever a journal has; changes nothing.

    Facts: ``edits`` is where its configuration says that edits go as well, absent without a journal or a file;
    ``file.NAME`` the bytes of each image and segment in its own folder.
    """
    return reading_in(
        folders,
        r"""
conf={conf}; current={current}
[ ! -d "$current" ] ||
    find "$current" -maxdepth 1 -type f \( -name 'fsimage_*' -o -name 'edits_*' \) -printf '@file.%f=%s\n'
[ -r "$conf/hdfs-site.xml" ] || exit 0
edits=$(sed -n '/<name>dfs.namenode.shared.edits.dir</{n;s,.*<value>\(.*\)</value>.*,\1,p;}' "$conf/hdfs-site.xml")
[ -z "$edits" ] || fact edits "$edits"
""",
        conf=folders.conf,
        current=folders.nn / "current",
    )


def journal_files(folders: Folders, nameservice: str) -> Script:
    """Facts ``file.NAME`` (base64): the files by which the part of the journal on a node is known."""
    return reading_in(
        folders,
        r"""
cd {current} || exit 73
for name in {names}; do [ ! -r "$name" ] || fact "file.$name" "$(base64 -w0 "$name")"; done
""",
        current=folders.journal / nameservice / "current",
        names=list(JOURNAL_FILES),
    )


def ended(folders: Folders, nameservice: str, txid: int) -> Script:
    """A check for a whole segment of the journal on a node that ends with a transaction: fact ``ended``."""
    return reading_in(
        folders,
        r"""
cd {current} || exit 73
end=no
for segment in edits_*-{txid}; do [ ! -f "$segment" ] || end=yes; done
fact ended $end
""",
        current=folders.journal / nameservice / "current",
        txid=f"{txid:019d}",
    )


def begin_journal(lease: Lease, nameservice: str, files: Mapping[str, bytes]) -> Script:
    """Give the JournalNode of a node the files of another part of the journal, when it has no journal of its own.

    It is stopped first. Fact ``begun`` is ``yes``, or ``already`` and nothing was done, for a folder with a VERSION.
    Anything else that lies there is renamed (fact ``aside``).
    """
    writes = Script.join(
        Script.of(
            'printf %s {data} | base64 -d >"$new/current/"{name} || exit 73',
            data=base64.b64encode(content).decode(),
            name=name,
        )
        for name, content in sorted(files.items())
    )
    return changing(
        lease,
        _DAEMONS
        + ASIDE
        + r"""
run={run}; journal={journal}; new=$journal.new
[ ! -f "$journal/current/VERSION" ] || { fact begun already; exit 0; }
end_daemons journalnode
rm -rf "$new"; mkdir -p {folder} "$new/current/paxos" || { echo "cannot write $new" >&2; exit 73; }
{writes}
sync "$new/current/"* || exit 73
aside "$journal"
[ ! -d "$journal" ] || rmdir "$journal"
mv -T "$new" "$journal" && sync {folder} || { echo "cannot write $journal" >&2; exit 73; }
fact begun yes
""",
        run=lease.folders.run,
        folder=lease.folders.journal,
        journal=lease.folders.journal / nameservice,
        writes=writes,
        tenths=100,
    )


def tidy_journal(lease: Lease, nameservice: str) -> Script:
    """Rename open segments of the journal on a node that are there as finished ones as well; it may run meanwhile.

    While a JournalNode catches up, it fetches finished segments from the others, and the NameNode repeats to it what it
    missed: a segment that comes both ways is there twice, and the JournalNode lists none of its segments any more. Fact
    ``aside`` names each file that was renamed.
    """
    return changing(
        lease,
        r"""
[ -d {current} ] || exit 0
cd {current} || exit 73
for open in edits_inprogress_*; do
    first=${open#edits_inprogress_}
    case $first in *[!0-9]*) continue ;; esac
    for whole in "edits_$first-"*; do
        [ -f "$whole" ] || break
        mv -T "$open" "$open.stale-$$" || { echo "cannot rename $open" >&2; exit 73; }
        fact aside "$open.stale-$$"
        break
    done
done
""",
        current=lease.folders.journal / nameservice / "current",
    )


def begin_afresh(lease: Lease) -> Script:
    """Stop the JournalNode of a node and rename what it has: for a NameNode whose first format was cut short.

    Never for an MR-cluster that was deployed. Fact ``aside`` names the folder that was renamed.
    """
    return changing(
        lease,
        _DAEMONS + ASIDE + "run={run}\nend_daemons journalnode\naside {journal}\n",
        run=lease.folders.run,
        journal=lease.folders.journal,
        tenths=50,
    )


def stop(lease: Lease, daemons: Sequence[str], *, grace_s: float = 10.0) -> Script:
    """Stop daemons of the MR-cluster on a node, found by their marks; again does no harm.

    TERM, ``grace_s`` later KILL. Exit CLEAN_FAILED if one is still there.
    """
    return changing(
        lease,
        _DAEMONS + "run={run}\nend_daemons {names}\n",
        run=lease.folders.run,
        names=" ".join(daemons),
        tenths=max(1, round(grace_s * 10)),
    )


def set_aside(lease: Lease) -> Script:
    """Stop the second NameNode of a node and rename its folder, so that it can begin with the first one's image.

    Fact ``aside`` names the folder that was renamed; there is none where nothing lay.
    """
    return changing(
        lease,
        _DAEMONS + ASIDE + "run={run}\nend_daemons namenode\naside {nn}\n[ ! -d {nn} ] || rmdir {nn}\n",
        run=lease.folders.run,
        nn=lease.folders.nn,
        tenths=100,
    )


def share(lease: Lease, argv: Sequence[str], env: Mapping[str, str]) -> Script:
    """Begin a journal, whose daemons have none yet, with all that the stopped NameNode of a node has.

    ``argv`` is the command with ``-initializeSharedEdits -nonInteractive``. The NameNode's own folder stays as it is.
    Exit NOT_EMPTY while a NameNode runs, and without an image.
    """
    act = Script.of(
        r"""
log={logs}/share.log
env -i "PATH=$PATH" "HOME=$HOME" {env} {argv} >"$log" 2>&1 </dev/null ||
    { tail -n 5 "$log" >&2; said=$(no_login <"$log")
    echo "the journal could not be begun${said:+: $said}, see $log" >&2; exit 1; }
""",
        logs=lease.folders.logs,
        env=[f"{key}={value}" for key, value in {**env, **lease.marks("share")}.items()],
        argv=list(argv),
    )
    return changing(
        lease,
        r"""
if alive {run}/namenode.pid; then echo "a NameNode runs here" >&2; exit 80; fi
[ -f {nn}/current/VERSION ] || { echo {nn}" has no image of a NameNode" >&2; exit 80; }
""",
        run=lease.folders.run,
        nn=lease.folders.nn,
        after=act,
    )


def end_journal(lease: Lease, *, namenode: bool) -> Script:
    """Stop the JournalNode of a node and rename its folder; with ``namenode`` the second NameNode and its folder too.

    Nothing is done where no journal lies, so that a later try never finds the folder of a new NameNode in its way. Fact
    ``aside`` names each folder that was renamed.
    """
    return changing(
        lease,
        _DAEMONS
        + ASIDE
        + r"""
run={run}
[ -e {journal} ] || { end_daemons journalnode; exit 0; }
end_daemons {names}
[ {namenode} = no ] || aside {nn}
aside {journal}
""",
        run=lease.folders.run,
        nn=lease.folders.nn,
        journal=lease.folders.journal,
        names="journalnode namenode" if namenode else "journalnode",
        namenode="yes" if namenode else "no",
        tenths=100,
    )


@task(name="look")
def look_by_hand(context: Any, work_dir: str, pool: str, cluster: str, nameservice: str) -> None:
    """Show what of the NameNode and the journal of an MR-cluster lies on a node."""
    play(context, look(hand_lease(context, work_dir, pool, cluster).folders, nameservice))
