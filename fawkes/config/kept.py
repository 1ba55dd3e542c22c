"""What keeps a grant of CPUs on YARN: Hadoop's limits on the tasks of a job that run at once, and where they fail.

The limits go into the configuration of the job's attempt, and win over the user's own properties of the same names.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from fawkes.reading import MIB

MAPS = "mapreduce.job.running.map.limit"
REDUCES = "mapreduce.job.running.reduce.limit"
SLOW_START = "mapreduce.job.reduce.slowstart.completedmaps"
KEYS = (MAPS, REDUCES, SLOW_START)

_NAMES = "|".join(map(re.escape, KEYS))
_ARGUMENT = re.compile(rf"((?:-D\s*)?)({_NAMES})=.*", re.DOTALL)
_MOST_BYTES = 4 * MIB


def limits(granted: int) -> dict[str, str]:
    """Hadoop's properties under which at most ``granted`` tasks of an MR-job run at once; none for 0.

    Reduces begin only when all maps have ended, so the two limits never add up.
    """
    if not granted:
        return {}
    return {MAPS: str(granted), REDUCES: str(granted), SLOW_START: "1.0"}


def granted_properties(properties: Mapping[str, str], granted: int) -> dict[str, str]:
    """The properties of a job with the limits of its grant in the place of its own."""
    return {**properties, **limits(granted)}


def granted_args(args: Sequence[str], granted: int) -> list[str]:
    """The arguments of a program; those that set a limit (``-Dmapreduce.job.running.map.limit=9``) set the grant's.

    What is given as an argument wins over the configuration, so the grant's would be lost there.
    """
    wanted = limits(granted)
    found = [(word, _ARGUMENT.fullmatch(word)) for word in args]
    return [f"{m[1]}{m[2]}={wanted[m[2]]}" if m and wanted else word for word, m in found]
