"""Settings that keep a grant of CPUs on YARN: limits on the tasks of an MR-job that run at once, and MR-jobs one by
one.

Both go into the configuration of the job's attempt, and win over the user's own properties of the same names. What
cannot be seen before a job runs is a program that sets them itself in its code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.base.errors import ConfigError
from fawkes.base.reading import MIB, read_bytes
from fawkes.config.clusters.details import JobDetails
from fawkes.config.jobs import arrays, spark

MAPS = "mapreduce.job.running.map.limit"
REDUCES = "mapreduce.job.running.reduce.limit"
SLOW_START = "mapreduce.job.reduce.slowstart.completedmaps"
QUEUE = "mapreduce.job.queuename"
_OLD = {"mapred.reduce.slowstart.completed.maps": SLOW_START, "mapred.job.queue.name": QUEUE}
"""Earlier names, which Hadoop still takes."""

_NAMES = "|".join(map(re.escape, (MAPS, REDUCES, SLOW_START, QUEUE, *_OLD)))
_ARGUMENT = re.compile(rf"((?:-D\s*)?)({_NAMES})=.*", re.DOTALL)
#: arguments that name a file of further properties, which win over the job's configuration
_FILES = ("-conf", "-P", "-propertyFile")
_ENGINES = ("mapreduce", "mr")
#: a script with plain arguments: nothing else is run beside it
_PLAIN = re.compile(r"(?:ba)?sh ([\w.-]+\.sh)(?: [\w./:=-]+)*")
_MOST_BYTES = 4 * MIB
_QUOTAS = "quotas give it its cores, by its profile"


def granted_properties(properties: Mapping[str, str], granted: int, queue: str = "") -> dict[str, str]:
    """The properties of a job of which at most ``granted`` tasks may run at once; ``queue`` runs its MR-jobs in turn.

    Reduces begin only when all maps have ended, so the two limits do not add up.
    """
    limits = _limits(granted, queue)
    own = {key: value for key, value in properties.items() if _OLD.get(key, key) not in limits}
    return {**own, **limits}


def granted_args(args: Sequence[str], granted: int, queue: str = "") -> list[str]:
    """The arguments of a program; those that set a limit (``-Dmapreduce.job.running.map.limit=9``) set the grant's.

    What is given as an argument wins over the configuration, so the grant's would be lost there.
    """
    limits = _limits(granted, queue)
    words = list(args)
    for index, word in enumerate(words):
        match = _ARGUMENT.fullmatch(word)
        wanted = limits.get(_OLD.get(match[2], match[2])) if match else None
        if match and wanted is not None:
            words[index] = f"{match[1]}{match[2]}={wanted}"
    return words


def unkept_reason(details: JobDetails) -> str:
    """The reason why no grant of CPUs can be kept for a job, for `JobSpec.unkept`; empty when it can.

    A Pig job's program and the texts that go along are read; a program that cannot be read is a reason.
    """
    for word in details.args:
        if word in _FILES and details.kind not in (spark.KIND, spark.STREAM):
            return f"the argument {word} reads properties that win over the grant's"
    match details.kind:
        case "script":
            return "" if _bundled(details) else "a script may run programs that are not MapReduce, several at once"
        case "pig":
            return _of_pig(details)
        case "spark":
            return _QUOTAS if details.profile else spark.unkept(details.properties)
        case "stream":
            return "a stream has no end"
        case "tasks":
            return arrays.unkept(details.array)
        case _:
            return ""


def _limits(granted: int, queue: str) -> dict[str, str]:
    limits = {MAPS: str(granted), REDUCES: str(granted), SLOW_START: "1.0"}
    return {**limits, QUEUE: queue} if queue else limits


def _bundled(details: JobDetails) -> bool:
    """True if a script is one of Fawkes's own (HiBench's programs), which run one MR-job after another."""
    folder = (bundled_dir(Kind.WORKLOAD) / Kind.WORKLOAD.value).resolve()
    own = (folder, folder / "hibench")
    names = {Path(name).name for name in details.files if Path(name).resolve().parent in own}
    match = _PLAIN.fullmatch(details.command)
    return match is not None and match[1] in names and len(names) == len(details.files)


def _of_pig(details: JobDetails) -> str:
    engine = _after("-x", details.args) or _after("-exectype", details.args) or "mapreduce"
    if engine.lower() not in _ENGINES:
        return f"Pig runs it by {engine!r}, not by MapReduce"
    try:
        places = [(details.pig, _line(Path(details.pig)))]
    except ConfigError as error:
        return f"{details.pig} cannot be checked: {error.what}"
    for name in details.files:
        with suppress(ConfigError):
            places.append((name, _line(Path(name))))
    return next((f"{setter} of {name} sets what keeps it" for name, setter in places if setter), "")


def _line(path: Path) -> str:
    """The first line of a text that sets one of the properties, such as ``line 3``; empty without one."""
    data = read_bytes(path, most=_MOST_BYTES)
    if b"\0" in data:
        return ""
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), start=1):
        if re.search(_NAMES, line) and not line.lstrip().startswith(("--", "#")):
            return f"line {number}"
    return ""


def _after(flag: str, args: Sequence[str]) -> str:
    """The word behind a flag; empty without it."""
    return next((word for before, word in pairwise(args) if before == flag), "")
