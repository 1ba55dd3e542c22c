"""The launcher of jobs: runs a client's command on the master exactly once, whatever happens to the connection.

Each attempt has a folder of its own, ``jobs/JOB.ATTEMPT``, in which the launcher alone writes. The right to run the
command is the folder ``begun`` in it, which only one process can make. The command outlives the connection and the
controller; when it ends, ``result`` appears, whole or not at all. What the user brings, and the working folder, is
``files`` below it: there a file may have any name, also ``result``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from fawkes.playbook import Folders, Lease, Script, Secret, UserError, changing, play, reading_in, task

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def job_folder(folders: Folders, job: str, attempt: int) -> PurePosixPath:
    """The place where an attempt keeps its files; UserError for a job's name that is no file name."""
    if not _NAME.fullmatch(job):
        raise UserError(f"{job!r} is no valid name", where="job", hint="Use letters, digits and . _ -")
    return folders.jobs / f"{job}.{attempt}"


def files_folder(folders: Folders, job: str, attempt: int) -> PurePosixPath:
    """Place where an attempt finds the files that came along; its working folder as well. Raises as `job_folder`."""
    return job_folder(folders, job, attempt) / "files"


# Prints the facts of one attempt; `state` is one of running, finished, lost, unborn, absent. Older versions had the
# user's files in the launcher's folder: what is called `result` before the attempt was begun is one of those.
_LOOK = r"""
look() {
    how=absent code=
    boot_id; fact boot "$boot"
    if [ ! -d "$job" ]; then fact state absent; return; fi
    if [ -d "$job/begun" ] && [ -f "$job/result" ]; then
        how=finished
        while IFS='=' read -r key value; do
            fact "$key" "$value"; [ "$key" != exit ] || code=$value
        done <"$job/result"
    elif alive "$job/pid"; then how=running; fact pid "$pid"
    elif [ -d "$job/begun" ]; then how=lost
    else how=unborn
    fi
    fact state $how
    for mark in cancelled displaced; do [ ! -e "$job/$mark" ] || fact "$mark" yes; done
}
"""

# The shell that stays beside the command: it catches TERM (a trap that does something is not inherited by what it
# starts; an ignored signal would be) and goes on to write the result.
_RUNNER = r"""
cd "$0" && mkdir begun 2>/dev/null || exit 0
rm -rf result pid cancelled
since() { shift 19; echo "$1"; }
read -r boot </proc/sys/kernel/random/boot_id && read -r line </proc/$$/stat &&
    echo "$$ $(since ${line##*) }) $boot" >pid.new && mv -f pid.new pid || exit 73
trap : TERM HUP INT
began=$(date +%s%6N)
( . ./env; cd "$FAWKES_JOB_DIR" && exec "$@" ) </dev/null >stdout 2>stderr &
child=$!
while :; do
    wait $child; code=$?
    kill -0 $child 2>/dev/null || break
done
printf "exit=%s\nbegan_us=%s\nended_us=%s\n" "$code" "$began" "$(date +%s%6N)" >result.new && mv -f result.new result
"""


def start(
    lease: Lease,
    job: str,
    attempt: int,
    argv: Sequence[str],
    *,
    env: Mapping[str, str | Secret] | None = None,
    cwd: PurePosixPath | None = None,
    kept: str = "",
) -> Script:
    """Run ``argv`` once. For an attempt that began already nothing is started: its state is reported as by ``look``.

    Fact ``started`` is ``yes`` or ``no``. ``cwd`` is the working folder (default: `files_folder`). The environment is
    ``env`` and PATH, HOME, USER, LANG, nothing of the login. What must run again gets a new attempt. ``kept`` is the
    copy of the job's declaration that `attempts` reads.
    """
    folder = job_folder(lease.folders, job, attempt)
    files = files_folder(lease.folders, job, attempt)
    variables: dict[str, str | Secret] = {"FAWKES_JOB_DIR": str(cwd or files), **(env or {})}
    marks = {**lease.marks("job"), "FAWKES_JOB": folder.name}
    return changing(
        lease,
        _LOOK
        + r"""
job={job}
umask 077
mkdir -p {files} || { echo "cannot make $job" >&2; exit 73; }
if [ ! -d "$job/begun" ]; then
    printf '%s\n' {command} >"$job/command.new" && mv -f "$job/command.new" "$job/command" || exit 73
    printf '%s\n' {kept} >"$job/kept.json.new" && mv -f "$job/kept.json.new" "$job/kept.json" || exit 73
    printf '%s\n' {env} >"$job/env.new" && mv -f "$job/env.new" "$job/env" || exit 73
    setsid env -i "PATH=$PATH" "HOME=$HOME" "USER=$(id -un)" LANG=C.UTF-8 {marks} \
        sh -c {runner} "$job" {argv} </dev/null >"$job/launcher.log" 2>&1 &
    tries=200
    while [ $tries -gt 0 ] && [ ! -e "$job/pid" ]; do tries=$((tries - 1)); sleep 0.05; done
    [ -e "$job/pid" ] || { cat "$job/launcher.log" >&2; echo "the launcher did not begin" >&2; exit 81; }
    fact started yes
else
    fact started no
fi
look
""",
        job=folder,
        files=files,
        command=Script.of("{argv}", argv=list(argv)).text,
        env=Secret(Script("").with_env(variables).text.strip()),
        kept=Secret(kept),
        marks=[f"{key}={value}" for key, value in marks.items()],
        runner=_RUNNER,
        argv=list(argv),
    )


