"""The kept copy of an MR-cluster's masters: what is new in their data, a second copy on another node, its way back.

The masters' data are the NameNode's image and edits, and the files of the ResourceManager's state store. A copy is a
folder with ``nn`` (image, edits, VERSION), ``rm-state`` and ``note``, which says how far it goes. Bytes go as text
(gzip, base64): a fact is one line.
"""

from __future__ import annotations

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import ASIDE, Folders, Lease, Script, Secret, changing, play, reading_in, task

# Checksum files go out of step with what they are about while they are copied, and Hadoop reads files without them.
_STATE_FILES = r"-type f ! -name '.*.crc' ! -name '*.tmp'"


# `$segments`: name, bytes and path of each segment of edits. In an MR-cluster with a journal, the JournalNode beside
# the NameNode has those that another NameNode has written, and they are what counts: a NameNode may have ended in the
# middle of one. What it writes now is in its own folder, or it is not acknowledged.
_SEGMENTS = r"""
segments=$({
    [ ! -d {journal} ] || find {journal} -path '*/current/edits_*' -type f -printf 'J %f %s %p\n'
    find {current} -maxdepth 1 -type f -name 'edits_*' -printf 'N %f %s %p\n'
} 2>/dev/null | awk '
    { row = $0; sub(/^[JN] /, "", row); ended = $2 ~ /^edits_[0-9]+-[0-9]+$/; split(substr($2, 7), tx, "-") }
    $1 == "J" && ended { from[++n] = tx[1] + 0; to[n] = tx[2] + 0; print row; if (to[n] > last) last = to[n] }
    $1 == "J" { known = 1; next }
    !known { print row; next }
    ended { for (i = 1; i <= n; i++) if (tx[1] + 0 <= to[i] && tx[2] + 0 >= from[i]) next; print row; next }
    { sub(/^edits_inprogress_/, "", $2); if ($2 + 0 > most) { most = $2 + 0; newest = row } }
    END { if (most > last) print newest }
')
segment() {
    printf '%s\n' "$segments" | while read -r name bytes path; do
        case $name in "edits_inprogress_$1" | "edits_$1-"*) echo "$path"; break ;; esac
    done
}
"""


def _segments(folders: Folders, current: PurePosixPath, *, journal: bool = True) -> Script:
    return Script.of(_SEGMENTS, journal=folders.journal if journal else current / "none", current=current)


def look(folders: Folders, *, first: int, offset: int, limit_bytes: int, state: str, version: str = "") -> Script:
    """New data of the masters since the last look; changes nothing.

    Facts: ``namenode`` is ``running`` or ``absent``; ``folder`` is ``none`` when the NameNode has no data here, and
    nothing follows; ``version`` is its VERSION (base64), unless it is the one given; ``file.NAME`` the bytes of each
    image and segment of edits;
    ``piece`` (gzip, base64) up to ``limit_bytes`` of the segment that begins with transaction ``first``, from
    ``offset`` on, unless nothing was written there yet; ``state`` a digest of the state store, and ``rows`` (gzip,
    base64) a row ``NAME BYTES TIME INODE`` for each of its files when the digest is not the one given.
    """
    # Played every two seconds for each MR-cluster: what it costs is the number of processes that it starts.
    return reading_in(
        folders,
        r"""
first={first}; begin={offset}; limit={limit}
if alive {pid_file}; then fact namenode running; else fact namenode absent; fi
cd {current} 2>/dev/null || { fact folder none; exit 0; }
version=
[ ! -r VERSION ] || while IFS= read -r line; do version="$version$line
"; done <VERSION
[ "$version" = {version} ] || fact version "$(base64 -w0 VERSION 2>/dev/null)"
# Listed first, read afterwards: a segment that is closed in between has all that was there when it was listed.
if [ -d {journal} ]; then
    find . -maxdepth 1 -type f -name 'fsimage_*' -printf '@file.%f=%s\n'
    {segments}
    printf '%s\n' "$segments" | sed -n 's/^\([^ ]*\) \([0-9]*\) .*/@file.\1=\2/p'
    log=$(segment "$first")
else
    find . -maxdepth 1 -type f \( -name 'fsimage_*' -o -name 'edits_*' \) -printf '@file.%f=%s\n'
    log=./edits_inprogress_$first
fi
[ -f "$log" ] || for log in "${log%/*}/edits_$first-"*; do break; done
if [ -f "$log" ]; then
    case $(od -An -tx1 -j {probe} -N 1 "$log" 2>/dev/null) in
        '' | *ff) ;;
        *) fact piece "$(dd "if=$log" bs=64K "skip=$begin" "count=$limit" iflag=skip_bytes,count_bytes status=none |
            gzip -1 | base64 -w0)" ;;
    esac
fi
cd {rm_state} 2>/dev/null || exit 0
rows() { find . """
        + _STATE_FILES
        + r""" -printf '%P %s %T@ %i\n'; }
digest=$(rows | cksum)
fact state "$digest"
# What changes in between is in the rows, and its digest is another one the next time.
[ "$digest" = {state} ] || fact rows "$(rows | gzip -1 | base64 -w0)"
""",
        pid_file=folders.run / "namenode.pid",
        current=folders.nn / "current",
        segments=_segments(folders, folders.nn / "current"),
        first=f"{first:019d}",
        # Before the first operation stands a header that begins with 0xFF.
        probe=max(offset, 8),
        offset=offset,
        version=version,
        journal=folders.journal,
        limit=limit_bytes,
        rm_state=folders.rm_state,
        state=state,
    )


