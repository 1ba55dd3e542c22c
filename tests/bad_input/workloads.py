"""Cases of traces and whole sites."""

from __future__ import annotations

import gzip
import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.bad_input.support import SHOW, TABLE, command, fifo, folder, link, workload


def gzip_bomb(site: Path) -> None:
    """A small file with one line of 100 MB in it."""
    with gzip.open(site / "w", "wb") as out:
        out.write(b"# fawkes jobs 1\n")
        for _ in range(100):
            out.write(b"a" * 1_000_000)


def other_ledger(site: Path) -> None:
    """A database of another program where the ledger should be."""
    (site / "state").mkdir()
    with closing(sqlite3.connect(site / "state" / "ledger.sqlite")) as other:
        other.execute("create table x(y)")


CASES = (
    workload("baseline", TABLE, 0, ""),
    workload("empty", "", 2, "w: is empty. Give a file with jobs"),
    workload(
        "binary garbage",
        random.Random(7).randbytes(1000),
        2,
        "w: is not in a known workload format. Looked for: table (a first line",
    ),
    workload(
        "truncated gzip",
        gzip.compress(TABLE.encode() * 100)[:-20],
        2,
        "w.gz: line 1: the compressed file ends too early. Fetch the file again",
        args=("workload", "show", "w.gz"),
        file="w.gz",
    ),
    workload(
        "gzip, corrupt in the middle",
        (lambda b: b[:20] + b"XXXX" + b[24:])(gzip.compress(random.Random(7).randbytes(500) + TABLE.encode())),
        2,
        "the compressed file is broken",
    ),
    workload("gzip of nothing", gzip.compress(b""), 2, "w: is empty. Give a file with jobs"),
    workload("gzip bomb of one line", None, 2, "w: line 2: is longer than 64 MiB", risky=True, prepare=gzip_bomb),
    workload(
        "table: unknown column",
        TABLE.replace("map_s", "mapp_s"),
        2,
        "w: line 2: there is no column 'mapp_s'. Did you mean 'map_s'?",
    ),
    workload(
        "table: submit -1",
        TABLE.replace("a,0,", "a,-1,"),
        2,
        "w: line 3: submit_s '-1' is negative. docs/workloads.md describes the",
    ),
    workload(
        "table: submit nan",
        TABLE.replace("a,0,", "a,nan,"),
        2,
        "w: line 3: submit_s 'nan' is not a time in seconds with at most six",
    ),
    workload(
        "table: submit 1e400",
        TABLE.replace("a,0,", "a,1e400,"),
        2,
        "w: line 3: submit_s '1e400' is not a time in seconds with at most six",
    ),
    workload("table: id twice", TABLE + "a,1,2,5\n", 2, "w: line 4: there are two jobs 'a'. Each job needs its own id"),
    workload(
        "table: short row", TABLE + "b,1\n", 2, "w: line 4: has 2 fields, but there are 4 columns. docs/workloads.md"
    ),
    workload(
        "table: cycle in after",
        "# fawkes jobs 1\nid,submit_s,maps,map_s,after\na,0,2,5,b\nb,0,2,5,a\n",
        2,
        "w: line 3: jobs wait for each other: 'a' after 'b' after 'a'",
    ),
    workload(
        "table: after unknown",
        "# fawkes jobs 1\nid,submit_s,maps,map_s,after\na,0,2,5,zz\n",
        2,
        "w: line 3: job 'a' is after 'zz', which does not exist",
    ),
    workload("table: BOM", b"\xef\xbb\xbf" + TABLE.encode(), 0, ""),
    workload("table: CRLF", TABLE.replace("\n", "\r\n"), 0, ""),
    workload(
        "table: version 2",
        TABLE.replace("jobs 1", "jobs 2"),
        2,
        "w: line 1: begins with '# fawkes jobs 2'. This version of Fawkes",
    ),
    workload("table: id '=cmd|x' (CSV injection)", TABLE.replace("\na,", "\n=cmd|' /C calc'!A0,"), 0, ""),
    workload(
        "rumen: truncated JSON",
        '{"jobID": "job_1", "mapTasks": [',
        2,
        "w: line 1: the file ends within the object that begins on line 1.",
    ),
    workload(
        "sls: wrong types",
        '{"job.start.ms": "x", "job.tasks": 5}',
        2,
        "w: line 1: has no readable job: 1 line with a field that is not a",
    ),
    workload(
        "swim: negative bytes",
        "job0\t0\t0\t-5\t1\t1\n",
        2,
        "w: is not in a known workload format. Looked for: table (a first line",
    ),
    workload(
        "swf: 17 columns",
        " ".join(["1"] * 17) + "\n",
        2,
        "w: is not in a known workload format. Looked for: table (a first line",
    ),
    workload(
        "swf: all -1",
        " ".join(["-1"] * 18) + "\n",
        2,
        "w: line 1: has no readable job: 1 line with a negative submit time",
    ),
    workload(
        "JSON nested 100,000 deep",
        "[" * 100000,
        2,
        "w: is not in a known workload format. Looked for: table (a first line",
    ),
    command(
        "workload",
        "a directory that is empty",
        ("workload", "show", "clusters2"),
        2,
        "clusters2: has no job. The history of a job begins with Avro-Json or",
        prepare=folder("clusters2"),
    ),
    command(
        "workload",
        "missing",
        ("workload", "show", "nosuch"),
        2,
        "nosuch: there is no such file. Give the path of a trace",
    ),
    command(
        "workload",
        "symlink loop",
        ("workload", "show", "w"),
        2,
        "w: is a link that leads back to itself. Repair or remove the link",
        prepare=link("w", "w"),
    ),
    command(
        "workload",
        "--format nonsense",
        ("workload", "show", "w", "--format", "foo"),
        2,
        "Invalid value for '--format': 'foo' is not one of table, history,",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "convert onto itself",
        ("workload", "convert", "w", "--out", "w"),
        6,
        "w: exists already. Give another name, or --force to replace it",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "convert onto itself --force",
        ("workload", "convert", "w", "--out", "w", "--force"),
        0,
        "",
        files={"w": TABLE},
        writes=("w",),
    ),
    command(
        "workload",
        "convert --out into no folder",
        ("workload", "convert", "w", "--out", "no/x"),
        2,
        "no/x: cannot be written (No such file or directory)",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "scale --time 0",
        ("workload", "scale", "w", "--time", "0", "--out", "x"),
        2,
        "Invalid value for '--time': '0' is not a factor: write a number above",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "scale --time 1/0",
        ("workload", "scale", "w", "--time", "1/0", "--out", "x"),
        2,
        "Invalid value for '--time': '1/0' is not a factor: write a number",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "scale --machines 0:20",
        ("workload", "scale", "w", "--machines", "0:20", "--out", "x"),
        2,
        "Invalid value for '--machines': '0:20' is not FROM:TO: write the",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "make unknown",
        ("workload", "make", "foo", "--out", "x"),
        2,
        "there is no maker 'foo'. Known: btworld, facebook, hibench, like,",
    ),
    command(
        "workload",
        "make facebook jobs=-1",
        ("workload", "make", "facebook", "--set", "jobs=-1", "--out", "x"),
        2,
        "facebook: jobs = '-1': write a whole number from 1 to 1,000,000. how",
    ),
    command(
        "site",
        "--site a file",
        ("--site", "inventory.toml", "status"),
        2,
        "Invalid value for '--site': Directory 'inventory.toml' is a file.",
    ),
    command(
        "site",
        "--site missing",
        ("--site", "/nosuch", "status"),
        2,
        "/nosuch/state/ledger.sqlite: there is no ledger. Start `fawkes run`",
    ),
    command(
        "site",
        "ledger is garbage",
        ("status",),
        6,
        "state/ledger.sqlite: this is not an SQLite file. Nothing was changed.",
        files={"state/ledger.sqlite": random.Random(7).randbytes(4096)},
    ),
    command(
        "site",
        "ledger is empty",
        ("status",),
        6,
        "state/ledger.sqlite: the ledger is damaged: it has 0 bytes. Nothing",
        files={"state/ledger.sqlite": b""},
    ),
    command(
        "site",
        "ledger is another SQLite file",
        ("status",),
        6,
        "state/ledger.sqlite: this SQLite file belongs to another program",
        prepare=other_ledger,
    ),
    command(
        "site",
        "init into a file",
        ("init", "inventory.toml"),
        2,
        "Invalid value for 'DIR': Directory 'inventory.toml' is a file.",
    ),
    command("site", "init into /proc", ("init", "/proc/x"), 1, "/proc/x: No such file or directory"),
    command("site", "init '../../x y' allowed", ("init", "a b/ü"), 0, "", writes=("a b",)),
    command(
        "site",
        "drain ';id'",
        ("drain", ";id", "--reason", "x"),
        2,
        "';id' in ';id' cannot be a host name: use letters, digits, '-' and '.'",
    ),
    command(
        "site",
        "events --since yesterday",
        ("events", "--since", "yesterday"),
        2,
        "Invalid value for '--since': 'yesterday' is neither how long ago",
    ),
    command(
        "site",
        "whatif of a folder that is no record",
        ("whatif", "clusters"),
        2,
        "clusters: is not a record. `fawkes record --out DIR` makes one",
    ),
    command(
        "site",
        "calibrate on nothing",
        ("calibrate", "clusters"),
        2,
        "clusters: is not a record. `fawkes record --out DIR` makes one",
    ),
    command(
        "site",
        "record --since 1h --until 2h (no ledger)",
        ("record", "--since", "1h", "--until", "2h"),
        2,
        "state/ledger.sqlite: there is no ledger. Start `fawkes run` once, or",
    ),
    command("workload", "a FIFO", SHOW, 2, "w: is a named pipe, not a file", prepare=fifo("w"), risky=True),
    command("workload", "a device", SHOW, 2, "w: is a device, not a file", prepare=link("w", "/dev/zero"), risky=True),
    workload(
        "rumen: objects nested 100,000 deep",
        '{"jobID": ' * 100_000,
        2,
        "w: line 1: has objects too deep",
        args=(*SHOW, "--format", "rumen"),
        risky=True,
    ),
    workload(
        "rumen: digits by the thousand",
        f'{{"jobID": "j", "mapTasks": [], "submitTime": {"9" * 5000}}}',
        2,
        "w: line 1: has objects too deep inside of each other, or a number with",
    ),
    workload(
        "rumen: a time after all calendars",
        '{"jobID": "j", "mapTasks": [], "submitTime": 999999999999999999}',
        2,
        "w: line 1: has no readable job: 1 line with a time that is too large",
    ),
    workload(
        "sls: a thousand million containers",
        '{"job.start.ms": 0, "job.tasks": [' + ",".join(['{"count": 1000000}'] * 1000) + "]}",
        2,
        "w: line 1: has no readable job: 1 line with more than 10,000,000",
        risky=True,
    ),
    workload(
        "synth: a thousand million jobs",
        json.dumps({"num_jobs": 10**9, "workloads": [{"job_classes": [{}]}]}),
        2,
        "w: line 1: num_jobs is more than 1,000,000",
        risky=True,
    ),
    workload(
        "swf: numbers beyond all clocks",
        "1 1e300 " + " ".join(["1"] * 16) + "\n",
        2,
        "w: is not in a known workload format. Looked for: table (a first line",
    ),
    workload(
        "swim: sizes beyond all disks",
        f"job0\t0\t0\t{'9' * 40}\t1\t1\n",
        2,
        "w: is not in a known workload format. Looked for: table (a first line",
    ),
    workload("table: digits by the thousand", TABLE.replace("a,0,", f"a,{'9' * 5000},"), 2, "w: line 3: submit_s '999"),
    workload(
        "table: a thousand million maps",
        TABLE.replace(",2,5", ",1000000000,5"),
        2,
        "w: line 3: is a job with more than 10,000,000 tasks",
    ),
    workload("table: NUL", TABLE.replace("a,0", "a\0,0"), 2, "w: line 3: has a NUL character"),
    workload(
        "history: a list of values without bytes",
        b"Avro-Binary\n"
        + json.dumps({"type": "array", "items": "null"}).encode()
        + b"\n"
        + b"\xfe\xff\xff\xff\xff\x0f" * 9,
        2,
        "w: line 3: the event behind the first 0 cannot be decoded",
        risky=True,
    ),
    workload(
        "history: values without bytes",
        b'Avro-Binary\n"null"\n' + b"x" * 9,
        2,
        "w: line 3: the event behind the first 0 cannot be decoded",
        risky=True,
    ),
    workload(
        "history: a schema nested 100,000 deep",
        b"Avro-Binary\n" + b"[" * 100_000 + b"\n" + b"x" * 9,
        2,
        "w: line 3: the event behind the first 0 cannot be decoded",
        risky=True,
    ),
    command(
        "workload",
        "scale --time 1e999999999",
        ("workload", "scale", "w", "--time", "1e999999999", "--out", "x"),
        2,
        "Invalid value for '--time': '1e999999999' is not a factor: write a",
        files={"w": TABLE},
        risky=True,
    ),
    command(
        "workload",
        "scale --time 1e9",
        ("workload", "scale", "w", "--time", "1e9", "--out", "x"),
        2,
        "Invalid value for '--time': '1e9' is out of range",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "sample --share nan",
        ("workload", "sample", "w", "--share", "nan", "--out", "x"),
        2,
        "Invalid value for '--share': ",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "perturb --sizes 1e300",
        ("workload", "perturb", "w", "--sizes", "1e300", "--out", "x"),
        2,
        "Invalid value for '--sizes': 1e+300 is not in the range",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "perturb --seed 10**30",
        ("workload", "perturb", "w", "--sizes", "1", "--seed", "9" * 30, "--out", "x"),
        2,
        "Invalid value for '--seed': 999",
        files={"w": TABLE},
    ),
    command(
        "workload",
        "make facebook jobs=10**12",
        ("workload", "make", "facebook", "--set", "jobs=1000000000000", "--out", "x"),
        2,
        "facebook: jobs = '1000000000000': write a whole number",
        risky=True,
    ),
    command(
        "workload",
        "make mix of jobs beyond all clusters",
        ("workload", "make", "mix", "--set", "jobs=999PB:3", "--out", "x"),
        2,
        "WC average: job 'c-1-",
    ),
    command(
        "workload",
        "make mix over=0s",
        ("workload", "make", "mix", "--set", "over=0s", "--out", "x"),
        2,
        "mix: over = '0s': must be greater than 0",
    ),
    command(
        "workload",
        "fold into more jobs than a trace may have",
        ("workload", "fold", "w", "--out", "x", "--cycle", "1s", "--duration", "3650d"),
        2,
        "w: folded it would have more than 10,000,000 jobs",
        files={"w": TABLE + "b,9,2,5\n"},
        risky=True,
    ),
    command(
        "workload",
        "a path of 5,000 letters",
        ("workload", "show", "x" * 5000),
        2,
        "cannot be read (file name too long)",
    ),
    command(
        "workload",
        "make facebook per_minute=nan",
        ("workload", "make", "facebook", "--set", "per_minute=nan", "--out", "x"),
        2,
        "facebook: per_minute = 'nan': write a number",
    ),
    command(
        "workload",
        "make mix jobs=small:10**12",
        ("workload", "make", "mix", "--set", "jobs=small:1000000000000", "--out", "x"),
        2,
        "mix: jobs = 'small:1000000000000': write a whole number",
        risky=True,
    ),
)
