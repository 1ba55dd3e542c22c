"""What is done to a node, whatever runs on it: look at it, make folders, wipe it, bring its logs.

By hand: ``fab -H node01 --search-root playbooks --collection node check --work-dir /srv/fawkes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import Folders, Lease, Script, changing, hand_lease, play, reading, task

TOOLS = ("awk", "df", "find", "flock", "getent", "grep", "gzip", "setsid", "sort", "stat", "sync", "tar", "timeout")
"""Programs that the scripts of the playbooks need on a node, beyond the shell."""


def check(
    work_dir: PurePosixPath, *, java_home: str = "", ports: Sequence[int] = (), names: Sequence[str] = ()
) -> Script:
    """Everything about a node that decides whether it can serve, in one round trip; changes nothing that stays.

    Facts: ``hostname user uid cores memory_kb free_memory_kb kernel``; ``clock_ns``, since the epoch, read at
    the end, and ``took_ns``, what the script itself took (the rest of the round trip is the shell's start-up);
    ``java.home java.version`` (absent without a Java); ``disk.free_kb disk.total_kb disk.fs disk.write`` of the work
    folder, or of the nearest folder above that is there; ``listen`` for each of ``ports`` that somebody listens on;
    ``name.NAME`` the address that the node resolves each of ``names`` to, "" for none; ``missing`` for each
    program that is not there; ``left.PID`` with "pool cluster generation daemon" for each process of any Fawkes pool;
    ``lease.*``.
    """
    return reading(
        _CHECK + _LEFT + _CLOCK,
        work=work_dir,
        java=java_home,
        hex_ports=[f"{port:04X}" for port in ports],
        names=list(names),
        tools=TOOLS,
    )


_CHECK = r"""
began=$(date +%s%N)
work={work}
fact hostname "$(hostname)"; fact user "$(id -un)"; fact uid "$(id -u)"; fact kernel "$(uname -r)"
fact cores "$(getconf _NPROCESSORS_ONLN)"
while read -r key value unit; do
    case $key in MemTotal:) fact memory_kb "$value" ;; MemAvailable:) fact free_memory_kb "$value" ;; esac
done </proc/meminfo
for tool in {tools}; do command -v "$tool" >/dev/null || fact missing "$tool"; done

# The file `release` tells the version without the cost of a JVM.
for home in {java} "${JAVA_HOME:-}" "$(readlink -f "$(command -v java)" 2>/dev/null | sed 's,/bin/java$,,')" \
    /usr/lib/jvm/* /usr/java/*; do
    [ -n "$home" ] && [ -x "$home/bin/java" ] || continue
    version=$(sed -n 's/^JAVA_VERSION="\(.*\)"/\1/p' "$home/release" 2>/dev/null)
    [ -n "$version" ] || version=$("$home/bin/java" -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')
    fact java.home "$home"; fact java.version "$version"
    break
done

there=$work
while [ ! -d "$there" ]; do there=$(dirname "$there"); done
df -Pk "$there" | {
    read -r head; read -r device total used free rest
    fact disk.total_kb "$total"; fact disk.free_kb "$free"
}
fact disk.fs "$(stat -f -c %T "$there")"
trial=$there/.fawkes-check.$$
if (echo trial >"$trial") 2>/dev/null; then fact disk.write yes; else fact disk.write no; fi
rm -f "$trial"

listening=" $(awk '$4 == "0A" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | tr '\n' ' ')"
for port in {hex_ports}; do
    case $listening in *" $port "*) fact listen $((0x$port)) ;; esac
done
for name in {names}; do fact "name.$name" "$(getent ahosts "$name" | { read -r address rest; echo "$address"; })"; done

"""

_LEFT = r"""
grep -azH '^FAWKES_' /proc/[0-9]*/environ 2>/dev/null | tr '\0' '\n' | awk -F '[/:=]' '
    { pid[$3] = 1; value[$3, $5] = $6 }
    END { for (p in pid) printf "@left.%s=%s %s %s %s\n", p, value[p, "FAWKES_POOL"], value[p, "FAWKES_CLUSTER"],
        value[p, "FAWKES_GENERATION"], value[p, "FAWKES_DAEMON"] }'
read_lease "$work"
lease_facts
"""

_CLOCK = r"""
now=$(date +%s%N)
fact took_ns $((now - began)); fact clock_ns "$now"
"""


def facts(work_dir: PurePosixPath) -> Script:
    """What of Fawkes is on the node: ``left.PID`` and ``lease.*`` as in ``check``, ``folder`` for each MR-cluster."""
    return reading(
        "work={work}"
        + _LEFT
        + r"""
for folder in "$work"/clusters/*; do [ ! -d "$folder" ] || fact folder "${folder##*/}"; done
""",
        work=work_dir,
    )


def linger() -> Script:
    """Start a process that should outlive the login; ``lingers`` on a new connection tells whether it does.

    Facts ``pid`` and ``since``. It ends by itself after two minutes.
    """
    return reading(
        r"""
setsid sleep 120 </dev/null >/dev/null 2>&1 &
started $!
fact pid $!; fact since "$started"
"""
    )


def lingers(pid: int, since: int) -> Script:
    """Fact ``lingers`` is ``yes`` if the process that ``linger`` started is still there; it is ended then."""
    return reading(
        r"""
