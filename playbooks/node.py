"""Actions on a node, whatever runs on it: look at it, make folders, wipe it, bring its logs.

By hand: ``fab -H node01 --search-root playbooks --collection node check --work-dir /srv/fawkes``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import (
    QUOTAS,
    Folders,
    Lease,
    Script,
    changing,
    hand_lease,
    kept_text,
    play,
    quota_functions,
    reading,
    reading_in,
    task,
)

TOOLS = (
    "awk", "bash", "df", "find", "flock", "getent", "grep", "gzip", "mktemp", "setsid", "sort", "stat", "sync", "tar",
    "timeout",
)  # fmt: skip
"""Programs that the scripts of the playbooks need on a node, beyond the shell."""


def check(
    work_dir: PurePosixPath,
    *,
    java_home: str = "",
    ports: Sequence[int] = (),
    names: Sequence[str] = (),
    others: Sequence[str] = (),
    port: int = 8020,
) -> Script:
    """Everything about a node that decides whether it can serve, in one round trip; changes nothing that stays.

    Facts: ``hostname user uid cores memory_kb free_memory_kb kernel``; ``machine``, the same for nodes that see each
    other's processes; ``clock_ns``, since the epoch, read at
    the end, and ``took_ns``, what the script itself took (the rest of the round trip is the shell's start-up);
    ``java.home java.version`` (absent without a Java); ``disk.free_kb disk.total_kb disk.inodes disk.free_inodes
    disk.fs disk.mount disk.options disk.write disk.exec`` of the work folder, or of the nearest folder above that is
    there, and ``disk.why`` not; ``disk.no_folder``, a file or a dangling link in its place;
    ``disk.group``, a group that can change it; ``silent`` for each name that its name service gave no answer for;
    ``listen`` for each of ``ports`` that somebody listens on; ``name.NAME`` the address
    that the node resolves each of ``names`` to, "" for none; ``has`` for each address of the node (IPv6: 32 digits);
    ``reach.ADDRESS`` for each of ``others`` that answers at once on ``port``, be it by a refusal (``yes``), or that
    there is no way to (why); ``missing`` for each program that is not there; ``left.PID`` with "pool cluster generation
    daemon" for each process of any Fawkes pool;
    ``lease.*``; ``group``, whether a lease gets a control group there (``yes`` or ``no``), and why not (``group.why``);
    ``quota``, how CPU time is limited there (``v2``, ``v1`` or ``stop``), and ``quota.why``, the commands by which an
    administrator would grant more than ``stop``; ``criu``, whether its kernel lets its user save tasks by CRIU (``yes``
    or ``no``), and why not (``criu.why``).
    """
    return reading(
        _CHECK + _QUOTA + _SAVES + _LEFT + _CLOCK,
        work=work_dir,
        quota_functions=Script(QUOTAS),
        java=java_home,
        hex_ports=[f"{port:04X}" for port in ports],
        names=list(names),
        others=list(others),
        port=port,
        tools=TOOLS,
    )


_CHECK = r"""
began=$(date +%s%N)
work={work}
fact hostname "$(hostname)"; fact user "$(id -un)"; fact uid "$(id -u)"; fact kernel "$(uname -r)"
fact cores "$(getconf _NPROCESSORS_ONLN)"
boot_id && pid_space=$(readlink /proc/self/ns/pid) && fact machine "$boot $pid_space"
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
while [ ! -d "$there" ]; do
    [ ! -e "$there" ] && [ ! -L "$there" ] || fact disk.no_folder "$there"
    there=$(dirname "$there")
done
df -Pk "$there" | {
    read -r head; read -r device total used free share mount
    fact disk.total_kb "$total"; fact disk.free_kb "$free"; fact disk.mount "$mount"
    fact disk.options "$(awk -v at="$mount" '
        { gsub(/\\040/, " ", $2) } $2 == at { found = $4 } END { print found }' /proc/self/mounts)"
}
stat -f -c '%c %d %T' "$there" | {
    read -r inodes free fs; fact disk.inodes "$inodes"; fact disk.free_inodes "$free"; fact disk.fs "$fs"
}
[ -z "$(find "$there" -maxdepth 0 -perm -020 ! -perm -1000)" ] || fact disk.group "$(stat -c %G "$there")"
# In a folder of its own: where every user may write, a file that is there already may be a link of somebody else.
trial=
if why=$(LC_ALL=C mktemp -d "$there/.fawkes-check.XXXXXXXXXX" 2>&1) && trial=$why &&
    why=$( (LC_ALL=C; set -C; echo '#!/bin/sh' >"$trial/run") 2>&1); then
    fact disk.write yes
    chmod 700 "$trial/run"
    if why=$( (LC_ALL=C; "$trial/run") 2>&1); then fact disk.exec yes; else fact disk.exec no; fi
else
    fact disk.write no
fi
[ -z "$why" ] || fact disk.why "${why##*: }"
[ -z "$trial" ] || rm -rf "$trial"

listening=" $(awk '$4 == "0A" { sub(/.*:/, "", $2); print $2 }' /proc/net/tcp /proc/net/tcp6 2>/dev/null | tr '\n' ' ')"
for port in {hex_ports}; do
    case $listening in *" $port "*) fact listen $((0x$port)) ;; esac
