"""Run inside a lab: asks possible masters all the time, and prints when they do their work.

``python -m bench.masters_probe KEY ADDRESS...`` prints lines ``SECONDS WHAT ADDRESS VALUE``: ``write`` for a folder
that the NameNode has made, ``nodes`` for the NodeManagers that the ResourceManager has.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from itertools import count

from fawkes.live.wire.rest import key_headers

_ANSWER_S = 2.0
_REST_S = 0.1


def _ask(url: str, key: str, method: str = "GET") -> bytes:
    request = urllib.request.Request(url, headers=key_headers(key), method=method)
    with urllib.request.urlopen(request, timeout=_ANSWER_S) as answer:
        return bytes(answer.read())


def _write(address: str, key: str, number: int) -> int:
    _ask(f"http://{address}:9870/webhdfs/v1/probe/{number % 100}?op=MKDIRS&user.name=root", key, "PUT")
    return 1


def _nodes(address: str, key: str, _: int) -> int:
    nodes = json.loads(_ask(f"http://{address}:8088/ws/v1/cluster/nodes?states=RUNNING", key))["nodes"]
    return len(nodes["node"]) if nodes else 0


def _watch(what: str, address: str, key: str, look: Callable[[str, str, int], int]) -> None:
    for number in count():
        try:
            value = look(address, key, number)
            # In one piece: other threads write lines, too.
            print(f"{time.time():.3f} {what} {address} {value}\n", end="", flush=True)
        except (OSError, ValueError, KeyError, TypeError):
            pass
        time.sleep(_REST_S)


def main(key: str, addresses: list[str]) -> None:
    """Never returns by itself."""
    looks = {"write": _write, "nodes": _nodes}
    threads = [
        threading.Thread(target=_watch, args=(what, address, key, look))
        for address in addresses
        for what, look in looks.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
