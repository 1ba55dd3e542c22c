"""Slurm's nodes: the output of ``scontrol show node``, or the environment of an allocation."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Collection, Mapping
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from fawkes.base.errors import ConfigError, UserError, cut
from fawkes.base.reading import read_text
from fawkes.config.files.loader import Faults
from fawkes.config.files.nodeset import expand
from fawkes.config.nodes.programs import MOST_OUTPUT, output_of
from fawkes.config.nodes.sources import ALL, ALLOCATION, SCONTROL, From, SlurmAllocation, Source, Words, beside

_RUN_S = 30.0
_SHOW = ("scontrol", "show", "node")
_USABLE = frozenset(
    {"IDLE", "ALLOCATED", "MIXED", "COMPLETING", "PLANNED", "RESERVED", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE"}
)
_FIELD = re.compile(r"(?:^|\s)([A-Za-z]+)=(\S*)")
_REASON = re.compile(r"(?:^|\s)Reason=([^\n]*)")
_COUNT = re.compile(r"(\d{1,9})(?:\(x(\d{1,9})\))?")
_END = re.compile(r"\bEndTime=(\S+)")
_NO_NODES = "is not what `scontrol show node` prints"
_AGAIN = "Write it again: `scontrol show node > FILE`"
_JSON = {
    "address": "NodeAddr",
    "effective_cpus": "CPUEfctv",
    "cpus": "CPUTot",
    "real_memory": "RealMemory",
    "specialized_memory": "MemSpecLimit",
    "state": "State",
    "reason": "Reason",
    "partitions": "Partitions",
}
#: RealMemory where nobody has configured it
_NO_MEMORY = (0, 1, "")
_MOST_DIGITS = 12
_IN_SHELL = "Run it in the shell that `salloc` opens"


def read_slurm(table: From, folder: Path, hint: str) -> Source:
    """The nodes that ``slurm`` of ``[from]`` means; a file counts from ``folder``, and ``hint`` is for a missing one.

    ConfigError when the file is wrong, UserError when Slurm does not answer or there is no allocation.
    """
    which = table.slurm or Path(SCONTROL)
    if str(which) == ALLOCATION:
        return _allocated(table.give_back)
    if str(which) == SCONTROL:
        return _shown(output_of(_SHOW, within_s=_RUN_S), f"`{' '.join(_SHOW)}`")
    path = beside(folder, which)
    return _shown(read_text(path, most=MOST_OUTPUT, hint=hint), str(path))


def end_of(allocation: SlurmAllocation) -> int | None:
    """The Unix time (s) at which an allocation ends; None if it has no end. UserError when Slurm does not say."""
    if allocation.end_s is not None:
        return allocation.end_s
    # As a local time it is wrong by an hour in the night in which clocks go back.
    environment = {"SLURM_TIME_FORMAT": "%s"}
    command = ["scontrol", "show", "job", "-o", allocation.job]
    match = _END.search(output_of(command, within_s=_RUN_S, environment=environment))
    end = match[1] if match else ""
    try:
        return None if end == "Unknown" else int(end)
    except ValueError:
        raise UserError(f"Slurm does not say when job {allocation.job} ends", hint="Set SLURM_JOB_END_TIME") from None


def _shown(text: str, place: str) -> Source:
    """The nodes in the output of ``scontrol show node``: its text, or its JSON."""
    nodes = _of_json(text, place) if text.lstrip().startswith("{") else _of_text(text)
    if not nodes:
        raise ConfigError(_NO_NODES, file=place, hint=_AGAIN)
    away: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for name, fields in nodes.items():
        state, reason = fields.get("State", ""), fields.get("Reason", "")
        if not set(state.split("+")) <= _USABLE:
            away[name] = cut(state or "without a state", 40) + (f" ({cut(reason)})" if reason else "")
        for partition in fields.get("Partitions", "").split(","):
            groups.setdefault(partition, []).append(name)
    members: dict[str, Collection[str]] = {**groups, ALL: nodes}
    return Source("slurm", place, members, members.__getitem__, partial(_words, nodes), away=away)


def _of_text(text: str) -> dict[str, dict[str, str]]:
    """The fields of each node. The first one of a name counts, so that nothing in a reason does."""
    nodes: dict[str, dict[str, str]] = {}
    for piece in re.split(r"(?m)^(?=NodeName=)", text):
        fields: dict[str, str] = {}
        for name, value in _FIELD.findall(piece):
            fields.setdefault(name, value)
        if "NodeName" in fields:
            reason = _REASON.search(piece)
            nodes[fields["NodeName"]] = {**fields, "Reason": reason[1].strip() if reason else ""}
    return nodes


def _of_json(text: str, place: str) -> dict[str, dict[str, str]]:
    """The same fields out of ``scontrol show node --json``, by their names in the text."""
    try:
        rows = json.loads(text)["nodes"]
        return {str(row["name"]): {name: _plain(name, row.get(key)) for key, name in _JSON.items()} for row in rows}
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        raise ConfigError(_NO_NODES, file=place, hint=_AGAIN) from None


def _plain(name: str, value: object) -> str:
    """A value of JSON as the text form has it: states and partitions are lists there."""
    if isinstance(value, list):
        return ("+" if name == "State" else ",").join(map(str, value))
    return "" if value is None else str(value)


def _words(nodes: Mapping[str, Mapping[str, str]], node: str, faults: Faults) -> Words:
    """The keys of a ``[node.NAME]`` table that Slurm knows, without those that it leaves at their defaults."""
    fields = nodes.get(node, {})
    efctv = fields.get("CPUEfctv", "")
    cores = ("CPUEfctv", efctv) if efctv else ("CPUTot", fields.get("CPUTot", ""))
    real, kept = _number(fields.get("RealMemory", "")), _number(fields.get("MemSpecLimit") or "0")
    memory = f"{real - kept}MiB" if isinstance(real, int) and isinstance(kept, int) else real
    words = {"address": ("NodeAddr", fields.get("NodeAddr", "")), "cores": (cores[0], _number(cores[1]))}
    if real not in _NO_MEMORY:
        words["memory"] = ("RealMemory", memory)
        if isinstance(real, int) and isinstance(kept, int) and real <= kept:
            what, hint = f"{real} less MemSpecLimit={kept} leaves no memory", "Correct the two in slurm.conf"
            faults.add(what, f"{cut(node)}.RealMemory", hint)
            del words["memory"]
    return {key: word for key, word in words.items() if word[1] != ""}


def _number(text: str) -> int | str:
    """The number in a text; the text itself if it has none, or one that no node has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else text


