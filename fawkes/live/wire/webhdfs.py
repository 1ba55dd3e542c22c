"""The file system of an MR-cluster, over WebHDFS: no JVM starts for a folder, a policy or a file.

`hdfs` (HdfsCLI) does what it has a method for. What it lacks is asked with the same session: storage policies,
attributes, the places of blocks, renaming over an existing file, and the choice of the DataNode that takes a
block. Reads and writes are redirected to DataNodes by the name under which they registered: the controller must be
able to resolve and reach it.
"""

from __future__ import annotations

import math
import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

import requests
from hdfs import HdfsError, InsecureClient

from fawkes.base.errors import FawkesError
from fawkes.live.base import limits
from fawkes.live.wire.crc import ChecksumKind, HdfsDigest, kind_of, md5_of
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.names import NAMES, is_near
from fawkes.live.wire.rest import (
    KEY_HEADER,
    AnswerError,
    BoundedAdapter,
    BoundedConnection,
    Deadline,
    Key,
    UnreadableError,
    count,
    get_json,
    keep,
    key_headers,
    reason_of,
    set_deadline,
    trust,
    until,
)
from fawkes.live.wire.rest import session as bounded_session

CORE_ONLY = "COLD"
"""The storage policy of data that stays on core nodes: ARCHIVE volumes, which transient-core nodes have not."""

ANYWHERE = "HOT"
"""The storage policy of output folders: DISK volumes, which all DataNodes have."""

#: how many bytes lay in HDFS when the MR-cluster became active; kept in HDFS itself, so that no restart loses it
_USED = "used"
_MARK = f"user.fawkes.{_USED}"
_CHUNK = 1 << 20
_ERROR = 400
#: how WebHDFS answers when there is no such attribute
_NO_ATTRIBUTE = (403, 404)
_MISSING = ("FileNotFoundException", "XAttrNotFoundException")
_BAD_ANSWER = "BadAnswer"
#: how one answers that does not know an operation
_UNKNOWN_OPERATION = ("IllegalArgumentException", "UnsupportedOperationException", "QueryParamException")
_KINDS = ("FILE", "DIRECTORY")
_SHOWN = 120
_NEVER = Deadline(math.inf)


