"""A survey of an MR-cluster: data in its HDFS that nobody declared, and applications that are not Fawkes's own.

Whatever is not a declared output, an input as it was loaded, scratch or Hadoop's own bookkeeping is somebody's data.
Only facts are told here; each part is None when its master does not answer, or answers what cannot be understood.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import escape
from typing import TypeVar
from urllib.parse import urlsplit

from fawkes.base.errors import FawkesError
from fawkes.config.clusters.details import DataSet
from fawkes.config.jobs.spark import EVENTS, KIND
from fawkes.core.values.model import Plain
from fawkes.live.base import limits
from fawkes.live.data.loading import LOADED, UNFINISHED
from fawkes.live.data.saved import at_stake
from fawkes.live.data.sources import files_below, fingerprint
from fawkes.live.eyes.measure import is_ours
from fawkes.live.hadoop.setup import Setup
from fawkes.live.nodes.clusters import LiveCluster
from fawkes.live.wire.masters import MasterAddresses, YarnApplication, all_applications
from fawkes.live.wire.rest import Deadline
from fawkes.live.wire.webhdfs import Hdfs, HdfsFile

Parts = tuple[str, ...]
T = TypeVar("T")

#: A master that says nothing for so long is given up.
_NEVER = Deadline(math.inf)
#: HDFS keeps the folders of users here: each of them is a row of its own.
_HOMES = "/user"
#: a NodeManager that starts writes an empty file of such a name, which stays if it ends in that moment
_PROBE = "*.permission_check"


#: folders beyond so many rows are added up in the row of the folder that they are in
_ROWS = 100
#: so many names are looked at for the newest files of a row, and of all rows
_NAMES, _ALL_NAMES = 2_000, 50_000
#: how many files a row names
_NEWEST = 3


@dataclass(slots=True)
class _Row:
    """The sum of the files in one folder, while they are added up."""

    path: str
    owner: str
    size: int = 0
    files: int = 0
    newest: list[tuple[int, str, int]] = field(default_factory=list)

    def see(self, file: HdfsFile) -> None:
        """Keep a file if it is one of the newest so far."""
        heapq.heappush(self.newest, (file.changed_ms, file.path, file.size))
        if len(self.newest) > _NEWEST:
            heapq.heappop(self.newest)

    def plain(self) -> dict[str, Plain]:
        """Plain data; times in microseconds."""
        newest = sorted(self.newest, reverse=True)
        return {
            "path": self.path,
            "bytes": self.size,
            "files": self.files,
            "owner": self.owner,
            "newest": [{"path": path, "bytes": size, "changed_us": ms * 1000} for ms, path, size in newest],
        }


def survey(cluster: LiveCluster, setup: Setup, *, deadline: Deadline = _NEVER) -> dict[str, Plain]:
    """Everything in an MR-cluster that a release would end. What HDFS has not answered by the ``deadline`` is not
    known.

    ``undeclared``: folders outside of the declared ones, largest first, each with ``path``, ``bytes`` (without
    replicas), ``files``, ``owner`` and its ``newest`` files (``path``, ``bytes``, ``changed_us``; those of the first
    names that were looked at, the folders that changed last first). ``applications``: what YARN runs or has waiting
    (``id``, ``name``, ``user``; ``tags`` of what carries Fawkes's own). ``unsaved_bytes``: what of the declared
    outputs is not on persistent storage. Each is None when it is not known.
    """
    masters = setup.masters(cluster)
    hdfs = Hdfs.of(masters, patience_s=limits.HDFS_S, deadline=deadline)
    facts: dict[str, Plain] = {
        "undeclared": _known(lambda: undeclared(hdfs, cluster, setup)),
        "unsaved_bytes": _known(
            lambda: sum(stake.size for stake in at_stake(hdfs, cluster.details.outputs) if not stake.saved)
        ),
    }
    # Last: where data is given up, nobody looks at them again before the nodes are wiped.
    return {**facts, "applications": _known(lambda: at_work(masters))}


def _known(ask: Callable[[], T]) -> T | None:
    try:
        return ask()
    except FawkesError:
        return None


def foreign(masters: MasterAddresses) -> list[dict[str, Plain]]:
    """The applications that run or wait and were not submitted by Fawkes, oldest first.

    UnreadableError also while a ResourceManager that was started anew has not recovered what it knew.
    """
    return [row for row in at_work(masters) if "tags" not in row]


def at_work(masters: MasterAddresses) -> list[dict[str, Plain]]:
    """All applications that run or wait, oldest first: ``id``, ``name``, ``user``; ``tags`` of what Fawkes submitted.

    UnreadableError as `foreign`.
    """
    applications = all_applications(masters, Deadline.after(limits.HDFS_S), tag="")
    return [_application(application) for application in applications if not application.ended]


def _application(app: YarnApplication) -> dict[str, Plain]:
    tags: dict[str, Plain] = {"tags": sorted(app.tags)} if is_ours(app) else {}
    return {"id": app.id, "name": app.name, "user": app.user, **tags}


def undeclared(hdfs: Hdfs, cluster: LiveCluster, setup: Setup) -> list[dict[str, Plain]]:
    """The rows of `survey`; FawkesError when the NameNode does not answer."""
    details = cluster.details
    declared = [*(row.path for row in details.outputs), *(row.to for row in details.data), *details.scratch]
    skipped = [*(_parts(escape(path)) for path in declared), *bookkeeping(setup.settings(cluster))]
    if KIND in details.software:
        skipped += [_parts(EVENTS), ("staging", "*", ".sparkStaging")]
    left = _Left(_ALL_NAMES)
    rows = [_row(hdfs, data_set, left) for data_set in cluster.details.data if _changed(hdfs, data_set)]
    rows += _other(hdfs, [parts for parts in skipped if parts], left)
    largest = sorted((row for row in rows if row.files), key=lambda row: (-row.size, row.path))
    return [row.plain() for row in largest]


def bookkeeping(settings: Mapping[str, Mapping[str, str]]) -> list[Parts]:
    """The place where Hadoop itself keeps things of jobs, as configured; parts may be patterns.

    No more than that: a staging folder may lie among the users' own folders, and what else lies there is theirs.
    """
    mapred, yarn = settings["mapred-site"], settings["yarn-site"]
    logs = _place(yarn, "yarn.nodemanager.remote-app-log-dir")
    suffix = yarn.get("yarn.nodemanager.remote-app-log-dir-suffix", "logs")
    places = [
        (_place(mapred, "yarn.app.mapreduce.am.staging-dir"), ("*", ".staging")),
        (_place(mapred, "mapreduce.jobhistory.intermediate-done-dir"), ()),
        (_place(mapred, "mapreduce.jobhistory.done-dir"), ()),
        (logs, ("*", suffix)),
        (logs, ("*", f"bucket-{suffix}*")),
        (logs, (_PROBE,)),
    ]
    state = "yarn.resourcemanager.fs.state-store.uri"
    if yarn.get(state, "").startswith("hdfs://"):
        places.append((_place(yarn, state), ()))
    return [(*place, *rest) for place, rest in places if place]


def _place(keys: Mapping[str, str], key: str) -> Parts:
    """The folder that a key names; empty for one that only Hadoop could resolve: what is there counts as somebody's."""
    value = keys.get(key, "")
    return () if "$" in value else _parts(urlsplit(value).path)


def _parts(path: str) -> Parts:
    return tuple(part for part in path.split("/") if part)


def _changed(hdfs: Hdfs, data_set: DataSet) -> bool:
    """True if an input is not what was loaded; also when nobody noted what that was.

    What lies in the folder of an input that is still being loaded counts as the copy: the load replaces it.
    """
    now = hdfs.summary(data_set.to)
    if now is None:
        return False
    noted = hdfs.note(data_set.to, LOADED)
    if noted == UNFINISHED:
        return False
    if noted is None or not noted.startswith(f"{now.files}:{now.size}:"):
        return True
    return noted != fingerprint(files_below(hdfs, data_set.to))


def _row(hdfs: Hdfs, data_set: DataSet, left: _Left) -> _Row:
    """An input that was changed, as a whole: which of its files are as they were is not known."""
    entry = hdfs.status(data_set.to)
    row = _Row(data_set.to, entry.owner if entry else "")
    if entry is not None:
        _add(hdfs, entry, row, left)
    return row


def _other(hdfs: Hdfs, skipped: Sequence[Parts], left: _Left) -> list[_Row]:
    """A row for each folder at the top, and for each one of a user, with what of it is not skipped."""
    rows: dict[str, _Row] = {}
    for entry, container in _tops(hdfs):
        known = entry.folder and (entry.path in rows or len(rows) < _ROWS)
        path = entry.path if known else container.path
        row = rows.setdefault(path, _Row(path, entry.owner if known else container.owner))
        for unit in _units(hdfs, entry, skipped):
            _add(hdfs, unit, row, left)
    return list(rows.values())


def _tops(hdfs: Hdfs) -> Iterator[tuple[HdfsFile, HdfsFile]]:
    """The entries at the top and in the folder of users' folders, each with the folder that it is in."""
    root = hdfs.status("/") or HdfsFile("/", 0, 0, folder=True)
    for entry in hdfs.children("/"):
        if entry.path == _HOMES and entry.folder:
            for home in hdfs.children_left(_HOMES):
                yield home, entry
        else:
            yield entry, root


def _units(hdfs: Hdfs, entry: HdfsFile, skipped: Sequence[Parts]) -> Iterator[HdfsFile]:
    """The largest folders, and the files, at or below an entry that hold nothing to be skipped."""
    parts = _parts(entry.path)
    same = [pattern for pattern in skipped if all(map(fnmatchcase, parts, pattern))]
    if any(_skips(pattern, parts, entry) for pattern in same):
        return
    if not entry.folder or not same:
        yield entry
        return
    for child in hdfs.children_left(entry.path):
        yield from _units(hdfs, child, skipped)


def _skips(pattern: Parts, parts: Parts, entry: HdfsFile) -> bool:
    """True if a pattern that an entry matches covers it; a file with something in it is no probe, whatever its name."""
    if pattern[-1] == _PROBE:
        return len(pattern) == len(parts) and not entry.folder and not entry.size
    return len(pattern) <= len(parts)


def _add(hdfs: Hdfs, entry: HdfsFile, row: _Row, left: _Left) -> None:
    if not entry.folder:
        row.size, row.files = row.size + entry.size, row.files + 1
        row.see(entry)
        return
    below = hdfs.summary(entry.path)
    if below is not None and below.files:
        row.size, row.files = row.size + below.size, row.files + below.files
        left.look(hdfs, entry, row)


@dataclass(slots=True)
class _Left:
    """The number of names that may still be looked at for the newest files."""

    names: int

    def look(self, hdfs: Hdfs, folder: HdfsFile, row: _Row) -> None:
        """Look at the files below a folder, those of the folders that changed last first."""
        mine = min(_NAMES, self.names)
        waiting = [(-folder.changed_ms, folder.path)]
        while waiting:
            for entry in hdfs.children_left(heapq.heappop(waiting)[1]):
                if mine == 0:
                    return
                mine, self.names = mine - 1, self.names - 1
                if entry.folder:
                    heapq.heappush(waiting, (-entry.changed_ms, entry.path))
                else:
                    row.see(entry)
