"""The shell functions of CPU quotas on a node: where limits can be set, who is limited, and how limits are lifted."""

# They follow the prelude, in a script with `work`, `my_pool`, `my_node`, `my_cluster`, `quotas`, the folder of quotas,
# and `quota_lib`, this text.
# `now`: hundredths of a second since boot, without a process.
# `has_word WORD FILE`: a file of one line has this word.
# `try_quota KIND FOLDER NAME`: a group NAME below FOLDER can be made, limited and entered; nothing of it stays.
# `find_quota NAME`: `quota` is how CPU time is limited here: `v2 unit`, `v2 FOLDER`, `v1 FOLDER` or `stop`, and `why`
# is what an administrator would have to grant where it is `stop`. `group` is that of the lease, as `find_group` says.
# `top` and `mount` are where a folder's hierarchy begins and is seen.
# `members GROUP`: `inside` is a list of its processes.
# `scan CONTAINER...`: "CONTAINER PID" for each process of these containers of the MR-cluster, and all its descendants;
# sorted, so that those of a container follow each other.
# `put GROUP QUOTA`: limit a group to hundredths of a core, or to `max`. Each write gives the group the time of a whole
# kernel period again: a limit of half a core that is written twice a second in periods of a tenth of a second allows
# 0.6. So periods are short, as far as the kernel's least amount of a millisecond allows, and what is there is not
# written again. `in_force GROUP`: `seen` is the limit that the
# kernel reports, in the same unit.
# `lift_groups BASE...`: nothing below is limited any more, and what can be moved back to where it came from is.
# `lift_all`: the same for every group of the MR-cluster, by name, and for what was stopped; the guard ends first.
# With `keep=yes` processes stay in their groups, by which a wipe finds what sheds all its marks.
# `guard`: waits until no limit was set for as long as the file `stamp` says, and lifts all. See playbooks/quota.py.
from __future__ import annotations

