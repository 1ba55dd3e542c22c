"""Hadoop on a node: configuration, daemons, the NameNode's first format, the masters' lists of members.

Daemons are started without Hadoop's own scripts: detached, in a session of their own, marked by their environment, so
that they outlive the connection and the controller and are found again whatever happens to their pid files.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from xml.sax.saxutils import escape

from fawkes.playbook import Folders, Lease, RefusedError, Script, Secret, changing, hand_lease, play, reading_in, task

DAEMONS = ("namenode", "journalnode", "datanode", "resourcemanager", "nodemanager", "historyserver", "sparkhistory")
"""The daemons of an MR-cluster that Fawkes starts, by the names of their pid files and logs."""


@dataclass(frozen=True)
class Daemon:
    """A daemon to start: ``argv`` begins with Java's path; ``env`` is all that it finds besides PATH, HOME, USER, LANG.

    ``follows`` is the address of the masters that a worker works for; empty for the masters themselves.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    follows: str = ""


def log_flags(folders: Folders, daemon: str) -> list[str]:
    """JVM flags that send a daemon's log to ``logs/DAEMON.log``, rolled, instead of its standard output."""
    return [
        f"-Dhadoop.log.dir={folders.logs}",
        f"-Dhadoop.log.file={daemon}.log",
        "-Dhadoop.root.logger=INFO,RFA",
        f"-Djava.io.tmpdir={folders.tmp}",
    ]


DOORS_LIST = "doors.list"
"""The file of the configuration folder that says whose connections the daemons take."""

DOORS_KEY = "doors.key"
"""The file with the key by which the controller is known: nobody else may read it."""


PRIVATE_FILES = frozenset({DOORS_KEY, "fawkes.keytab", "tls.p12"})
"""The files of the configuration folder that only its user may read."""


def configure(lease: Lease, files: Mapping[str, str | bytes]) -> Script:
    """Write the configuration folder. Fact ``changed`` is ``yes`` or ``no``.

    Every file is there before the first one is put in place, so that a full disk changes nothing, and each is put in
    place whole. Files that someone edited by hand are put right again; others go. The folder itself stays: a JVM looks
    where it led when the JVM was started, and a refresh would find nothing in a folder that was exchanged.
    """
    writes = Script.join(_write(name, content) for name, content in sorted(files.items()))
    return changing(
        lease,
        r"""
conf={conf}; new=$conf.new.$$
fail() { rm -rf "$new"; echo "cannot write $conf" >&2; exit 73; }
mkdir -p "$conf" && mkdir "$new" && ( {writes} ) || fail
if diff -rq "$conf" "$new" >/dev/null; then
    rm -rf "$new"
    fact changed no
    exit 0
fi
for file in "$conf"/* "$conf"/.[!.]*; do
    [ ! -e "$file" ] || [ -e "$new/${file##*/}" ] || rm -rf "$file"
done
for file in "$new"/*; do
    cmp -s "$file" "$conf/${file##*/}" || mv -fT "$file" "$conf/${file##*/}" || fail
done
rm -rf "$new"
fact changed yes
""",
        conf=lease.folders.conf,
        writes=Script("\n") + writes + Script("\n"),
    )


def _write(name: str, content: str | bytes) -> Script:
    """Write one new file; a secret is never readable for others, not for a moment either."""
    if isinstance(content, bytes):
        text, write = base64.b64encode(content).decode(), 'printf %s {text} | base64 -d >"$new"/{name}'
    else:
        text, write = content, 'printf %s {text} >"$new"/{name}'
    if name in PRIVATE_FILES:
        return Script.of(f"( umask 077; {write} ) || exit 73", text=Secret(text), name=name)
    return Script.of(f"{write} || exit 73", text=text, name=name)


def write_doors(lease: Lease, text: str) -> Script:
    """Replace the list of those whose connections the daemons take; they read it within a second.

    Fact ``doors`` is ``written``, or ``absent`` on a node that has no configuration yet.
    """
    return changing(
        lease,
        r"""
cd {conf} 2>/dev/null || { fact doors absent; exit 0; }
printf %s {text} >{list}.new && mv -f {list}.new {list} || { echo "cannot write "{conf} >&2; exit 73; }
fact doors written
""",
        conf=lease.folders.conf,
        text=text,
        list=DOORS_LIST,
    )


