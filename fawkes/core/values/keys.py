"""The keys of what is pending: a kind and a name."""

from __future__ import annotations

from enum import StrEnum


class Key(StrEnum):
    """Kinds of pending keys. The first rows are keys of effects, the others times without an effect."""

    HOST, CLUSTER, MEMBERSHIP, SURVEY, JOB, WORK = "host", "cluster", "membership", "survey", "job", "work"
    MASTERS, STRAYS, ROOM = "masters", "strays", "room"
    TICK, LEAVE, BACK, DOUBT, SILENT, LIMIT, QUIET = "tick", "leave", "back", "doubt", "silent", "limit", "quiet"
    DEADLINE, PATIENCE, COPY = "deadline", "patience", "copy"
    STANDBY, SERVICE, HOLD, LOGIN = "standby", "service", "hold", "login"
    TASKS, CLEAR, CLAIM, STREAM = "tasks", "clear", "claim", "stream"

    def of(self, name: str) -> str:
        """The key for a node, an MR-cluster or a job."""
        return f"{self}:{name}"


def split(key: str) -> tuple[Key, str]:
    """Kind and name behind a key; ValueError for a kind that there is not."""
    kind, _, name = key.partition(":")
    return Key(kind), name
