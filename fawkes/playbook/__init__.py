"""All that a file in ``playbooks/`` may import: scripts as values, the lease that guards a node, facts, tasks.

A playbook step is a pure function that returns a :class:`Script`. It is made by :func:`reading` (looks, changes
nothing) or by :func:`changing`, which puts the check of the node's lease around it, so that no step can forget it.
What a script learnt it prints as facts, ``@key=value``, which :func:`read_facts` reads back.
"""

from __future__ import annotations

import io
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import PurePosixPath
from typing import Any, ClassVar

from fawkes.base.errors import (
    ElsewhereError,
    FawkesError,
    HostError,
    NodeAwayError,
    NodeRefusedError,
    RefusedError,
    UserError,
)
from fawkes.playbook.prelude import PRELUDE
from fawkes.playbook.quota_shell import QUOTAS
from fawkes.playbook.script import Facts, Script, Secret, Value, read_facts

__all__ = [
    "QUOTAS",
    "Exit",
    "Facts",
    "Folders",
    "Lease",
    "RefusedError",
    "Script",
    "Secret",
    "UserError",
    "Value",
    "changing",
    "failure",
    "fenced",
    "hand_lease",
    "kept_text",
    "lease_change",
    "play",
    "quota_functions",
    "read_facts",
    "reading",
    "reading_in",
    "task",
]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


class Exit(IntEnum):
    """Exit codes of playbook scripts that mean something of their own (above those of programs, below signals)."""

    CLEAN_FAILED = 70
    """Something of an MR-cluster is still on the node."""
    SUPERSEDED = 71
    """A newer version was written already."""
    EMPTY_INCLUDE = 72
    """The include list would be empty, which admits everybody."""
    CANNOT_WRITE = 73
    """The work folder cannot be made or written."""
    SHARED_FOLDER = 74
    """The work folder belongs to another node: it is shared or was copied."""
    BUSY = 75
    """Another script held the node's lock for too long."""
    NOT_TAKEN = 76
    """Nobody holds the node: the MR-cluster must take it first."""
    FOREIGN = 77
    """Another pool holds the node."""
    FENCED = 78
    """A newer controller, or another one of the same epoch, has taken over."""
    HELD = 79
    """Another MR-cluster, or another generation of this one, holds the node."""
    NOT_EMPTY = 80
    """A folder that must be empty is not."""
    DIED = 81
    """A daemon ended soon after its start."""
    CLOSED = 82
    """The MR-cluster was told to leave the node: nothing is done there for it any more but the wipe."""
    DAMAGED = 83
    """The file that should say who holds the node is no lease: empty, cut off, garbage, or others can change it."""
    UNFIT_USER = 84
    """The MR-cluster's own Unix user cannot be used on the node."""
    AWAY = 85
    """The work folder would lie on another mount point than before: its disk is away, and nothing is known of it."""
    STRANGER = 86
    """Another controller of the pool has the node: in an older epoch, but not as a start of this ledger."""


_REFUSED_ALONE = (
    "Nothing was changed there. Show the lease with `fab -H {node} --search-root playbooks --collection lease show "
    "--work-dir DIR`, DIR being the node's work_dir; "
    'the page `operations`, "A node that is refused", says how to repair it'
)

