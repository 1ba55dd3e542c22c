"""Cases of scenarios."""

from __future__ import annotations

from tests.bad_input.support import (
    SCENARIO,
    SIMULATE,
    command,
    fifo,
    folder,
    scenario,
)

CASES = (
    command(
        "scenario",
        "include cycle of two files",
        SIMULATE,
        2,
        "t.toml: include: includes others, and is included. Name those as well",
        files={
            "s.toml": 'include = ["t.toml"]\n' + SCENARIO,
            "t.toml": 'include = ["s.toml"]\n' + SCENARIO.replace('"a"', '"b"'),
        },
    ),
    command(
        "scenario",
        "unknown name",
        ("simulate", "WKLD-Z"),
        2,
        "there is no workload 'WKLD-Z'. Did you mean 'wkld-a-small'? Known:",
    ),
    command(
        "scenario",
        "a directory",
        ("simulate", "clusters/"),
        2,
        "'clusters' is not a file. Give the path of a workload, or a name",
    ),
    command(
        "scenario",
        "--out is there",
        SIMULATE,
        6,
        "o: exists already and is not from a simulation. Name a new folder, or",
        files={"s.toml": SCENARIO},
        prepare=folder("o"),
    ),
    command(
        "scenario",
        "a FIFO",
        SIMULATE,
        2,
        "'s.toml' is not a file. Give the path of a workload, or a name",
        prepare=fifo("s.toml"),
        risky=True,
    ),
    command(
        "scenario",
        "include a FIFO",
        SIMULATE,
        2,
        "t.toml: is a named pipe, not a file",
        files={"s.toml": 'include = ["t.toml"]\n' + SCENARIO},
        prepare=fifo("t.toml"),
        risky=True,
    ),
    command(
        "scenario",
        "model.from a FIFO",
        SIMULATE,
        2,
        "m.toml: is a named pipe, not a file",
        files={"s.toml": SCENARIO + '[model]\nfrom = "m.toml"\n'},
        prepare=fifo("m.toml"),
        risky=True,
    ),
    command(
        "scenario",
        "a trace that is a FIFO",
        SIMULATE,
        2,
        "t: is a named pipe, not a file",
        files={"s.toml": SCENARIO + '[[load]]\ncluster = "a"\ntrace = "t"\n'},
        prepare=fifo("t"),
        risky=True,
    ),
    command(
        "scenario",
        "demands that are a FIFO",
        SIMULATE,
        2,
        "d.csv: is a named pipe, not a file",
        files={
            "s.toml": SCENARIO + '[[load]]\ncluster = "a"\ntrace = "t"\ndemands = "d.csv"\n',
            "t": "# fawkes jobs 1\nid,submit_s,maps,map_s\nb,0,2,5\n",
        },
        prepare=fifo("d.csv"),
        risky=True,
    ),
    scenario(
        "1,000 files to include",
        "include = [" + '"t.toml",' * 1000 + "]\n" + SCENARIO,
        2,
        "s.toml: include: 1,000 files are too many",
    ),
)
