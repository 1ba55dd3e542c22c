"""Leftovers in HDFS of a MapReduce application that was cut off: did it succeed, and is its output whole?

A job that begins again, or is tried again, finds the folder of its output in its way. What an earlier application left
of it is set aside in the staging folder of that application, which is Hadoop's own bookkeeping: nothing is deleted.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from fawkes.live.wire.masters import YarnApplication
from fawkes.live.wire.webhdfs import Hdfs

OUTPUT = "mapreduce.output.fileoutputformat.outputdir"
"""The key of a job's configuration that has the folder of its output."""

#: as Hadoop writes it; a parser would read what a user has put into the file
_PROPERTY = re.compile(rf"<name>{re.escape(OUTPUT)}</name>\s*<value>([^<]*)</value>")
_STAGING = "yarn.app.mapreduce.am.staging-dir"
#: written by an ApplicationMaster before and after it commits the output of its job
_BEGUN, _COMMITTED = "COMMIT_STARTED", "COMMIT_SUCCESS"
#: in the folder of an output while tasks write to it
_WRITING = "_temporary"


def staging(application: YarnApplication, settings: Mapping[str, Mapping[str, str]]) -> str:
    """The folder in which an ApplicationMaster of MapReduce keeps the files of its job."""
    top = urlsplit(settings["mapred-site"][_STAGING]).path.rstrip("/")
    return f"{top}/{application.user}/.staging/{application.id.replace('application', 'job', 1)}"


def committed(hdfs: Hdfs, folder: str) -> bool:
    """True if the output of the application with this staging folder is whole."""
    return hdfs.status(f"{folder}/{_COMMITTED}") is not None


def set_aside(hdfs: Hdfs, folder: str) -> str:
    """Set the output of an application that was cut off aside: where it is now; empty when there was none.

    ``folder`` is its staging folder. An output that no task has begun to write is left alone.
    """
    output = _output(hdfs, f"{folder}/job.xml")
    if not output or hdfs.status(output) is None:
        return ""
    begun = hdfs.status(f"{output}/{_WRITING}") is not None or hdfs.status(f"{folder}/{_BEGUN}") is not None
    return _aside(hdfs, output, folder) if begun else ""


def make_way(hdfs: Hdfs, output: str, folder: str) -> str:
    """Set the ``output`` of an application that has failed aside; where it is now, empty when there is none.

    The folder was not there when the application was submitted, or Hadoop would have refused it.
    """
    output = urlsplit(output).path.rstrip("/")
    if not output or hdfs.status(output) is None:
        return ""
    hdfs.mkdir(folder)
    return _aside(hdfs, output, folder)


def _aside(hdfs: Hdfs, output: str, folder: str) -> str:
    aside = f"{folder}/output"
    number = 1
    while hdfs.status(aside) is not None:
        number += 1
        aside = f"{folder}/output-{number}"
    hdfs.rename(output, aside)
    return aside


def _output(hdfs: Hdfs, path: str) -> str:
    """The output folder of a job, by its configuration; empty for one that has none, or is not submitted yet."""
    if hdfs.status(path) is None:
        return ""
    text = b"".join(hdfs.read(path)).decode("utf-8", "replace")
    match = _PROPERTY.search(text)
    return urlsplit(html.unescape(match[1])).path.rstrip("/") if match else ""
