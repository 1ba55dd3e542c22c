"""A job's tags in YARN: Fawkes finds each attempt by one of its own, which a job's own tags must never replace."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from fawkes.base.errors import ConfigError
from fawkes.base.reading import MIB, read_bytes

TAGS = "mapreduce.job.tags"
ENVIRONMENT = "FAWKES_TAG"
"""The variable in which a script finds its attempt's tag, for applications that it tags itself."""

MOST_OWN = 9
"""YARN refuses an application with more than ten."""

_FLAG = re.compile(rf"(-D\s*)?{re.escape(TAGS)}=(.*)", re.DOTALL)
_FLAGS = ("-D", "-jobconf", "--conf", "-conf")
# key=value, key value (Pig's SET), <name>key</name>, conf.set("key", ...)
_SETS = re.compile(rf"{re.escape(TAGS)}(?:\s*=|\s+['\"\w]|\s*</name>|['\"]\s*[,:=)])")
_MOST_BYTES = 4 * MIB


def own_tags(properties: Mapping[str, str], args: Sequence[str]) -> list[str]:
    """The tags that a job names itself, in its properties and its arguments."""
    texts = [properties.get(TAGS, ""), *(match[2] for _, match in _tag_arguments(args))]
    return [tag.strip() for text in texts for tag in text.split(",") if tag.strip()]


def tagged_properties(properties: Mapping[str, str], tag: str) -> dict[str, str]:
    """The properties of a job with Fawkes's tag beside its own."""
    return {**properties, TAGS: _with(properties.get(TAGS, ""), tag)}


def tagged_args(args: Sequence[str], tag: str) -> list[str]:
    """The arguments of a program; those that set tags of its own (``-Dmapreduce.job.tags=x``) have Fawkes's as well.

    What is given as an argument wins over the configuration, so ours would be lost there.
    """
    words = list(args)
    for index, match in _tag_arguments(args):
        words[index] = f"{match[1] or ''}{TAGS}={_with(match[2], tag)}"
    return words


def sets_tags(text: str) -> int | None:
    """The first line (from 1) of a script that sets tags without Fawkes's own; None when there is none."""
    for number, line in enumerate(text.split("\n"), start=1):
        if _SETS.search(line) and ENVIRONMENT not in line and not line.lstrip().startswith(("#", "--", "//")):
            return number
    return None


def file_sets_tags(path: Path) -> int | None:
    """The same for a file; a binary or a very large one is not read."""
    try:
        data = read_bytes(path, most=_MOST_BYTES)
    except ConfigError:
        return None
    return None if b"\0" in data else sets_tags(data.decode("utf-8", "replace"))


def _tag_arguments(args: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """The arguments that set tags: in one word, or behind a flag of their own."""
    for index, word in enumerate(args):
        match = _FLAG.fullmatch(word)
        if match and (match[1] or (index and args[index - 1] in _FLAGS)):
            yield index, match


def _with(text: str, tag: str) -> str:
    own = [word.strip() for word in text.split(",") if word.strip()]
    return ",".join([*own, *([] if tag in own else [tag])])
