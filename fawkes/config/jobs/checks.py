"""Checks of every job, whether a file gives it or a request to the controller. None of them reads a file."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from fawkes.base.errors import cut
from fawkes.config.clusters.details import JobDetails
from fawkes.config.files.loader import Faults
from fawkes.config.jobs import arrays, spark
from fawkes.config.jobs.tags import ENVIRONMENT, MOST_OWN, TAGS, own_tags, sets_tags

MOST_WORD_BYTES = 100 << 10
"""The most bytes of an argument or a command. Linux takes 128 KiB in one, and some words grow on their way: a tag goes
into them, and YARN starts a Spark program by one word with all of its arguments, behind the flags of its JVM."""
MOST_WORDS_BYTES = 512 << 10
"""The most bytes of all together: Linux takes 2 MiB with the environment, a request 1 MiB with the rest of the job."""
MOST_NAME_BYTES = 240
"""The most bytes of a file's name: file systems take 255, and a file that is on its way to a node has an ending."""

#: what Hadoop's XML cannot hold; arguments may have it, such as a separator of columns, but for NUL
_CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
#: a pointer to it, and the NUL at its end
_PER_WORD = 9
#: the folder of an attempt on a node, before each name in a list of files
_PER_FILE = 128
_JOINED = (spark.KIND, spark.STREAM)
_COMMANDS = ("command", "mapper", "combiner", "reducer")
_NEEDS = {
    "jar": ("jar",),
    "class": ("class",),
    "streaming": ("mapper", "input", "output"),
    "script": ("command",),
    "pig": ("pig",),
    "spark": (),
    "stream": ("executors", "most_executors", "batch"),
    "tasks": ("command", "tasks", "memory", "output"),
    "sleep": ("maps", "map_time"),
}
_ALLOWS = {
    "jar": ("class", "args", "input", "input_size", "tasks"),
    "class": ("jar", "args", "input", "input_size", "tasks"),
    "streaming": ("combiner", "reducer", "args", "input_size", "tasks"),
    "script": ("args", "input", "input_size", "tasks"),
    "pig": ("args", "input", "input_size", "tasks"),
    "spark": ("python", "jar", "class", "args", "input", "input_size", "tasks", "profile", "profile_size"),
    "stream": ("python", "jar", "class", "args", "guarantee", "monitor", "priority"),
    "tasks": ("cpus", "priority", "checkpoint", "task_attempts", "task_time", "input", "input_size"),
    "sleep": ("reduces", "reduce_time"),
}


def check_kind(kind: str, said: set[str], faults: Faults) -> None:
    """Each kind has keys that it needs, and those of other kinds would be silently without effect."""
    needs, allows = _NEEDS[kind], _ALLOWS[kind]
    if kind in _JOINED and ("python" in said) == ({"jar", "class"} <= said):
        faults.add("gives no program, or two", "python", f"A job of kind {kind!r} needs python, or jar and class")
    for key in needs:
        if key not in said:
            faults.add("is missing", key, f"A job of kind {kind!r} needs {', '.join(needs)}")
    own = {key for keys in (*_NEEDS.values(), *_ALLOWS.values()) for key in keys}
    for key in sorted(said & own - {*needs, *allows}):
        faults.add(f"means nothing for a job of kind {kind!r}", key, f"It has {', '.join(needs + allows)}")


def check_details(details: JobDetails, faults: Faults) -> None:
    """Refuse what cannot run, or would lead around Fawkes; a key would have no effect then, or all attempts fail."""
    _check_tags(details, faults)
    _check_spark(details, faults)
    if details.kind == "streaming" and "-background" in details.args:
        what = "-background cannot be given: a job lasts as long as its application, and its client has to wait for it"
        faults.add(what, "args", "Leave it out")
    if details.kind == arrays.KIND:
        for key, what, hint in arrays.unusable(details):
            faults.add(what, key, hint)
    _check_names(details, faults)
    _check_texts(details, faults)
    _check_lengths(details, faults)


def given(details: JobDetails) -> dict[str, str]:
    """The properties that a job gives; nobody knows the value of a secret."""
    return {**details.properties, **dict.fromkeys(details.secrets, "")}


def refuse_tags(key: str, place: str, line: int | None, faults: Faults) -> None:
    """Refuse a text whose line sets tags (None: no line does): Fawkes finds each attempt by one of its own."""
    if line is not None:
        faults.add(
            f"line {line} of {place} sets {TAGS}, and Fawkes could not find the job again",
            key,
            f"Give tags in [properties], where Fawkes adds its own, or add ${ENVIRONMENT} to them in that line",
        )


