"""Run inside a lab (`Lab.exec`): what only the controller's side of its network can reach, answered as JSON.

``inside.py KEY COMMAND WORDS``: the key is that of the MR-cluster that is asked, or empty. For an MR-cluster with
Kerberos it is JSON with the names of `RealSite.key`.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fawkes.core.values.model import ClusterId
from fawkes.live.wire.rest import Deadline, Key, get_json, key_headers
from fawkes.live.wire.webhdfs import Hdfs, HdfsFailedError

_ANSWER_S = 30
#: how long a probe waits for a host that may be dead
_PROBE_S = 2
_PIECE = 1 << 20


def get(url: str, *, key: Key) -> object:
    """A JSON document."""
    if not isinstance(key, str):
        return get_json(url, Deadline.after(_ANSWER_S), key=key)
    with urllib.request.urlopen(_asked(url, key), timeout=_ANSWER_S) as answer:
        return json.load(answer)


def text(url: str, *, key: Key) -> object:
    """Any document, as text."""
    with urllib.request.urlopen(_asked(url, key), timeout=_ANSWER_S) as answer:
        return answer.read().decode(errors="replace")


def _asked(url: str, key: Key) -> urllib.request.Request:
    return urllib.request.Request(url, headers=key_headers(key))


def digests(url: str, user: str, folder: str, *, key: Key) -> object:
    """HDFS's own checksum and the SHA-256 of the bytes of each file below a folder."""
    hdfs = Hdfs(url, user, key=key)
    by_path = {}
    for file in hdfs.below(folder):
        if not file.folder:
            by_path[file.path] = [hdfs.checksum(file.path)["bytes"], _sha(hdfs, file.path)]
    return by_path


def readable(url: str, user: str, folder: str, *, key: Key) -> object:
    """The SHA-256 of the bytes of each file below a folder, null where a block is on no node."""
    hdfs = Hdfs(url, user, key=key)
    if hdfs.status(folder) is None:
        return {}
    files = [file.path for file in hdfs.below(folder) if not file.folder]
    return {path: _sha(hdfs, path) if all(block.hosts for block in hdfs.blocks(path)) else None for path in files}


def _sha(hdfs: Hdfs, path: str) -> str:
    sha = hashlib.sha256()
    for piece in hdfs.read(path):
        sha.update(piece)
    return sha.hexdigest()


def places(url: str, user: str, folder: str, *, key: Key) -> object:
    """The hosts of each block of each file below a folder."""
    hdfs = Hdfs(url, user, key=key)
    return {
        file.path: [block.hosts for block in hdfs.blocks(file.path)] for file in hdfs.below(folder) if not file.folder
    }


def sizes(url: str, user: str, folder: str, *, key: Key) -> object:
    """The bytes of each file below a folder."""
    return {file.path: file.size for file in Hdfs(url, user, key=key).below(folder) if not file.folder}


def write(url: str, user: str, path: str, place: str, size: str, replication: str, *, key: Key) -> object:
    """Write a file of bytes that only repeat after their whole length, through the DataNode at ``place``."""

    def blocks() -> Iterator[tuple[str, Iterator[bytes]]]:
        left = int(size)
        while left > 0:
            yield place, iter([content(path, min(left, _PIECE), left)])
            left -= _PIECE

    Hdfs(url, user, key=key).write(path, blocks(), block_bytes=_PIECE, replication=int(replication))
    return True


def hold_open(url: str, user: str, path: str, place: str, *, key: Key) -> object:
    """Write to a file through the DataNode at ``place`` until somebody breaks that off; what the client was told."""

    def without_end() -> Iterator[bytes]:
        while True:
            yield b"x" * 100_000
            time.sleep(0.1)

    try:
        Hdfs(url, user, key=key).write(path, iter([(place, without_end())]), block_bytes=1 << 30, replication=2)
    except HdfsFailedError as error:
        return str(error)
    return None


def until_frozen(url: str, user: str, path: str, *, key: Key) -> object:
    """Wait until HDFS takes no writes; how often it was asked."""
    tries = 1
    while not _safe_mode(url, key):
        tries += 1
    return tries


def _safe_mode(url: str, key: Key) -> str:
    """The NameNode's words about its safe mode; empty when it is off."""
    beans = get(f"{url}/jmx?qry=Hadoop:service=NameNode,name=NameNodeInfo", key=key)
    return str(beans["beans"][0]["Safemode"]) if isinstance(beans, dict) else ""


def remove(url: str, user: str, path: str, *, key: Key) -> object:
    """Delete a file or a folder with all that is in it."""
    Hdfs(url, user, key=key).delete(path)
    return True