_MEANING: Mapping[int, tuple[type[FawkesError], str, str]] = {
    Exit.CLEAN_FAILED: (
        HostError,
        "the node is not clean",
        "Remove what is listed; until then the node stays out of use",
    ),
    Exit.SUPERSEDED: (HostError, "the node already has a newer version", ""),
    Exit.EMPTY_INCLUDE: (RefusedError, "an empty include list would admit every node", "Nothing was changed there"),
    Exit.CANNOT_WRITE: (
        HostError,
        "the folder cannot be written to",
        "Check that the disk is not full and who owns the folder",
    ),
    Exit.SHARED_FOLDER: (
        NodeRefusedError,
        "the work folder belongs to another node",
        "Give each node a work_dir on its own disk. " + _REFUSED_ALONE,
    ),
    Exit.BUSY: (HostError, "another step kept the node's lock", "Try again"),
    Exit.NOT_TAKEN: (RefusedError, "the node is not taken by this MR-cluster", "Nothing was changed there"),
    Exit.FOREIGN: (
        NodeRefusedError,
        "the node belongs to another pool",
        "`fawkes down` of that pool releases it. " + _REFUSED_ALONE,
    ),
    Exit.STRANGER: (
        NodeRefusedError,
        "another site has the node for a pool of this name",
        "`fawkes down` there releases it. " + _REFUSED_ALONE,
    ),
    Exit.DAMAGED: (NodeRefusedError, "the node's lease is damaged", _REFUSED_ALONE),
    Exit.FENCED: (
        ElsewhereError,
        "another controller has taken over the node",
        "Only one may run; the page `operations` says what to do when the state folder of the other is lost",
    ),
    Exit.HELD: (RefusedError, "another MR-cluster holds the node", "Nothing was changed there"),
    Exit.NOT_EMPTY: (RefusedError, "a folder that must be empty is not", "Nothing was changed there"),
    Exit.CLOSED: (RefusedError, "the MR-cluster leaves the node", "Nothing was changed there"),
    Exit.UNFIT_USER: (
        HostError,
        "the node cannot run anything as the MR-cluster's own user",
        "Repair that on the node, or correct `run_as`; the page `security` says what such a user needs",
    ),
    Exit.AWAY: (NodeAwayError, "the disk with the work folder is not mounted", "Nothing was changed there"),
    Exit.DIED: (HostError, "a daemon ended at once", "`fawkes logs` has the whole log"),
}


def failure(node: str, doing: str, exit_code: int, stderr: str) -> FawkesError:
    """The error for a script that ended with ``exit_code``: whose move it is, and the script's last words."""
    lines = [line.strip() for line in stderr.split("\n") if line.strip()]
    detail = f": {lines[-1]}" if lines else ""
    kind, what, hint = _MEANING.get(exit_code, (HostError, f"exit code {exit_code}", ""))
    sentence = f"{doing} failed: {what}{detail}"
    if issubclass(kind, HostError):
        return kind(sentence, host=node, hint=hint.replace("{node}", node))
    return kind(sentence, where=node, hint=hint)