done
# All at once: a silent server costs 5 s for each name before the next one is asked. The subshell waits for these alone.
(
    for name in {names}; do
        {
            address=$(timeout 8 getent ahosts "$name"); [ $? != 124 ] || fact silent "$name"
            fact "name.$name" "${address%% *}"
        } &
    done
    wait
)
awk '/32 host LOCAL/ { print last } { last = $NF }' /proc/net/fib_trie 2>/dev/null | sort -u | sed 's/^/@has=/'
awk '$6 != "lo" { print "@has=" $1 }' /proc/net/if_inet6 2>/dev/null
# Silence says nothing: a firewall may pass only what is served.
for other in {others}; do
    said=$(LC_ALL=C timeout 1 bash -c ': <"/dev/tcp/$0/$1"' "$other" {port} 2>&1) && said=refused
    case $said in
        *refused) fact "reach.$other" yes ;;
        *"No route to host" | *unreachable) fact "reach.$other" "${said##*: }" ;;
    esac
done

find_group "fawkes:check:$$"
if [ -n "$group" ]; then fact group yes; else fact group no; fact group.why "$why"; fi
case $group in folder*) rmdir "${group#folder }" ;; esac
"""

_QUOTA = r"""
{quota_functions}
group=${group%% *}
find_quota "fawkes:check:$$:quota"
fact quota "${quota%% *}"
[ "$quota" != stop ] || fact quota.why "$why"
"""

_SAVES = r"""
[ "$(id -u)" = 0 ] && user= || user="-U --map-root-user"
if [ "$(uname -m)" != x86_64 ]; then why="it is a $(uname -m), and CRIU is for x86_64"
else
    why=$( (LC_ALL=C; unshare $user --pid --mount --fork /bin/sh -c 'mount --make-rprivate / &&
        mount --bind /tmp /media && mount -t proc proc /proc && echo 999 >/proc/sys/kernel/ns_last_pid') 2>&1 |
        tail -n 1)
fi
if [ -z "$why" ]; then fact criu yes; else fact criu no; fact criu.why "$why"; fi
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
    """Traces of Fawkes on the node: ``left.PID`` and ``lease.*`` as in ``check``, ``folder`` for each MR-cluster."""
    return reading(
        "work={work}"
        + _LEFT
        + r"""
for folder in "$work"/clusters/*; do [ ! -d "$folder" ] && [ ! -L "$folder" ] || fact folder "${folder##*/}"; done
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


# `listed`: whether processes of `user`, whose id is `uid`, can be started and are seen here. Where /proc hides the
# processes of others nobody can say that none is left.
# `unfit_user NAME`: why nothing can run here as a user of that name for an MR-cluster; nothing if it can.
_USERS = r"""
listed() {
    for seconds in 0.3 3; do
        (as_user sleep $seconds) >/dev/null 2>&1 &
        tries=${seconds%.*}; tries=$((tries * 20 + 10))
        while [ $tries -gt 0 ]; do
            [ -z "$(of_uid "$uid")" ] || return 0
            tries=$((tries - 1)); sleep 0.05
        done
    done
    return 1
}
unfit_user() {
    user=$1; uid=$(id -u "$user" 2>/dev/null); home=$(getent passwd "$user" | cut -d: -f6)
    if [ -z "$uid" ]; then echo "there is no user $user"
    elif [ "$uid" = 0 ]; then echo "jobs of root own their nodes"
    elif [ "$uid" = "$(id -u)" ]; then echo "$user is the user for SSH as well"
    elif grep -qE "^($user|$uid):" /etc/subuid 2>/dev/null; then
        echo "/etc/subuid gives $user further user ids, under which its processes would not be found"
    elif ! found=$( (as_user id -u) 2>/dev/null) || [ "$found" != "$uid" ]; then
        echo "$(id -un) cannot run programs as $user ($( (as_user id -u) 2>&1 | tail -n 1 | cut -c 1-200))"
    elif ! listed; then echo "$(id -un) cannot list the processes of $user (is /proc mounted with hidepid?)"
    else wait
    fi
}
"""


def fit_users(names: Sequence[str]) -> Script:
    """Facts ``unfit.NAME``: why this node cannot run anything as each of these users; empty if it can."""
    return reading(
        _USERS + 'for name in {names}; do why=$(unfit_user "$name") || exit; fact "unfit.$name" "$why"; done\n',
        names=list(names),
    )


def prepare(lease: Lease, run_as: str = "", leftovers: str = "") -> Script:
    """Make the folders of the MR-cluster on the node, and its control group where the node can have one.

    Facts ``prepared``, ``free_kb`` of the disk under the folders, ``group`` (``yes`` or ``no``) and ``group.why``.

    They belong to the Unix user ``run_as``, who alone can enter them, and from now on everything of the MR-cluster
    runs as that user; without one all is the user's for SSH. ``leftovers`` is kept for the wipe: ``remove`` or
    ``tell``. Exit UNFIT_USER, with the reason, before anything is run as a user who cannot be used, who has processes
    here already, or who is another one than before.
    """
    return changing(
        lease,
        _USERS
        + r"""
want={run_as}; root={root}
unfit() { echo "$*" >&2; exit 84; }
cannot() { echo "cannot make the folders of $my_cluster in $work" >&2; exit 73; }
if [ -n "$want" ] && [ -z "$user" ]; then
    uid=$(id -u "$want" 2>/dev/null)
    others=; [ -z "$uid" ] || others=$(of_uid "$uid") || unfit "it is not known whether $want has processes here"
    why=$(unfit_user "$want") || unfit "it is not known whether anything can run as $want here: programs cannot be run"
    [ -z "$why" ] || unfit "$why"
    [ -z "$others" ] || unfit "$want has processes here, which a wipe would end (process ids" $others")"
    [ ! -e "$root" ] && [ ! -L "$root" ] || unfit "the folder $root is there already, and it is not of $want"
    mkdir -p "$work/users" && printf '%s %s %s\n' "$want" "$uid" {leftovers} >{user_file}.new && sync {user_file}.new &&
        mv -f {user_file}.new {user_file} || cannot
    own_user "$work" "$my_cluster"
fi
[ "$user" = "$want" ] ||
    unfit "$my_cluster runs as ${user:-the user for SSH} on this node, not as ${want:-the user for SSH}"
if [ -n "$user" ]; then
    # Made in a new place, which takes files of every user for that time and is left where others made any. A folder of
    # another user cannot be moved out of the folder it is in: the place becomes `clusters`, which must be empty.
    if [ ! -e "$root" ]; then
        new=$(mktemp -d "$work/.new-XXXXXXXXXX") && chmod 711 "$new" && place=$(mktemp -d "$new/XXXXXXXXXX") || cannot
        chmod 1733 "$place" && (as_user mkdir -m 700 "$place/$my_cluster"); chmod 755 "$place"
        [ "$(ls -A "$place")" = "$my_cluster" ] && mv -T "$place" "$work/clusters"
        rmdir "$work"/.new-*/*/* "$work"/.new-*/* "$work"/.new-* 2>/dev/null
    fi
    [ ! -L "$root" ] && [ "$(stat -c '%u %a %F' "$root")" = "$uid 700 directory" ] ||
        { echo "$user cannot make the folder $root, it is not its own, or something lies beside it" >&2; exit 73; }
fi
{make}
run "$make" || cannot
# A record that there was a group stays, whatever this node says now: the wipe must be able to see it.
find_group "fawkes:$my_pool:$my_node:$my_cluster"
if [ -n "$group" ] || [ -e {group_file} ]; then
    mkdir -p "$work/groups" && printf '%s\n' "${group:-none}" >{group_file}.new && sync {group_file}.new &&
        mv -f {group_file}.new {group_file} || cannot
fi
if [ -n "$group" ]; then fact group yes; else fact group no; fact group.why "$why"; fi
fact prepared yes
df -Pk "$root" | { read -r head; read -r device total used free rest; fact free_kb "$free"; }
""",
        by_login=True,
        run_as=run_as,
        leftovers=leftovers,
        make=kept_text(
            "make",
            Script.of(
                "mkdir -p {folders} && chmod 700 {private}",
                folders=lease.folders.all(),
                private=(lease.folders.root, lease.folders.dn, lease.folders.dn_input, lease.folders.jobs),
            ),
        ),
        user_file=lease.folders.user_file,
        group_file=lease.folders.group_file,
        root=lease.folders.root,
    )


# What a user left outside of Fawkes's folders, a line for each; run as that user, when none of its processes is left.
# In its home only what has changed since the node was taken, by the time that nobody but the kernel can set. A home
# that many hosts share belongs to no node alone.
_LEFTOVERS = r"""
me=$(id -u)
its_home() {
    [ -O "$HOME" ] && [ "$HOME" != / ] || return 1
    case $(stat -f -c %T "$HOME") in '') exit 1 ;;
        nfs* | lustre | cifs | smb* | afs | ceph | gpfs | fuse* | UNKNOWN*) return 1 ;;
    esac
}
ipc() {
    for kind in shm msg sem; do
        awk -v me="$me" -v kind="$kind" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "uid") at = i; next }
            $at == me { print "ipc", kind, $2 }' "/proc/sysvipc/$kind" 2>/dev/null
    done
}
places="/tmp /var/tmp /dev/shm /run/lock /dev/mqueue"
"""

_FIND_LEFTOVERS = (
    _LEFTOVERS
    + r"""