def _allocated(give_back_us: int) -> Source:
    """The nodes of the allocation in whose shell this process runs, with the cores and the memory that it has there."""
    job, text = os.environ.get("SLURM_JOB_ID"), os.environ.get("SLURM_JOB_NODELIST")
    if not job or not text:
        raise UserError("SLURM_JOB_ID and SLURM_JOB_NODELIST are not set", hint=_IN_SHELL)
    try:
        names = expand(text)
        counts = _counts(os.environ.get("SLURM_JOB_CPUS_PER_NODE", ""), len(names))
    except ValueError as error:
        raise UserError(str(error), hint=_IN_SHELL) from None
    of_node, of_cpu = (_number(os.environ.get(f"SLURM_MEM_PER_{unit}", "")) for unit in ("NODE", "CPU"))
    tables: dict[str, Words] = {}
    for name, cores in zip(names, counts, strict=True):
        memory = of_node or (of_cpu * cores if isinstance(of_cpu, int) else of_cpu)
        words: dict[str, tuple[str, Any]] = {"cores": ("SLURM_JOB_CPUS_PER_NODE", cores)}
        if memory:
            words["memory"] = ("SLURM_MEM_PER_NODE", f"{memory}MiB" if isinstance(memory, int) else memory)
        tables[name] = words
    end = _number(os.environ.get("SLURM_JOB_END_TIME", ""))
    allocation = SlurmAllocation(job, end if isinstance(end, int) else None, give_back_us)
    if allocation.end_s is not None and allocation.end_s <= time.time():
        raise UserError(f"the allocation of job {cut(job)} has ended", hint=_IN_SHELL)
    notes = {f"the nodes are those of Slurm's job {cut(job)}": None}
    groups = {ALLOCATION: names, ALL: names}
    read, place = lambda name, _: tables.get(name, {}), f"allocation {cut(job)}"
    return Source("slurm", place, groups, groups.__getitem__, read, notes=notes, allocation=allocation)


def _counts(text: str, nodes: int) -> list[int]:
    """The CPUs of each node: ``2(x3),4`` are three nodes with 2, then one with 4. ValueError for other numbers."""
    matches = [_COUNT.fullmatch(part) for part in text.split(",")]
    runs = [(int(match[1]), int(match[2] or 1)) for match in matches if match]
    if len(runs) != len(matches) or sum(times for _, times in runs) != nodes:
        raise ValueError(f"SLURM_JOB_CPUS_PER_NODE is {cut(text)!r}, which is not a number of CPUs for each node")
    return list(chain.from_iterable(repeat(cpus, times) for cpus, times in runs))
