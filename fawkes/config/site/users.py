"""MR-cluster files that name a Unix user: no two name the same one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from fawkes.base.errors import ConfigError
from fawkes.config.files.loader import read_toml
from fawkes.config.files.nodeset import fold

KEY = "run_as"


def users_of(files: Iterable[Path]) -> dict[Path, str]:
    """The user of each file; empty for one that names none. ConfigError for a user whom two files name."""
    first: dict[str, Path] = {}
    users: dict[Path, str] = {}
    for file in files:
        user = users[file] = str(read_toml(file).get(KEY, ""))
        if user and first.setdefault(user, file) != file:
            raise ConfigError(
                f"{user!r} is the user of {first[user]} already",
                file=str(file),
                key=KEY,
                hint="Give each MR-cluster a user of its own: they could reach each other's files and processes",
            )
    return users


def without_user(clusters: Collection[str]) -> str:
    """The harm that jobs of MR-clusters without a Unix user of their own can do to others, in a sentence."""
    these = ", ".join(sorted(clusters))
    return (
        f"{these} {'has' if len(clusters) == 1 else 'have'} no `run_as`: jobs run as the user for SSH. They can change "
        "the lease and the software of their nodes, and what they leave running there can reach the next MR-cluster"
    )


def group_lines(nodes: Mapping[str, str]) -> list[str]:
    """Sentences on nodes with and without control groups; ``nodes`` has for each node why it has none, "" if it has.

    Nothing is said of a node that is not in ``nodes``.
    """
    having = [node for node, why in nodes.items() if not why]
    lines = []
    if having:
        lines.append(
            f"{fold(having)} {'has' if len(having) == 1 else 'have'} control groups: a wipe there ends what such jobs "
            "leave running, unless a job moved itself out of its group"
        )
    lacking: dict[str, list[str]] = {}
    for node, why in nodes.items():
        if why:
            lacking.setdefault(why, []).append(node)
    for why, names in lacking.items():
        lines.append(f"{fold(names)} {'has' if len(names) == 1 else 'have'} no control groups: {why}")
    return lines