class HdfsFailedError(FawkesError):
    """HDFS did not do what was asked; ``kind`` is the name of its exception, or empty when it did not answer."""

    def __init__(self, what: str, *, where: str, kind: str = "", hint: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.kind = kind

    @property
    def missing(self) -> bool:
        """True if there is no such file, folder or attribute."""
        return self.kind in _MISSING

    @property
    def unreachable(self) -> bool:
        """True if a server did not answer, or broke off."""
        return not self.kind


@dataclass(frozen=True, slots=True)
class HdfsFile:
    """A file or folder; ``changed_ms`` is its modification time, ``owner`` empty where nobody asked."""

    path: str
    size: int
    changed_ms: int
    folder: bool
    owner: str = ""


Refused = Callable[[str, str], None]
"""Is told of what a listing has and cannot be used: folder and name as text for people, and why."""


@dataclass(frozen=True, slots=True)
class FolderSummary:
    """The sum of everything below a folder: bytes without replicas, files."""

    size: int
    files: int


@dataclass(frozen=True, slots=True)
class Block:
    """A block and the hosts of the replicas that the NameNode knows at this moment."""

    size: int
    hosts: tuple[str, ...]


class _Connection(BoundedConnection):
    def send(self, data: Any) -> None:
        """A DataNode under load takes its time to read on; urllib3 would grant it that for a connection."""
        if self.sock is None:
            self.connect()
        self.sock.settimeout(limits.SEND_S)
        super().send(data)


class _FarConnection(_Connection):
    """A connection to no address that only this machine or its link can reach."""

    def _new_conn(self) -> socket.socket:
        connection = super()._new_conn()
        if NAMES.way(self._dns_host) is None and is_near(connection.getpeername()[0]):
            connection.close()
            raise AnswerError(f"{self._dns_host} is an address of this machine or its link, to which nobody is sent")
        return connection


class _Adapter(BoundedAdapter):
    """Whole answers come within ``patience_s`` of the question's last byte; of a file that is read, each piece does.

    All of them come before the ``deadline``.
    """

    def __init__(self, patience_s: float, deadline: Deadline, fingerprint: str = "", *, far: bool = False) -> None:
        self._patience_s = patience_s
        self._deadline = deadline
        super().__init__(_FarConnection if far else _Connection, fingerprint)

    def send(
        self, request: requests.PreparedRequest, stream: bool = False, *args: Any, **kwargs: Any
    ) -> requests.Response:
        """Sends as its base does; an answer that is not a stream has been read, to its end or to a limit."""
        with until(self._deadline):
            if request.body is None:
                set_deadline(self._deadline.within(self._patience_s))
            elif not isinstance(request.body, bytes | str):
                request.body = self._then_wait(request.body)
            response = super().send(request, True, *args, **kwargs)
        if not stream:
            with until(self._deadline.within(self._patience_s)):
                keep(response)
        return response

    def _then_wait(self, data: Iterable[bytes]) -> Iterator[bytes]:
        yield from data
        set_deadline(self._deadline.within(self._patience_s))


class Hdfs:
    """One HDFS, as its superuser; safe to use from several threads.

    ``url`` is the NameNode's, such as ``http://10.98.1.1:9870``. A server that says nothing for ``patience_s`` is
    given up; nothing is waited for beyond the ``deadline``. ``key`` is that of an MR-cluster, empty for other HDFS.
    No redirect leads to what only this machine can reach. All errors are HdfsFailedError.
    """

    def __init__(
        self, url: str, user: str, *, key: Key = "", patience_s: float = 60.0, deadline: Deadline = _NEVER
    ) -> None:
        self.url = url.rstrip("/")
        self._key = key
        self._user = user
        self._deadline = deadline
        self._timeout = (limits.DATANODE_S, patience_s)
        self._token = ""
        # Neither requests' sessions nor HdfsCLI promise to be safe between threads.
        self._of_thread = threading.local()

    @classmethod
    def of(cls, masters: MasterAddresses, *, patience_s: float = 60.0, deadline: Deadline = _NEVER) -> Hdfs:
        """The HDFS of an MR-cluster."""
        return cls(masters.namenode, masters.user, key=masters.key, patience_s=patience_s, deadline=deadline)

    # --- folders and their properties

    def mkdir(self, path: str) -> None:
        """Make a folder and those above it; one that exists is left as it is."""
        with self._errors(path):
            self._client().makedirs(path)

    def set_policy(self, path: str, policy: str) -> None:
        """Set the storage policy of a folder: where blocks written below it from now on are put."""
        self._ask("PUT", "SETSTORAGEPOLICY", path, storagepolicy=policy)

    def set_permission(self, path: str, permission: str) -> None:
        """Set who may read and write a file or folder, in octal such as ``1777``."""
        self._ask("PUT", "SETPERMISSION", path, permission=permission)

    def set_owner(self, path: str, owner: str) -> None:
        """Give a file or folder to a user."""
        self._ask("PUT", "SETOWNER", path, owner=owner)

    def set_mark(self, used_bytes: int) -> None:
        """Keep how many bytes lay in HDFS when the MR-cluster became active; the first mark stays."""
        if self.note("/", _USED) is None:
            self.set_note("/", _USED, str(used_bytes))

    def note(self, path: str, name: str) -> str | None:
        """The note of Fawkes on a file or folder under this name; None when there is none."""
        params = {"xattr.name": f"user.fawkes.{name}", "encoding": "TEXT"}
        try:
            with self._errors(path):
                document = self._json(self._ask("GET", "GETXATTRS", path, **params), path)
            return str(document["XAttrs"][0]["value"]).strip('"')
        except HdfsFailedError as error:
            if error.missing:
                return None
            raise
        except (TypeError, KeyError, IndexError):
            raise HdfsFailedError("the answer is not an attribute", where=self._where(path), kind=_BAD_ANSWER) from None

    def set_note(self, path: str, name: str, text: str) -> None:
        """Note something on a file or folder; it is kept with it in HDFS, and replaces an earlier note of that name."""
        params = {"xattr.name": f"user.fawkes.{name}", "xattr.value": text, "flag": "CREATE,REPLACE"}
        self._ask("PUT", "SETXATTR", path, **params)

    # --- looking

    def status(self, path: str) -> HdfsFile | None:
        """A file or folder; None when there is none."""
        with self._errors(path):
            status = self._unless_missing(lambda: self._client().status(path))
            return _file(path, status) if status else None

    def below(self, path: str, refused: Refused | None = None) -> Iterator[HdfsFile]:
        """All files and folders below a folder, each folder before what is in it.

        With ``refused`` an entry that cannot be used, and a folder that cannot be listed, is told to it and passed by;
        without it they are an error. A NameNode that does not answer always is.
        """
        waiting = [path]
        while waiting:
            folder = waiting.pop()
            try:
                for file in self.children(folder, refused):
                    if file.folder:
                        waiting.append(file.path)
                    yield file
            except HdfsFailedError as error:
                if refused is None or error.unreachable or folder == path:
                    raise
                refused(folder, error.what)

    def children(self, path: str, refused: Refused | None = None) -> Iterator[HdfsFile]:
        """The entries of a folder, page by page, in the NameNode's order; entries that cannot be used as in `below`."""
        for row in self._rows(path):
            name = row.get("pathSuffix")
            why = fault_of(name, row)
            if not why:
                yield _file(f"{path.rstrip('/')}/{name}", row)
            elif refused is not None:
                refused(f"{path.rstrip('/')}/{shown(name)}", why)
            else:
                raise HdfsFailedError(
                    f"the listing has {shown(name)}, which {why}", where=self._where(path), kind=_BAD_ANSWER
                )

    def children_left(self, path: str) -> Iterator[HdfsFile]:
        """The same; none when the folder was removed meanwhile."""
        try:
            yield from self.children(path)
        except HdfsFailedError as error:
            if not error.missing:
                raise

    def _rows(self, path: str) -> Iterator[Mapping[str, Any]]:
        """The rows of a listing. One older than Hadoop 2.9 or a gateway may know no pages: then all rows at once."""
        after = ""
        while True:
            # All small: Hadoop 3.5.0 passes over `startAfter`, and would send its first page for ever.
            params = {"startafter": after} if after else {}
            try:
                document = self._json(self._ask("GET", "LISTSTATUS_BATCH", path, **params), path)
            except HdfsFailedError as error:
                if after or error.kind not in _UNKNOWN_OPERATION:
                    raise
                whole = self._json(self._ask("GET", "LISTSTATUS", path), path)
                document = {"DirectoryListing": {"partialListing": whole}}
            rows, left = self._page(document, path)
            yield from rows
            if not left:
                return
            if not rows or not isinstance(rows[-1].get("pathSuffix"), str) or rows[-1]["pathSuffix"] == after:
                raise HdfsFailedError("the listing does not end", where=self._where(path), kind=_BAD_ANSWER)
            after = rows[-1]["pathSuffix"]

    def _page(self, document: Any, path: str) -> tuple[list[Mapping[str, Any]], int]:
        try:
            listing = document["DirectoryListing"]
            rows = listing["partialListing"]["FileStatuses"]["FileStatus"]
            left = listing.get("remainingEntries", 0)
        except (KeyError, TypeError, AttributeError):
            rows, left = None, 0
        if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
            raise HdfsFailedError("the answer is not a listing", where=self._where(path), kind=_BAD_ANSWER)
        if len(rows) == 1 and rows[0].get("pathSuffix") == "" and rows[0].get("type") == "FILE":
            hint = "Move it into a folder"
            raise HdfsFailedError("is a file, not a folder", where=self._where(path), kind=_BAD_ANSWER, hint=hint)
        return rows, count(left) or 0

    def summary(self, path: str) -> FolderSummary | None:
        """The size of what lies below a folder; None when there is none."""
        with self._errors(path):
            content = self._unless_missing(lambda: self._client().content(path))
            return None if content is None else FolderSummary(_number(content["length"]), _number(content["fileCount"]))

    def checksum(self, path: str) -> Mapping[str, object]:
        """HDFS's own checksum of a file: see `live.crc`. HdfsFailedError also of a file that is still being written."""
        with self._errors(path):
            document = self._json(self._get("GETFILECHECKSUM", path), path)
        checksum = document.get("FileChecksum") if isinstance(document, Mapping) else None
        if not isinstance(checksum, Mapping):
            raise HdfsFailedError("the answer is not a checksum", where=self._where(path), kind=_BAD_ANSWER)
        return checksum

    def blocks(self, path: str) -> list[Block]:
        """The blocks of a file and where they lie."""
        with self._errors(path):
            located = self._ask("GET", "GET_BLOCK_LOCATIONS", path).json()["LocatedBlocks"]
            return [
                Block(_number(row["block"]["numBytes"]), tuple(sorted(at["hostName"] for at in row["locations"])))
                for row in located["locatedBlocks"]
            ]

    # --- bytes

    def hold_token(self) -> None:
        """Get the token of Kerberos by which bytes are read, while HDFS takes writes; else a NameNode makes one.

        A NameNode that takes no writes makes no tokens, but accepts those that it made.
        """
        if isinstance(self._key, str):
            return
        with self._errors("/"):
            document = self._json(self._ask("GET", "GETDELEGATIONTOKEN", "/"), "/")
            self._token = str(document["Token"]["urlString"])

    def read(self, path: str) -> Iterator[bytes]:
        """The bytes of a file, in pieces."""
        with self._errors(path), self._get("OPEN", path, stream=True) as answer:
            yield from answer.iter_content(_CHUNK)

    def holds(self, path: str, digest: str, kind: ChecksumKind, said: Mapping[str, object] | None = None) -> bool:
        """True if a file in HDFS has the bytes with this `crc.HdfsDigest`.

        HDFS's own checksum tells (``said``, where it was asked for already); only where that is of another kind (a
        site's own setting, blocks of unequal length), the file is read.
        """
        said = self.checksum(path) if said is None else said
        if md5_of(said) == digest:
            return True
        if self._comparable(path, said, kind):
            return False
        again = HdfsDigest(kind)
        for piece in self.read(path):
            again.update(piece)
        return again.hexdigest() == digest

    def _comparable(self, path: str, said: Mapping[str, object], kind: ChecksumKind) -> bool:
        """True if HDFS's checksum was made of the same chunks and blocks."""
        theirs = kind_of(said)
        if theirs is None or (theirs.chunk_bytes, theirs.crc) != (kind.chunk_bytes, kind.crc):
            return False
        return all(block.size == kind.block_bytes for block in self.blocks(path)[:-1])

    def write(
        self,
        path: str,
        blocks: Iterable[tuple[str, Iterator[bytes]]],
        *,
        block_bytes: int,
        replication: int,
    ) -> None:
        """Write a file, block by block, in the place of one that may be there.

        Each block comes with the DataNode (host and port of its web server) that takes it. A DataNode keeps the first
        replica of what is written through it, so a file written in one go would lie on a single node.
        """
        method, operation = "PUT", "CREATE"
        params = {"overwrite": "true", "blocksize": block_bytes, "replication": replication}
        for node, data in blocks:
            place = self._ask(method, operation, path, **params).headers["location"]
            self._send(method, urlsplit(place)._replace(netloc=node).geturl(), path, data)
            method, operation, params = "POST", "APPEND", {}

    def set_time(self, path: str, changed_ms: int) -> None:
        """Set the modification time of a file."""
        with self._errors(path):
            self._client().set_times(path, modification_time=changed_ms)

    def rename(self, path: str, to: str) -> None:
        """Give a file another name, in one step, also where a file has that name already."""
        self._ask("PUT", "RENAME", path, destination=to, renameoptions="OVERWRITE")

    def delete(self, path: str) -> None:
        """Remove a file, or a folder with all that is in it, if it is there."""
        with self._errors(path):
            self._client().delete(path, recursive=True)

    # --- how

    def _client(self) -> Any:
        if not hasattr(self._of_thread, "client"):
            # Who answers there chooses where this machine is sent: never to services that trust it.
            far = not NAMES.near(urlsplit(self.url).hostname or "", limits.CONNECT_S)
            adapter = partial(_Adapter, self._timeout[1], self._deadline, far=far)
            session = bounded_session(adapter())
            trust(session, self._key, "https://", adapter)
            if isinstance(self._key, str):
                # Redirects to DataNodes keep it: it opens their doors as well.
                session.headers.update(key_headers(self._key))
            else:
                session.headers[KEY_HEADER] = self._key.key
                session.auth = self._prove
            self._of_thread.session = session
            self._of_thread.client = InsecureClient(self.url, user=self._user, timeout=self._timeout, session=session)
        return self._of_thread.client

    def _prove(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Each request has a ticket's proof of its own: a server takes none twice."""
        try:
            request.headers.update(key_headers(self._key))
        except FawkesError as error:
            raise HdfsFailedError(error.what, where=error.where, hint=error.hint) from error
        return request

    def _ask(self, method: str, operation: str, path: str, **params: object) -> requests.Response:
        """Ask the NameNode; a redirect is an answer."""
        self._client()
        with self._errors(path):
            response: requests.Response = self._of_thread.session.request(
                method,
                f"{self.url}/webhdfs/v1{quote(path, '/')}",
                params={"op": operation, **{key: str(value) for key, value in params.items()}},
                allow_redirects=False,
                timeout=self._timeout,
            )
        return self._checked(response, path)

    def _get(self, operation: str, path: str, *, stream: bool = False) -> requests.Response:
        """Ask for something that a DataNode has."""
        self._client()
        response: requests.Response = self._of_thread.session.get(
            f"{self.url}/webhdfs/v1{quote(path, '/')}",
            params={"op": operation} | ({"delegation": self._token} if self._token else {}),
            timeout=self._timeout,
            stream=stream,
        )
        return self._checked(response, path)

    def _json(self, response: requests.Response, path: str) -> Any:
        try:
            return response.json()
        except (ValueError, RecursionError):
            raise HdfsFailedError("the answer is not JSON", where=self._where(path), kind=_BAD_ANSWER) from None

    def _send(self, method: str, place: str, path: str, data: Iterator[bytes]) -> None:
        with self._errors(path):
            response = self._of_thread.session.request(
                method,
                place,
                data=data,
                headers={"content-type": "application/octet-stream"},
                timeout=self._timeout,
            )
        self._checked(response, path)

    def _checked(self, response: requests.Response, path: str) -> requests.Response:
        if response.status_code < _ERROR:
            return response
        try:
            remote = response.json()["RemoteException"]
            kind, what = str(remote["exception"]), str(remote["message"])
        except (ValueError, KeyError, TypeError):
            kind, what = "", f"answered {response.status_code} {response.reason}"
        raise HdfsFailedError(_line(what), where=self._where(path), kind=kind)

    @contextmanager
    def _errors(self, path: str) -> Iterator[None]:
        """Raises errors of HdfsCLI and requests as one kind of error."""
        try:
            yield
        except HdfsError as error:
            raise HdfsFailedError(_line(str(error)), where=self._where(path), kind=_kind(error)) from error
        except requests.RequestException as error:
            what = f"WebHDFS did not answer ({reason_of(error)})"
            hint = "The controller must resolve and reach the NameNode and every DataNode by the name that HDFS gives"
            raise HdfsFailedError(what, where=self._where(path), hint=hint) from error
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
            what = f"the answer is not from WebHDFS ({type(error).__name__}: {_line(str(error))[:80]})"
            raise HdfsFailedError(what, where=self._where(path), kind=_BAD_ANSWER) from error

    def _unless_missing(self, ask: Callable[[], Any]) -> Any:
        """The answer; None when there is no such file. HdfsCLI can do that, too, but says so of any other error."""
        try:
            return ask()
        except HdfsError as error:
            if _kind(error) in _MISSING:
                return None
            raise

    def _where(self, path: str) -> str:
        return f"{self.url} {path}"


def fault_of(name: object, row: Mapping[str, Any]) -> str:
    """The reason why an entry of a listing must not be used, for a sentence that begins with its name; else empty.

    A name becomes part of a path here. HDFS itself takes none of these, so a listing that has one lies.
    """
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\0" in name:
        return "is not a valid file name"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "has invalid characters"
    if row.get("type") not in _KINDS:
        return f"is neither a file nor a folder ({shown(row.get('type'))})"
    if count(row.get("length")) is None or count(row.get("modificationTime")) is None:
        return "has no size or no time"
    return ""


def shown(name: object) -> str:
    """A name that cannot be trusted, for people: quoted, cut, without control characters."""
    text = ascii(name)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _file(path: str, row: Mapping[str, Any]) -> HdfsFile:
    owner = row.get("owner")
    folder = row["type"] == "DIRECTORY"
    return HdfsFile(path, row["length"], row["modificationTime"], folder, owner if isinstance(owner, str) else "")


def _number(value: object) -> int:
    """A number that must be there; ValueError otherwise: what is not known is never 0."""
    number = count(value)
    if number is None:
        raise ValueError(f"{value!r} is not a number")
    return number


def _kind(error: Any) -> str:
    return str(getattr(error, "exception", None) or "HdfsError")


def _line(text: str) -> str:
    """The first line, without a full stop: Java adds its stack."""
    return text.strip().split("\n", 1)[0].rstrip(".")


def read_mark(masters: MasterAddresses, deadline: Deadline) -> int | None:
    """The bytes that lay in HDFS when the MR-cluster became active; None when it has not (`Hdfs.set_mark`)."""
    url = f"{masters.namenode}/webhdfs/v1/"
    params = {"op": "GETXATTRS", "xattr.name": _MARK, "encoding": "TEXT", "user.name": masters.user}
    try:
        document = get_json(url, deadline, params, key=masters.key)
    except UnreadableError as error:
        if error.status in _NO_ATTRIBUTE:
            return None
        raise
    try:
        return int(document["XAttrs"][0]["value"].strip('"'))
    except (TypeError, KeyError, IndexError, ValueError):
        raise UnreadableError(url, f"{_MARK} is not a number of bytes") from None