! crontab -l >/dev/null 2>&1 || echo "its crontab"
atq 2>/dev/null | sed 's/^\([0-9]*\).*/at job \1/'
ipc
{
    for at in $places; do find -H "$at" -xdev -mindepth 1 -uid "$me" -print0 2>/dev/null; [ $? -le 1 ] || exit; done
    ! its_home || find -H "$HOME" -xdev -mindepth 1 -uid "$me" -cnewer {user_file} \( ! -type d -o -empty \) -print0
    [ $? -gt 1 ] || printf '//\0'
} | tr '\n\0' '?\n'
"""
)

_REMOVE_LEFTOVERS = (
    _LEFTOVERS
    + r"""
set -- $places; ! its_home || set -- "$@" "$HOME"
found=$(mounted_in '' "$@") && [ -z "$found" ] || { echo "$found"; exit 1; }
exec >/dev/null 2>&1
for place in $places; do
    find -H "$place" -xdev -mindepth 1 -type d -uid "$me" -exec chmod u+rwx {} + 2>/dev/null
    find -H "$place" -xdev -mindepth 1 -depth -uid "$me" -delete 2>/dev/null
done
! its_home || find -H "$HOME" -xdev -mindepth 1 -depth -uid "$me" -cnewer {user_file} -delete 2>/dev/null
! crontab -l >/dev/null 2>&1 || crontab -r
for id in $(atq 2>/dev/null | cut -f 1); do atrm "$id"; done
ipc | while read -r _ kind id; do
    case $kind in shm) ipcrm -m "$id" ;; msg) ipcrm -q "$id" ;; sem) ipcrm -s "$id" ;; esac
