"""The shell functions that the scripts of playbooks begin with: facts, processes, leases, users, control groups."""

# `alive FILE`: the process of a pid file runs; it is the same one only while pid, start time and boot agree.
# `read_lease WORK_DIR`: what the lease says; `leased` is whether the file is there, `damage` why it is no lease. Any
# task of a job may have written it: a pipe would be waited for, a gigabyte read to its end, and a number that is none
# would pass for a newer epoch.
# `exposed WORK_DIR`: the reason why somebody else may put a lease there, or a link in the place of a file; nothing for
# a folder that only root and this user can change, with all above it. In one above, the sticky bit keeps others out.
# Whoever owns / is root: under user namespaces it has another number.
# `expose WORK_DIR`: the same as `damage`; where it cannot be found out, that.
# `place_of WORK_DIR`: that folder, and the mount point that it is on, or would be.
# `away`: the work folder would lie elsewhere than `my_place`, so nothing is known of it. One that is there may be older
# than the disk, or the mount point itself: only the same lease (`my_...`), or an administrator's file, says that it is
# the right one. `place` is where it lies now, empty where there is nothing to compare.
# `no_login <LOG`: Hadoop's words about a login that failed; by them the core knows that the site lacks its KDC.
# `own_user WORK_DIR CLUSTER`: `user`, `uid` and `home` of the MR-cluster's own Unix user on this node, empty without
# one, and `remains`: whether a wipe removes what the user left elsewhere. A file of the user for SSH says so, so that a
# wipe knows it even when nobody else does any more.
# `as_user COMMAND...`: run a command as that user, with an environment in which nothing of anybody is left.
# `run TEXT`: run a text as that user, or here without one. It is read whole before it begins.
# A look at processes or groups proves that it was finished, by something that it must find, or returns other than 0:
# where nothing can be forked it finds nothing as well.
# `of_uid UID`: pids of all processes that have this user id in any role. One whose first thread has ended looks dead,
# although its other threads go on.
# `marked POOL CLUSTER WORK_DIR`: pids of all processes of an MR-cluster, by inherited environment, and, for containers
# that lost it, by working folder: pid files never see the containers of a NodeManager that was killed.
# `of_pool POOL`: pids of all that any MR-cluster of the pool has here, by environment alone.
# `inside CLUSTER WORK_DIR`: pids of its containers alone, by working folder, wherever a wipe has renamed that to. The
# kernel knows the work folder by its real path, and `-lname` wants a pattern: what means something there is escaped.
# `daemons_of NAMES`: "PID NAME" of each daemon of `my_cluster` that has one of the names; needs `my_pool` and `work`.
# `all_of POOL NODE CLUSTER WORK_DIR UID`: pids of all processes of an MR-cluster, by every one of these looks.
# `mounted_in NAMES FOLDER...`: mount points at or below what has such names (a pattern of awk) there. Without names
# all below the folders that no comparison of devices shows: those of the same file system.
# `group_mounts [cpu]`: where control groups (cgroup v2) can be seen on this node; `cpu`: and those of v1 for CPU time.
# `groups_of POOL NODE CLUSTER`: the folders of the control groups of an MR-cluster, those of quotas (quota_shell.py)
# included. They are found by name, because a job of the user for SSH can change every file that would say where they
# are.
# `group_left POOL NODE CLUSTER`: pids of the processes in them. If these cannot be read, the folder itself, which is no
# pid: a group of which nothing is known is not empty.
# `make_group FOLDER`: enter this control group, and make it first if it is not there.
# `scope_of UNIT`: `scope` is the words before a command that start it in a systemd scope of its own.
# `find_group NAME`: `group` is how this node gives a lease a control group, `folder PATH` or `unit`, tried with a
# process; empty, with the reason in `why`, if it does not.
# `join_group`: what runs from here on is in the control group of the lease, if it has one.
from __future__ import annotations

