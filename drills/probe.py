"""Run on a host of a lab: what each ``ADDRESS:PORT`` of the command line gives a caller, as a JSON list.

``closed``: the connection is closed before anything is sent; ``403``: each path of a web server is forbidden; ``401``:
each path wants a ticket, is forbidden or is not there; ``pages``: a web server gives some; ``no listener``;
``answers`` for all else, silence included: what does not close may take orders. It needs Python's own library alone.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor

_WAIT_S = 1.5
_ANSWER_S = 10.0
_FORBIDDEN, _NO_TICKET, _NOT_THERE = 403, 401, 404
_ERRORS = 300
#: what was open on one web server or another
_PATHS = (
    ("GET", "/"),
    ("GET", "/jmx"),
    ("GET", "/conf"),
    ("GET", "/logs/"),
    ("GET", "/imagetransfer?getimage=1&txid=latest"),
    ("GET", "/fsck?ugi=root&path=/"),
    ("GET", "/webhdfs/v1/?op=LISTSTATUS&user.name=root"),
    ("PUT", "/webhdfs/v1/stranger?op=MKDIRS&user.name=root"),
    ("GET", "/ws/v1/cluster/apps"),
    ("POST", "/ws/v1/cluster/apps/new-application?user.name=root"),
    ("GET", "/ws/v1/node/apps"),
    ("GET", "/ws/v1/history/mapreduce/jobs"),
)


def probe(target: str) -> str:
    """What one port gives."""
    address, _, port = target.rpartition(":")
    try:
        with socket.create_connection((address, int(port)), _ANSWER_S) as connection:
            connection.settimeout(_WAIT_S)
            try:
                if not connection.recv(1):
                    return "closed"
            except TimeoutError:
                pass
    except ConnectionRefusedError:
        return "no listener"
    except ConnectionResetError:
        return "closed"
    return web(address, int(port))


def web(address: str, port: int) -> str:
    """What a web server gives; ``answers`` when it is none."""
    secure = _status(address, port, *_PATHS[0]) is None
    found = set()
    for method, path in _PATHS:
        status = _status(address, port, method, path, secure=secure)
        if status is None:
            return "answers"
        if status < _ERRORS:
            return "pages"
        found.add(status)
    if found == {_FORBIDDEN}:
        return "403"
    return "401" if _NO_TICKET in found and found <= {_NO_TICKET, _FORBIDDEN, _NOT_THERE} else "answers"


def _status(address: str, port: int, method: str, path: str, *, secure: bool = False) -> int | None:
    """The HTTP status of a path; None without an answer in HTTP."""
    if secure:
        # Whoever tries a door believes every certificate.
        context = ssl._create_unverified_context()
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            address, port, timeout=_ANSWER_S, context=context
        )
    else:
        connection = http.client.HTTPConnection(address, port, timeout=_ANSWER_S)
    try:
        connection.request(method, path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


if __name__ == "__main__":
    with ThreadPoolExecutor(16) as threads:
        json.dump(list(threads.map(probe, sys.argv[1:])), sys.stdout)