def _check_tags(details: JobDetails, faults: Faults) -> None:
    """Fawkes finds a job by a tag: one that is seen to replace it would be begun a second time after a crash."""
    own = own_tags(details.properties, details.args)
    if len(own) > MOST_OWN:
        what = f"{len(own)} tags of its own are too many"
        faults.add(what, "properties", f"YARN takes ten, and one is Fawkes's: give at most {MOST_OWN}")
    refuse_tags("command", "the command", sets_tags(details.command), faults)


def _check_spark(details: JobDetails, faults: Faults) -> None:
    """The settings of an application are its user's own, but for those that lead around doors, tags and the queue."""
    if details.kind in _JOINED:
        for key, why in spark.owned_keys(given(details)):
            faults.add(f"{key} cannot be given: {why}", "properties", "Leave it out")
        for key in spark.given_by_quotas(given(details)) if details.profile else ():
            why = "cannot be given with a profile: each node has one executor"
            faults.add(f"{key} {why}", "properties", "Leave it out")
        for key in spark.given_by_monitor(given(details)) if details.kind == spark.STREAM else ():
            why = "cannot be given: the monitor says how many executors there are"
            faults.add(f"{key} {why}", "properties", "Leave it out")


def _check_names(details: JobDetails, faults: Faults) -> None:
    """All that goes along lies in one folder on the master: of two files with one name the second would be both."""
    taken: dict[str, str] = {}
    for key, path in files_of(details):
        name = Path(path).name
        other = taken.setdefault(name, path)
        if other != path:
            faults.add(f"{path!r} and {other!r} have the same name", "files", "Give one of them another name")
        if (size := _size(name)) > MOST_NAME_BYTES:
            what = f"the name {cut(name, 40)!r} has {size} bytes"
            faults.add(what, key, f"A node takes at most {MOST_NAME_BYTES}: give the file a shorter name")


def _check_texts(details: JobDetails, faults: Faults) -> None:
    texts = [("title", details.title), *_commands(details), ("output", details.output)]
    texts += [*(("input", each) for each in details.inputs), *files_of(details)]
    texts += [("properties", f"{key}={value}") for key, value in given(details).items()]
    for key, text in texts:
        if match := _CONTROL.search(text):
            faults.add(f"has the control character {match[0]!r}", key, "Remove it, or let the program make it itself")


def _check_lengths(details: JobDetails, faults: Faults) -> None:
    """Linux starts no program with longer words: each attempt would fail to begin."""
    joined, hint = details.kind in _JOINED, "can be given: put it into a file, and give that by `files`"
    words = [(f"args[#{number}]", shlex.quote(arg) if joined else arg) for number, arg in enumerate(details.args, 1)]
    sizes = [(key, _size(word)) for key, word in (*words, *_commands(details))]
    for key, size in sizes:
        if size > MOST_WORD_BYTES:
            faults.add(f"has {size:,} bytes", key, f"At most {MOST_WORD_BYTES:,} {hint}")
    most = MOST_WORD_BYTES if joined else MOST_WORDS_BYTES
    together = sum(size + _PER_WORD for _, size in sizes)
    if together > most and all(size <= MOST_WORD_BYTES for _, size in sizes):
        faults.add(f"the arguments have {together:,} bytes in all", "args", f"At most {most:,} {hint}")
    listed = sum(_size(Path(name).name) + _PER_FILE for name in details.files)
    if listed > MOST_WORD_BYTES and details.kind in ("streaming", *_JOINED):
        what = f"the names of {len(details.files):,} files, with their folder, have {listed:,} bytes"
        faults.add(what, "files", f"At most {MOST_WORD_BYTES:,} can be given: pack the files into an archive")


def _commands(details: JobDetails) -> list[tuple[str, str]]:
    """The words of command lines beside the arguments, each with its key."""
    words = [("class", details.main_class), *((key, getattr(details, key)) for key in _COMMANDS)]
    return [(key, word) for key, word in words if word]


def files_of(details: JobDetails) -> Iterator[tuple[str, str]]:
    """The local files that go along, each with its key."""
    yield from ((key, path) for key in ("jar", "pig", "python") if (path := getattr(details, key)))
    yield from (("files", path) for path in details.files)


def _size(text: str) -> int:
    return len(text.encode(errors="replace"))