done
:
"""
)

# Each JVM makes a file in /tmp under its process id, wherever its folder for temporary files is. One that was killed
# leaves it. Those of living processes stay, and so does a folder that another user has made under this name.
_TRACES = r"""
folder=/tmp/hsperfdata_$(id -un)
if [ -d "$folder" ] && [ ! -L "$folder" ] && [ -O "$folder" ]; then
    for file in "$folder"/[0-9]*; do [ -e "/proc/${file##*/}" ] || rm -f "$file"; done
    rmdir "$folder" 2>/dev/null
fi
:
"""

_WIPE = r"""
groups() { groups_of "$my_pool" "$my_node" "$my_cluster"; }
unknown="it is not known what is left of $my_cluster: programs cannot be run there (processes, memory)"
all_left() { all_of "$my_pool" "$my_node" "$my_cluster" "$work" "$uid"; }
none_left() { left=$(all_left) || left=$unknown; [ -z "$left" ]; }
end_all() {
    kill "-$1" $(all_left | grep -v /) 2>/dev/null
    [ "$1" != KILL ] || for group in $(groups); do (echo 1 >"$group/cgroup.kill") 2>/dev/null; done
    [ -z "$uid" ] || (as_user /bin/sh -c "kill -$1 -1") 2>/dev/null
}
dirty() { echo "$*" >&2; exit 70; }
# First of all: what is limited to a hundredth of a core takes minutes to end, and what is stopped does not hear TERM.
keep=yes
lift_all
set -- $(all_left)
fact killed $#
[ ! -e {group_file} ] || [ -n "$(group_mounts)" ] ||
    dirty "it is not known what is left in the control group of $my_cluster: no control groups are mounted any more"