QUOTAS = r"""
proc=/proc/self
keep=
now() { read -r now _ </proc/uptime; now=${now%.*}${now#*.}; }
has_word() {
    words=
    read -r words 2>/dev/null <"$2"
    case " $words " in *" $1 "*) ;; *) return 1 ;; esac
}
try_quota() {
    enabled=
    if [ "$1" = v2 ]; then
        has_word cpu "$2/cgroup.controllers" || return 1
        has_word cpu "$2/cgroup.subtree_control" ||
            { (echo +cpu >"$2/cgroup.subtree_control") 2>/dev/null && enabled=yes; } || return 1
    fi
    ( { [ -d "$2/$3" ] || mkdir "$2/$3"; } && put "$2/$3" max "$1" && echo 0 >"$2/$3/cgroup.procs" ) 2>/dev/null
    tried=$?
    rmdir "$2/$3" 2>/dev/null
    [ -z "$enabled" ] || echo -cpu >"$2/cgroup.subtree_control"
    return $tried
}
quota_folder() {
    while read -r _ _ _ top mount more; do
        own=
        case $1$more in
            v2*' - cgroup2 '*) at="0::" ;;
            v1*' - cgroup '*) case ",${more##* }," in *,cpu,*) at=cpu ;; *) continue ;; esac ;;
            *) continue ;;
        esac
        while IFS= read -r line; do
            case $at,${line#*:}, in 0::,:*) own=${line#0::} ;; cpu,cpu[,:]* | cpu,*,cpu[,:]*) own=${line#*:*:} ;; esac
        done <"$proc/cgroup"
        case "${own%/}/" in "${top%/}/"*) ;; *) continue ;; esac
        below=${own#"${top%/}"}; below=${below%/}
        [ -d "$mount$below" ] || continue
        eval "mount_$1=\$mount"
        while :; do
            if try_quota "$1" "$mount$below" "$2"; then quota="$1 $mount$below/$2"; return; fi
            [ -n "$below" ] || break
            below=${below%/*}
        done
        if [ "$1" = v1 ] && try_quota v1 "$mount/fawkes" "$2"; then quota="v1 $mount/fawkes/$2"; return; fi
    done <"$proc/mountinfo"
    return 1
}
find_quota() {
    quota=; mount_v1=; mount_v2=
    if [ -d /run/systemd/system ]; then
        me=$(id -u)
        mount_v2=$(group_mounts | head -n 1)
        manager=$mount_v2
        [ "$me" = 0 ] || manager=$mount_v2/user.slice/user-$me.slice/user@$me.service
        if [ "$group" = unit ] && has_word cpu "$manager/cgroup.controllers"; then
            quota="v2 unit"; mount=$mount_v2; top=/
            return
        fi
    else
        quota_folder v2 "$1" && return
    fi
    quota_folder v1 "$1" && return
    quota=stop
    user_name=$(id -un); me=$(id -u)
    if [ -d /run/systemd/system ] && has_word cpu "$mount_v2/cgroup.controllers"; then
        grant="loginctl enable-linger $user_name"
        if ! has_word cpu "$manager/cgroup.controllers"; then
            more="mkdir -p /etc/systemd/system/user@.service.d && printf '[Service]\\nDelegate=cpu memory pids\\n'"
            more="$more >/etc/systemd/system/user@.service.d/fawkes.conf && systemctl daemon-reload"
            grant="$more && $grant && systemctl restart user@$me"
        elif [ -e "/var/lib/systemd/linger/$user_name" ]; then
            grant=
        fi
        # Else `find_group` has said why there is no scope.
        [ "$me" = 0 ] || [ -z "$grant" ] || why="as root there: $grant"
    elif [ -n "$mount_v1" ] && [ "$me" = 0 ]; then
        why="as root there: mount -o remount,rw $mount_v1"
    elif [ -n "$mount_v1" ]; then
        why="as root there, after each boot: mkdir -p $mount_v1/fawkes && chown -R $user_name $mount_v1/fawkes"
    elif [ -n "$mount_v2" ] && has_word cpu "$mount_v2/cgroup.controllers"; then
        why="mkdir -p $mount_v2/init && for p in \$(cat $mount_v2/cgroup.procs); do echo \$p"
        why="$why >$mount_v2/init/cgroup.procs; done; echo +cpu >$mount_v2/cgroup.subtree_control"
        [ "$me" = 0 ] || why="$why && cd $mount_v2 && chown $user_name . cgroup.procs init init/cgroup.procs"
        why="as root there, after each boot: $why"
    else
        why="as root there: mount -t cgroup2 none /sys/fs/cgroup"
    fi
}
members() {
    inside=
    while read -r member; do inside="$inside$member "; done 2>/dev/null <"$1/cgroup.procs"
}
scan() {
    {
        grep -azHxE '(FAWKES_POOL|FAWKES_CLUSTER|CONTAINER_ID)=[A-Za-z0-9_.-]+' /proc/[0-9]*/environ | tr '\0' '\n'
        grep -H '^PPid:' /proc/[0-9]*/status
    } 2>/dev/null | awk -F '[/:=\t]+' -v pool="$my_pool" -v cluster="$my_cluster" -v wanted=" $* " '
        $5 == "PPid" { parent[$3] = $6; next }
        { value[$3, $5] = $6 }
        END {
            for (p in parent)
                if (value[p, "FAWKES_POOL"] == pool && value[p, "FAWKES_CLUSTER"] == cluster)
                    own[p] = value[p, "CONTAINER_ID"]
            for (p in parent) {
                for (at = p; at in parent && own[at] == ""; ) at = parent[at]
                if (own[at] ~ /^container_[A-Za-z0-9_]+$/ && index(wanted, " " own[at] " ")) print own[at], p
            }
        }' | sort
}
put() {
    if [ -n "$3" ]; then how=$3; elif [ -e "$1/cpu.cfs_quota_us" ]; then how=v1; else how=v2; fi
    if [ "$2" = max ]; then length=100000 amount=max
    else
        length=20000
        [ "$2" -ge 5 ] || length=100000
        amount=$(($2 * length / 100))
    fi
    there=
    if [ $how = v2 ]; then
        read -r there 2>/dev/null <"$1/cpu.max"
        [ "$there" = "$amount $length" ] || echo "$amount $length" >"$1/cpu.max"
        return
    fi
    if [ $amount = max ]; then amount=-1; else read -r there 2>/dev/null <"$1/cpu.cfs_period_us"; fi
    [ $amount = -1 ] || [ "$there" = $length ] || echo $length >"$1/cpu.cfs_period_us" || return
    read -r there 2>/dev/null <"$1/cpu.cfs_quota_us"
    [ "$there" = $amount ] || echo $amount >"$1/cpu.cfs_quota_us"
}
in_force() {
    seen=; period=
    if [ -e "$1/cpu.max" ]; then read -r seen period <"$1/cpu.max"
    else read -r seen <"$1/cpu.cfs_quota_us" && read -r period <"$1/cpu.cfs_period_us"
    fi 2>/dev/null
    case $seen in -1) seen=max ;; max | '') ;; *) seen=$((seen * 100 / period)) ;; esac
}
lift_groups() {
    for base in "$@"; do
        for limited in "$base"/container_*; do
            [ -d "$limited" ] || continue
            put "$limited" max
            [ -z "$keep" ] || continue
            home=${base%/*}
            read -r home <"$quotas/home.${limited##*/}"
            members "$limited"
            for member in $inside; do
                echo "$member" >"$home/cgroup.procs" || echo "$member" >"${base%/*}/cgroup.procs"
            done
            rmdir "$limited"
        done
        rmdir "$base/guard" "$base"
    done 2>/dev/null
}
go_on() {
    for stopped in "$quotas"/stop.*; do
        [ -e "$stopped" ] || continue
        while read -r member since; do
            [ "$member" = quota ] || { started "$member" && [ "$started" = "$since" ] && kill -CONT "$member"; }
        done <"$stopped"
    done 2>/dev/null
}
lift_all() {
    [ -z "$keep" ] || [ ! -d "$quotas" ] || : >"$quotas/keep"
    for signal in TERM KILL; do
        tries=100
        alive "$quotas/guard" && { kill "-$signal" "$pid" || (as_user kill "-$signal" "$pid"); } 2>/dev/null || break
        while [ $tries -gt 0 ] && alive "$quotas/guard"; do tries=$((tries - 1)); sleep 0.02; done
    done
    lift_groups $(groups_of "$my_pool" "$my_node" "$my_cluster" | grep ':quota[^/]*$')
    [ -d "$quotas" ] || return 0
    kind=; base=
    read -r kind base _ 2>/dev/null <"$quotas/base"
    case $kind in
        v[12]) lift_groups "$base" ;;
        stop)
            go_on
            names=$(ls "$quotas" | sed -n s/^stop.//p | tr '\n' ' ')
            run "$quota_lib
                scan $names | while read -r _ p; do kill -CONT \$p; done" 2>/dev/null
            ;;
    esac
    rm -rf "$quotas"
    rmdir "$work/quotas" 2>/dev/null
    :
}
rest() { sleep "$1" & nap=$!; wait "$nap"; }
end_guard() {
    trap '' TERM
    kill "$nap" 2>/dev/null
    [ ! -e "$quotas/keep" ] || keep=yes
    go_on
    [ "$kind" = stop ] || lift_groups "$base"
    rm -rf "$quotas" 2>/dev/null && rmdir "$work/quotas" 2>/dev/null
    exit 0
}
begin_guard() {
    kind=${quota%% *}; base=${quota#* }
    if [ "$base" = unit ]; then
        while IFS= read -r line; do case $line in 0::*) base=$mount${line#0::} ;; esac; done </proc/self/cgroup
        mkdir -p "$base/guard" && echo 0 >"$base/guard/cgroup.procs"
    elif [ "$kind" != stop ]; then
        [ "$kind" = v1 ] || has_word cpu "${base%/*}/cgroup.subtree_control" ||
            echo +cpu >"${base%/*}/cgroup.subtree_control"
        mkdir -p "$base"
    fi
    [ "$kind" != v2 ] || echo +cpu >"$base/cgroup.subtree_control"
    boot_id; started $$
    echo "$$ $started $boot" >"$quotas/guard"
    echo "$kind $base $mount $top" >"$quotas/base"
}
guard() {
    nap=
    exec 8>>"$quotas/lock" && flock -n 8 8>&8 || exit 0
    trap end_guard TERM
    begin_guard
    cores=$(getconf _NPROCESSORS_ONLN)
    now
    stamped=$now; life=100
    while now && [ -d "$quotas" ]; do
        read -r stamp length 2>/dev/null <"$quotas/stamp" && stamped=$stamp && life=$length
        left=$((stamped + life - now))
        [ $left -gt 0 ] || break
        # The next limit may be one for a shorter time.
        [ $left -le 500 ] || left=500
        if [ "$kind" = stop ]; then turn
        elif [ $left -lt 10 ]; then rest 0.1
        else rest "$((left / 100)).$((left / 10 % 10))"
        fi 8>&-
    done
    end_guard
}
# A second of stopping and going on. A clock tick is a hundredth of a second, so that what a quota allows in a second is
# as many ticks. `rate_C` is how many of them a container uses in a second in which it is not stopped, `debt_C` what it
# has used too much.
turn() {
    go_on
    elapsed=$((now - ${turned:-$now})); turned=$now
    plan=
    for stopped in "$quotas"/stop.*; do
        [ -e "$stopped" ] || continue
        name=${stopped#"$quotas/stop."}
        limit=max; used=0
        while read -r member since more; do
            if [ "$member" = quota ]; then limit=$since
            elif started "$member" && [ "$started" = "$since" ]; then
                set -- ${stat_line##*) }
                shift 11
                used=$((used + $1 + $2))
            fi
        done 2>/dev/null <"$stopped"
        [ "$limit" != max ] || { eval "used_$name=$used run_$name=100 debt_$name=0"; continue; }
        most=$((cores * 100))
        eval "before=\${used_$name:-} ran=\${run_$name:-100} debt=\${debt_$name:-0} rate=\${rate_$name:-$most}"
        if [ -n "$before" ]; then
            spent=$((used > before ? used - before : 0))
            [ $ran -lt 5 ] || rate=$((spent * 100 / ran))
            [ $rate -le $most ] || rate=$most
            [ $rate -ge 25 ] || rate=25
            debt=$((debt + spent - limit * elapsed / 100))
            [ $debt -ge -$limit ] || debt=-$limit
            [ $debt -le $((limit + 25)) ] || debt=$((limit + 25))
        fi
        ran=$(((limit - debt) * 100 / rate))
        [ $ran -ge 1 ] || ran=1
        [ $ran -le 100 ] || ran=100
        eval "used_$name=$used run_$name=$ran debt_$name=$debt rate_$name=$rate"
        plan="$plan$ran $name
"
    done
    case $plan in *"
"*"
"*) plan=$(printf '%s' "$plan" | sort -n) ;; esac
    at=0
    while read -r ran name; do
        [ -n "$name" ] && [ "$ran" -lt 100 ] || continue
        [ "$ran" -eq $at ] || rest "$(((ran - at) / 100)).$(((ran - at) / 10 % 10))$(((ran - at) % 10))"
        at=$ran
        while read -r member since more; do
            [ "$member" = quota ] || { started "$member" && [ "$started" = "$since" ] && kill -STOP "$member"; }
        done 2>/dev/null <"$quotas/stop.$name"
    done <<PLAN
$plan
PLAN
    rest "$(((100 - at) / 100)).$(((100 - at) / 10 % 10))$(((100 - at) % 10))"
}
"""