def state_files(folders: Folders, names: Sequence[str]) -> Script:
    """Fact ``files``: a tar (gzip, base64) of files of the state store; those that are gone are not in it."""
    return reading_in(
        folders,
        r"""
cd {rm_state} || exit 73
set -- {names}
fact files "$(tar -cf - --ignore-failed-read --no-recursion -- "$@" 2>/dev/null | gzip -1 | base64 -w0)"
""",
        rm_state=folders.rm_state,
        names=list(names),
    )


def image(folders: Folders, name: str) -> Script:
    """An image on standard output: give it a ``sink``."""
    return reading_in(folders, "exec cat {path}", path=folders.nn / "current" / name)


def sums(folders: Folders, folder: PurePosixPath, sizes: Mapping[str, int], *, journal: bool = False) -> Script:
    """Facts ``sum.FIRST``: the MD5 of so many first bytes of each segment, by its first transaction.

    Facts ``image.NAME``: the text of each image's checksum file. ``folder`` is the one with the files themselves; with
    ``journal`` what a JournalNode has counts as in `look`.
    """
    return reading_in(
        folders,
        r"""
cd {folder} 2>/dev/null || exit 0
{segments}
for pair in {pairs}; do
    first=${pair%=*}
    log=$(segment "$first")
    [ -f "$log" ] || continue
    sum=$(head -c "${pair#*=}" "$log" | md5sum); fact "sum.$first" "${sum%% *}"
done
for sum in fsimage_*.md5; do
    if [ -f "$sum" ] && read -r text <"$sum"; then fact "image.${sum%.md5}" "$text"; fi
done
:
""",
        folder=folder,
        segments=_segments(folders, folder, journal=journal),
        pairs=[f"{first}={size}" for first, size in sizes.items()],
    )


def inventory(folders: Folders) -> Script:
    """The contents of the second copy on a node; changes nothing.

    Facts: ``version`` (base64), ``file.NAME`` the bytes of each file in its ``nn``, ``sum.NAME`` the MD5 of each
    segment of edits, ``image.NAME`` the text of each image's checksum file, ``note`` as it was pushed. Nothing where
    there is no copy.
    """
    return reading_in(
        folders,
        r"""
cd {nn} 2>/dev/null || exit 0
fact version "$(base64 -w0 VERSION 2>/dev/null)"
find . -maxdepth 1 -type f -printf '@file.%f=%s\n'
for log in edits_*; do
    [ ! -f "$log" ] || { sum=$(md5sum <"$log"); fact "sum.$log" "${sum%% *}"; }
done
for sum in fsimage_*.md5; do
    if [ -f "$sum" ] && read -r text <"$sum"; then fact "image.${sum%.md5}" "$text"; fi
done
if [ -f ../note ]; then fact note "$(head -c 4096 ../note | tr -d '\n')"; fi
""",
        nn=folders.kept / "nn",
    )


def checkpoint(lease: Lease, argv: Sequence[str], env: Mapping[str, str]) -> Script:
    """Run the command that makes a new image for the NameNode, to its end; exit 1, with its last words, if it fails.

    One at a time on a node: fact ``checkpoint`` is ``made``, or ``busy`` when another one runs.
    """
    return changing(
        lease,
        ":",
        # Without the node's lock, for it takes long.
        after=Script.of(
            r"""
umask 077
log={logs}/checkpoint.out
exec 8>>{logs}/checkpoint.lock && flock -n 8 8>&8 || { fact checkpoint busy; exit 0; }
env -i "PATH=$PATH" "HOME=$HOME" {env} {argv} >"$log" 2>&1 </dev/null 8>&- || { tail -n 5 "$log" >&2; exit 1; }
fact checkpoint made
""",
            logs=lease.folders.logs,
            env=[f"{key}={value}" for key, value in {**env, **lease.marks("checkpoint")}.items()],
            argv=list(argv),
        ),
    )