# `why DAEMON`: what its logs say about its end, since its last start; a port in use is the commonest reason. Where no
# error stands, what it wrote before it had a log tells (a Java that is not there); else it was killed.
_WHY = r"""
run={run}; logs={logs}
why() {
    last=$(tail -qn 300 "$logs/$1.log" "$logs/$1.out" 2>/dev/null |
        awk '/STARTUP_MSG: Starting/ { n = 0 } { line[n++] = $0 } END { for (i = 0; i < n; i++) print line[i] }')
    port=$(printf '%s\n' "$last" | sed -n -e 's/.*Problem binding to \[[^]]*:\([0-9]*\)\] .*BindException.*/\1/p' \
        -e 's/.*BindException: Port in use: [^ ]*:\([0-9]*\).*/\1/p' | tail -n 1)
    reason=$(printf '%s\n' "$last" | no_login)
    [ -n "$reason" ] || reason=$(printf '%s\n' "$last" |
        grep -E 'Caused by: |(Exception|Error): |^Error|FATAL' | tail -n 1 | cut -c 1-300)
    printf '%s\n' "$last" | tail -n 20 >&2
    if [ -n "$port" ]; then fact "port.$1" "$port"; reason="port $port is in use"; fi
    [ -n "$reason" ] || reason=$(grep . "$logs/$1.out" 2>/dev/null | tail -n 1 | cut -c 1-300)
    [ -n "$reason" ] || reason="its log ends without an error: it was killed"
    fact "why.$1" "$reason"
    echo "$1 ended: $reason" >&2
}
"""

# `leave DAEMON`: end a worker that works for former masters. The containers of a NodeManager end with it: their
# ApplicationMasters know no other masters, and nothing of them may write once the application is begun again.
_LEAVE = r"""
containers() { inside "$my_cluster" "$work"; }
leave() {
    tries=100
    while [ $tries -gt 0 ] && alive "$run/$1.pid"; do
        if [ $tries -gt 50 ]; then kill -TERM "$pid"; else kill -KILL "$pid"; fi
        tries=$((tries - 1)); sleep 0.1
    done
    ! alive "$run/$1.pid" || { echo "$1 cannot be stopped" >&2; exit 70; }
    [ "$1" = nodemanager ] || return 0
    tries=50
    while [ $tries -gt 0 ] && kill -KILL $(containers) 2>/dev/null; do tries=$((tries - 1)); sleep 0.1; done
    left=$(containers) || { echo "it is not known whether containers are left: programs cannot be run" >&2; exit 70; }
    [ -z "$left" ] || { echo "containers of $my_cluster are left:" $left >&2; exit 70; }
}
"""

_LAUNCH = r"""
me=$(id -un)
ulimit -Sn 65536 2>/dev/null || ulimit -Sn "$(ulimit -Hn)" 2>/dev/null
launch() {
    daemon=$1; follows=$2; shift 2
    [ -z "$follows" ] || [ "$follows" = "$(cat "$run/$daemon.follows" 2>/dev/null)" ] || leave "$daemon"
    if alive "$run/$daemon.pid"; then fact "daemon.$daemon" running; return 0; fi
    rm -f "$run/$daemon.pid"
    if [ -n "$follows" ]; then echo "$follows" >"$run/$daemon.follows" || exit 73; fi
    [ ! -e "$logs/$daemon.out" ] || mv -f "$logs/$daemon.out" "$logs/$daemon.out.1"
    : >"$logs/$daemon.out" || { echo "cannot write $logs" >&2; exit 73; }
    # The pid file is there before the daemon is, and before this goes on: no crash in between leaves one that nobody
    # knows, or lets the next script, for want of a pid file, start a second one.
    : "$(setsid sh -c '
        since() { shift 19; echo "$1"; }
        pid_file=$1; out=$2; shift 2
        read -r boot </proc/sys/kernel/random/boot_id && read -r line </proc/$$/stat &&
            echo "$$ $(since ${line##*) }) $boot" >"$pid_file.new" && mv -f "$pid_file.new" "$pid_file" &&
            exec "$@" >>"$out"
    ' "$daemon" "$run/$daemon.pid" "$logs/$daemon.out" \
        env -i "PATH=$PATH" "HOME=$HOME" "USER=$me" LANG=C.UTF-8 "$@" </dev/null 2>>"$logs/$daemon.out" &)"
    fact "daemon.$daemon" started
}
"""

_WATCH = r"""
tries={tenths}
while :; do
    for daemon in {names}; do
        [ -e "$run/$daemon.pid" ] || [ $tries -gt 0 ] || { echo "$daemon did not begin" >&2; exit 81; }
        [ ! -e "$run/$daemon.pid" ] || alive "$run/$daemon.pid" || { why "$daemon"; exit 81; }
    done
    [ $tries -gt 0 ] || break
    tries=$((tries - 1)); sleep 0.1
done
"""


