"""Facts of reasons as text, and the parts of which the templates of sentences are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from fawkes.base.units import show_bytes, show_duration, show_time
from fawkes.core.values.keys import Key
from fawkes.core.values.model import Facts

#: a text with the names of facts in braces, or a function of the facts that gives one
Template = str | Callable[[Facts], str]

_MOMENTS = frozenset({"until_us", "since_us", "at_us"})
#: facts that have names of nodes
_NODE_SETS = frozenset({"nodes", "journal"})


def controller_name(controller: str) -> str:
    """The id of a controller for people: its process, user and host, or the beginning of an id that has neither."""
    host, pid, user, _ = (*controller.split("."), "", "", "")[:4]
    if not pid.isdigit():
        return controller[:8]
    by = f" of {user}" if controller.count(".") > 2 else ""
    return f"process {pid}{by} on {host}"


def how_it_stands(life: str) -> str:
    """The state of a job as the verb of a sentence: ``is running``, ``succeeded``, ``was killed``."""
    return _VERBS.get(life, f"is {life}")


_VERBS = {
    "queued": "waits in the queue",
    "cancelling": "is being cancelled",
    "succeeded": "succeeded",
    "failed": "failed",
    "cancelled": "was cancelled",
    "refused": "was refused",
    "dropped": "was dropped",
    "killed": "was killed",
}


def fold(names: Sequence[str]) -> str:
    """Names as one node set, ``node[01-03]``."""
    if len(names) == 1:
        return names[0]
    # ClusterShell takes a while to import, and most sentences name one node.
    from fawkes.config.files.nodeset import fold as folded

    return folded(names)


def show_fact(key: str, value: object) -> str:
    """A fact for people, by the ending of its name."""
    if isinstance(value, int) and not isinstance(value, bool):
        if key in _MOMENTS:
            return show_time(value)
        if key.endswith("_us"):
            return show_duration(value)
        if key.endswith("_bytes"):
            return show_bytes(value)
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, (list, tuple)):
        names = [str(each) for each in value]
        return fold(names) if key in _NODE_SETS and names else ", ".join(names)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {show_fact(str(name), each)}" for name, each in value.items())
    return str(value)


def literal(text: str) -> str:
    """Text that is no template: names of folders may have braces, which would be taken for placeholders."""
    return text.replace("{", "{{").replace("}", "}}")


def thing(key: str) -> str:
    """The name for people of the thing that a key of the core stands for: people never see the key itself."""
    kind, _, name = key.partition(":")
    return _THINGS.get(kind, "{}").format(name or key)


_THINGS: Mapping[str, str] = {
    Key.HOST: "{}",
    Key.CLUSTER: "the current stage of {}",
    Key.MEMBERSHIP: "{}'s new member list",
    Key.SURVEY: "the survey of {}'s data and applications",
    Key.JOB: "YARN's answer about job {}",
    Key.MASTERS: "the masters of {}",
    Key.STANDBY: "the second NameNode of {}",
    Key.STRAYS: "the end of tasks of {} that have lost their containers",
    Key.ROOM: "room for the next job of {}",
    Key.CLAIM: "the tasks of {} that could go for a more important job",
    Key.CLEAR: "the removal of what tasks of job {} have saved",
    Key.TASKS: "the tasks on {}",
    Key.STREAM: "the executors of stream {}",
    Key.WORK: "the time of the tasks of job {}",
}


def by(text: str) -> Template:
    """``text`` and who asked, when that is known."""
    return lambda facts: text + (" by {by}" if facts.get("by") else "")


def because(text: str, fact: str) -> Template:
    """``text`` and, after a colon, the fact, when there is one."""
    return lambda facts: text + (f": {{{fact}}}" if facts.get(fact) else "")


def operator(text: str) -> Template:
    """``text`` after who did it."""
    return lambda facts: ("{by}" if facts.get("by") else "An operator") + text


def took(text: str) -> Template:
    """``text``, how long it took, and what else the world had to say about it."""

    def taken(facts: Facts) -> str:
        folders = [folder for name in ("sets", "outputs") for folder in cast(Sequence[Facts], facts.get(name, ()))]
        rest = [name for name in facts if name not in ("cluster", "took_us", "s", "sets", "outputs")]
        more = "".join(f", {name.removesuffix('_us').replace('_', ' ')} {{{name}}}" for name in rest)
        sizes = literal("".join(f", {_folder(folder)}" for folder in folders))
        return f"{text} after {{took_us}}{sizes}{more}"

    return taken


def _folder(facts: Facts) -> str:
    """A folder that was loaded or saved: its path, its size when that is known, and what is wrong with its spread."""
    size, uneven, thin = facts.get("size"), facts.get("uneven"), facts.get("thin")
    return (
        str(facts.get("to", facts.get("path")))
        + (f" {show_bytes(size)}" if isinstance(size, int) else "")
        + (f" ({uneven})" if uneven else "")
        + (f" ({thin} of its blocks with fewer replicas than wanted)" if thin else "")
    )


def listed(rows: object, count: object, row_in_words: Callable[[Facts], str]) -> str:
    """Rows in words, and how many more there are."""
    shown = [row_in_words(row) if isinstance(row, Mapping) else str(row) for row in cast(Sequence[object], rows)]
    more = (count if isinstance(count, int) else len(shown)) - len(shown)
    return literal(", ".join(shown) + (f" and {more} more" if more > 0 else ""))


def named_files(files: Sequence[str], count: int, most: int = 10) -> str:
    """The first names of a list that may have been cut, and how many more there are."""
    more = count - min(most, len(files))
    return ", ".join(files[:most]) + (f" and {more} more" if more > 0 else "")


def undeclared_in_words(row: Facts) -> str:
    """A folder that nobody declared: its path, how much lies there, whose it is, and its newest files."""
    size, files, owner = row.get("bytes"), row.get("files"), row.get("owner")
    facts = [show_bytes(size)] if isinstance(size, int) else []
    facts += [f"{files} file{'' if files == 1 else 's'}"] if isinstance(files, int) else []
    facts += [f"of {owner}"] if owner else []
    newest = [str(file.get("path")) for file in cast(Sequence[Facts], row.get("newest") or ())]
    facts += [f"the newest: {', '.join(newest)}"] if newest else []
    return f"{row.get('path')}" + (f" ({', '.join(facts)})" if facts else "")