def whole(folders: Folders) -> Script:
    """The second copy as a tar on standard output: give it a ``sink``."""
    return reading_in(folders, "exec tar -cf - -C {kept} note nn rm-state", kept=folders.kept)


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of a copy: parts of segments, whole small files, names, and files of the state store.

    ``appends`` are (name, offset, bytes): the file must have exactly ``offset`` bytes. ``renames`` come after them,
    then ``writes`` and ``removes``. ``state`` is a tar (gzip), ``state_gone`` names what the store has no more.
    """

    appends: Sequence[tuple[str, int, bytes]] = ()
    renames: Sequence[tuple[str, str]] = ()
    writes: Mapping[str, str] | None = None
    removes: Sequence[str] = ()
    state: bytes = b""
    state_gone: Sequence[str] = ()
    afresh: bool = False


def push(lease: Lease, change: Change, note: str) -> Script:
    """Bring the second copy on a node up to date; it is on disk before ``note`` says so.

    Fact ``kept`` is ``yes``; or ``differs`` names a file that does not have the bytes that were expected, and then
    ``note`` is not written. An empty ``note`` leaves the one that is there. With ``afresh`` an older copy is set aside.
    """
    return changing(
        lease,
        r"""
umask 077
kept={kept}
fail() { echo "cannot write $kept" >&2; exit 73; }
if [ {afresh} = yes ] && [ -e "$kept" ]; then
    rm -rf "$kept.before" && mv -T "$kept" "$kept.before" || fail
fi
mkdir -p "$kept/nn" "$kept/rm-state" && cd "$kept/nn" || fail
{appends}
{renames}
{writes}
{removes}
cd ..
{state}
sync nn rm-state || fail
if [ -n {note} ]; then
    printf '%s\n' {note} >note.new && sync note.new && mv -f note.new note && sync . || fail
fi
fact kept yes
""",
        kept=lease.folders.kept,
        afresh="yes" if change.afresh else "no",
        appends=Script.join(_append(*each) for each in change.appends),
        renames=Script.join(Script.of("mv -f {a} {b} || fail", a=a, b=b) for a, b in change.renames),
        writes=Script.join(
            Script.of("printf %s {text} >{new} && sync {new} && mv -f {new} {name} || fail",
                      text=text, new=f"{name}.new", name=name)
            for name, text in (change.writes or {}).items()
        ),
        removes=Script.of("rm -f -- {names}", names=list(change.removes)) if change.removes else Script(""),
        state=_state(change),
        note=note,
    )  # fmt: skip


def _append(name: str, offset: int, data: bytes) -> Script:
    return Script.of(
        r"""
log={name}
[ "$(stat -c %s "$log" 2>/dev/null || echo 0)" = {offset} ] || { fact differs "$log"; exit 0; }
printf %s {data} | base64 -d | gzip -dc >>"$log" && sync "$log" && [ "$(stat -c %s "$log")" = {end} ] || fail
""",
        name=name,
        offset=offset,
        end=offset + len(data),
        data=_packed(data),
    )


def _packed(data: bytes) -> Secret:
    return Secret(base64.b64encode(gzip.compress(data, 1, mtime=0)).decode())


def _state(change: Change) -> Script:
    """Whole files beside, then linked into place: a crash leaves no file in part."""
    parts = []
    if change.state:
        parts.append(
            Script.of(
                r"""
rm -rf rm-state.new && mkdir rm-state.new && printf %s {data} | base64 -d | tar -xzf - -C rm-state.new &&
    cp -rl --remove-destination rm-state.new/. rm-state/ && rm -rf rm-state.new || fail
""",
                data=Secret(base64.b64encode(change.state).decode()),
            )
        )
    if change.state_gone:
        parts.append(
            Script.of(
                "( cd rm-state && rm -f -- {names} && find . -mindepth 1 -type d -empty -delete ) || fail",
                names=list(change.state_gone),
            )
        )
    return Script.join(parts)


def before_placing(folders: Folders) -> Script:
    """Obstacles to a copy on the node that gets the masters, and facts that help; changes nothing.

    Facts: ``placed`` is the mark of the copy that the NameNode's folder here came from; ``nn`` is ``none``, ``empty``
    or ``there``; ``pool`` each block pool of its DataNode.
    """
    return reading_in(
        folders,
        r"""