def start(lease: Lease, daemons: Sequence[Daemon], *, watch_s: float = 0.3) -> Script:
    """Start several daemons at once, detached; one that runs already is left alone.

    A worker that follows other masters than it should is stopped first, and its containers with it. Facts
    ``daemon.NAME`` are ``started`` or ``running``. They are watched for ``watch_s``: exit DIED, with the reason,
    the port if one is in use and the last lines of the log, for one that ends within it; later ends are found by
    ``status``.
    """
    launches = Script.join(
        Script.of(
            "launch {name} {follows} {words}",
            name=daemon.name,
            follows=daemon.follows,
            words=[f"{key}={value}" for key, value in {**daemon.env, **lease.marks(daemon.name)}.items()]
            + list(daemon.argv),
        )
        for daemon in daemons
    )
    return changing(
        lease,
        _WHY + _LEAVE + _LAUNCH + "{launches}\n" + _WATCH,
        run=lease.folders.run,
        logs=lease.folders.logs,
        launches=launches,
        names=[daemon.name for daemon in daemons],
        tenths=max(1, round(watch_s * 10)),
    )


def status(folders: Folders, daemons: Sequence[str]) -> Script:
    """Facts ``daemon.NAME``: ``running`` (and ``pid.NAME``), ``absent``, ``dead`` (and ``why.NAME``, ``port.NAME``).

    ``dead`` is a daemon that was started, was not stopped and is gone; the last lines of its log are on standard error.
    """
    return reading_in(
        folders,
        _WHY
        + r"""
for daemon in {names}; do
    if alive "$run/$daemon.pid"; then fact "daemon.$daemon" running; fact "pid.$daemon" "$pid"
    elif [ -e "$run/$daemon.pid" ]; then fact "daemon.$daemon" dead; why "$daemon"
    else fact "daemon.$daemon" absent
    fi
done
""",
        run=folders.run,
        logs=folders.logs,
        names=list(daemons),
    )


def stop(lease: Lease, daemons: Sequence[str], *, grace_s: float = 10.0) -> Script:
    """Stop daemons: TERM to all, ``grace_s`` later KILL. Facts ``daemon.NAME``: ``stopped``, ``killed`` or ``absent``.

    Exit CLEAN_FAILED if one is still there. A NodeManager that is stopped in time ends its containers; those of a
    killed one are found by ``node.wipe``.
    """
    return changing(
        lease,
        r"""
run={run}; tries={tenths}
for daemon in {names}; do
    if alive "$run/$daemon.pid"; then kill -TERM "$pid"; else fact "daemon.$daemon" absent; rm -f "$run/$daemon.pid"; fi
done
while [ $tries -gt 0 ]; do
    some=no
    for daemon in {names}; do ! alive "$run/$daemon.pid" || some=yes; done
    [ $some = yes ] || break
    tries=$((tries - 1)); sleep 0.1
done
for daemon in {names}; do
    [ -e "$run/$daemon.pid" ] || continue
    how=stopped; tries=50
    while alive "$run/$daemon.pid" && [ $tries -gt 0 ]; do
        how=killed; kill -KILL "$pid"; tries=$((tries - 1)); sleep 0.1
    done
    ! alive "$run/$daemon.pid" || { echo "$daemon cannot be stopped" >&2; exit 70; }
    rm -f "$run/$daemon.pid"
    fact "daemon.$daemon" $how
done
""",
        run=lease.folders.run,
        names=list(daemons),
        tenths=round(grace_s * 10),
    )


def format_namenode(lease: Lease, argv: Sequence[str], env: Mapping[str, str], *, cluster_id: str) -> Script:
    """Format the NameNode's folder, once: fact ``formatted`` is ``yes``, or ``already`` and nothing was done.

    ``argv`` is the command with ``-format -nonInteractive``. The image is made in a folder beside and renamed, so a
    format that was cut short is not taken for a whole one. Exit NOT_EMPTY for a folder with something else in it.
    """
    return _make_image(
        lease,
        [*argv, "-clusterid", cluster_id],
        {**env, **lease.marks("format")},
        "-format",
        log="format.log",
        fact="formatted",
        failed="the format failed",
    )


def bootstrap_namenode(lease: Lease, argv: Sequence[str], env: Mapping[str, str]) -> Script:
    """Give the second NameNode the first one's image: fact ``image`` is ``yes``, or ``already`` and nothing was done.

    ``argv`` is the command with ``-bootstrapStandby -nonInteractive``. Exit NOT_EMPTY for a folder with something else
    in it, and while a NameNode runs that has lost its folder.
    """
    return _make_image(
        lease,
        argv,
        {**env, **lease.marks("bootstrap")},
        "-bootstrapStandby",
        log="bootstrap.log",
        fact="image",
        failed="the first NameNode's image did not come",
        guard=Script.of(
            'if alive {pid}; then echo "a NameNode runs here that has lost its folder" >&2; exit 80; fi',
            pid=lease.folders.run / "namenode.pid",
        ),
    )


