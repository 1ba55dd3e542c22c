"""HiBench's programs as jobs of a live MR-cluster: tables as those of ``[[job]]``, data first, then the program."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.workload.hibench.load import TERASORT_RECORD_BYTES, WORKLOADS, Program

Table = dict[str, Any]

_TEXT = "org.apache.hadoop.io.Text"
_INPUT = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_OUTPUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"


def folder() -> Path:
    """The place where the programs lie that go to a master."""
    return bundled_dir(Kind.WORKLOAD) / Kind.WORKLOAD.value / "hibench"


def programs(chosen: Sequence[Program], *, properties: Mapping[str, str] = {}) -> list[Table]:
    """The jobs of programs, to be run in this order one after another; each program once.

    ``properties`` are Hadoop's keys for each MR-job. What a job must find in HDFS is made by one before it.
    """
    made = [table for program in chosen for table in _TABLES[program.name](program)]
    return [{**table, "properties": dict(properties)} if properties else table for table in made]


def checkout_program(checkout: str, name: str, profile: str = "", *, path: str = "") -> Table:
    """The job that runs prepare.sh and run.sh of a HiBench checkout, which is a folder on the master.

    ``path`` is the folder on the master with the ``python2`` that HiBench's scripts ask for, when it is not one of
    those where a job's programs are looked for anyway (/usr/local/bin, /usr/bin, /bin).
    """
    workload = WORKLOADS.get(name, name)
    command = shlex.join(word for word in ("bash", "checkout.sh", checkout, workload, profile) if word)
    return {
        "id": f"hibench-{workload.replace('/', '-')}",
        "title": f"HiBench's own {workload}",
        "kind": "script",
        "command": f"PATH={shlex.quote(path)}:$PATH {command}" if path else command,
        "files": [str(folder() / "checkout.sh")],
    }


def _folders(program: Program) -> tuple[str, str]:
    """The places in HDFS where a program's input lies and where its output goes, as in HiBench."""
    own = f"/HiBench/{program.name.capitalize()}"
    return f"{own}/Input", f"{own}/Output"


def _prepare(program: Program, words: str) -> Table:
    to, _ = _folders(program)
    return {
        "id": f"{program.name}-prepare",
        "title": f"HiBench {program.name}: its input",
        "kind": "script",
        "command": f"sh prepare.sh {to} python3 data.py {words} --seed {program.seed} --parts {program.files}",
        "files": [str(folder().parent / "prepare.sh"), *_files("data.py")],
        "tasks": 1,
    }


def _files(*names: str) -> list[str]:
    return [str(folder() / name) for name in names]


def _examples(program: Program, job: str, *args: object, read: bool = True) -> Table:
    table: Table = {"id": job, "kind": "jar", "jar": "examples", "args": [str(arg) for arg in args]}
    if read:
        table |= {"input": [_folders(program)[0]], "input_size": f"{program.size_bytes}B"}
    return table


def _script(program: Program, command: str, files: list[str]) -> Table:
    return {
        "id": program.name,
        "kind": "script",
        "command": command,
        "files": files,
        "input": [_folders(program)[0]],
        "input_size": f"{program.size_bytes}B",
    }


def _wordcount(program: Program) -> list[Table]:
    reduces = f"-Dmapreduce.job.reduces={program.reduces}"
    return [
        _prepare(program, f"words --size {program.size_bytes}"),
        _examples(program, "wordcount", "wordcount", reduces, *_folders(program)),
    ]


def _sort(program: Program) -> list[Table]:
    forms = ("-inFormat", _INPUT, "-outFormat", _OUTPUT, "-outKey", _TEXT, "-outValue", _TEXT)
    return [
        _prepare(program, f"records --size {program.size_bytes}"),
        _examples(program, "sort", "sort", "-r", program.reduces, *forms, *_folders(program)),
    ]


def _terasort(program: Program) -> list[Table]:
    read, written = _folders(program)
    maps, reduces = f"-Dmapreduce.job.maps={program.files}", f"-Dmapreduce.job.reduces={program.reduces}"
    checked = written.removesuffix("Output") + "Validate"
    return [
        _examples(program, "terasort-prepare", "teragen", maps, program.count, read, read=False),
        {
            "id": "terasort-verify",
            "kind": "script",
            "command": f"sh verify.sh {read} {program.count * TERASORT_RECORD_BYTES}",
            "files": _files("verify.sh"),
            "tasks": 1,
        },
        _examples(program, "terasort", "terasort", reduces, read, written),
        _examples(program, "terasort-validate", "teravalidate", written, checked, read=False),
    ]


def _pagerank(program: Program) -> list[Table]:
    command = f"sh pagerank.sh {' '.join(_folders(program))} {program.count} {program.iterations} {program.reduces}"
    return [
        _prepare(program, f"links --count {program.count}"),
        _script(program, command, _files("pagerank.sh", "pagerank.py", "streaming.sh")),
    ]


def _kmeans(program: Program) -> list[Table]:
    shape = f"--count {program.count} --dimensions {program.dimensions} --clusters {program.clusters}"
    first = f"python3 data.py centres {shape} --k {program.k} --seed {program.seed}"
    command = f"sh kmeans.sh {' '.join(_folders(program))} {program.iterations} {first}"
    return [
        _prepare(program, f"samples {shape}"),
        _script(program, command, _files("kmeans.sh", "kmeans.py", "streaming.sh", "data.py")),
    ]


_TABLES: Mapping[str, Callable[[Program], list[Table]]] = {
    "wordcount": _wordcount,
    "sort": _sort,
    "terasort": _terasort,
    "pagerank": _pagerank,
    "kmeans": _kmeans,
}
