"""Errors that say whose move it is next.

::

    FawkesError            what happened, where, what would be right, the next command
    |- UserError           fix the command or the file                        exit 2
    |  `- ConfigError      ... this key of this file                          exit 2
    |- HostError           look at this host                                  exit 1
    |  |- NodeRefusedError ... its lease refuses us: nothing was done there   exit 6
    |  `- NodeAwayError    ... its disk is not mounted: nothing was done there exit 1
    |- PartialError        some hosts did it and some did not (both listed)   exit 4
    |- SiteError           a service or file of the site lacks: no host is at fault exit 1
    |- HeldUpError         the ledger takes nothing at the moment              exit 1
    |  |- FullError        ... its disk has no room: free some                exit 1
    |  `- LockedError      ... another program has it: close that one         exit 1
    |- DeadlineError       it took longer than its deadline                   exit 5
    |- RefusedError        refused for safety: nothing was done               exit 6
    |- ElsewhereError      another controller is in charge                    exit 7
    `- BrokenError         our defect: please report it                       exit 1
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any


class ExitStatus(IntEnum):
    """Exit codes of the command line (design section 10)."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    CHANGES = 3
    PARTIAL = 4
    TIMED_OUT = 5
    REFUSED = 6
    ANOTHER_CONTROLLER = 7


def cut(text: str, most: int = 80) -> str:
    """A user's own words, cut to the length that a line of a message can take."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


class FawkesError(Exception):
    """An error: one sentence on the failure, its place, and the user's next step.

    ``what`` is a sentence without a full stop, ``where`` a file with its key, a host or an MR-cluster,
    ``hint`` what would be right and the next command. ``str()`` joins the three that are there.
    """

    exit_status = ExitStatus.FAILED

    def __init__(self, what: str, *, where: str = "", hint: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}. {self.hint}" if self.hint else text

    def __reduce__(self) -> tuple[Any, ...]:
        """The error for pickle: made anew without ``__init__``, whose arguments differ from ``args``."""
        return type(self).__new__, (type(self), *self.args), self.__dict__

    def plain(self) -> dict[str, dict[str, str | int]]:
        """The error as the body of an HTTP answer."""
        return {"error": {"what": self.what, "where": self.where, "hint": self.hint, "exit": int(self.exit_status)}}


class UserError(FawkesError):
    """The command, its arguments or a file that the user wrote must change."""

    exit_status = ExitStatus.USAGE


class ConfigError(UserError):
    """One key of one file is wrong; ``where`` is ``FILE: KEY``."""

    def __init__(self, what: str, *, file: str, key: str = "", hint: str = "") -> None:
        super().__init__(what, where=f"{file}: {key}" if key else file, hint=hint)
        self.file = file
        self.key = key


class HostError(FawkesError):
    """One host did not do what was asked; ``where`` is the host."""

    def __init__(self, what: str, *, host: str, hint: str = "") -> None:
        super().__init__(what, where=host, hint=hint)
        self.host = host


class NodeRefusedError(HostError):
    """A node whose lease is damaged, or that of another pool or node: nothing was done there, all others go on.

    Unlike `ElsewhereError` it says nothing about who controls the pool: any task of a job can write that file.
    """

    exit_status = ExitStatus.REFUSED


class NodeAwayError(HostError):
    """A node whose work folder would lie elsewhere than before: its disk is not mounted. Nothing was done there."""


class SiteError(FawkesError):
    """The controller lacks something of the site, such as a ticket of its KDC: no host and no MR-cluster is at fault.

    What could not be done for that is not known to fail: it is tried again, and counts against nobody.
    """


class PartialError(FawkesError):
    """Some hosts did it, some did not: ``failed`` maps each host that failed to its reason."""

    exit_status = ExitStatus.PARTIAL

    def __init__(self, what: str, *, done: int, failed: Mapping[str, str], hint: str = "") -> None:
        rows = "; ".join(f"{host}: {why}" for host, why in sorted(failed.items()))
        super().__init__(f"{what}: {done} ok, {len(failed)} failed ({rows})", hint=hint)
        self.done = done
        self.failed = dict(failed)


class HeldUpError(FawkesError):
    """The ledger takes nothing at the moment: nothing was stored, and the same may be tried again.

    ``way_out`` is what the user does about it.
    """

    way_out = ""


class FullError(HeldUpError):
    """The ledger's disk takes no more: nothing was stored. The same may be tried again when there is room."""

    way_out = "Free some space"


class LockedError(HeldUpError):
    """Another program has locked the ledger: nothing was stored. The same may be tried again when it is closed."""

    way_out = "Close the program that has it open, such as an sqlite3 shell"


class DeadlineError(FawkesError):
    """Something was not finished within its deadline."""

    exit_status = ExitStatus.TIMED_OUT


class RefusedError(FawkesError):
    """A safety rule refused it; nothing was done."""

    exit_status = ExitStatus.REFUSED


class ElsewhereError(FawkesError):
    """Another controller holds the state folder or the node."""

    exit_status = ExitStatus.ANOTHER_CONTROLLER


class BrokenError(FawkesError):
    """A defect in Fawkes: an invariant does not hold."""