def _make_image(
    lease: Lease,
    argv: Sequence[str],
    env: Mapping[str, str],
    option: str,
    *,
    log: str,
    fact: str,
    failed: str,
    guard: Script | None = None,
) -> Script:
    """Fill the NameNode's empty folder by a command with an ``option``: ``fact`` is ``yes``, or ``already``.

    The image comes into a folder beside, which is renamed: one that was cut short is not taken for a whole one. Exit
    NOT_EMPTY for a folder with something else in it; ``guard`` may refuse for more. ``failed`` begins the error.
    """
    at = list(argv).index(option)
    # Without the node's lock, for it takes long: each try has a folder of its own, and the rename decides.
    act = Script.of(
        r"""
nn={nn}; fresh=$nn.new-$$; log={log}
[ ! -f "$nn/current/VERSION" ] || { fact {fact} already; exit 0; }
env -i "PATH=$PATH" "HOME=$HOME" {env} {before} "-Ddfs.namenode.name.dir=file://$fresh" {after} \
    >"$log" 2>&1 </dev/null && [ -f "$fresh/current/VERSION" ] ||
    { rm -rf "$fresh"; said=$(no_login <"$log"); [ -n "$said" ] ||
    said=$(sed -n 's/^[^ ]* [^ ]* \(ERROR\|FATAL\) //p' "$log" | tail -n 1 | cut -c1-300)
    [ -n "$said" ] || tail -n 5 "$log" >&2
    echo {failed}"${said:+: $said}, see $log" >&2; exit 1; }
if mv -T "$fresh" "$nn" 2>/dev/null; then fact {fact} yes; exit 0; fi
rm -rf "$fresh"
[ -f "$nn/current/VERSION" ] || { echo "$nn cannot be made" >&2; exit 73; }
fact {fact} already
""",
        nn=lease.folders.nn,
        log=lease.folders.logs / log,
        fact=fact,
        failed=failed,
        env=[f"{key}={value}" for key, value in env.items()],
        before=list(argv[:at]),
        after=list(argv[at:]),
    )
    return changing(
        lease,
        r"""
nn={nn}
[ ! -f "$nn/current/VERSION" ] || exit 0
[ ! -e "$nn" ] || { found=$(ls -A "$nn") && [ -z "$found" ]; } ||
    { echo "$nn is not empty and is not a NameNode's folder" >&2; exit 80; }
"""
        + '{guard}\n[ ! -d "$nn" ] || rmdir "$nn"\n',
        nn=lease.folders.nn,
        guard=guard or Script(""),
        after=act,
    )


@dataclass(frozen=True, kw_only=True)
class Members:
    """The members of an MR-cluster, by address, as HDFS and YARN get them.

    ``leaving_data`` are DataNodes to decommission; ``leaving`` maps a NodeManager to the seconds that its running
    tasks have (0: none; -1: without limit). The ResourceManager looks for time limits under the name by which a node
    registered, and a node whose limit it does not find drains for an hour: so leaving nodes are listed by address, by
    the names that the master itself has for it, and by the one in ``names`` (``nodeHostName``) where that is another.
    """

    version: int
    data: Sequence[str]
    leaving_data: Sequence[str] = ()
    compute: Sequence[str]
    leaving: Mapping[str, int] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)

    def both(self, address: str) -> tuple[str, ...]:
        """The address, and the name if there is another."""
        return (address, self.names[address]) if self.names.get(address, address) != address else (address,)


def members_files(members: Members) -> dict[str, str]:
    """The four files of the masters, by name in ``Folders.members``; RefusedError for an empty include list.

    An empty include file admits every node, in HDFS and in YARN.
    """
    if not members.data or not members.compute:
        raise RefusedError(
            "an empty include list would admit every node", hint="Keep at least the core nodes as members"
        )
    rows = (
        f"  <host><name>{escape(host)}</name><timeout>{seconds}</timeout></host>\n"
        for address, seconds in sorted(members.leaving.items())
        for host in members.both(address)
    )
    return {
        Folders.DFS_INCLUDE: _lines(members.data),
        Folders.DFS_EXCLUDE: _lines(members.leaving_data),
        Folders.YARN_INCLUDE: _lines(host for address in members.compute for host in members.both(address)),
        Folders.YARN_EXCLUDE: f'<?xml version="1.0"?>\n<hosts>\n{"".join(rows)}</hosts>\n',
    }


