"""Access to the controller: ranks by Unix group, and what belongs to whom.

The kernel says who is at the other end of a connection. Whoever has no rank is not even listened to.
"""

from __future__ import annotations

import grp
import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from pathlib import Path
from urllib.parse import urlsplit

from fawkes.base.errors import ConfigError, RefusedError, UserError, cut
from fawkes.base.paths import is_name
from fawkes.config.clusters.details import FILE_SECRET, WEBHDFS, ClusterDetails, JobDetails
from fawkes.config.settings.keys import AccessTable
from fawkes.config.settings.tokens import ROLES
from fawkes.core.state.state import State
from fawkes.core.values.decision import PutCluster
from fawkes.core.values.events import CancelAsked, Event, ReleaseAsked, Requested, Submitted
from fawkes.core.values.model import Facts, JobId
from fawkes.engine.ports import Entry
from fawkes.live.controller.endpoint import Peer

SHARED = "shared"
"""The folder of a site with the files that users may name in their MR-clusters and jobs."""
#: what every viewer may ask; what is not listed anywhere is for operators
_VIEWS = frozenset({"board", "clusters", "copies", "jobs", "nodes", "openapi", "plan", "ledger", "releases"})
#: what a user may ask about an MR-cluster of his own
_OWN_VIEWS = frozenset({"at-stake", "env", "config", "logs", "history", "spark-events"})
#: what a user may ask for, about what is his own
_OWN_ACTS = (Requested, Submitted, ReleaseAsked, CancelAsked)


class Rank(IntEnum):
    """The rights of somebody: each rank may do all that those below it may."""

    NOBODY = 0
    VIEWER = 1
    USER = 2
    OPERATOR = 3


def rank_to_see(query: str) -> Rank:
    """The rank that the answer to a query takes."""
    return Rank.VIEWER if query in _VIEWS else Rank.USER if query in _OWN_VIEWS else Rank.OPERATOR


def rank_to_act(kind: type[Event] | None) -> Rank:
    """The rank that it takes to cause an event of a kind; None is the end of the controller."""
    return Rank.USER if kind in _OWN_ACTS else Rank.OPERATOR


@dataclass(frozen=True)
class Access:
    """The groups of each rank, by number. The controller's own user and root are operators without one.

    ``run_as`` and ``webhdfs`` are the Unix users of nodes, and the hosts of input, that users may name.
    """

    viewers: frozenset[int] = frozenset()
    users: frozenset[int] = frozenset()
    operators: frozenset[int] = frozenset()
    run_as: frozenset[str] = frozenset()
    webhdfs: frozenset[str] = frozenset()

    @property
    def open(self) -> bool:
        """True if anybody but the controller's own user and root may ask."""
        return bool(self.viewers or self.users or self.operators)

    def rank(self, peer: Peer, own_uid: int) -> Rank:
        """The highest rank of a peer, and no more than the role of its token."""
        rank = self._rank(peer, own_uid)
        return min(rank, Rank[peer.role.upper()]) if peer.role else rank

    def _rank(self, peer: Peer, own_uid: int) -> Rank:
        if peer.uid in (own_uid, 0) or peer.groups & self.operators:
            return Rank.OPERATOR
        if peer.groups & self.users:
            return Rank.USER
        return Rank.VIEWER if peer.groups & self.viewers else Rank.NOBODY


def access_of(table: AccessTable, file: Path) -> Access:
    """The groups that ``[access]`` names; ConfigError with file and key for one that this machine does not have."""
    return Access(
        viewers=_numbers(table.viewers, file, "viewers"),
        users=_numbers(table.users, file, "users"),
        operators=_numbers(table.operators, file, "operators"),
        run_as=frozenset(table.run_as),
        webhdfs=frozenset(host.lower() for host in table.webhdfs),
    )


