"""Tasks of jobs of tasks on a node that leaves: which ones run there, orders to them, and how they went.

A task is found by the environment of its command. Its container's folder gets ``fawkes-until`` (the time by which to
be done, in seconds since 1970) and ``fawkes-order``. Then CRIU dumps it, or a signal comes: USR1 to save itself, KILL
to end. What became of it is in ``fawkes-answers`` beside that folder, until the application ends
(java-tasks/fawkes-task).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from fawkes.playbook import Lease, Script, UserError, fenced, hand_lease, kept_text, play, task

_CONTAINER = re.compile(r"container_[A-Za-z0-9_]+")

_TASKS = r"""
homes=$work/clusters/$my_cluster/nm-local/usercache
now() { read -r now _ </proc/uptime; now=${now%.*}${now#*.}; }
# "CONTAINER PID JOB INDEX KILLS HOW" for each process of a command that can be saved. What CRIU has brought back has
# the environment of its first start: the uppermost process says whose it is now.
scan() {
    {
        grep -azHxE 'FAWKES_(POOL|CLUSTER|JOB|TASK_(INDEX|KILLS|SAVES|RUNS))=[A-Za-z0-9_.-]+' /proc/[0-9]*/environ |
            tr '\0' '\n'
        grep -H '^PPid:' /proc/[0-9]*/status
    } | awk -F '[/:=\t]+' -v pool="$my_pool" -v cluster="$my_cluster" '
        $5 == "PPid" { parent[$3] = $6; next }
        { value[$3, $5] = $6 }
        END {
            for (p in parent) {
                seen++
                top = ""
                for (at = p; at in parent; at = parent[at]) if (value[at, "FAWKES_TASK_RUNS"] != "") top = at
                if (top != "" && value[p, "FAWKES_TASK_RUNS"] != "" && value[top, "FAWKES_TASK_SAVES"] != "" &&
                    value[top, "FAWKES_POOL"] == pool && value[top, "FAWKES_CLUSTER"] == cluster)
                    print value[top, "FAWKES_TASK_RUNS"], p, value[top, "FAWKES_JOB"], value[top, "FAWKES_TASK_INDEX"],
                        value[top, "FAWKES_TASK_KILLS"] + 0, value[top, "FAWKES_TASK_SAVES"]
            }
            exit !seen
        }'
} 2>/dev/null
look() {
    now
    rows=$(scan) || return 1
    printf '%s\n' "$rows" | while read -r container pid who; do
        started "$pid" && read -r _ pages _ <"/proc/$pid/statm" || continue
        folder_of "$container" && read -r restored <"$folder/fawkes-restored" || restored=
        echo "$container $who $((now - started)) $pages $restored"
    done 2>/dev/null | awk -v page="$(getconf PAGESIZE)" '
        { who[$1] = $2 " " $3 " " $4; restored[$1] = $8 == "" ? "" : " " $8 }
        { if ($6 > run[$1]) run[$1] = $6; pages[$1] += $7 }
        END { for (c in who) printf "@task.%s=%s %d %.0f%s\n", c, who[c], run[c], pages[c] * page, restored[c] }'
    fact looked yes
}
# hold PRIORITY SECONDS: jobs of tasks with a lower priority ask for no containers, nor keep those they have reserved.
hold() {
    for folder in "$homes"/*/appcache/application_*; do
        [ ! -d "$folder" ] || ! echo "$1 $(($(date +%s) + $2))" >"$folder/.fawkes-hold" ||
            mv -f "$folder/.fawkes-hold" "$folder/fawkes-hold" || :
    done
} 2>/dev/null
folder_of() {
    for folder in "$homes"/*/appcache/*/"$1"; do [ ! -d "$folder" ] || return 0; done
    return 1
}
# order CONTAINER WORD UNTIL: `fawkes-due` is there from before the order until it was followed, and the folder is
# locked meanwhile. So the next script follows an order that was cut off, and none is followed twice.
order() {
    told=gone; why=
    ! folder_of "$1" || { told=no; follow "$@" 8<"$folder" || :; }
    fact "told.$1" $told
    [ -z "$why" ] || fact "why.$1" "$(printf '%s' "$why" | tail -n 1)"
}
follow() {
    word=$2
    flock -n 8 || { told=before; return; }
    if [ -e "$folder/fawkes-order" ]; then
        told=before
        [ -e "$folder/fawkes-due" ] && read -r word _ <"$folder/fawkes-order" || return
    else
        echo "$3" >"$folder/fawkes-until" && echo >"$folder/fawkes-due" && echo "$2 $now" >"$folder/.fawkes-order" &&
            mv -f "$folder/.fawkes-order" "$folder/fawkes-order" || return
        told=yes
    fi
    deed "$1" "$word" && rm -f "$folder/fawkes-due"
}
deed() {
    # Anew for each: dumps take time, and a number of a process that has ended may be that of another one by then.
    rows=$(scan) || return
    mine=$(printf '%s\n' "$rows" | grep "^$1 ")
    signal=KILL
    case $2,${mine##* } in
        save,criu)
            why=$(/bin/sh "$folder/fawkes-criu" dump "$folder/fawkes-work" "$folder/fawkes-criu.tar" 2>&1) &&
                { why=; return; }
            rows=$(scan) || return
            mine=$(printf '%s\n' "$rows" | grep "^$1 ")
            ;;
        save,*) signal=USR1 ;;
    esac
    pids=$(printf '%s\n' "$mine" | cut -d ' ' -f 2)
    # One that has just ended is no fault.
    # A shell whose child is killed first would go on with its next command, and might end with 0.
    [ -z "$pids" ] || [ $signal != KILL ] || kill -STOP $pids 2>/dev/null || :
    [ -z "$pids" ] || kill "-$signal" $pids 2>/dev/null || :
}
# Its folder first: YARN takes it away after the answer, so that the other way round both could be missed.
how() {
    if folder_of "$1"; then line=runs; else line=gone; fi
    for answer in "$homes"/*/appcache/*/fawkes-answers/"$1"; do
        [ ! -f "$answer" ] || read -r line <"$answer"
    done
}
# went TENTHS CONTAINER...: a container answers before YARN knows that it ended, and then its node may be wiped.
went() {
    tries=$1
    shift
    while :; do
        said=; wait=no
        for container in "$@"; do
            how "$container"
            [ "$line" != runs ] || wait=yes
            said="$said@went.$container=$line
"
        done
        [ $wait = yes ] && [ $tries -gt 0 ] || break
        tries=$((tries - 1))
        sleep 0.1
    done
    printf '%s' "$said"
}
"""


def look(lease: Lease, *, hold: tuple[int, float] | None = None) -> Script:
    """The tasks that run on the node and can be saved; changes nothing but ``hold``.

    With ``hold``, a priority and seconds, ApplicationMasters on the node of jobs of tasks with a lower one ask YARN for
    no containers meanwhile: YARN keeps room that becomes free for whoever reserved it first, whatever the priority.

    Fact ``task.CONTAINER`` for each is ``JOB INDEX KILLS RUN BYTES [RESTORED]``: kills by preemption, hundredths
    of a second since its command began or was resumed, the memory of its processes, and hundredths of a second in
    which it got what it had saved. Fact ``looked`` is ``yes`` when all processes were seen: without it nothing is
    known. It is fenced, as `preempt` is.
    """
    first = "" if hold is None else f"hold {hold[0]} {max(0, round(hold[1]))}\n"
    return _as_owner(lease, f"{first}look")


def preempt(lease: Lease, orders: Mapping[str, bool], *, within_s: float) -> Script:
    """Order containers to save themselves (True) or to end, within ``within_s``; one that has an order keeps it.

    Fact ``told.CONTAINER`` is ``yes``, ``before`` (it has its order already; one that was cut off is followed now),
    ``gone`` or ``no`` (its folder cannot be written). One that CRIU cannot dump is ended, for the reason
    ``why.CONTAINER``; dumps go one after another. UserError for what is no container.
    """
    # Dumps go one after another, so that the time of each counts from the first.
    lines = ["now", f"until=$(($(date +%s) + {max(0, int(within_s))}))"]
    for container, save in orders.items():
        lines.append(f'order {_checked(container)} {"save" if save else "kill"} "$until"')
    return _as_owner(lease, "\n".join(lines))


def went(lease: Lease, containers: Sequence[str], *, wait_s: float = 0.0) -> Script:
    """The ends of containers with an order, at the latest after ``wait_s``; changes nothing.

    Fact ``went.CONTAINER`` is ``saved TIME BYTES``, ``killed TIME 0 [WHY]`` or ``ended TIME 0`` (hundredths of a second
    since the orders), ``runs``, or ``gone`` when nothing is left that says how it went.
    """
    return _as_owner(lease, " ".join(["went", str(round(wait_s * 10)), *map(_checked, containers)]))


def _checked(container: str) -> str:
    if not _CONTAINER.fullmatch(container):
        raise UserError(f"{container!r} is not the id of a container of YARN", where="tasks")
    return container


def _as_owner(lease: Lease, verb: str) -> Script:
    """The verb as the user to whom the containers belong: nobody else may write in their folders or signal them."""
    return fenced(lease, "") + kept_text("body", Script(_TASKS + verb)) + Script('run "$body"')


@task(name="look")
def look_by_hand(context: Any, work_dir: str, pool: str, cluster: str, generation: int, epoch: int) -> None:
    """The tasks of an MR-cluster on a node that can be saved."""
    play(context, look(hand_lease(context, work_dir, pool, cluster, generation, epoch)))
