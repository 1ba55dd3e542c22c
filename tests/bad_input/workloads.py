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
    workload("table: BOM", b"\xef\xbb\xbf" + TABLE.encode(), 0, ""),
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
        "state/ledger.sqlite: this is not an SQLite file. The ledger was not changed.",
        files={"state/ledger.sqlite": random.Random(7).randbytes(4096)},
    ),
    command(
        "site",
        "ledger is empty",
        ("status",),
        6,
        "state/ledger.sqlite: the ledger is damaged: it has 0 bytes. The ledger was not changed",
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
    command("site", "init into /proc", ("init", "/proc/x"), 2, "/proc/x: the example files cannot be written there"),
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
        "sls: a thousand million containers",
        '{"job.start.ms": 0, "job.tasks": [' + ",".join(['{"count": 1000000}'] * 1000) + "]}",
        2,
        "w: line 1: has no readable job: 1 line with more than 10,000,000",
        risky=True,
    ),
    workload("table: digits by the thousand", TABLE.replace("a,0,", f"a,{'9' * 5000},"), 2, "w: line 3: submit_s '999"),
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