def _numbers(names: Iterable[str], file: Path, key: str) -> frozenset[int]:
    numbers = set()
    for name in names:
        try:
            numbers.add(grp.getgrnam(name).gr_gid)
        except KeyError:
            raise ConfigError(
                f"there is no group {name!r} on this machine",
                file=str(file),
                key=f"access.{key}",
                hint=f"Name one that `getent group` lists, or create it with `groupadd {name}`",
            ) from None
    return frozenset(numbers)


class Owners:
    """The user who asked first for each MR-cluster, by the ledger. Safe for any thread."""

    def __init__(self, requests: Callable[[], Iterable[Entry]], view: State) -> None:
        """``requests`` reads the steps of the ledger in which an MR-cluster was requested."""
        self._requests = requests
        self._view = view
        self._lock = threading.Lock()
        self._by: dict[str, str] = {}

    def of_cluster(self, name: str) -> str | None:
        """The user who first requested an MR-cluster; None for one that nobody did."""
        with self._lock:
            if name not in self._by:
                for known, by in _agreed(self._requests()):
                    self._by.setdefault(known, by)
            return self._by.get(name)

    def of_job(self, name: str) -> str | None:
        """The user who requested the MR-cluster of a job that has not ended; None when there is none."""
        job = self._view.jobs.get(JobId(name))
        return None if job is None else self.of_cluster(job.cluster)