[ -z "$uid" ] || listed ||
    dirty "it is not known whether processes of $user are left: $(id -un) cannot start or list any (sudo, /proc)"
none_left || end_all TERM
tries={grace_tenths}
while [ $tries -gt 0 ] && ! none_left; do tries=$((tries - 1)); sleep 0.1; done
# What is being killed may still start children: again until there are none.
tries=50
while [ $tries -gt 0 ] && ! none_left; do end_all KILL; tries=$((tries - 1)); sleep 0.1; done
none_left || { [ "$left" != "$unknown" ] || dirty "$left"; dirty "processes of $my_cluster are left:" $left; }

# What is mounted may be data of others, and a part of the same disk has the same device number.
mounted="something is mounted where all is to be removed; unmount it:"
found=$(mounted_in "trash|$my_cluster|[.]trash-$my_cluster[.][^/]*" "$work" "$work/clusters") || dirty "$unknown"
[ -z "$found" ] || dirty "$mounted" $found

# Renamed first: a wipe that was cut short never leaves half of a DataNode's folder under the name of a whole one. What
# belongs to another user can be renamed where it is, and emptied by that user alone.
if [ -z "$user" ]; then
    trash=$work/trash
    [ ! -L {root} ] || dirty {root}" is a link, and the files of $my_cluster may lie elsewhere"
    [ ! -L "$trash" ] || rm -f "$trash"
    mkdir -p "$trash" && { [ ! -e {root} ] || mv -T {root} "$trash/$my_cluster.$$.$(date +%s)"; } &&
        rm -rf --one-file-system "$trash" || dirty "cannot remove the folder of $my_cluster"
else
    trash=$work/clusters/.trash-$my_cluster
    mkdir -p "$work/clusters" && chmod 755 "$work/clusters" &&
        { [ ! -e {root} ] || mv -T {root} "$trash.$$.$(date +%s)"; } ||
        dirty "cannot remove the folder of $my_cluster"
    for folder in "$trash".*; do
        if [ -L "$folder" ] || [ ! -d "$folder" ]; then rm -f "$folder" || dirty "cannot remove $folder"; continue; fi
        (as_user find "$folder" -xdev -mindepth 1 -delete) 2>/dev/null ||
            (as_user /bin/sh -c 'chmod -R u+rwX "$1"; find "$1" -xdev -mindepth 1 -delete' sh "$folder")
        rmdir "$folder" || dirty "cannot remove the folder of $my_cluster"
    done