nn={nn}
if [ ! -d "$nn" ]; then fact nn none
elif found=$(ls -A "$nn") && [ -z "$found" ]; then fact nn empty; else fact nn there; fi
if [ -f "$nn/placed" ]; then fact placed "$(head -c 400 "$nn/placed" | tr -d '\n')"; fi
for pool in {dn}/current/BP-* {dn_input}/current/BP-*; do [ ! -d "$pool" ] || fact pool "${pool##*/}"; done
""",
        nn=folders.nn,
        dn=folders.dn,
        dn_input=folders.dn_input,
    )


def stage(lease: Lease, texts: Mapping[str, str], own: Mapping[str, str], state: bytes) -> Script:
    """Begin to place a copy: a folder beside the NameNode's, with small files and what the second copy here has.

    ``texts`` are files by name; ``own`` are files of the second copy by their MD5: one that has another one is not
    taken. ``state`` is a tar (gzip) of the state store. Facts ``own`` name the files that were taken.
    """
    return changing(
        lease,
        r"""
umask 077
nn={nn}.placing; rm={rm_state}.placing; kept={kept}
fail() { echo "cannot write $nn" >&2; exit 73; }
rm -rf "$nn" "$rm" && mkdir -p "$nn/current" "$rm" && cd "$nn/current" || fail
for pair in {own}; do
    name=${pair%=*}
    [ -f "$kept/nn/$name" ] && cp "$kept/nn/$name" "$name" || { rm -f "$name"; continue; }
    sum=$(md5sum <"$name")
    if [ "${sum%% *}" = "${pair#*=}" ]; then fact own "$name"; else rm -f "$name"; fi
done
{texts}
printf %s {state} | base64 -d | tar -xzf - -C "$rm" || fail
fact staged yes
""",
        nn=lease.folders.nn,
        rm_state=lease.folders.rm_state,
        kept=lease.folders.kept,
        own=[f"{name}={md5}" for name, md5 in own.items()],
        texts=Script.join(
            Script.of("printf %s {text} >{name} || fail", text=text, name=name) for name, text in texts.items()
        ),
        state=Secret(base64.b64encode(state).decode()),
    )


def place(lease: Lease, sums: Mapping[str, str], mark: str) -> Script:
    """Put what was staged in the place of the masters' data, whole; what was there is set aside, never removed.

    ``sums`` are the MD5 of images and segments that were sent. Fact ``placed`` is ``yes``, or ``already`` when the
    folder there came from the same copy. Exit NOT_EMPTY while a NameNode or ResourceManager runs here, CANNOT_WRITE
    when the files are not those that were sent.
    """
    return changing(
        lease,
        ASIDE
        + r"""
umask 077
nn={nn}; rm={rm_state}; run={run}
fail() { echo "cannot write $nn" >&2; exit 73; }
if [ -f "$nn/placed" ] && [ "$(cat "$nn/placed")" = {mark} ]; then fact placed already; exit 0; fi
for daemon in namenode resourcemanager; do
    if alive "$run/$daemon.pid"; then echo "the $daemon runs here: its data are not replaced" >&2; exit 80; fi
done
cd "$nn.placing/current" || fail
for pair in {sums}; do
    sum=$(md5sum <"${pair%=*}") && [ "${sum%% *}" = "${pair#*=}" ] ||
        { echo "${pair%=*} did not arrive as it was sent" >&2; exit 73; }
done
printf '%s\n' {mark} >../placed && sync ./* ../placed . .. || fail
cd ../..
if [ -e "$rm.placing" ]; then
    if [ -e "$rm" ]; then rmdir "$rm" 2>/dev/null || aside "$rm"; fi
    mv -T "$rm.placing" "$rm" || fail
fi
if [ -e "$nn" ]; then rmdir "$nn" 2>/dev/null || aside "$nn"; fi
mv -T "$nn.placing" "$nn" && sync . || fail
fact placed yes
""",
        nn=lease.folders.nn,
        rm_state=lease.folders.rm_state,
        run=lease.folders.run,
        sums=[f"{name}={md5}" for name, md5 in sums.items()],
        mark=mark,
    )


@task(name="inventory")
def inventory_by_hand(context: Any, work_dir: str, cluster: str) -> None:
    """Show what the second copy of an MR-cluster's masters on a node has."""
    play(context, inventory(Folders(work_dir=PurePosixPath(work_dir), cluster=cluster)))
