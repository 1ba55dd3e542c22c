"""Faults of the controller's own machine: what it cannot ask says nothing about those whom it asks."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

_LACKS = {
    errno.EMFILE: "the controller has no open file left. Give it more: LimitNOFILE in its unit, or `ulimit -n`",
    errno.ENFILE: "the controller's machine has no open file left. Raise its `fs.file-max`",
    errno.ENOMEM: "the controller's machine has no memory left. Free some there",
    errno.ENOBUFS: "the controller's machine has no memory left for its network. Free some there",
    errno.EADDRNOTAVAIL: "the controller's machine has no port left. Widen its `net.ipv4.ip_local_port_range`",
}


def own_fault(error: BaseException) -> str:
    """The lack of this machine by which an error came about, and whose move it is; empty for all others.

    Libraries swallow the lack of files and go on without an agent or a name server: it is asked for here as well.
    """
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as lack:
        error = lack
    numbers = (cause.errno for cause in causes(error) if isinstance(cause, OSError))
    return next((_LACKS[number] for number in numbers if number in _LACKS), "")


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and all that it came from, however often libraries have wrapped it."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__
