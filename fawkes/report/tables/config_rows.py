"""Rows about the configuration of a node: files, running daemons and Hadoop's defaults compared."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping, Sequence

from fawkes.report.tables.rows import Row

Values = Mapping[str, str]
#: text that Hadoop puts another value in for, and that it shows instead of a secret
_NOT_COMPARED = ("${", "<redacted>")


def values_of(text: str) -> dict[str, str]:
    """The keys and values of one of Hadoop's XML files; ValueError when it is none."""
    try:
        # The controller made it, or it is a part of the release.
        rows = list(ET.fromstring(text).iter("property"))  # noqa: S314
    except ET.ParseError as error:
        raise ValueError(str(error)) from None
    return {(row.findtext("name") or "").strip(): (row.findtext("value") or "").strip() for row in rows}


def against_daemons(
    files: Mapping[str, Values],
    running: Mapping[str, Mapping[str, str | None]],
    reads: Mapping[str, Sequence[str]],
    defaults: Values,
) -> Iterator[Row]:
    """The settings of daemons that are others than in the files that Fawkes writes.

    None in ``running`` is a value that the daemon has set by itself; it is not compared.
    """
    for daemon, has in running.items():
        for file in reads[daemon]:
            for key, writes in files.get(file, {}).items():
                runs = has.get(key, "")
                if runs is None or runs == writes or any(mark in runs + writes for mark in _NOT_COMPARED):
                    continue
                yield {
                    "daemon": daemon, "file": file, "setting": key, "runs": runs, "writes": writes,
                    "default": defaults.get(key),
                }  # fmt: skip


def against_defaults(files: Mapping[str, Values], defaults: Values) -> Iterator[Row]:
    """The settings that Fawkes writes otherwise than Hadoop has them by default; None: Hadoop has none."""
    for file, values in files.items():
        for key, writes in values.items():
            if defaults.get(key) != writes:
                yield {"file": file, "setting": key, "writes": writes, "default": defaults.get(key)}