fi
"""

_WIPE_LEFTOVERS = r"""
if [ -n "$user" ]; then
    {find}
    {remove}
    # The last line says that all was looked at; no path ends in a slash.
    look() { found=$(run "$find"); case $found in *//) found=${found%//} ;; *) dirty "$unknown" ;; esac; }
    look
    told=$(printf '%s\n' "$found" | grep -vxE "/tmp/hsperfdata_$user(/[0-9]+)?" | grep .)
    [ $? -le 1 ] || dirty "$unknown"
    printf '%s\n' "$told" | head -n 20 | cut -c 1-200 | sed -n 's/^./@leftover=&/p'
    fact leftovers "$(printf '%s\n' "$told" | grep -c .)"
    fact removed no
    if [ "$remains" = remove ] && [ -n "$found" ]; then
        found=$(run "$remove") || dirty "${found:+$mounted }${found:-$unknown}"
        look
        [ -z "$found" ] || dirty "$(printf '%s\n' "$found" | grep -c .) things of $user cannot be removed, such as" \
            "$(printf '%s\n' "$found" | head -n 1 | cut -c 1-200)"
        fact removed yes
    fi
    left=$(of_uid "$uid") || dirty "$unknown"
    [ -z "$left" ] || dirty "processes of $user are left:" $left
    rm -f {user_file} || dirty "cannot remove "{user_file}
fi
tries=50
while for group in $(groups); do find "$group" -depth -type d -exec rmdir {} \; ; done 2>/dev/null
    [ -n "$(groups)" ] && [ $tries -gt 0 ]
do tries=$((tries - 1)); sleep 0.1; done
left=$(groups) || dirty "$unknown"
[ -z "$left" ] || dirty "control groups of $my_cluster cannot be removed:" $left
rm -f {group_file} || dirty "cannot remove "{group_file}
left=$(marked "$my_pool" "$my_cluster" "$work") || dirty "$unknown"
[ -z "$left" ] || dirty "processes of $my_cluster are left:" $left
{traces}
run "$traces"
for folder in clusters users groups quotas; do rmdir "$work/$folder" 2>/dev/null; done
for folder in {root} "$trash"; do
    [ ! -e "$folder" ] && [ ! -L "$folder" ] || dirty "folders of $my_cluster are left"
done
fact clean yes
"""


def wipe(lease: Lease, *, grace_s: float = 1.0) -> Script:
    """End every process of the MR-cluster on the node, remove its folder, and verify both.

    Processes are found by inherited environment and by working folder, so containers of a NodeManager that was killed
    go as well. Where the MR-cluster has its own Unix user, every process of that user goes, whatever it did to hide.
    Where it has a control group, every process in that goes, and the group itself.
    They get ``grace_s`` seconds between TERM and KILL. Facts ``killed`` (how many were there) and
    ``clean``; exit CLEAN_FAILED, with what is left, if something resists or cannot be known. Nothing of others is
    touched.

    Of the MR-cluster's own user, ``leftovers`` counts what lies in folders for temporary files, has changed in its
    home, or is its crontab, its at jobs and its System V memory; ``leftover`` names the first 20; ``removed`` says
    whether they are gone, as ``prepare`` was told.
    """
    user_file = lease.folders.user_file
    return changing(
        lease,
        "{quota_functions}" + _USERS + _WIPE + _WIPE_LEFTOVERS,
        wipes=True,
        by_login=True,
        root=lease.folders.root,
        grace_tenths=round(grace_s * 10),
        quota_functions=quota_functions(),
        find=kept_text("find", Script.of(_FIND_LEFTOVERS, user_file=user_file)),
        remove=kept_text("remove", Script.of(_REMOVE_LEFTOVERS, user_file=user_file)),
        traces=kept_text("traces", Script(_TRACES)),
        user_file=user_file,
        group_file=lease.folders.group_file,
    )


def verify(lease: Lease) -> Script:
    """Fact ``clean`` is ``yes`` if no process and no folder of the MR-cluster is left; else ``no``, and what is."""
    return reading(
        r"""
own_user {work} {cluster}
left=$(all_of {pool} {node} {cluster} {work} "$uid") || left="$left unknown"
for pid in $left; do fact process "$pid"; done
folder=
[ ! -e {root} ] && [ ! -L {root} ] || { folder={root}; fact folder "$folder"; }
if [ -z "$left$user$folder" ]; then fact clean yes; else fact clean no; fi
""",
        pool=lease.pool,
        cluster=lease.cluster,
        node=lease.node,
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
    return reading_in(
        folders,
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
