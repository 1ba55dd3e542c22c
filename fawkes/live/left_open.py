"""Files that applications were writing when they ended with their masters: nobody writes on, so HDFS may close them.

By itself HDFS waits 20 minutes for a writer that is silent, and until then the node of a block of such a file cannot
leave the MR-cluster.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable

from fawkes.errors import FawkesError

_log = logging.getLogger(__name__)
#: a folder or file of a job, or of an attempt of one of its tasks, has the number of its application
_NUMBERS = re.compile(r"(?:job|attempt)_(\d+_\d{4,})(?!\d)")


def of_ended(opened: Iterable[str], ended: Collection[str]) -> list[str]:
    """The open files whose path has the number of one of the ``ended`` applications, and of no other one."""
    gone = {name.removeprefix("application_") for name in ended}
    found = ((path, set(_NUMBERS.findall(path))) for path in opened)
    return [path for path, numbers in found if numbers and numbers <= gone]


def close(paths: Iterable[str], tell: Callable[[str], None], where: str) -> list[str]:
    """Have each file closed by ``tell``; those that the NameNode has begun to close. What fails is left to HDFS."""
    closed = []
    for path in paths:
        try:
            tell(path)
        except FawkesError as error:
            _log.warning("%s: %s stays open until HDFS closes it: %s", where, path, error)
        else:
            closed.append(path)
    return closed