def _check_name(key: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(f"{name!r} is not a valid name", where=key, hint="Use letters, digits and . _ -")


class _InRoot:
    """The path of something in the root of `Folders`, as a property of these."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folders: Folders, kind: object = None) -> PurePosixPath:
        return folders.root / self._name


@dataclass(frozen=True, kw_only=True)
class Folders:
    """The place where the things of one MR-cluster lie on one node. Everything is below ``work_dir``."""

    DFS_INCLUDE: ClassVar[str] = "dfs.include"
    DFS_EXCLUDE: ClassVar[str] = "dfs.exclude"
    YARN_INCLUDE: ClassVar[str] = "yarn.include"
    YARN_EXCLUDE: ClassVar[str] = "yarn.exclude.xml"
    """Files in ``members``; only a name that ends in .xml lets each leaving node have a time limit of its own."""
    KEPT: ClassVar[str] = "kept.json"
    """What a lost ledger is made from again: in ``members`` the MR-cluster, beside an attempt its job. For us alone."""

    work_dir: PurePosixPath
    cluster: str

    def __post_init__(self) -> None:
        _check_name("cluster", self.cluster)

    @property
    def root(self) -> PurePosixPath:
        """The one folder that holds all of the MR-cluster."""
        return self.work_dir / "clusters" / self.cluster

    @property
    def user_file(self) -> PurePosixPath:
        """The file with the MR-cluster's own Unix user on the node; absent without one. The user for SSH owns it."""
        return self.work_dir / "users" / self.cluster

    @property
    def group_file(self) -> PurePosixPath:
        """The note that the MR-cluster has a control group on the node, and how one enters it; absent without one."""
        return self.work_dir / "groups" / self.cluster

    @property
    def quotas(self) -> PurePosixPath:
        """The folder of the guard of CPU quotas, owned by the user for SSH; absent while there are no quotas."""
        return self.work_dir / "quotas" / self.cluster

    conf = _InRoot("conf")
    """Hadoop's configuration."""
    members = _InRoot("members")
    """Include and exclude files of the masters."""
    run = _InRoot("run")
    """One file for each daemon: pid, start time, boot id."""
    logs = _InRoot("logs")
    """Logs of daemons."""
    jobs = _InRoot("jobs")
    """One folder for each attempt of a job."""
    tmp = _InRoot("tmp")
    """Temporary files of daemons."""
    nn = _InRoot("nn")
    """The NameNode's image and edits."""
    dn = _InRoot("dn")
    """Blocks (storage type DISK)."""
    dn_input = _InRoot("dn-input")
    """Blocks that stay on core nodes (storage type ARCHIVE)."""
    rm_state = _InRoot("rm-state")
    """The folder that the ResourceManager recovers from."""
    kept = _InRoot("kept")
    """The second copy of the masters' data, on another node than theirs."""
    journal = _InRoot("journal")
    """The edits that a JournalNode keeps: one folder below it, by the name of the nameservice."""
    nm_local = _InRoot("nm-local")
    """Working folders of containers."""
    nm_logs = _InRoot("nm-logs")
    """Logs of containers until they are aggregated."""

    def all(self) -> tuple[PurePosixPath, ...]:
        """Every folder that ``prepare`` makes (``conf``, ``nn`` and ``journal`` are made when they have a content)."""
        return (
            self.members, self.run, self.logs, self.jobs, self.tmp, self.dn, self.dn_input, self.rm_state,
            self.nm_local, self.nm_logs,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Lease:
    """The right to change a node: who asks, for whom, and since which epoch.

    ``cluster`` "" asks for the node itself, whoever holds it (folders, software). ``epoch`` grows by one with each
    start of the controller; ``controller`` tells two of the same epoch apart (a restored backup). ``place`` is where
    the work folder lies as far as is known, "FOLDER on MOUNT POINT": nothing is changed where it would lie elsewhere.
    ``starts`` is the epoch before which each lease is history, and "EPOCH:CONTROLLER" of each start of the ledger: only
    their leases are taken for its own. Empty: it was seen already that the node's is.
    """

    node: str
    work_dir: PurePosixPath
    pool: str
    cluster: str
    generation: int
    epoch: int
    controller: str
    place: str = ""
    starts: str = ""

    def __post_init__(self) -> None:
        for key in ("pool", "controller", "node", *(["cluster"] if self.cluster else [])):
            _check_name(key, getattr(self, key))
        if not self.work_dir.is_absolute():
            raise UserError("the work folder must be an absolute path", where=f"work_dir of {self.node}")

    @property
    def folders(self) -> Folders:
        """The folders of the lease's MR-cluster on its node."""
        return Folders(work_dir=self.work_dir, cluster=self.cluster)

    def marks(self, daemon: str) -> dict[str, str]:
        """Environment by which every process of the MR-cluster, and all that it starts, is found again."""
        return {
            "FAWKES_POOL": self.pool,
            "FAWKES_CLUSTER": self.cluster,
            "FAWKES_GENERATION": str(self.generation),
            "FAWKES_DAEMON": daemon,
        }


ASIDE = r"""
aside() {
    [ -e "$1" ] || return 0
    ! found=$(ls -A "$1") || [ -n "$found" ] || return 0
    number=1
    while [ -e "$1.before-$number" ]; do number=$((number + 1)); done
    mv -T "$1" "$1.before-$number" || { echo "cannot rename $1" >&2; exit 73; }
    fact aside "$1.before-$number"
}
"""
"""`aside PLACE`: rename a file, or a folder that is not empty, to the first free PLACE.before-N: fact ``aside``."""

_MY_LEASE = r"""
work={work_dir}; my_node={node}; my_pool={pool}; my_cluster={cluster}; my_generation={generation}
my_epoch={epoch}; my_controller={controller}; my_place={place}; my_starts={starts}
"""

_READ_LEASE = r"""
umask 022
if away; then
    echo "$work was on ${my_place#"$work on "}, and would be on ${place#"$work on "} now. Mount the disk: Fawkes" \
        "tries again. If the folder is to be there from now on, make the file $work/lies-here on the node" >&2
    exit 85
fi
# Whoever held the lock may have removed its file: then another one is the lock by now, and this one keeps nobody out.
tries=100
until [ $tries -lt 100 ] && [ /proc/self/fd/9 -ef "$work/.lock" ]; do
    [ $tries -gt 0 ] || { echo "the lock $work/.lock is removed again and again" >&2; exit 75; }
    [ -d "$work" ] || mkdir -p "$work"
    expose "$work"
    if [ -n "$damage" ]; then
        fact lease.damage "$damage"; echo "$work/lease is not a valid lease: $damage" >&2; exit 83
    fi
    [ -w "$work" ] && command exec 9>>"$work/.lock" ||
        { echo "cannot write $work" >&2; exit 73; }
    # Handed over: some shells keep what `exec` has opened to themselves.
    flock -w 60 9 9>&9 || { code=$?; [ $code = 1 ] && { echo "the lock $work/.lock is held" >&2; exit 75; }
        echo "cannot lock $work/.lock (exit code $code of flock)" >&2; exit 73; }
    tries=$((tries - 1))
done
[ ! -e "$work/lies-here" ] || [ "$place" != "${my_place:-not known}" ] || rm -f "$work/lies-here"
read_lease "$work"
refuse() {
    lease_facts
    echo "$2" >&2
    exit "$1"
}
# The content is on the disk before its name is: after a power failure a lease would be an empty file otherwise.
# `sync` before coreutils 8.24 knows no files and syncs everything, which does as well.
write_lease() {
    printf 'node=%s\npool=%s\ncluster=%s\ngeneration=%s\nepoch=%s\ncontroller=%s\nclosed=%s\n' "$my_node" \
        "$my_pool" "$1" "$2" "$my_epoch" "$my_controller" "$closed" >"$work/.lease.new" &&
        sync "$work/.lease.new" && mv -fT "$work/.lease.new" "$work/lease" && sync "$work" ||
        { echo "cannot write $work/lease" >&2; exit 73; }
}
if [ -n "$damage" ]; then
    [ {mends} = yes ] || refuse 83 "$work/lease is not a valid lease: $damage"
fi
if [ $leased = no ] || [ -n "$damage" ]; then
    node=$my_node; pool=$my_pool; cluster=; generation=; epoch=0; controller=$my_controller; closed=0
fi
[ "$node" = "$my_node" ] || refuse 74 "the lease in $work belongs to node $node"
[ "$pool" = "$my_pool" ] || refuse 77 "the lease in $work belongs to pool $pool"
[ "$epoch" -le "$my_epoch" ] || refuse 78 "epoch $epoch of controller $controller is newer than $my_epoch"
[ "$epoch" -lt "$my_epoch" ] || [ "$controller" = "$my_controller" ] ||
    refuse 78 "controller $controller has the same epoch $epoch"
if [ -n "$my_starts" ] && [ "$controller" != "$my_controller" ] && [ "$controller" != hand ]; then
    case " $my_starts " in *" $epoch:$controller "*) ;; *)
        [ "$epoch" -lt "${my_starts%% *}" ] ||
            refuse 86 "epoch $epoch of controller $controller was never a start of this ledger" ;;
    esac
fi
mine=no
[ "$cluster" = "$my_cluster" ] && [ "$generation" = "$my_generation" ] && mine=yes
# Scripts of an older epoch are refused already: the numbers of a new one may begin anew.
[ "$epoch" = "$my_epoch" ] || closed=0
check_open() {
    [ "$my_generation" -gt "$closed" ] || refuse 82 "$my_cluster was told to leave the node, generation $my_generation"
}
"""

_GUARD = r"""
if [ -n "$my_cluster" ] && [ $mine = no ]; then
    [ -n "$cluster" ] || refuse 76 "no MR-cluster holds the node, $my_cluster has not taken it"
    refuse 79 "the node is held by $cluster, generation $generation"
fi
[ -z "$my_cluster" ] || [ {wipes} = yes ] || check_open
[ "$leased $epoch $controller" = "yes $my_epoch $my_controller" ] || write_lease "$cluster" "$generation"
own_user "$work" "$my_cluster"
"""


def reading(template: str, **values: Value) -> Script:
    """A script that looks and changes nothing: no lease, no lock. It has ``fact KEY VALUE`` and ``alive PIDFILE``."""
    return Script(PRELUDE) + Script.of(template, **values)


def reading_in(folders: Folders, template: str, **values: Value) -> Script:
    """The same for what looks into the folders of an MR-cluster: as its own Unix user, where it has one."""
    lib = Script(PRELUDE) + Script.of(
        "work={work}; my_cluster={cluster}", work=folders.work_dir, cluster=folders.cluster
    )
    body = Script.of(template, **values)
    return (
        kept_text("lib", lib)
        + Script('eval "$lib"\nown_user "$work" "$my_cluster"')
        + kept_text("body", body)
        + Script('run "$body"')
    )


def kept_text(name: str, text: Script) -> Script:
    """A shell variable with a text, such as one for ``run``. No process is started for it."""
    return Script(f"{name}={shlex.quote(text.text)}", f"{name}={shlex.quote(text.masked)}")


def _checked(lease: Lease, *, mends: bool) -> Script:
    """The lease is read, under the lock, and refused where it does not allow this one."""
    lib = Script(PRELUDE) + Script.of(_MY_LEASE, **vars(lease))
    return kept_text("lib", lib) + Script('eval "$lib"') + Script.of(_READ_LEASE, mends="yes" if mends else "no")


def changing(
    lease: Lease,
    template: str,
    *,
    after: Script | None = None,
    wipes: bool = False,
    by_login: bool = False,
    stdin: bool = False,
    **values: Value,
) -> Script:
    """A script that runs only while the node's lease allows it, and alone: the node's lock is held to its end.

    Refusals are exit codes of :class:`Exit`, with the lease that was found as facts ``lease.*`` (``lease.damage`` alone
    when it is none). A newer epoch is
    written down before the script begins, so that an older controller is shut out from then on. What the script starts
    in the background does not inherit the lock. Once the node was closed (``playbooks/lease.py``) only a script that
    ``wipes`` runs for the MR-cluster that leaves. ``after`` runs when the script has ended well and the lock is free
    again: for what takes long and needs nobody kept out.

    Where the MR-cluster has its own Unix user, the script and ``after`` run as that user, who can neither change the
    lease nor hold the lock. One that runs ``by_login`` stays with the user for SSH, and has ``user``, ``uid``,
    ``as_user`` and ``run``. One that reads ``stdin`` is short; with ``after`` it is that which reads it.

    Where ``playbooks/node.py`` made a control group for the MR-cluster, the script and ``after`` run in it, and so does
    all that they start; except ``by_login`` and with ``stdin``, which must leave nothing running. Where the group
    cannot be entered they run without it; facts ``group`` (``no``) and ``group.why`` say so.
    """
    body = Script.of(template, **values)
    grouped = Script('( join_group; run "$body" )')
    reads = _RUN_STDIN if stdin else grouped
    run = Script('( eval "$body" )') if by_login else reads if after is None else grouped
    script = _checked(lease, mends=False) + Script.of(_GUARD, wipes="yes" if wipes else "no")
    script += kept_text("body", body) + Script(f"{run.text} 9>&-") + Script("code=$?; exec 9>&-")
    if after is not None:
        script += Script("[ $code = 0 ] || exit $code") + kept_text("body", after) + reads + Script("code=$?")
    return script + Script("exit $code\n")


_RUN_STDIN = Script("""
{ if [ -z "$user" ]; then ( eval "$body" ); else as_user /bin/sh -c "$lib
umask 077
$body"; fi; }""")


_FENCE = r"""
fence() {
    code=0
    read_lease "$work"
    if [ -n "$damage" ]; then code=83; refusal="$work/lease is not a valid lease: $damage"
    elif [ $leased = no ] || [ -z "$cluster" ]; then code=76; refusal="no MR-cluster holds the node"
    elif [ "$node" != "$my_node" ]; then code=74; refusal="the lease in $work belongs to node $node"
    elif [ "$pool" != "$my_pool" ]; then code=77; refusal="the lease in $work belongs to pool $pool"
    elif [ "$epoch" -gt "$my_epoch" ] || { [ "$epoch" = "$my_epoch" ] && [ "$controller" != "$my_controller" ]; }; then
        code=78; refusal="epoch $epoch of controller $controller is newer"
        expose "$work"
        [ -z "$damage" ] || { code=83; refusal="$work/lease is not a valid lease: $damage"; }
    elif [ "$cluster" != "$my_cluster" ] || [ "$generation" != "$my_generation" ]; then
        code=79; refusal="the node is held by $cluster, generation $generation"
    elif [ "$epoch" = "$my_epoch" ] && [ "$closed" -ge "$my_generation" ]; then
        code=82; refusal="$my_cluster was told to leave the node, generation $my_generation"
    fi
    return $code
}
refuse() { lease_facts; echo "$refusal" >&2; exit $code; }
fence || refuse
own_user "$work" "$my_cluster"
"""


def fenced(lease: Lease, template: str, **values: Value) -> Script:
    """A script that takes no lock, because a long step may hold it, and does nothing that outlives a wipe.

    It runs only while the MR-cluster and generation of the lease hold the node, are not told to leave it, and no newer
    controller has taken over; refusals as in :func:`changing`. ``fence || refuse`` in it asks again. It has ``user``,
    ``as_user`` and ``run`` as a script ``by_login``, and no lease is written.
    """
    lib = Script(PRELUDE) + Script.of(_MY_LEASE, **vars(lease))
    return kept_text("lib", lib) + Script('eval "$lib"') + Script(_FENCE) + Script.of(template, **values)


def quota_functions() -> Script:
    """The shell functions of CPU quotas (``fawkes/playbook/quota_shell.py``), for a script that has the lease's."""
    return kept_text("quota_lib", Script(QUOTAS)) + Script('eval "$quota_lib"\nquotas=$work/quotas/$my_cluster')


def lease_change(lease: Lease, template: str, *, mends: bool = False, **values: Value) -> Script:
    """A script for ``playbooks/lease.py`` alone: one that may read the lease, under the lock, and write it anew.

    One that ``mends`` runs for a damaged lease as well: the shell's ``damage`` says what is wrong with it then.
    """
    return _checked(lease, mends=mends) + Script.of(template, **values)


def task(*, name: str) -> Callable[[Callable[..., None]], Any]:
    """Make a function a Fabric task: ``fab -H node01 --search-root playbooks --collection node NAME``."""
    from fabric import task as fabric_task

    return lambda function: fabric_task(function, name=name, auto_shortflags=False)


def play(context: Any, script: Script) -> Facts:
    """Run a script by hand on the host of a Fabric context, show what it says, and give its facts back.

    Fabric would accept any host key: this takes only those in the file ``$FAWKES_KNOWN_HOSTS``, or else in the user's
    own known_hosts. Raises SystemExit with the script's exit code when that is not 0, as ``fab`` does.
    """
    client = getattr(context, "client", None)
    if client is not None:
        import paramiko

        client.load_system_host_keys(os.environ.get("FAWKES_KNOWN_HOSTS"))
        client.set_missing_host_key_policy(paramiko.RejectPolicy())
    result = context.run("/bin/sh -s", in_stream=_AtOnce(f"{{\n{script.text}\n}} </dev/null\n"), warn=True)
    if result.exited != 0:
        raise SystemExit(int(result.exited))
    return read_facts(str(result.stdout))


class _AtOnce(io.StringIO):
    """A text that is read as a whole: Invoke reads one letter in ten milliseconds, a script in two minutes."""

    def read(self, size: int | None = -1, /) -> str:
        """All that is left, whatever ``size`` is."""
        return super().read()


def hand_lease(context: Any, work_dir: str, pool: str, cluster: str = "", generation: int = 0, epoch: int = 0) -> Lease:
    """The lease of someone who runs a task by hand: the host's name is the node's, ``hand`` the controller's.

    So ``fab -H`` must name the host as the inventory does. Give the epoch that ``lease show`` says: with an older
    one the node refuses.
    """
    return Lease(
        node=str(getattr(context, "host", "localhost")),
        work_dir=PurePosixPath(work_dir),
        pool=pool,
        cluster=cluster,
        generation=int(generation),
        epoch=int(epoch),
        controller="hand",
    )
