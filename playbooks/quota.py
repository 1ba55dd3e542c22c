"""CPU quotas of YARN's containers on a node: set them, lift them. A guard on the node lifts them when nobody else does.

Each limited container gets a control group of its own (cgroup v2 with the cpu controller, or v1), with its whole tree
of processes. Where the node lets its user make none, its processes are stopped and continued, once a second, which is
coarse. The folder ``<work_dir>/quotas/CLUSTER`` has what the guard needs. Its processes, its groups and the folder end
with the wipe of the MR-cluster.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import Lease, Script, UserError, fenced, hand_lease, play, quota_functions, task

LIFETIME_S = 5.0
"""The guard lifts all limits when no limit was set for so long."""

_PROC = PurePosixPath("/proc/self")
_CONTAINER = re.compile(r"container_[A-Za-z0-9_]+")


def limit(
    lease: Lease,
    quotas: Mapping[str, int | None],
    *,
    lifetime_s: float = LIFETIME_S,
    proc: PurePosixPath = _PROC,
) -> Script:
    """Limit containers to hundredths of a core, None to no limit, and keep all limits of the node for ``lifetime_s``.

    It takes no lock and is fenced: exit FENCED, HELD, NOT_TAKEN or CLOSED where the node is no longer the lease's, and
    then no limit is left. Fact ``quota`` is how CPU time is limited there: ``v2``, ``v1`` or ``stop``. For each
    container fact ``quota.CONTAINER`` is the limit in force as the kernel reports it: hundredths of a core, at least 1,
    or ``max``; ``gone`` if it has no process on the node; or ``denied``, with the reason in ``why.CONTAINER``.
    With ``stop`` it is the limit that the guard read. Containers that are not named keep theirs.

    ``proc`` has ``mountinfo`` and ``cgroup``, which say where control groups are. UserError for a bad id or quota.
    """
    words, life = _words(quotas), round(lifetime_s * 100)
    return fenced(lease, "") + quota_functions() + Script.of(_LIMIT, words=words, life=life, proc=proc)


def renew(lease: Lease, quotas: Mapping[str, int | None], *, lifetime_s: float = LIFETIME_S) -> Script:
    """The same as `limit` where groups and guard are there and nothing is new, for a part of its processor time.

    Facts as of :func:`limit`; or fact ``due`` alone, and then `limit` must run: a container without a group or without
    processes, another lease, a limit that was not taken, no guard, a node without groups, or a look for strays.
    """
    script = Script.of(
        _RENEW,
        # As they stand in the file.
        lines=[f"{key}={value}" for key, value in asdict(lease).items() if key not in ("work_dir", "place", "starts")],
        file=lease.work_dir / "lease",
        generation=lease.generation,
        quotas=lease.folders.quotas,
        words=_words(quotas),
        life=round(lifetime_s * 100),
    )
    return replace(script, brief=True)


def _words(quotas: Mapping[str, int | None]) -> list[str]:
    words = []
    for container, hundredths in quotas.items():
        if not _CONTAINER.fullmatch(container):
            raise UserError(f"{container!r} is not the id of a container of YARN", where="quotas")
        if hundredths is not None and hundredths < 0:
            raise UserError(f"{hundredths} hundredths of a core are not possible", where=f"quota of {container}")
        words += [container, "max" if hundredths is None else str(max(1, hundredths))]
    return words


# It runs twice a second on each node: no process is started, and the text is short. Lengths are those of `put`.
_RENEW = r"""
due() { echo @due=yes; exit 0; }
held() {
    for line in {lines}; do read -r there && [ "$there" = "$line" ] || return 1; done
    read -r there || return 1
    case $there in closed= | closed=*[!0-9]* | closed=????????????????*) return 1 ;; closed=*) ;; *) return 1 ;; esac
    [ "${there#closed=}" -lt {generation} ]
}
exec 2>/dev/null
quotas={quotas}
[ -f {file} ] && held <{file} || due
read -r pid since _ <"$quotas/guard" && read -r there <"/proc/$pid/stat" || due
set -- ${there##*) }
shift 19
[ "$1" = "$since" ] && read -r kind base _ <"$quotas/base" && [ -d "$base" ] || due
case $kind in v1) file=cpu.cfs_quota_us ;; v2) file=cpu.max ;; *) due ;; esac
read -r now _ </proc/uptime && read -r scanned <"$quotas/scanned" || due
now=${now%.*}${now#*.}
[ $((now - scanned)) -lt 3000 ] && echo "$now "{life} >"$quotas/stamp" || due
# Nobody ends this script: after a disk that hung, it would set what the guard has lifted meanwhile.
read -r there _ </proc/uptime && there=${there%.*}${there#*.} && [ $((there - now)) -lt {life} ] || due
facts="@quota=$kind"
set -- {words}
while [ $# -gt 0 ]; do
    if [ "$2" != max ] || [ -d "$base/$1" ]; then
        if [ "$2" = max ]; then length=100000 wanted=max
        else
            length=20000
            [ "$2" -ge 5 ] || length=100000
            wanted=$(($2 * length / 100))
        fi
        if [ $kind = v2 ]; then wanted="$wanted $length"
        elif [ $wanted = max ]; then wanted=-1
        else read -r there <"$base/$1/cpu.cfs_period_us" && [ "$there" = $length ] || due
        fi
        read -r there <"$base/$1/cgroup.procs" && read -r there <"$base/$1/$file" || due
        [ "$there" = "$wanted" ] || {
            echo "$wanted" >"$base/$1/$file" && read -r there <"$base/$1/$file" && [ "$there" = "$wanted" ]
        } || due
    fi
    facts="$facts
@quota.$1=$2"
    shift 2
done
held <{file} || due
echo "$facts"
"""

# A container's processes inherit its group, so that those outside of it are looked for once in a while only.
_LIMIT = r"""
proc={proc}
set -- {words}
scan_every=3000
[ -z "$user" ] || [ "$(id -u)" != 0 ] || user=
kind=; base=; mount=; top=
ready() {
    alive "$quotas/guard" && read -r kind base mount top <"$quotas/base" && { [ "$kind" = stop ] || [ -d "$base" ]; }
}
start_guard() {
    lift_all
    mkdir -p "$quotas" && now && echo "$now "{life} >"$quotas/stamp" ||
        { echo "cannot write $quotas" >&2; exit 73; }
    group=
    [ ! -f "$work/groups/$my_cluster" ] || read -r group _ <"$work/groups/$my_cluster"
    find_quota "fawkes:$my_pool:$my_node:$my_cluster:quota"
    # v1 lets nobody but root move the processes of another user.
    case $quota in v1*) [ -z "$user" ] || quota=stop ;; esac
    set -- env "FAWKES_POOL=$my_pool" "FAWKES_CLUSTER=$my_cluster" "FAWKES_GENERATION=$my_generation" \
        FAWKES_DAEMON=quota "quota=$quota" "mount=${mount:--}" "top=${top:--}" setsid
    if [ "$quota" = "v2 unit" ]; then
        scope_of "fawkes:$my_pool:$my_node:$my_cluster:quota"
        set -- "$@" $scope
        scope=
    fi
    if [ "$quota" = stop ] && [ -n "$user" ]; then
        for file in guard base lock; do : >"$quotas/$file"; chmod 666 "$quotas/$file"; done
        set -- as_user "$@"
    fi
    printf '%s\n' "$lib" "quotas=\$work/quotas/\$my_cluster" "$quota_lib" guard |
        "$@" /bin/sh -s >/dev/null 2>&1 &
    tries=100
    until ready 2>/dev/null; do
        tries=$((tries - 1))
        [ $tries -gt 0 ] || { echo "the guard of quotas does not start" >&2; exit 81; }
        sleep 0.02
    done
}
# Names of limited containers, for a look at all processes; those without a group among them make it due.
look() {
    now
    scanned=0
    read -r scanned 2>/dev/null <"$quotas/scanned"
    due=no; names=
    [ $((now - scanned)) -lt $scan_every ] || due=yes
    while [ $# -gt 0 ]; do
        if [ "$kind" = stop ]; then place=$quotas/stop.$1; else place=$base/$1; fi
        if [ "$2" != max ] || [ -e "$place" ]; then
            names="$names $1"
            if [ "$kind" = stop ]; then [ -e "$place" ] || due=yes
            else members "$place"; [ -n "$inside" ] || due=yes
            fi
        fi
        shift 2
    done
    rounds=3; last=
    while [ $due = yes ] && [ $rounds -gt 0 ]; do
        rounds=$((rounds - 1)); due=no; last=
        echo "$now" >"$quotas/scanned"
        if [ -z "$user" ]; then found=$(scan $names); else found=$(run "$quota_lib
            scan $names"); fi
        while read -r name process; do
            if [ "$kind" = stop ]; then note; else adopt; fi
        done <<FOUND
$found
FOUND
    done 2>/dev/null
    [ -z "$last" ] || [ "$kind" != stop ] || printf '%s' "$list" >"$quotas/stop.$last"
}
note() {
    [ -n "$name" ] && started "$process" || return
    if [ "$name" != "$last" ]; then
        [ -z "$last" ] || printf '%s' "$list" >"$quotas/stop.$last"
        last=$name; kept=max
        [ ! -e "$quotas/stop.$name" ] || read -r _ kept <"$quotas/stop.$name"
        list="quota $kept
"
    fi
    list="$list$process $started
"
}
adopt() {
    [ -n "$name" ] || return
    if [ ! -d "$base/$name" ]; then
        mkdir "$base/$name" || return
        home=
        while IFS= read -r line; do
            case $kind,${line#*:}, in v2,:*) home=${line#0::} ;; v1,cpu[,:]* | v1,*,cpu[,:]*) home=${line#*:*:} ;; esac
        done <"/proc/$process/cgroup"
        echo "$mount${home#"${top%/}"}" >"$quotas/home.$name"
    fi
    members "$base/$name"
    case " $inside" in *" $process "*) ;; *) echo "$process" >"$base/$name/cgroup.procs" && due=yes ;; esac
}
denied() {
    fact "quota.$1" denied
    reason=$( (LC_ALL=C; put "$base/$1" "$2") 2>&1)
    [ -n "$reason" ] || reason="${3:-it is not what was written}"
    fact "why.$1" "${reason##*: }"
}
tell() {
    if [ "$kind" = stop ]; then tell_stop "$@"; return; fi
    if [ -d "$base/$1" ]; then
        members "$base/$1"
        if [ -z "$inside" ] && found_any "$1"; then
            fact "quota.$1" denied
            fact "why.$1" "its processes cannot be moved into a group"
        elif [ -z "$inside" ]; then
            rmdir "$base/$1" 2>/dev/null
            rm -f "$quotas/home.$1"
            fact "quota.$1" gone
        elif put "$base/$1" "$2" 2>/dev/null && in_force "$base/$1" && [ "$seen" = "$2" ]; then fact "quota.$1" "$seen"
        else denied "$@" "the limit in force is ${seen:-not known}"
        fi
    else
        if found_any "$1"; then
            fact "quota.$1" denied
            reason=$( (LC_ALL=C; mkdir "$base/$1") 2>&1)
            fact "why.$1" "${reason##*: }"
        elif [ "$2" = max ]; then fact "quota.$1" max
        else fact "quota.$1" gone
        fi
    fi
}
found_any() {
    case "
$found" in
        *"
$1 "*) ;;
        *) return 1 ;;
    esac
}
tell_stop() {
    file=$quotas/stop.$1
    if [ ! -e "$file" ]; then
        if [ "$2" = max ]; then fact "quota.$1" max; else fact "quota.$1" gone; fi
        return
    fi
    lives=no; list=
    while read -r process since; do
        [ "$process" != quota ] && started "$process" && [ "$started" = "$since" ] || continue
        lives=yes; list="$list$process $since
"
    done <"$file"
    if [ $lives = no ]; then rm -f "$file"; fact "quota.$1" gone
    else printf 'quota %s\n%s' "$2" "$list" >"$file" && fact "quota.$1" "$2"
    fi
}
found=
ready 2>/dev/null || start_guard
now
echo "$now "{life} >"$quotas/stamp"
look "$@"
fact quota "$kind"
while [ $# -gt 0 ]; do tell "$1" "$2"; shift 2; done
# A wipe may have begun meanwhile: nothing of this may be left after it.
fence || { lift_all; refuse; }
"""


def lift(lease: Lease) -> Script:
    """Lift every limit of the MR-cluster on its node now, continue what was stopped, and end the guard.

    Fenced as :func:`limit`. Fact ``quota`` is ``lifted``.
    """
    return fenced(lease, "") + quota_functions() + Script("lift_all\nfact quota lifted\n")


@task(name="lift")
def lift_by_hand(context: Any, work_dir: str, pool: str, cluster: str, generation: int, epoch: int) -> None:
    """Lift all CPU quotas of an MR-cluster on a node by hand."""
    play(context, lift(hand_lease(context, work_dir, pool, cluster, generation, epoch)))
