"""A preview of a restore: the kept copy read on a node, in a folder beside everything else, and blocks listed.

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
        stdin=True,
        place=place(lease.folders),
        after=Script.of(
            "tar -xf - -C {current} || { echo 'the copy did not arrive whole' >&2; exit 73; }\n",
            current=place(lease.folders) / "nn" / "current",
        ),
    )


# The configuration without a journal: what the copy has is read, and no journal is asked, let alone repaired. A node
# whose disk was lost has no configuration, and needs none. A key cannot be taken away on a command line. In files of
# ours each part of a property has a line of its own.
_CONF = r"""
rm -rf "$place/conf"
if [ -r "$conf/hdfs-site.xml" ]; then
    cp -r "$conf" "$place/conf" && awk '
        /<property>/ { property = $0; journal = 0; inside = 1; next }
        inside { property = property "\n" $0 }
        inside && /<name>dfs[.](namenode[.]shared[.]edits[.]dir|nameservices|ha[.]namenode[.]id)</ { journal = 1 }
        inside && /<\/property>/ { inside = 0; if (!journal) print property }
        inside || /<\/property>/ { next }
        { print }
    ' "$conf/hdfs-site.xml" >"$place/conf/hdfs-site.xml" || { echo "cannot write $place" >&2; exit 73; }
else
    mkdir -p "$place/conf" || { echo "cannot write $place" >&2; exit 73; }
fi
"""


def conf(folders: Folders) -> PurePosixPath:
    """The folder with the configuration for commands that read a copy; `merge` writes it."""
    return place(folders) / "conf"


def merge(lease: Lease, argv: Sequence[str], env: Mapping[str, str]) -> Script:
    """Make one image of the copy's image and edits, by a NameNode that serves nobody (``-recover``) and ends.

    ``argv`` is its command without arguments. Fact ``image`` is the name of the image; exit 1 when the copy cannot be
    read. It never passes over damaged edits: to do so it would have to be told.
    """
    nn = place(lease.folders) / "nn"
    return changing(
        lease,
        "place={place}; conf={conf}\n" + _CONF,
        place=place(lease.folders),
        conf=lease.folders.conf,
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


def newer(folders: Folders, pool: str, *, after: int, until: int, limit: int) -> Script:
    """Replicas of ``pool`` whose generation stamp is above ``after`` and at most ``until``, and what logs say of them.

    Fact ``rows`` (gzip, base64) has up to ``limit`` lines of each kind: ``R ID BYTES SECONDS`` for a replica, with the
    time at which it was last written to, ``W ID CLIENT SOURCE TARGET`` for a write in the DataNode's log, ``A ID PATH``
    for a block that a NameNode of this node gave to a file. Fact ``more`` is ``yes`` where a limit was reached. Changes
    nothing; exit 1 when a folder could not be read.
    """
    return reading_in(
        folders,
        r"""
pool={pool}; after={after}; until={until}; limit={limit}; logs={logs}
found=$(
    for volume in {volumes}; do
        for kind in finalized rbw; do
            base=$volume/current/$pool/current/$kind
            [ ! -d "$base" ] || find "$base" -ignore_readdir_race -type f -name 'blk_*.meta' || echo X
        done
    done | awk -v after="$after" -v until="$until" '
        $0 == "X" { print; next }
        { stamp = $0; sub(/[.]meta$/, "", stamp); sub(/.*_/, "", stamp) }
        stamp + 0 > after + 0 && stamp + 0 <= until + 0 { sub(/_[0-9]+[.]meta$/, ""); print }'
)
case "
$found
" in *"
X
"*) echo "a folder of its DataNode cannot be read" >&2; exit 1 ;; esac
replicas=$(printf '%s\n' "$found" | head -n "$limit" | while IFS= read -r file; do
    [ -z "$file" ] || stat -c "R ${file##*/blk_} %s %Y" "$file" 2>/dev/null
done)
stamped='
    function stamp_of(block) { sub(/.*_/, "", block); return block + 0 }
    function id_of(block) { sub(/^blk_/, "", block); sub(/_[0-9]+$/, "", block); return block }
    match($0, /blk_-?[0-9]+_[0-9]+/) { block = substr($0, RSTART, RLENGTH); stamp = stamp_of(block) }
    stamp <= after + 0 || stamp > until + 0 { next }'
logs_of() { for log in "$logs/$1.log.1" "$logs/$1.log"; do [ ! -f "$log" ] || cat "$log"; done; }
writes=$(logs_of datanode | grep -F ' op: HDFS_WRITE, ' | awk -v after="$after" -v until="$until" "$stamped"'
    match($0, /src: [^,]*/) { from = substr($0, RSTART + 5, RLENGTH - 5) }
    match($0, /dest: [^,]*/) { to = substr($0, RSTART + 6, RLENGTH - 6) }
    match($0, /cliID: [^, ]*/) { print "W", id_of(block), substr($0, RSTART + 7, RLENGTH - 7), from, to }' |
    tail -n "$limit")
files=$(logs_of namenode | grep -F 'BLOCK* allocate ' | awk -v after="$after" -v until="$until" "$stamped"'
    match($0, / for \/.*/) { print "A", id_of(block), substr($0, RSTART + 5) }' | tail -n "$limit")
for kind in "$found" "$writes" "$files"; do
    [ "$(printf '%s\n' "$kind" | wc -l)" -lt "$limit" ] || more=yes
done
fact more "${more:-no}"
fact rows "$(printf '%s\n' "$replicas" "$writes" "$files" | gzip -1 | base64 -w0)"
""",
        pool=pool,
        after=after,
        until=until,
        limit=limit,
        logs=folders.logs,
        volumes=[folders.dn, folders.dn_input],
    )
