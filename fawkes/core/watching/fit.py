"""The fitness of a host, by what was seen of it."""

from __future__ import annotations

from collections.abc import Sequence

from fawkes.base.units import SECOND_US

_CLOCK_US = _SHELL_US = SECOND_US
MOST_SKEW_US = 300 * SECOND_US
"""How far two clocks may differ for Kerberos, by the default of every Kerberos (clockskew)."""
#: HDFS fills no volume to the last byte
_SPARE = 1.02
#: one start of a shell may be late under load
_SHELLS = 3
#: a disk with less than this share free, or less than so many bytes, is full
_FULL_SHARE, _FULL_BYTES = 0.01, 10_000_000
LEAST_BYTES = 2**30 + 2**27
"""Free bytes that HDFS with its default settings wants of a disk: 1 GiB (volume choosing) and room for a block."""
#: more of a disk may be promised than df shows, for it counts in other ways
_TOLERANCE = 1.1
#: a job alone takes hundreds of files
_FEW_INODES = 1000


def clock_differs(off_us: int) -> bool:
    """True if a host's clock is so far from the controller's that times of both cannot be compared."""
    return abs(off_us) > _CLOCK_US


def tickets_fail(off_us: int) -> bool:
    """True if a host's clock is so far from the controller's that Kerberos refuses its tickets."""
    return abs(off_us) > MOST_SKEW_US


def stored_bytes(size_bytes: int, replicas: int) -> int:
    """The room that data needs on the disks of an MR-cluster."""
    return int(size_bytes * replicas * _SPARE)


def shell_is_slow(took_us: int) -> bool:
    """True if the login shell of a host starts too slowly."""
    return took_us > _SHELL_US


def shell_is_known(took_us: Sequence[int]) -> bool:
    """True if these starts of a host's shell are enough to judge it."""
    return len(took_us) >= _SHELLS or any(not shell_is_slow(each) for each in took_us)


def disk_is_full(free_bytes: int, total_bytes: int) -> bool:
    """True if a disk has no room to work on."""
    return free_bytes < _FULL_BYTES or free_bytes < _FULL_SHARE * total_bytes


def disk_takes_no_block(free_bytes: int) -> bool:
    """True if HDFS with its default settings would not store a block on a disk."""
    return free_bytes < LEAST_BYTES


def disk_is_smaller(free_bytes: int, promised_bytes: int) -> bool:
    """True if a disk has less room than the inventory promises."""
    return free_bytes * _TOLERANCE < promised_bytes


def inodes_are_few(free: int, inodes: int) -> bool:
    """True if a file system runs out of files; some (btrfs) make inodes as they need them, and say 0 of 0."""
    return inodes > 0 and free < _FEW_INODES
