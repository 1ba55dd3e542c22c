"""An HDFS in memory behind WebHDFS: one NameNode and three DataNodes, told apart by their loopback addresses.

Checksums are computed chunk by chunk with the classic loop, not by the code under test. Faults are asked for by name.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, BinaryIO
from urllib.parse import parse_qs, unquote, urlsplit

from fawkes.core.values.model import NodeId
from fawkes.live.wire import protobuf
from fawkes.live.wire.hadoop_rpc import CLOSER
from fawkes.live.wire.masters import MasterAddresses
from fawkes.live.wire.protobuf import number, text, varint
from tests.support.web import LastingRequest, LastingServer, serving

DATANODES = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
NODES = {address: NodeId(f"node{n}") for n, address in enumerate(DATANODES, 1)}
CORE = ["node1", "node2", "node3"]

CHUNK = 512
CLIENT = "DFSClient_NONMAPREDUCE_1"


@dataclass
class Entry:
    """A file (blocks with the address of their DataNode) or a folder."""

    folder: bool
    changed_ms: int = 0
    replication: int = 1
    block_bytes: int = 1 << 27
    blocks: list[tuple[bytes, str]] = field(default_factory=list)
    policy: str = ""
    owner: str = "hadoop"
    permission: str = "755"
    being_written: bool = False
    xattrs: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return b"".join(block for block, _ in self.blocks)


class RemoteError(Exception):
    def __init__(self, kind: str, message: str, status: int) -> None:
        super().__init__(message)
        self.kind, self.status = kind, status


class FakeHdfs(LastingServer):
    """``down`` DataNodes drop connections; ``corrupt`` are paths whose bytes are damaged on their way in.

    ``checksum_kind`` may be ``COMPOSITE``; ``thin`` reports only the first replica so many times; ``writes`` are the
    DataNodes that took a block, in order; ``reads`` are the paths that were read, ``asked`` all operations. Of
    ``unreadable`` files no DataNode has a block, ``unlisted`` folders may not be listed. ``said`` are rows that a
    listing of a folder has besides, ``page`` is how many rows a page of it has (``listing`` is said in place of any);
    an ``old`` one knows no pages. ``orders`` are what came over RPC (see `rpc`): ``freeze`` or ``thaw``, unless it
    ``refuses_rpc``; ``on_order`` is told of each. A ``secure`` one makes a token for whoever reads without one. Files
    that are ``being_written`` are closed when their lease is recovered (``recovered``), but those that ``never_close``.
    Readers of bytes are redirected to ``sends_to``.
    """

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), Handler)
        self.lock = threading.RLock()
        self.tree: dict[str, Entry] = {"/": Entry(folder=True)}
        self.down: set[str] = set()
        self.corrupt: set[str] = set()
        self.unreadable: set[str] = set()
        self.unlisted: set[str] = set()
        self.said: dict[str, list[dict[str, object]]] = {}
        self.listing: object = None
        self.page = 1000
        self.old = False
        self.asked: list[tuple[str, str]] = []
        self.checksum_kind = "CRC32C"
        self.free = {"DISK": 10**12, "ARCHIVE": 10**12}
        self.thin = 0
        self.node_free: dict[str, int] = {}
        self.writes: list[str] = []
        self.reads: list[str] = []
        self.clock_ms = 1_000_000
        self.on_read: Any = None
        self.safe_mode = False
        self.secure = False
        self.orders: list[str] = []
        self.on_order: Any = None
        self.refuses_rpc = False
        self.sends_to = ""
        self.recovered: list[str] = []
        self.never_close: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def masters(self) -> MasterAddresses:
        return MasterAddresses(resource_manager=self.url, namenode=self.url, user="hadoop", nodes=NODES)

    def put(self, path: str, *blocks: bytes, block_bytes: int = 1 << 27, node: str = DATANODES[0]) -> None:
        """A file that is there already."""
        self.make_folder(path.rsplit("/", 1)[0] or "/")
        entry = Entry(folder=False, changed_ms=self.tick(), block_bytes=block_bytes)
        entry.blocks = [(block, node) for block in blocks]
        self.tree[path] = entry

    def files(self, below: str = "/") -> dict[str, bytes]:
        prefix = below.rstrip("/") + "/"
        return {p.removeprefix(prefix): e.data for p, e in self.tree.items() if not e.folder and p.startswith(prefix)}

    def make_folder(self, path: str) -> None:
        parts = path.strip("/").split("/")
        for n in range(len(parts) + 1):
            self.tree.setdefault("/" + "/".join(parts[:n]), Entry(folder=True))

    def take(self, order: str) -> None:
        """Enter or leave safe mode."""
        self.orders.append(order)
        self.safe_mode = order == "freeze"
        if self.on_order is not None:
            self.on_order(order)

    def order(self, method: str, fields: dict[int, int | bytes]) -> bytes:
        """The NameNode's answer to an order over RPC; RemoteError when it refuses it."""
        if self.refuses_rpc:
            raise RemoteError("IOException", "it takes no orders", 403)
        with self.lock:
            if method == "listOpenFiles":
                return self._open_files(str_of(fields[3]), fields[1])
            if method == "recoverLease":
                path = str_of(fields[1])
                if self.safe_mode:
                    raise RemoteError("SafeModeException", f"Cannot recover the lease of {path}: in safe mode.", 403)
                self.recovered.append(path)
                self.tree[path].being_written = path in self.never_close
                return number(1, int(path not in self.never_close))
            assert method == "setSafeMode"
        self.take("thaw" if fields[1] == 1 else "freeze")
        return number(1, int(self.safe_mode))

    def _open_files(self, folder: str, after: int | bytes) -> bytes:
        """A page of ``page`` files; each has its place among all as its number."""
        numbered = [(n, path) for n, path in enumerate(sorted(self.tree), 1) if self.tree[path].being_written]
        opened = [(n, path) for n, path in numbered if n > int(after) and path.startswith(f"{folder.rstrip('/')}/")]
        rows = [
            number(1, n)
            + text(2, path.encode())
            + text(3, self._holder(path).encode())
            + text(4, DATANODES[0].encode())
            for n, path in opened[: self.page]
        ]
        return b"".join(text(1, row) for row in rows) + number(2, int(len(opened) > len(rows)))

    def _holder(self, path: str) -> str:
        """The holder of the lease of an open file."""
        return CLOSER if path in self.recovered else CLIENT

    def tick(self) -> int:
        self.clock_ms += 1000
        return self.clock_ms