def _agreed(requests: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    for entry in requests:
        event = entry.event
        if isinstance(event, Requested) and any(isinstance(each, PutCluster) for each in entry.decision.changes):
            yield event.spec.id, event.by


@dataclass(frozen=True)
class Gate:
    """Decides about one request at a time. ``shared`` is the folder whose files users may name."""

    access: Access
    owners: Owners | None
    shared: Path
    own_uid: Callable[[], int] = os.geteuid

    def rank(self, peer: Peer) -> Rank:
        """The rank of a peer; RefusedError when it has none."""
        rank = self.access.rank(peer, self.own_uid())
        if rank is Rank.NOBODY:
            more = ", and members of the groups in [access] of fawkes.toml" * self.access.open
            hint = f"Only root and the user that it runs as may do so{more}"
            raise RefusedError(f"{peer.name} may not command this controller", hint=hint)
        return rank

    def holder(self, peer: Peer, token: str, role: str) -> Peer:
        """The holder of a token of the page, for whom the page asks: its name, and no more rights than its role.

        RefusedError unless the page runs as the controller's own user or root: nobody else names another.
        """
        if peer.uid not in (self.own_uid(), 0):
            hint = "Run `fawkes web` as the user of the controller, or as root"
            raise RefusedError(f"{peer.name} may not ask for the holder of a token", hint=hint)
        if not is_name(token) or role not in ROLES:
            raise UserError(f"{cut(token)!r} with role {cut(role)!r} is not the holder of a token")
        # With a blank, which no Unix user's name has: nobody is taken for the user of that name.
        return replace(peer, name=f"token {token}", role=role)

    def ask(self, peer: Peer, query: str, parameters: Mapping[str, str]) -> None:
        """RefusedError unless the peer may see the answer to a query."""
        rank, least = self.rank(peer), rank_to_see(query)
        if rank < least:
            raise _for(least, peer, f"ask for /{query}")
        if rank < Rank.OPERATOR and least is Rank.USER:
            self._check_owner(peer, parameters.get("cluster", ""))

    def act(self, peer: Peer, verb: str, event: Event | None) -> None:
        """RefusedError unless the peer may cause this event; None is the end of the controller."""
        rank, least = self.rank(peer), rank_to_act(None if event is None else type(event))
        if rank < least:
            raise _for(least, peer, verb)
        if rank is Rank.OPERATOR:
            return
        match event:
            case Requested(spec=spec):
                if self._owner(spec.id) is not None:
                    self._check_owner(peer, spec.id)
                self._check_listed(peer, ClusterDetails.of(spec.details))
                self._check_files(peer, _files_of_cluster(spec.details))
            case Submitted(spec=spec):
                self._check_owner(peer, spec.cluster)
                self._check_files(peer, _files_of_job(spec.details))
                _check_secrets(peer, spec.details)
            case ReleaseAsked(cluster=cluster):
                self._check_owner(peer, cluster)
            case CancelAsked(job=job):
                if self.owners is None or self.owners.of_job(job) != peer.name:
                    raise RefusedError(f"{peer.name} may not cancel job {job!r}", hint=_YOURS.format(what="jobs"))

    def _owner(self, cluster: str) -> str | None:
        return None if self.owners is None else self.owners.of_cluster(cluster)

    def _check_owner(self, peer: Peer, cluster: str) -> None:
        if self._owner(cluster) != peer.name:
            name = f"MR-cluster {cluster!r}" if cluster else "the whole pool"
            raise RefusedError(f"{name} does not belong to {peer.name}", hint=_YOURS.format(what="jobs and data"))

    def _check_listed(self, peer: Peer, details: ClusterDetails) -> None:
        """A wipe removes files of ``run_as`` from the nodes, and the controller itself reads ``webhdfs://`` URLs."""
        hosts = [urlsplit(each.source).hostname or "" for each in details.data if each.source.startswith(WEBHDFS)]
        users = [details.run_as] if details.run_as else []
        for key, names, listed in (("run_as", users, self.access.run_as), ("webhdfs", hosts, self.access.webhdfs)):
            for name in names:
                if name not in listed:
                    hint = (
                        f"Users name what access.{key} of fawkes.toml lists ({', '.join(sorted(listed)) or 'nothing'})"
                    )
                    raise RefusedError(f"{peer.name} may not name {name!r}", where=key, hint=hint)

    def _check_files(self, peer: Peer, files: Mapping[str, str]) -> None:
        """The controller reads and writes with its own rights, which are not those of the user who asks."""
        shared = self.shared.resolve()
        for name, key in files.items():
            # A link that lies elsewhere could lead elsewhere by the time at which the file is read.
            places = (
                Path(os.path.realpath(name)),
                Path(os.path.realpath(os.path.dirname(name)), os.path.basename(name)),
            )
            if not all(place.is_relative_to(shared) for place in places):
                raise RefusedError(
                    f"{peer.name} may not name the controller's file {name!r}",
                    where=key,
                    hint=f"Users name files below {shared}, which operators fill, or hdfs:// URLs",
                )


_YOURS = "Users act on {what} of the MR-clusters that they have requested; `fawkes explain` shows who requested one"


def _for(rank: Rank, peer: Peer, what: str) -> RefusedError:
    names = f"{rank.name.lower()}s"
    hint = f"That is for {names}: groups in access.{names} of fawkes.toml, the controller's own user, and root"
    return RefusedError(f"{peer.name} may not {what}", hint=hint)


def _check_secrets(peer: Peer, facts: Facts) -> None:
    """The controller's environment and the site's secrets are not those of the user who asks."""
    for key, reference in JobDetails.of(facts).secrets.items():
        if set(reference) != {FILE_SECRET}:
            raise RefusedError(
                f"{peer.name} may not use the controller's secrets",
                where=key,
                hint=f"Users name a file below {SHARED}/ of the site, as {{ file = ... }}",
            )


def _files_of_cluster(facts: Facts) -> dict[str, str]:
    details = ClusterDetails.of(facts)
    files = {data_set.source: "data.source" for data_set in details.data if data_set.local}
    return files | {output.save_to: "outputs.save_to" for output in details.outputs if output.local}


def _files_of_job(facts: Facts) -> dict[str, str]:
    details = JobDetails.of(facts)
    files = {details.jar: "jar", details.pig: "pig", details.python: "python", **dict.fromkeys(details.files, "files")}
    files |= {secret[FILE_SECRET]: "secrets" for secret in details.secrets.values() if FILE_SECRET in secret}
    return {name: key for name, key in files.items() if name}