def key_of(text: str) -> Key:
    """How to show an MR-cluster who asks."""
    if not text.startswith("{"):
        return text
    # Only here: most labs have no Kerberos, and most machines no library for it.
    from fawkes.live.kerberos.certificates import Certificates
    from fawkes.live.kerberos.hadoop_kerberos import Secured
    from fawkes.live.kerberos.kerberos import Login
    from fawkes.live.kerberos.tickets import Tickets, use_krb5_conf

    given = json.loads(text)
    use_krb5_conf(Path(given["krb5_conf"]))
    wanted = Secured(realm=given["realm"], cluster=given["cluster"])
    fingerprint = Certificates(Path(given["tls"])).of(ClusterId(given["cluster"])).fingerprint
    return Login(Tickets(wanted.service, Path(given["keytab"])), wanted, fingerprint, given["key"])


def content(seed: str, size: int, salt: int) -> bytes:
    """Bytes that follow from a seed."""
    return hashlib.shake_256(f"{seed} {salt}".encode()).digest(size)


def read(url: str, user: str, folder: str, *, key: Key) -> object:
    """The text of each file below a folder."""
    hdfs = Hdfs(url, user, key=key)
    return {file.path: b"".join(hdfs.read(file.path)).decode() for file in hdfs.below(folder) if not file.folder}


def keep_writing(urls: str, user: str, folder: str, ended: str, *, key: Key) -> object:
    """Make a folder below a folder again and again until the file ``ended`` is there, at whichever NameNode takes it.

    When (s since 1970) each was acknowledged, by name.
    """
    return _again_and_again(
        urls.split(","), ended, lambda url, number: _folder(url, user, f"{folder}/{number:06d}", key)
    )


def keep_probing(addresses: str, user: str, folder: str, ended: str, *, key: Key) -> object:
    """Use HDFS and YARN until the file ``ended`` is there, at whichever of the hosts serves them.

    When (s since 1970) each was done, by name: ``folders`` and ``files`` made below a folder, ``yarn`` asked while it
    has a node. The content of a file is its path.
    """
    name_nodes = [f"http://{host}:9870" for host in addresses.split(",")]
    managers = [f"http://{host}:8088" for host in addresses.split(",")]
    deeds: dict[str, tuple[list[str], Callable[[str, int], str]]] = {
        "folders": (name_nodes, lambda url, number: _folder(url, user, f"{folder}/folders/{number:06d}", key)),
        "files": (name_nodes, lambda url, number: _file(url, user, f"{folder}/files/{number:06d}", key)),
        "yarn": (managers, lambda url, number: _yarn(url, number, key)),
    }
    with ThreadPoolExecutor() as threads:
        probes = {name: threads.submit(_again_and_again, urls, ended, do, 0.2) for name, (urls, do) in deeds.items()}
        return {name: probe.result() for name, probe in probes.items()}


def _again_and_again(
    urls: list[str], ended: str, do: Callable[[str, int], str], pause_s: float = 0.0
) -> dict[str, float]:
    """When each deed was done, by the name that it returns; one that fails is tried at the next of the servers."""
    done: dict[str, float] = {}
    at = 0
    while not Path(ended).exists():
        try:
            name = do(urls[at], len(done))
            done[name] = time.time()
            time.sleep(pause_s)
        except (OSError, http.client.HTTPException, ValueError, LookupError):
            at = (at + 1) % len(urls)
    return done


def _folder(url: str, user: str, path: str, key: Key) -> str:
    request = _asked(f"{url}/webhdfs/v1{path}?op=MKDIRS&user.name={user}", key)
    request.method = "PUT"
    with urllib.request.urlopen(request, timeout=_PROBE_S) as answer:
        if json.load(answer) != {"boolean": True}:
            raise ValueError(path)
    return path


def _file(url: str, user: str, path: str, key: Key) -> str:
    request = _asked(f"{url}/webhdfs/v1{path}?op=CREATE&noredirect=true&overwrite=true&user.name={user}", key)
    request.method = "PUT"
    with urllib.request.urlopen(request, timeout=_PROBE_S) as answer:
        place = _asked(json.load(answer)["Location"], key)
    place.method, place.data = "PUT", path.encode()
    with urllib.request.urlopen(place, timeout=_ANSWER_S):
        return path


def _yarn(url: str, number: int, key: Key) -> str:
    with urllib.request.urlopen(_asked(f"{url}/ws/v1/cluster/metrics", key), timeout=_PROBE_S) as answer:
        if not json.load(answer)["clusterMetrics"]["activeNodes"]:
            raise ValueError("YARN has no node")
    return str(number)


COMMANDS: dict[str, Callable[..., object]] = {
    command.__name__: command
    for command in (
        *(get, text, digests, readable, places, sizes, read),
        *(write, remove, hold_open, until_frozen, keep_writing, keep_probing),
    )
}

if __name__ == "__main__":
    json.dump(COMMANDS[sys.argv[2]](*sys.argv[3:], key=key_of(sys.argv[1])), sys.stdout)
