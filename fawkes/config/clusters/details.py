"""Details of MR-clusters and jobs that only the world needs, as values; the core keeps them as plain data.

`ClusterSpec.details` and `JobSpec.details` are made by ``plain()`` and read by ``of()``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from fawkes.base.errors import UserError
from fawkes.core.values.model import Facts, Plain, Role

#: where the value of a secret key is: the controller's environment, a file of its machine, or the site's secrets/
ENV_SECRET, FILE_SECRET, SITE_SECRET = "env", "file", "secret"
KERBEROS = "kerberos"
"""The ``security`` of an MR-cluster whose daemons take nobody without a ticket."""
HDFS, WEBHDFS = "hdfs://", "webhdfs://"
"""The beginnings of URLs: a job of the MR-cluster copies the first, the controller reads the second."""
D = TypeVar("D", "ClusterDetails", "JobDetails")

Sites = Mapping[str, Mapping[str, str]]
"""Hadoop configuration: file without ``.xml`` -> key -> value."""


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """Input to load: ``source`` is an absolute local folder or an ``hdfs://`` or ``webhdfs://`` URL, ``to`` in HDFS.

    ``size_bytes`` is None when only the persistent storage knows.
    """

    source: str
    to: str
    size_bytes: int | None = None

    @property
    def local(self) -> bool:
        """True if it is read from the controller's file system."""
        return not self.source.startswith((HDFS, WEBHDFS))


@dataclass(frozen=True, kw_only=True)
class Output:
    """A folder in HDFS and where it is saved: an absolute local folder or an ``hdfs://`` URL."""

    path: str
    save_to: str

    @property
    def local(self) -> bool:
        """True if it is written to the controller's file system: everything that no job copies."""
        return not self.save_to.startswith(HDFS)


@dataclass(frozen=True, kw_only=True)
class ClusterDetails:
    """The setup of an MR-cluster. Either ``hadoop_version`` or ``release_dir`` (on the nodes) is not empty.

    ``scratch``: folders in HDFS whose data nobody misses: neither saved nor a reason to keep the MR-cluster.
    ``clients``: addresses and networks that may speak to its daemons beside its own nodes. ``run_as``: its own Unix
    user on the nodes, empty without one; ``leftovers``: ``remove`` or ``tell``, for what that user leaves elsewhere.
    ``security`` is empty or KERBEROS; ``kerberos_users`` are the names in the realm whose tickets it takes then.
    ``heap_bytes`` has the daemons whose heap is given; ``hadoop`` holds for all nodes, ``roles`` for those of a role.
    """

    title: str = ""
    data: tuple[DataSet, ...] = ()
    outputs: tuple[Output, ...] = ()
    scratch: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    run_as: str = ""
    leftovers: str = "remove"
    block_size_bytes: int = 128 * 1024 * 1024
    hadoop_version: str = ""
    release_dir: str = ""
    software: tuple[str, ...] = ()
    security: str = ""
    kerberos_users: tuple[str, ...] = ()
    heap_bytes: Mapping[str, int] = field(default_factory=dict)
    hadoop: Sites = field(default_factory=dict)
    roles: Mapping[str, Sites] = field(default_factory=dict)

    def overrides(self, role: Role) -> dict[str, dict[str, str]]:
        """The administrator's keys for a node of that role, by file; the role's win."""
        sites = {name: dict(keys) for name, keys in self.hadoop.items()}
        for name, keys in self.roles.get(role.value, {}).items():
            sites.setdefault(name, {}).update(keys)
        return sites

    def plain(self) -> dict[str, Plain]:
        """Plain data, for `ClusterSpec.details`."""
        return _plain(self)

    @classmethod
    def of(cls, facts: Facts) -> ClusterDetails:
        """Make it from plain data; UserError names the first key that is wrong."""
        return _read(cls, facts)


@dataclass(frozen=True, kw_only=True)
class SleepTasks:
    """The tasks of a job that only sleeps; times are of one task."""

    maps: int
    map_us: int
    reduces: int
    reduce_us: int


@dataclass(frozen=True, kw_only=True)
class TaskArray:
    """The tasks of a job of tasks: each has ``memory_mb`` MiB and may fail ``attempts`` times.

    ``cpus`` is 0 where its CPUs do not matter. ``task_us`` is the time that each takes, 0 when that is not known.
    ``checkpoint`` is how a task is saved that must leave its node: ``none``, ``own``
    (by itself) or ``criu``.
    """

    memory_mb: int
    cpus: int = 0
    priority: int = 0
    attempts: int = 1
    task_us: int = 0
    checkpoint: str = "none"


@dataclass(frozen=True, kw_only=True)
class JobDetails:
    """The program that a job runs; ``kind`` is that of its file, but ``class`` for a job that sleeps.

    ``jar`` is an absolute local path, ``release_jar`` one of the release's own jars (``examples``, ``streaming`` or
    ``jobclient-tests``); both may be empty. ``pig`` (Pig Latin) and ``python`` (a Spark program) are absolute local
    paths as well, and so are ``files``, which go along. ``secrets`` are further keys like ``properties``, of which only
    the place of the value is known: ``{"env": NAME}``, ``{"file": absolute path}`` or ``{"secret": NAME}``. ``sleep``
    says what the tasks do when they only sleep, ``array`` what those of a job of tasks need. ``profile`` of a Spark job
    is that by which quotas give it cores (a `core.quota.profile.Profile` as plain data), ``profile_size`` its data as a
    multiple of the profile's; of a load job ``profile`` is what its tasks do: the simulator's `Profile`. None without
    either.
    """

    kind: str
    title: str = ""
    jar: str = ""
    release_jar: str = ""
    main_class: str = ""
    args: tuple[str, ...] = ()
    mapper: str = ""
    combiner: str = ""
    reducer: str = ""
    inputs: tuple[str, ...] = ()
    output: str = ""
    command: str = ""
    pig: str = ""
    python: str = ""
    files: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sleep: SleepTasks | None = None
    array: TaskArray | None = None
    profile: Mapping[str, Plain] | None = None
    profile_size: float = 1.0

    @property
    def one_application(self) -> bool:
        """True if it is over with its first application of YARN; a user's own program may run several."""
        return self.kind in ("streaming", "spark", "stream", "tasks") or self.sleep is not None or bool(self.profile)

    def plain(self) -> dict[str, Plain]:
        """Plain data, for `JobSpec.details`."""
        return _plain(self)

    @classmethod
    def of(cls, facts: Facts) -> JobDetails:
        """Make it from plain data; UserError names the first key that is wrong."""
        # Jobs of older ledgers have an empty one.
        return _read(cls, {**facts, "profile": facts.get("profile") or None})


def _plain(details: ClusterDetails | JobDetails) -> dict[str, Plain]:
    """Lists instead of tuples: the same value before and after a ledger."""
    return dataclasses.asdict(details, dict_factory=lambda items: {k: _listed(v) for k, v in items})


def _listed(value: Plain) -> Plain:
    return [_listed(item) for item in value] if isinstance(value, tuple | list) else value


def _read(kind: type[D], facts: Facts) -> D:
    try:
        return TypeAdapter(kind).validate_python(facts)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(str(part) for part in first["loc"])
        raise UserError(f"{first['input']!r}: {first['msg']}", where=f"details.{key}") from None
