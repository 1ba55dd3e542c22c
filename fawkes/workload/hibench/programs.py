"""HiBench's programs as jobs of a live MR-cluster: tables as those of ``[[job]]``, data first, then the program."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fawkes.base.catalog import Kind, bundled_dir
from fawkes.workload.hibench.load import TERASORT_RECORD_BYTES, WORKLOADS, Program

Table = dict[str, Any]

DATA_FOLDER = "/HiBench"
_TEXT = "org.apache.hadoop.io.Text"
_INPUT = "org.apache.hadoop.mapreduce.lib.input.KeyValueTextInputFormat"
_OUTPUT = "org.apache.hadoop.mapreduce.lib.output.TextOutputFormat"


def folder() -> Path:
    """The place where the programs lie that go to a master."""
    return bundled_dir(Kind.WORKLOAD) / Kind.WORKLOAD.value / "hibench"


def input_folder(name: str, data: str = DATA_FOLDER) -> str:
    """The place where a program's input lies in HDFS, as in HiBench."""
    return f"{data}/{name.capitalize()}/Input"


def output_folder(name: str, data: str = DATA_FOLDER) -> str:
    """The place where its output goes."""
    return f"{data}/{name.capitalize()}/Output"


def programs(chosen: Sequence[Program], *, data: str = DATA_FOLDER, properties: Mapping[str, str] = {}) -> list[Table]:
    """The jobs of programs, to be run in this order one after another; each program once.

    ``properties`` are Hadoop's keys for each MR-job. What a job must find in HDFS is made by one before it.
    """
    made = [table for program in chosen for table in _TABLES[program.name](program, data)]
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


def _prepare(program: Program, data: str, words: str) -> Table:
    to = input_folder(program.name, data)
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


def _examples(program: Program, data: str, job: str, *args: object, read: bool = True) -> Table:
    table: Table = {"id": job, "kind": "jar", "jar": "examples", "args": [str(arg) for arg in args]}
    if read:
        table |= {"input": [input_folder(program.name, data)], "input_size": f"{program.size_bytes}B"}
    return table


def _script(program: Program, data: str, command: str, files: list[str]) -> Table:
    return {
        "id": program.name,
        "kind": "script",
        "command": command,
        "files": files,
        "input": [input_folder(program.name, data)],
        "input_size": f"{program.size_bytes}B",
    }


def _wordcount(program: Program, data: str) -> list[Table]:
    between = (input_folder("wordcount", data), output_folder("wordcount", data))
    return [
        _prepare(program, data, f"words --size {program.size_bytes}"),
        _examples(program, data, "wordcount", "wordcount", f"-Dmapreduce.job.reduces={program.reduces}", *between),
    ]


def _sort(program: Program, data: str) -> list[Table]:
    forms = ("-inFormat", _INPUT, "-outFormat", _OUTPUT, "-outKey", _TEXT, "-outValue", _TEXT)
    between = (input_folder("sort", data), output_folder("sort", data))
    return [
        _prepare(program, data, f"records --size {program.size_bytes}"),
        _examples(program, data, "sort", "sort", "-r", program.reduces, *forms, *between),
    ]


def _terasort(program: Program, data: str) -> list[Table]:
    read, written = input_folder("terasort", data), output_folder("terasort", data)
    size = program.count * TERASORT_RECORD_BYTES
    checked = written.removesuffix("Output") + "Validate"
    return [
        _examples(
            program,
            data,
            "terasort-prepare",
            "teragen",
            f"-Dmapreduce.job.maps={program.files}",
            program.count,
            read,
            read=False,
        ),
        {
            "id": "terasort-verify",
            "kind": "script",
            "command": f"sh verify.sh {read} {size}",
            "files": _files("verify.sh"),
            "tasks": 1,
        },
        _examples(program, data, "terasort", "terasort", f"-Dmapreduce.job.reduces={program.reduces}", read, written),
        _examples(program, data, "terasort-validate", "teravalidate", written, checked, read=False),
    ]


def _pagerank(program: Program, data: str) -> list[Table]:
    between = f"{input_folder('pagerank', data)} {output_folder('pagerank', data)}"
    command = f"sh pagerank.sh {between} {program.count} {program.iterations} {program.reduces}"
    return [
        _prepare(program, data, f"links --count {program.count}"),
        _script(program, data, command, _files("pagerank.sh", "pagerank.py", "streaming.sh")),
    ]


def _kmeans(program: Program, data: str) -> list[Table]:
    between = f"{input_folder('kmeans', data)} {output_folder('kmeans', data)}"
    shape = f"--count {program.count} --dimensions {program.dimensions} --clusters {program.clusters}"
    first = f"python3 data.py centres {shape} --k {program.k} --seed {program.seed}"
    return [
        _prepare(program, data, f"samples {shape}"),
        _script(
            program,
            data,
            f"sh kmeans.sh {between} {program.iterations} {first}",
            _files("kmeans.sh", "kmeans.py", "streaming.sh", "data.py"),
        ),
    ]


_TABLES: Mapping[str, Callable[[Program, str], list[Table]]] = {
    "wordcount": _wordcount,
    "sort": _sort,
    "terasort": _terasort,
    "pagerank": _pagerank,
    "kmeans": _kmeans,
}