if started {pid} && [ "$started" = {since} ]; then kill {pid}; fact lingers yes; else fact lingers no; fi
""",
        pid=pid,
        since=since,
    )


def prepare(lease: Lease) -> Script:
    """Make the folders of the MR-cluster on the node. Facts ``prepared``, ``free_kb`` of the disk under them."""
    return changing(
        lease,
        r"""
mkdir -p {folders} && chmod 700 {private} || { echo "cannot make the folders of $my_cluster in $work" >&2; exit 73; }
fact prepared yes
df -Pk {root} | { read -r head; read -r device total used free rest; fact free_kb "$free"; }
""",
        folders=lease.folders.all(),
        private=(lease.folders.dn, lease.folders.dn_input, lease.folders.jobs),
        root=lease.folders.root,
    )


def wipe(lease: Lease, *, grace_s: float = 1.0) -> Script:
    """End every process of the MR-cluster on the node, remove its folder, and verify both.

    Processes are found by inherited environment and by working folder, so containers of a NodeManager that was killed
    go as well. They get ``grace_s`` seconds between TERM and KILL. Facts ``killed`` (how many were there) and
    ``clean``; exit CLEAN_FAILED, with what is left, if something resists. Nothing of others is touched.
    """
    return changing(
        lease,
        r"""
kill_marked() { kill "-$1" $(marked "$my_pool" "$my_cluster" "$work") 2>/dev/null; }
set -- $(marked "$my_pool" "$my_cluster" "$work")
fact killed $#
[ $# -eq 0 ] || kill_marked TERM
tries={grace_tenths}
while [ $tries -gt 0 ] && [ -n "$(marked "$my_pool" "$my_cluster" "$work")" ]; do tries=$((tries - 1)); sleep 0.1; done
# What is being killed may still start children: again until there are none.
tries=50
while [ $tries -gt 0 ] && kill_marked KILL; do tries=$((tries - 1)); sleep 0.1; done

# Renamed first: a wipe that was cut short never leaves half of a DataNode's folder under the name of a whole one.
trash=$work/trash
mkdir -p "$trash" && { [ ! -e {root} ] || mv {root} "$trash/$my_cluster.$$.$(date +%s)"; } &&
    rm -rf --one-file-system "$trash" || { echo "cannot remove the folder of $my_cluster" >&2; exit 70; }

left=$(marked "$my_pool" "$my_cluster" "$work")
[ -z "$left" ] || { echo "processes of $my_cluster are left:" $left >&2; exit 70; }
[ ! -e {root} ] && [ ! -e "$trash" ] || { echo "folders of $my_cluster are left" >&2; exit 70; }
fact clean yes
""",
        wipes=True,
        root=lease.folders.root,
        grace_tenths=round(grace_s * 10),
    )


def verify(lease: Lease) -> Script:
    """Fact ``clean`` is ``yes`` if no process and no folder of the MR-cluster is left; else ``no``, and what is."""
    return reading(
        r"""
left=$(marked {pool} {cluster} {work})
for pid in $left; do fact process "$pid"; done
[ ! -e {root} ] || fact folder {root}
if [ -z "$left" ] && [ ! -e {root} ]; then fact clean yes; else fact clean no; fi
""",
        pool=lease.pool,
        cluster=lease.cluster,
        work=lease.work_dir,
        root=lease.folders.root,
    )


def collect_logs(folders: Folders, *, limit_bytes: int = 256_000_000) -> Script:
    """A gzipped tar on standard output: logs of daemons and containers, configuration, results and logs of jobs.

    The configuration and the environment of a job are not taken: its secrets are in them.
    Of the files that came along with a job only its logs (``*.log``) are taken: jars would fill the room.
    The newest files come first until ``limit_bytes`` (before compression) are reached; ``omitted`` on standard error
    says how many files that left out. A name with a line feed would name another file to tar: such files are not
    taken. Give it a ``sink``: the output is bytes.
    """
    return Script.of(
        r"""
cd {root} || { echo "there is nothing of this MR-cluster here" >&2; exit 73; }
find logs nm-logs conf/ jobs run members -type f ! -path '*[[:cntrl:]]*' ! -path 'jobs/*/conf/*' ! -name env \
    \( ! -path 'jobs/*/files/*' -o -name '*.log' \) -printf '%T@ %s %p\n' 2>/dev/null |
    sort -rn | awk -v limit={limit} '
    { size += $2; if (size > limit) { omitted++; size -= $2 } else { sub(/^[^ ]* [^ ]* /, ""); print } }
    END { printf "@omitted=%d\n", omitted >"/dev/stderr" }' |
    tar -czf - --ignore-failed-read --warning=no-file-changed -T - || [ $? -eq 1 ]
""",
        root=folders.root,
        limit=limit_bytes,
    )


@task(name="check")
def check_by_hand(context: Any, work_dir: str, java_home: str = "") -> None:
    """Show what a node is like; changes nothing."""
    play(context, check(PurePosixPath(work_dir), java_home=java_home))


@task(name="facts")
def facts_by_hand(context: Any, work_dir: str) -> None:
    """Show what of Fawkes is on a node."""
    play(context, facts(PurePosixPath(work_dir)))


@task(name="wipe")
def wipe_by_hand(context: Any, work_dir: str, pool: str, cluster: str, generation: int, epoch: int) -> None:
    """End and remove everything of one MR-cluster on a node."""
    play(context, wipe(hand_lease(context, work_dir, pool, cluster, generation, epoch)))
