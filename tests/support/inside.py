"""Run inside a lab (`Lab.exec`): what only the controller's side of its network can reach, answered as JSON.

``inside.py KEY COMMAND WORDS``: the key is that of the MR-cluster that is asked, or empty.
"""

from __future__ import annotations

import hashlib
import json
import sys
import urllib.request
from collections.abc import Callable, Iterator

from fawkes.live.rest import key_headers
from fawkes.live.webhdfs import Hdfs

_ANSWER_S = 30
_PIECE = 1 << 20


def get(url: str, *, key: str) -> object:
    """A JSON document."""
    with urllib.request.urlopen(_asked(url, key), timeout=_ANSWER_S) as answer:
        return json.load(answer)


def text(url: str, *, key: str) -> object:
    """Any document, as text."""
    with urllib.request.urlopen(_asked(url, key), timeout=_ANSWER_S) as answer:
        return answer.read().decode(errors="replace")


def _asked(url: str, key: str) -> urllib.request.Request:
    return urllib.request.Request(url, headers=key_headers(key))


def digests(url: str, user: str, folder: str, *, key: str) -> object:
    """Of each file below a folder: HDFS's own checksum, and the SHA-256 of its bytes."""
    hdfs = Hdfs(url, user, key=key)
    found = {}
    for file in hdfs.below(folder):
        if not file.folder:
            sha = hashlib.sha256()
            for piece in hdfs.read(file.path):
                sha.update(piece)
            found[file.path] = [hdfs.checksum(file.path)["bytes"], sha.hexdigest()]
    return found


def places(url: str, user: str, folder: str, *, key: str) -> object:
    """Of each file below a folder: the hosts of each of its blocks."""
    hdfs = Hdfs(url, user, key=key)
    return {
        file.path: [block.hosts for block in hdfs.blocks(file.path)] for file in hdfs.below(folder) if not file.folder
    }


def sizes(url: str, user: str, folder: str, *, key: str) -> object:
    """Of each file below a folder: its bytes."""
    return {file.path: file.size for file in Hdfs(url, user, key=key).below(folder) if not file.folder}


def write(url: str, user: str, path: str, place: str, size: str, replication: str, *, key: str) -> object:
    """Write a file of bytes that only repeat after their whole length, through the DataNode at ``place``."""

    def blocks() -> Iterator[tuple[str, Iterator[bytes]]]:
        left = int(size)
        while left > 0:
            yield place, iter([content(path, min(left, _PIECE), left)])
            left -= _PIECE

    Hdfs(url, user, key=key).write(path, blocks(), block_bytes=_PIECE, replication=int(replication))
    return True


def remove(url: str, user: str, path: str, *, key: str) -> object:
    """Delete a file or a folder with all that is in it."""
    Hdfs(url, user, key=key).delete(path)
    return True


def content(seed: str, size: int, salt: int) -> bytes:
    """Bytes that follow from a seed."""
    return hashlib.shake_256(f"{seed} {salt}".encode()).digest(size)


def read(url: str, user: str, folder: str, *, key: str) -> object:
    """The text of each file below a folder."""
    hdfs = Hdfs(url, user, key=key)
    return {file.path: b"".join(hdfs.read(file.path)).decode() for file in hdfs.below(folder) if not file.folder}


COMMANDS: dict[str, Callable[..., object]] = {
    "get": get,
    "text": text,
    "digests": digests,
    "places": places,
    "sizes": sizes,
    "write": write,
    "remove": remove,
    "read": read,
}

if __name__ == "__main__":
    json.dump(COMMANDS[sys.argv[2]](*sys.argv[3:], key=sys.argv[1]), sys.stdout)