def look(folders: Folders, job: str, attempt: int) -> Script:
    """The standing of an attempt: facts ``state``, ``boot``, and ``exit began_us ended_us pid cancelled displaced``.

    ``running``; ``finished``; ``lost`` (it began, is gone, and left no result: ask the ResourceManager before a new
    attempt); ``unborn`` (the folder is there, the command was never begun: ``start`` again is safe); ``absent``.
    ``boot`` is the node's boot id now, which changes when the node was off; the others are there where they are known.
    The last lines of what it wrote to standard error, but not the stacks of exceptions, are on standard error once it
    has ended, unless with 0.
    """
    return reading_in(
        folders,
        _LOOK
        + r"""
job={job}
look
# Each attempt is looked at every second: while it runs, no program is started for that.
case $how,$code in
    finished,0) ;;
    finished,* | lost,*)
        tail -n 400 "$job/stderr" 2>/dev/null | grep -vE '^[[:space:]]+(at |\.\.\. [0-9]+ )' | tail -n 20 >&2
        ;;
esac
:
""",
        job=job_folder(folders, job, attempt),
    )


def said(folders: Folders, job: str, attempt: int) -> Script:
    """The last line that an attempt has written to standard output, as fact ``said``; changes nothing."""
    file = job_folder(folders, job, attempt) / "stdout"
    return reading_in(folders, 'file={file}; fact said "$(tail -n 1 "$file" | head -c 100000)"', file=file)


def keep(lease: Lease, kept: str) -> Script:
    """Write the copy of the MR-cluster that `found` reads, for the owner alone. Fact ``kept`` is ``yes``."""
    return changing(
        lease,
        r"""
umask 077
cd {members} && printf '%s\n' {kept} >kept.json.new && sync kept.json.new && mv -f kept.json.new kept.json ||
    { echo "cannot write "{members}/kept.json >&2; exit 73; }
fact kept yes
""",
        members=lease.folders.members,
        kept=Secret(kept),
    )


def found(folders: Folders) -> Script:
    """The facts from which a lost ledger can be made again, but for `attempts`; changes nothing.

    Fact ``cluster`` is the kept copy of the MR-cluster (absent: there is none), ``version`` that of its member lists.
    """
    return reading_in(
        folders,
        r"""
cd {members} 2>/dev/null || exit 0
if [ -f kept.json ]; then fact cluster "$(head -c 1000000 kept.json | tr -d '\n')"; fi
if [ -r version ]; then read -r version <version; fact version "$version"; fi
:
""",
        members=folders.members,
    )


def attempts(folders: Folders) -> Script:
    """The attempts of all jobs that the MR-cluster ever had; changes nothing, and starts no program for each of them.

    ``attempt.JOB.NUMBER`` is how the launcher of each attempt stands, as by ``look``, ``exit.JOB.NUMBER`` how its
    client ended, and ``job.JOB.NUMBER`` the kept copy of its declaration.
    """
    return reading_in(
        folders,
        r"""
[ -d {jobs} ] || exit 0
cd {jobs} || exit 73
for name in */; do
    name=${name%/}
    [ -d "$name" ] && is_name "$name" || continue
    if [ -d "$name/begun" ] && [ -f "$name/result" ]; then
        fact "attempt.$name" finished
        while IFS='=' read -r key value; do [ "$key" != exit ] || fact "exit.$name" "$value"; done <"$name/result"
    elif alive "$name/pid"; then fact "attempt.$name" running
    elif [ -d "$name/begun" ]; then fact "attempt.$name" lost
    else fact "attempt.$name" unborn
    fi
done
find . -mindepth 2 -maxdepth 2 -type f -name kept.json -size -1000k -exec grep -aHm 1 . {} + |
    sed 's,^\./\([^/]*\)/kept\.json:,@job.\1=,'
""",
        jobs=folders.jobs,
    )


def cancel(lease: Lease, job: str, attempt: int, *, grace_s: float = 10.0) -> Script:
    """End the command of an attempt: TERM, ``grace_s`` later KILL; one that never began never will.

    Facts as by ``look``. This ends the client alone; the application in YARN is killed through the ResourceManager.
    """
    folder = job_folder(lease.folders, job, attempt)
    return changing(
        lease,
        _LOOK
        + r"""
job={job}
[ -d "$job" ] || { fact state absent; exit 0; }
: >"$job/cancelled"
if mkdir "$job/begun" 2>/dev/null; then
    now=$(date +%s%6N)
    printf 'exit=143\nbegan_us=%s\nended_us=%s\n' "$now" "$now" >"$job/result.new" &&
        mv -f "$job/result.new" "$job/result"
fi
tries={tenths}
# Again and again: the first may come after the launcher and before the command is there.
while [ $tries -gt 0 ] && alive "$job/pid"; do
    [ $((tries % 5)) -ne 0 ] || kill -TERM "-$pid" 2>/dev/null
    tries=$((tries - 1)); sleep 0.1
done
tries=50
while [ $tries -gt 0 ] && alive "$job/pid"; do
    # All but the launcher, which still has to write the result.
    kill -KILL $(grep -lzxF {mark} /proc/[0-9]*/environ 2>/dev/null | sed 's,^/proc/,,; s,/.*,,' |
        grep -vx "$pid") 2>/dev/null
    tries=$((tries - 1)); sleep 0.1
done
look
""",
        job=folder,
        mark=f"FAWKES_JOB={folder.name}",
        tenths=5 * max(1, round(grace_s * 2)),
    )


@task(name="look")
def look_by_hand(context: Any, work_dir: str, cluster: str, job: str, attempt: int = 1) -> None:
    """Show how an attempt of a job stands."""
    play(context, look(Folders(work_dir=PurePosixPath(work_dir), cluster=cluster), job, int(attempt)))