PRELUDE = r"""
scope=
fact() { printf '@%s=%s\n' "$1" "$2"; }
no_login() { sed -n 's/.*\(failure to login\)/\1/p' | tail -n 1 | cut -c 1-300; }
boot_id() { read -r boot </proc/sys/kernel/random/boot_id; }
started() {
    started=; state=; stat_line=
    [ -r "/proc/$1/stat" ] || return 1
    # To its end: the name of a program may have line feeds.
    while read -r stat_part; do stat_line=$stat_part; done 2>/dev/null <"/proc/$1/stat"
    set -- ${stat_line##*) }
    [ $# -ge 20 ] || return 1
    state=$1; shift 19; started=$1
}
alive() {
    pid=; since=; born=
    [ -r "$1" ] && read -r pid since born <"$1" || return 1
    boot_id
    [ -n "$born" ] && [ "$born" = "$boot" ] && started "$pid" && [ "$started" = "$since" ] && [ "$state" != Z ]
}
is_name() { case $1 in '' | [!A-Za-z0-9]* | *[!A-Za-z0-9_.-]*) return 1 ;; esac; }
is_number() { case $1 in '' | *[!0-9]* | ????????????????*) return 1 ;; esac; }
read_lease() {
    node=; pool=; cluster=; generation=; epoch=; controller=; closed=; damage=; leased=no
    [ -e "$1/lease" ] || [ -L "$1/lease" ] || return 0
    leased=yes
    if [ ! -f "$1/lease" ] || [ -L "$1/lease" ]; then damage="it is not a plain file"; return 0; fi
    lease_size=$(wc -c <"$1/lease") 2>/dev/null || { damage="it cannot be read"; return 0; }
    [ "$lease_size" -gt 0 ] || { damage="it is empty"; return 0; }
    [ "$lease_size" -le 4096 ] || { damage="it has $lease_size bytes, too many for a lease"; return 0; }
    cluster=-; generation=-
    while IFS='=' read -r key value; do
        case $key in
            node) node=$value ;; pool) pool=$value ;; cluster) cluster=$value ;; generation) generation=$value ;;
            epoch) epoch=$value ;; controller) controller=$value ;; closed) closed=$value ;;
            *) damage="it has a line that does not belong in a lease"; return 0 ;;
        esac
    done <"$1/lease"
    # What stands behind the last line feed was read into `key` all the same: a file that was cut off.
    if [ -n "$key" ] || ! is_name "$node" || ! is_name "$pool" || ! is_name "$controller" ||
        ! is_number "$epoch" || ! is_number "$closed" ||
        { [ -n "$cluster$generation" ] && { ! is_name "$cluster" || ! is_number "$generation"; }; }; then
        damage="it is cut off, or has a value that Fawkes does not write"
    fi
}
exposed() (
    me=$(id -u) && real=$(readlink -m "$1") || exit 1
    for place in "$1" "$real"; do
        while [ -n "$place" ]; do set -- "$@" "$place"; place=${place%/*}; done
    done
    stat -c '%u %f %n' / "$@" 2>/dev/null | {
        read -r root _ || echo "it is not known who can change $1"
        while read -r uid mode place; do
            case $uid in 0 | "$root" | "$me") ;; *)
                echo "user $uid can change it, as owner of $place: chown that to $(id -un), or move work_dir"
                exit ;;
            esac
            mode=$((0x$mode))
            [ $((mode & 2)) != 0 ] && [ ! -L "$place" ] || continue
            if [ "$place" -ef "$1" ]; then right=o-w; elif [ $((mode & 01000)) = 0 ]; then right=+t; else continue; fi
            echo "every user can change it, by the mode of $place. As its owner there: chmod $right '$place'"
            exit
        done
    }
)
expose() { damage=$(exposed "$1") || damage="it is not known who can change $1: programs cannot be run there"; }
place_of() {
    readlink -m "$1" | awk -v work="$1" 'NR == FNR { real = $0 "/"; next }
        { at = $2; gsub(/\\040/, " ", at) }
        index(real, at == "/" ? at : at "/") == 1 && length(at) > length(on) { on = at }
        END { print work " on " on }' - /proc/self/mounts
}
away() {
    place=
    case $my_place in "$work on "*) place=$(place_of "$work") || place="$work on ?" ;; esac
    [ "$place" != "${place:+$my_place}" ] || return 1
    read_lease "$work"
    [ -n "$damage" ] || [ "$node $pool" != "$my_node $my_pool" ] ||
        { [ -n "$my_cluster" ] && [ "$cluster $generation" != "$my_cluster $my_generation" ]; } || return 1
    [ ! -e "$work/lies-here" ]
}
lease_facts() {
    [ -n "$damage" ] || expose "$work"
    [ "$leased$damage" != no ] || return 0
    if [ -n "$damage" ]; then fact lease.damage "$damage"; return 0; fi
    fact lease.node "$node"; fact lease.pool "$pool"; fact lease.cluster "$cluster"
    fact lease.generation "$generation"; fact lease.epoch "$epoch"; fact lease.controller "$controller"
    fact lease.closed "$closed"
}
own_user() {
    user=; uid=; home=; remains=
    [ -f "$1/users/$2" ] || return 0
    read -r user uid remains <"$1/users/$2"
    home=$(getent passwd "$user" | cut -d: -f6)
}
as_user() {
    cd /
    set -- env -i PATH=/usr/local/bin:/usr/bin:/bin "HOME=$home" "USER=$user" "LOGNAME=$user" LANG=C.UTF-8 "$@"
    if [ "$(id -u)" = 0 ]; then
        $scope setpriv --reuid "$user" --regid "$(id -g "$user")" --init-groups --inh-caps=-all -- "$@"
    else
        $scope sudo -n -u "$user" -- "$@"
    fi
}
run() {
    if [ -z "$user$scope" ]; then ( eval "$1" ); return; fi
    if [ -n "$user" ]; then mask=077; else mask=$(umask); fi
    printf '%s\n' "$lib" "umask $mask" '{' "$1" '} </dev/null' |
        if [ -n "$user" ]; then as_user /bin/sh -s; else $scope /bin/sh -s; fi
}
of_uid() {
    of_it="^Uid:([[:space:]]+[0-9]+)*[[:space:]]+$1([[:space:]]|\$)"
    seen=no
    for status in $(grep -lE -e "$of_it" -e '^Linux version ' /proc/[0-9]*/status /proc/version 2>/dev/null); do
        pid=${status#/proc/}; pid=${pid%/status}
        [ "$status" != /proc/version ] || { seen=yes; continue; }
        started "$pid" || [ -e "/proc/$pid" ] || continue
        set -- "/proc/$pid/task"/*
        [ "$state" != Z ] || [ $# -gt 1 ] || continue
        echo "$pid"
    done
    [ $seen = yes ]
}
marked() {
    {
        grep -lzxF "FAWKES_CLUSTER=$2" /dev/null \
            $(grep -lzxF "FAWKES_POOL=$1" /proc/[0-9]*/environ /proc/self/cmdline 2>/dev/null)
        find_inside "$2" "$3"
    } 2>/dev/null | pids_of 2
}
of_pool() { grep -lzxF "FAWKES_POOL=$1" /proc/[0-9]*/environ /proc/self/cmdline 2>/dev/null | pids_of 1; }
inside() { find_inside "$@" 2>/dev/null | pids_of 1; }
find_inside() {
    ! cd -P "$2" || set -- "$1" "$PWD"; cd /
    literal=; rest=$2
    while [ -n "$rest" ]; do
        tail=${rest#?}; char=${rest%"$tail"}; rest=$tail
        case $char in [][*?\\]) literal=$literal\\ ;; esac
        literal=$literal$char
    done
    find /proc/[0-9]*/cwd /proc/self/cwd -maxdepth 0 \( -path /proc/self/cwd -o \
        -lname "$literal/clusters/$1/nm-local/*" -o -lname "$literal/trash/$1.*/nm-local/*" -o \
        -lname "$literal/clusters/.trash-$1.*/nm-local/*" \)
}
pids_of() { awk -F / -v looks="$1" '$3 == "self" { looks--; next } !had[$3]++ { print $3 } END { exit looks }'; }
daemons_of() {
    names=$1; found=$(marked "$my_pool" "$my_cluster" "$work") || names=-
    set -- /proc/self/cmdline
    for pid in $found; do set -- "$@" "/proc/$pid/environ"; done
    for name in $names; do
        found=$(grep -lzxF "FAWKES_DAEMON=$name" "$@" 2>/dev/null | pids_of 1) && [ $name != - ] ||
            { echo "it is not known which daemons of $my_cluster run here: programs cannot be run" >&2; return 1; }
        for pid in $found; do echo "$pid $name"; done
    done
}
all_of() {
    {
        marked "$1" "$3" "$4" && group_left "$1" "$2" "$3" && { [ -z "$5" ] || of_uid "$5"; } && echo seen
    } | awk '$0 == "seen" { seen = 1; next } !had[$0]++ { print } END { exit !seen }'
}
mounted_in() {
    names=$1; shift
    real=$(readlink -m "$@") && real=$real awk -v names="$names" '
        { device[$5] = $3 }
        END {
            for (i = split(ENVIRON["real"], place, "\n"); i > 0; i--) {
                p = place[i]; on = "/"
                gsub(/\\/, "\\134", p); gsub(/ /, "\\040", p)
                for (m in device) if (index(p "/", m "/") == 1 && length(m) > length(on)) on = m
                for (m in device) {
                    below = index(m "/", p "/") == 1 ? substr(m "/", length(p) + 2) : ""
                    if (names ? below ~ "^(" names ")/" : below && device[m] == device[on]) print m
                }
            }
        }' /proc/self/mountinfo
}
group_mounts() {
    mounts=$(awk -v cpu="$1" '($3 == "cgroup2" || (cpu && $3 == "cgroup" && "," $4 "," ~ /,cpu,/)) && !had[$2]++ {
        print $2 }' /proc/self/mounts) || return 1
    for mount in $mounts; do [ ! -e "$mount/cgroup.procs" ] || echo "$mount"; done
}
groups_of() {
    mounts=$(group_mounts cpu) || return 1
    for mount in $mounts; do
        find "$mount" -type d \( -name "fawkes:$1:$2:$3" -o -name "fawkes:$1:$2:$3:*" \) -prune -print 2>/dev/null
        [ $? -le 1 ] || return 1 # 1: a folder has gone meanwhile, or is closed to this user
    done
}
group_left() {
    folders=$(groups_of "$@") || return 1
    for folder in $folders; do
        ! grep -qx 'populated 0' "$folder/cgroup.events" 2>/dev/null && [ -d "$folder" ] || continue
        inside=$(find "$folder" -name cgroup.procs -exec cat {} + 2>/dev/null) || inside="$inside $folder"
        # v1 has no cgroup.events: what has no process there is empty.
        [ -n "$inside" ] || [ ! -e "$folder/cgroup.clone_children" ] || continue
        for pid in ${inside:-$folder}; do [ "$pid" != 0 ] || pid=$folder; echo "$pid"; done
    done
}
make_group() { { [ -d "$1" ] || mkdir "$1"; } && echo 0 >"$1/cgroup.procs"; }
scope_of() {
    scope="systemd-run --scope --quiet --collect --unit=$1:$(date +%s%N).scope -p Delegate=yes -p TasksMax=infinity"
    [ "$(id -u)" = 0 ] || scope="env XDG_RUNTIME_DIR=/run/user/$(id -u) $scope --user"
    scope="$scope --"
}
find_group() {
    group=; why="control groups (cgroup v2) are not mounted there"
    if [ -d /run/systemd/system ]; then
        if [ "$(id -u)" != 0 ] && [ ! -e "/var/lib/systemd/linger/$(id -un)" ]; then
            why="systemd ends services of $(id -un) at logout; as root there: loginctl enable-linger $(id -un)"
            return
        fi
        scope_of "$1"
        seen=$(timeout 10 $scope cat /proc/self/cgroup 2>&1) || seen=${seen:-it does not answer within 10 s}
        scope=
        case $seen in
            *"0::"*"/$1:"*) group=unit ;;
            *) why="systemd-run does not start a scope there: $(printf '%s\n' "$seen" | tail -n 1 | cut -c 1-200)" ;;
        esac
        return
    fi
    own=$(sed -n 's,^0::,,p' /proc/self/cgroup)
    # A mount may show a part of all groups: `top` is where that begins.
    while read -r _ _ _ top mount more; do
        case "${own%/}/" in "${top%/}/"*) ;; *) continue ;; esac
        below=${own#"${top%/}"}
        place=$mount${below%/}/$1
        if ( make_group "$place" && grep -q "^0::.*/$1\$" /proc/self/cgroup ) 2>/dev/null; then
            group="folder $place"
            return
        fi
        rmdir "$place" 2>/dev/null
        why="$(id -un) cannot make and enter a control group below $mount${below%/}"
    done <<MOUNTS
$(grep ' - cgroup2 ' /proc/self/mountinfo)
MOUNTS
}
join_group() {
    kind=; place=
    [ ! -f "$work/groups/$my_cluster" ] || read -r kind place <"$work/groups/$my_cluster"
    case $kind in
        unit) scope_of "fawkes:$my_pool:$my_node:$my_cluster" ;;
        folder) make_group "$place" 2>/dev/null ||
            { fact group no; fact group.why "the control group $place cannot be entered"; } ;;
    esac
}
"""