def str_of(value: int | bytes) -> str:
    assert isinstance(value, bytes)
    return value.decode()


class Handler(LastingRequest):
    server: FakeHdfs

    def answer(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        body = self._body()
        if self.headers["host"].split(":")[0] in self.server.down:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        if parts.path == "/jmx":
            self._answer(self._jmx(query["qry"].rpartition("name=")[2]))
            return
        path = unquote(parts.path).removeprefix("/webhdfs/v1") or "/"
        self.server.asked.append((query["op"], path))
        try:
            with self.server.lock:
                if self.command != "GET" and self.server.safe_mode:
                    raise RemoteError("SafeModeException", f"Cannot change {path}. Name node is in safe mode.", 403)
                getattr(self, f"op_{query['op'].lower()}")(path, query, body)
        except RemoteError as error:
            remote = {"exception": error.kind, "message": str(error), "javaClassName": f"java.{error.kind}"}
            self._answer({"RemoteException": remote}, error.status)

    # --- operations, by their names in WebHDFS

    def op_mkdirs(self, path: str, query: dict[str, str], body: bytes) -> None:
        self.server.make_folder(path)
        self._answer({"boolean": True})

    def op_getfilestatus(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._answer({"FileStatus": status(path, self._entry(path), "")})

    def op_liststatus(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._answer({"FileStatuses": {"FileStatus": self._rows(path)}})

    def op_liststatus_batch(self, path: str, query: dict[str, str], body: bytes) -> None:
        if self.server.old:
            raise RemoteError("IllegalArgumentException", 'Invalid value for webhdfs parameter "op"', 400)
        if self.server.listing is not None:
            self._answer(self.server.listing)
            return
        after = query.get("startafter")
        rows = [row for row in self._rows(path) if after is None or str(row["pathSuffix"]) > after]
        page = rows[: self.server.page]
        listing = {"FileStatuses": {"FileStatus": page}}
        self._answer({"DirectoryListing": {"partialListing": listing, "remainingEntries": len(rows) - len(page)}})

    def _rows(self, path: str) -> list[dict[str, object]]:
        entry = self._entry(path)
        if path in self.server.unlisted:
            raise RemoteError("AccessControlException", "Permission denied", 403)
        if not entry.folder:
            return [status(path, entry, "")]
        prefix = path.rstrip("/") + "/"
        rows = [
            status(other, entry, other.removeprefix(prefix))
            for other, entry in sorted(self.server.tree.items())
            if other.startswith(prefix) and other != "/" and "/" not in other.removeprefix(prefix)
        ]
        return rows + self.server.said.get(path, [])

    def op_getcontentsummary(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._entry(path)
        files = self.server.files(path)
        self._answer({"ContentSummary": {"length": sum(map(len, files.values())), "fileCount": len(files)}})

    def op_create(self, path: str, query: dict[str, str], body: bytes) -> None:
        if "namenoderpcaddress" not in query:
            self._redirect()
            return
        self.server.make_folder(path.rsplit("/", 1)[0] or "/")
        entry = Entry(folder=False, changed_ms=self.server.tick(), replication=int(query["replication"]))
        entry.block_bytes = int(query["blocksize"])
        self.server.tree[path] = entry
        self._add(path, entry, body)
        self._answer({}, 201)

    def op_append(self, path: str, query: dict[str, str], body: bytes) -> None:
        entry = self._entry(path)
        if "namenoderpcaddress" not in query:
            self._redirect()
            return
        self._add(path, entry, body)
        self._answer({})

    def op_open(self, path: str, query: dict[str, str], body: bytes) -> None:
        if self.server.sends_to:
            self.send(b"", 307, "text/plain", location=self.server.sends_to)
            return
        self._token(query)
        entry = self._entry(path)
        self.server.reads.append(path)
        if path in self.server.unreadable:
            raise RemoteError("BlockMissingException", f"Could not obtain block: BP-1:blk_1 file={path}", 400)
        data = entry.data
        if self.server.on_read is not None:
            data = self.server.on_read(path, data)
        self.send(data, kind="application/octet-stream")

    def op_getdelegationtoken(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._token({})
        self._answer({"Token": {"urlString": "token"}})

    def _token(self, query: dict[str, str]) -> None:
        if self.server.secure and self.server.safe_mode and query.get("delegation") != "token":
            raise RemoteError("SafeModeException", "Cannot issue delegation token. Name node is in safe mode.", 403)

    def op_getfilechecksum(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._token(query)
        if self._entry(path).being_written:
            raise RemoteError("IOException", f"Fail to get checksum, since file {path} is under construction.", 403)
        self._answer({"FileChecksum": checksum(self._entry(path), self.server.checksum_kind)})

    def op_get_block_locations(self, path: str, query: dict[str, str], body: bytes) -> None:
        entry = self._entry(path)
        replicas = entry.replication
        if self.server.thin:
            self.server.thin -= 1
            replicas = 1
        rows = []
        for block, first in entry.blocks:
            hosts = [first, *(node for node in DATANODES if node != first)][:replicas]
            rows.append({"block": {"numBytes": len(block)}, "locations": [{"hostName": host} for host in hosts]})
        self._answer({"LocatedBlocks": {"locatedBlocks": rows}})

    def op_rename(self, path: str, query: dict[str, str], body: bytes) -> None:
        assert query["renameoptions"] == "OVERWRITE"
        self._entry(path)
        to, tree = query["destination"], self.server.tree
        for name in [other for other in tree if other == path or other.startswith(f"{path}/")]:
            tree[to + name.removeprefix(path)] = tree.pop(name)
        self._answer({})

    def op_delete(self, path: str, query: dict[str, str], body: bytes) -> None:
        gone = [other for other in self.server.tree if other == path or other.startswith(f"{path}/")]
        for other in gone:
            del self.server.tree[other]
        self._answer({"boolean": bool(gone)})

    def op_settimes(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._entry(path).changed_ms = int(query["modificationtime"])
        self._answer({})

    def op_setpermission(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._entry(path).permission = query["permission"]
        self._answer({})

    def op_setowner(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._entry(path).owner = query["owner"]
        self._answer({})

    def op_setstoragepolicy(self, path: str, query: dict[str, str], body: bytes) -> None:
        self._entry(path).policy = query["storagepolicy"]
        self._answer({})

    def op_setxattr(self, path: str, query: dict[str, str], body: bytes) -> None:
        assert query["flag"] == "CREATE,REPLACE"
        self._entry(path).xattrs[query["xattr.name"]] = query["xattr.value"]
        self._answer({})

    def op_getxattrs(self, path: str, query: dict[str, str], body: bytes) -> None:
        name = query["xattr.name"]
        value = self._entry(path).xattrs.get(name)
        if value is None:
            raise RemoteError("XAttrNotFoundException", "At least one of the attributes was not found.", 403)
        self._answer({"XAttrs": [{"name": name, "value": f'"{value}"'}]})

    # --- how

    def _entry(self, path: str) -> Entry:
        if path not in self.server.tree:
            raise RemoteError("FileNotFoundException", f"File does not exist: {path}\n\tat java.Stack", 404)
        return self.server.tree[path]

    def _add(self, path: str, entry: Entry, body: bytes) -> None:
        node = self.headers["host"].split(":")[0]
        self.server.writes.append(node)
        if path in self.server.corrupt:
            body = body[:-1] + bytes([body[-1] ^ 1])
        if body:
            entry.blocks.append((body, node))

    def _redirect(self) -> None:
        """To the last DataNode, whoever asks."""
        place = f"http://{DATANODES[-1]}:{self.server.server_port}{self.path}&namenoderpcaddress=nn:8020"
        self.send(b"", 307, "text/plain", location=place)

    def _jmx(self, name: str) -> Any:
        port = self.server.server_port
        live = {
            f"{address}:9866": {
                "xferaddr": f"{address}:9866",
                "infoAddr": f"10.0.0.1:{port}",
                "adminState": "In Service",
                "remaining": self.server.node_free.get(address, 10**13),
            }
            for address in DATANODES
        }
        used = sum(len(data) for data in self.server.files().values())
        rows = [
            {"key": kind, "value": {"capacityTotal": 10**13, "capacityRemaining": free}}
            for kind, free in self.server.free.items()
        ]
        safe = "Safe mode is ON. It was turned on manually." if self.server.safe_mode else ""
        nodes = {"LiveNodes": json.dumps(live), "DeadNodes": "{}", "DecomNodes": "{}"}
        transactions = json.dumps({"LastAppliedOrWrittenTxId": str(self.server.clock_ms)})
        beans: dict[str, dict[str, object]] = {
            "NameNodeInfo": {**nodes, "Used": used, "Safemode": safe, "JournalTransactionInfo": transactions},
            "NameNodeStatus": {"State": "active"},
            "BlockStats": {"StorageTypeStats": rows},
        }
        return {"beans": [{"name": f"name={bean}", **beans[bean]} for bean in beans if fnmatchcase(bean, name)]}

    def _body(self) -> bytes:
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return body
        return self.rfile.read(int(self.headers.get("content-length") or 0))

    def _answer(self, document: object, code: int = 200) -> None:
        self.send(json.dumps(document).encode(), code)


def status(path: str, entry: Entry, suffix: str) -> dict[str, object]:
    return {
        "pathSuffix": suffix,
        "type": "DIRECTORY" if entry.folder else "FILE",
        "length": len(entry.data),
        "modificationTime": entry.changed_ms,
        "owner": entry.owner,
    }


def _table(polynomial: int) -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (polynomial if byte & 1 else 0)
        table.append(byte)
    return table


_TABLES = {"CRC32C": _table(0x82F63B78), "CRC32": _table(0xEDB88320)}


def crc(data: bytes, kind: str) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ _TABLES[kind][(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def checksum(entry: Entry, kind: str) -> dict[str, object]:
    """The checksum as HDFS makes it: MD5 of the MD5s of the CRCs of each block, in a buffer that doubles."""
    if kind == "COMPOSITE":
        return {"algorithm": "COMPOSITE-CRC32C", "bytes": f"{crc(entry.data, 'CRC32C'):08x}", "length": 4}
    md5s = b""
    for block, _ in entry.blocks:
        chunks = (block[n : n + CHUNK] for n in range(0, len(block), CHUNK))
        md5s += hashlib.md5(b"".join(crc(chunk, kind).to_bytes(4, "big") for chunk in chunks)).digest()
    size = 32
    while size < len(md5s):
        size *= 2
    in_block = len(entry.blocks[0][0]) // CHUNK if len(entry.blocks) > 1 else 0
    chunk = CHUNK if entry.blocks else 0
    digest = hashlib.md5(md5s.ljust(size, b"\0")).hexdigest()
    return {
        "algorithm": f"MD5-of-{in_block}MD5-of-{chunk}{kind if entry.blocks else 'CRC32'}",
        "bytes": f"{chunk:08x}{in_block:016x}{digest}00000000",
        "length": 28,
    }


@contextmanager
def rpc(server: FakeHdfs) -> Iterator[int]:
    """The port on which the NameNode takes orders while this lasts: see `FakeHdfs.order`."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            if over.is_set():
                return
            with connection:
                connection.settimeout(10)
                with connection.makefile("rb") as stream:
                    stream.read(7)
                    _frame(stream)
                    _, header, message = _frame(stream)
                method = dict(protobuf.fields(header))[1]
                assert isinstance(method, bytes)
                try:
                    answer = server.order(method.decode(), dict(protobuf.fields(message)))
                except RemoteError as error:
                    said = number(1, 0) + number(2, 1) + text(4, error.kind.encode()) + text(5, str(error).encode())
                    body = varint(len(said)) + said
                else:
                    body = b"\x04" + number(1, 0) + number(2, 0) + varint(len(answer)) + answer
                connection.sendall(struct.pack(">I", len(body)) + body)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        over.set()
        with contextlib.suppress(OSError):
            socket.create_connection(listener.getsockname()).close()
        thread.join()
        listener.close()


def _frame(stream: BinaryIO) -> list[bytes]:
    """The messages of the next frame."""
    body = stream.read(struct.unpack(">I", stream.read(4))[0])
    bodies, at = [], 0
    while at < len(body):
        size, at = protobuf.read_varint(body, at)
        bodies.append(body[at : at + size])
        at += size
    return bodies


def running() -> AbstractContextManager[FakeHdfs]:
    return serving(FakeHdfs())
