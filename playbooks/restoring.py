"""What a restore would bring back: the kept copy read on a node, in a folder beside everything else, and blocks listed.

Nothing here touches the folder of a NameNode or of a DataNode. Whether a restore is begun is decided afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from fawkes.playbook import Folders, Lease, Script, changing, reading_in


def place(folders: Folders) -> PurePosixPath:
    """The folder in which a copy is read."""
    return folders.root / "restore"


def receive(lease: Lease) -> Script:
    """Unpack a copy, a tar on standard input, into `place`; what an earlier try left there goes."""
    return changing(
        lease,
        r"""
place={place}
rm -rf "$place" && mkdir -p "$place/nn/current" && chmod 700 "$place" || { echo "cannot write $place" >&2; exit 73; }
""",
        place=place(lease.folders),
        after=Script.of(
            "tar -xf - -C {current} || { echo 'the copy did not arrive whole' >&2; exit 73; }\n",
            current=place(lease.folders) / "nn" / "current",
        ),
    )


def merge(lease: Lease, argv: Sequence[str], env: Mapping[str, str]) -> Script:
    """Make one image of the copy's image and edits, by a NameNode that serves nobody (``-recover``) and ends.

    ``argv`` is its command without arguments. Fact ``image`` is the name of the image; exit 1 when the copy cannot be
    read. It never passes over damaged edits: to do so it would have to be told.
    """
    nn = place(lease.folders) / "nn"
    return changing(
        lease,
        ":",
        after=Script.of(
            r"""
cd {place} || exit 73
if ! printf 'y\n' | env -i "PATH=$PATH" "HOME=$HOME" {env} {argv} {folders} -recover >merge.log 2>&1; then
    tail -n 5 merge.log >&2
    why=$(grep -E 'Caused by: |(Exception|Error): ' merge.log | tail -n 1 | cut -c 1-300)
    echo "${why:-see $PWD/merge.log}" >&2
    exit 1
fi
for file in nn/current/fsimage_*; do
    case $file in *.md5 | *.ckpt_*) ;; *) image=${file##*/} ;; esac
done
fact image "$image"
""",
            place=place(lease.folders),
            env=[f"{key}={value}" for key, value in {**env, **lease.marks("restore")}.items()],
            argv=list(argv),
            folders=[f"-Ddfs.namenode.{kind}.dir=file://{nn}" for kind in ("name", "edits")],
        ),
    )


def as_xml(folders: Folders, image: str, argv: Sequence[str], env: Mapping[str, str]) -> Script:
    """An image as XML on standard output, packed by gzip: give it a ``sink``. Exit 1 when it cannot be read.

    ``argv`` is the command of the offline image viewer without arguments.
    """
    return reading_in(
        folders,
        r"""
cd {place} || exit 73
{ env -i "PATH=$PATH" "HOME=$HOME" {env} {argv} -p XML -i {image} -o /dev/stdout 2>viewer.log </dev/null
  echo $? >viewer.exit; } | gzip -1
code=1; [ ! -r viewer.exit ] || read -r code <viewer.exit
[ "$code" = 0 ] || { tail -n 5 viewer.log >&2; exit 1; }
""",
        place=place(folders),
        env=[f"{key}={value}" for key, value in env.items()],
        argv=list(argv),
        image=f"nn/current/{image}",
    )


def drop(lease: Lease) -> Script:
    """Remove the folder in which a copy was read. Fact ``dropped`` is ``yes``."""
    return changing(
        lease,
        "rm -rf {place} || { echo 'cannot remove it' >&2; exit 73; }\nfact dropped yes\n",
        place=place(lease.folders),
    )


def blocks(folders: Folders, pool: str) -> Script:
    """The blocks on a node, a line for each, packed by gzip: give it a ``sink``.

    ``P POOL`` is there for each block pool that the node has blocks of. Of ``pool`` it lists ``F ID STAMP BYTES`` for
    each whole replica and ``B ID`` for each that was begun. ``E`` ends the list, unless a folder could not be read.
    """
    return reading_in(
        folders,
        r"""
pool={pool}
{
    for volume in {volumes}; do
        for other in "$volume"/current/BP-*; do [ ! -d "$other" ] || printf 'P %s\n' "${other##*/}"; done
        base=$volume/current/$pool/current
        if [ -d "$base/finalized" ]; then
            find "$base/finalized" -ignore_readdir_race -type f -name 'blk_*' -printf 'F %f %s\n' || echo X
        fi
        if [ -d "$base/rbw" ]; then
            find "$base/rbw" -ignore_readdir_race -type f -name 'blk_*' ! -name '*.meta' -printf 'B %f\n' || echo X
        fi
    done
    echo E
} | awk '
    $1 == "X" { unread = 1 }
    $1 == "P"
    $1 == "B" { sub(/^blk_/, "", $2); print "B", $2 }
    $1 == "F" && $2 ~ /\.meta$/ {
        sub(/^blk_/, "", $2); sub(/\.meta$/, "", $2); at = index($2, "_")
        stamp[substr($2, 1, at - 1)] = substr($2, at + 1)
    }
    $1 == "F" && $2 !~ /\.meta$/ { sub(/^blk_/, "", $2); bytes[$2] = $3 }
    END {
        for (id in bytes) if (id in stamp) print "F", id, stamp[id], bytes[id]
        if (!unread) print "E"
    }' | gzip -1
""",
        pool=pool,
        volumes=[folders.dn, folders.dn_input],
    )