def _lines(hosts: Iterable[str]) -> str:
    return "".join(f"{host}\n" for host in sorted(hosts))


def refresh(
    lease: Lease,
    members: Members,
    commands: Mapping[str, Sequence[str]] | None = None,
    env: Mapping[str, str] | None = None,
) -> Script:
    """Write the lists of members, then run the commands that make the masters read them, all at once.

    ``commands`` are by name, such as ``hdfs`` (... ``-refreshNodes``) and ``yarn`` (... ``-refreshNodes -g -server``);
    without any the files are only written. Fact ``written`` is the version; exit SUPERSEDED where a newer one is
    there, EMPTY_INCLUDE rather than an empty list. Facts ``refresh.NAME`` are exit codes; exit 1 if one is not 0.
    """
    files = members_files(members)
    includes = (Folders.DFS_INCLUDE, Folders.YARN_INCLUDE)
    writes = Script.join(
        Script.of("printf %s {text} >{new} || exit 73", text=text, new=f"{name}.new") for name, text in files.items()
    )
    moves = Script.join(Script.of("mv -f {new} {name} || exit 73", new=f"{name}.new", name=name) for name in files)
    return changing(
        lease,
        r"""
cd {members} || exit 73
now=0; [ ! -r version ] || read -r now <version
[ "$now" -le {version} ] || { echo "version $now is newer than "{version} >&2; exit 71; }
{writes}
rows=
for pair in {leaving}; do
    for name in $(timeout 5 getent hosts "${pair%=*}" 2>/dev/null); do
        [ "$name" = "${pair%=*}" ] || rows="$rows  <host><name>$name</name><timeout>${pair#*=}</timeout></host>
"
    done
done
if [ -n "$rows" ]; then
    { grep -v '</hosts>' {exclude}.new; printf '%s</hosts>\n' "$rows"; } >exclude.new &&
        mv -f exclude.new {exclude}.new || exit 73
fi
for list in {includes}; do grep -q '[^[:space:]]' "$list.new" || { echo "$list would be empty" >&2; exit 72; }; done
{moves}
echo {version} >version.new && mv -f version.new version || exit 73
fact written {version}
""",
        members=lease.folders.members,
        version=members.version,
        writes=writes,
        includes=includes,
        exclude=Folders.YARN_EXCLUDE,
        leaving=[f"{address}={seconds}" for address, seconds in sorted(members.leaving.items())],
        moves=moves,
        after=None if commands is None else _refresh(lease, commands, env or {}),
    )


def order(lease: Lease, commands: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> Script:
    """Run commands that tell the masters something, all at once; facts and exit code as for `refresh`."""
    return changing(lease, ":", after=_refresh(lease, commands, env))


def _refresh(lease: Lease, commands: Mapping[str, Sequence[str]], env: Mapping[str, str]) -> Script:
    """Run the commands, all at once; without the node's lock, for each is a JVM."""
    runs = Script.join(
        Script.of(
            '( env -i "PATH=$PATH" "HOME=$HOME" {env} {argv} >{name}.log 2>&1 </dev/null; echo $? >{name}.exit ) &',
            env=[f"{key}={value}" for key, value in {**env, **lease.marks("refresh")}.items()],
            argv=list(argv),
            name=name,
        )
        for name, argv in commands.items()
    )
    return Script.of(
        r"""
cd {members} || exit 73
{runs}
wait
end=0
for name in {names}; do
    code=1; [ ! -r "$name.exit" ] || read -r code <"$name.exit"
    fact "refresh.$name" "$code"
    [ "$code" = 0 ] || { end=1; tail -n 10 "$name.log" >&2; said=$(no_login <"$name.log")
    echo "refresh of $name ended with $code${said:+: $said}" >&2; }
    rm -f "$name.exit"
done
exit $end
""",
        members=lease.folders.members,
        runs=runs,
        names=list(commands),
    )


@task(name="status")
def status_by_hand(context: Any, work_dir: str, cluster: str) -> None:
    """Show which daemons of an MR-cluster run on a node."""
    play(context, status(Folders(work_dir=PurePosixPath(work_dir), cluster=cluster), DAEMONS))


@task(name="stop")
def stop_by_hand(
    context: Any, work_dir: str, pool: str, cluster: str, generation: int, epoch: int, daemon: str
) -> None:
    """Stop one daemon of an MR-cluster on a node."""
    play(context, stop(hand_lease(context, work_dir, pool, cluster, generation, epoch), [daemon]))
