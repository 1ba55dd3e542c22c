"""Good files with something wrong in them, as people and accidents make them: for tests that draw what and where."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

from fawkes.cli.pool.init import EXAMPLES
from tests.bad_input.support import CHECK, INVENTORY, JOB, REQUEST, SCENARIO, SHOW, SUBMIT, TABLE

DATA = Path(__file__).parents[1] / "workload" / "data"
WORKLOADS = Path(__file__).parents[2] / "workloads"
LOAD = '[[load]]\ncluster = "a"\napps = ["WC"]\njobs = { small = 2 }\nper_hour = 3.5\n'
SMALL_SITES = """title = "x"
limit = "1d"
seed = 3
[settings]
period = "60s"
tau = 10
policy = "TD"
[settings.timeouts]
join = "90s"
[pool]
disk = "1TB"
[[pool.node]]
id = "n1"
site = "s-1"
capacity = 2.0
[[pool.node]]
id = "n2"
core = false
[[generate]]
name = "d"
kind = "words"
size = "1GB"
files = 3
[[cluster]]
id = "a"
at = "10s"
min_nodes = "auto"
replication = 1
data = [{ from = "generated:d", to = "/in" }]
[[job]]
cluster = "a"
id = "j"
count = 3
every = "5s"
after = "running"
delay = "1m"
kind = "sleep"
maps = 4
map_time = "5s"
[model]
map_slots = 0
slots = 4
disk = "100MB"
cores = 2.5
spread = 0.2
stragglers = 0.1
[[fault]]
node = "n2"
at = "1m"
back = "2m"
"""
CLUSTER = """min_nodes = 3
max_nodes = 3
replication = 2
idle_time = "4h"
scratch = ["/tmp"]
[[data]]
from = "."
to = "/in"
[heap]
namenode = "1GB"
[hadoop.yarn-site]
yarn.acl.enable = true
"""


@dataclass(frozen=True)
class Kind:
    """A kind of file: a good one, where it stands, and the command that reads it and does nothing more."""

    name: str
    file: str
    text: bytes
    args: tuple[str, ...]


def _example(name: str) -> bytes:
    return (EXAMPLES / name).read_bytes()


def _without_model(name: str) -> bytes:
    """A bundled workload without the model that lies in a file beside it."""
    return re.sub(rb'(?m)^from = "models/.*$', b"", (WORKLOADS / name).read_bytes())


KINDS = (
    Kind("inventory", "inventory.toml", INVENTORY.encode(), REQUEST),
    Kind("example inventory", "inventory.toml", _example("inventory.toml"), REQUEST),
    Kind("settings", "fawkes.toml", _example("fawkes.toml") + b'period = "60s"\ntau = 3.5\n[ssh]\nfanout = 3\n', CHECK),
    Kind("cluster", "clusters/c.toml", CLUSTER.encode(), REQUEST),
    Kind("job", "j.toml", f'{JOB}retries = 2\ntime_limit = "3h"\n[properties]\n"a.b" = 3\n'.encode(), SUBMIT),
    Kind("sleep job", "j.toml", b'kind = "sleep"\nmaps = 3\nmap_time = "1s"\nreduces = 0\n', SUBMIT),
    Kind("scenario", "s.toml", (SCENARIO + LOAD).encode(), ("plan", "s.toml")),
    Kind("scenario of two sites", "s.toml", SMALL_SITES.encode(), ("plan", "s.toml")),
    Kind("workload", "s.toml", _without_model("wkld-a-small.toml"), ("plan", "s.toml")),
    Kind("table", "w", TABLE.encode(), SHOW),
    Kind("rumen", "w", (DATA / "rumen-5jobs.json.gz").read_bytes(), SHOW),
    Kind("sls", "w", (DATA / "sls-2jobs.json").read_bytes(), SHOW),
    Kind("synth", "w", (DATA / "sls-synth.json").read_bytes(), SHOW),
    Kind("swf", "w", (DATA / "hpc2n-first60.swf").read_bytes(), SHOW),
    Kind("swim", "w", (DATA / "fb-2009-first20.tsv").read_bytes(), SHOW),
    Kind("history", "w", next(iter(sorted((DATA / "history").glob("*.jhist*")))).read_bytes(), SHOW),
)

VALUES = (
    b"0", b"-1", b"1", b"3.5", b"nan", b"inf", b"-inf", b"1e300", b"true", b'""', b'"x"', b"[]", b"{}", b"[[]]",
    b"9" * 18, b"9" * 30, b"9" * 5000, b"0x" + b"f" * 40, b"2026-05-04", b"12:30:00", b'"never"', b'"0s"', b'"-1s"',
    b'"1000000d"', b'"' + b"9" * 400 + b's"', b'"9999PB"', b'"1.5.5GB"', b'"\\u0000"', b'"../../x"', b'"~no-one/x"',
    b'"/"', b'"/dev/zero"', b'"a-loop"', b'"."', b'"n[1-99999999]"', b'"n[1-5"', b'"@all"', b'"' + b"n" * 5000 + b'"',
    b'"$(id)"', b'"\xc3\xa4"', b'"a\\nb"', b"{ a = 1 }", b"[1, 2]", b'["x", 1]', b"[" * 40 + b"]" * 40, b"{a.b.c = 1}",
)  # fmt: skip
BYTES = (
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n",
    b"\t",
    b'"',
    b"[",
    b"]",
    b"{",
    b"}",
    b"=",
    b",",
    b"#",
    b"\\",
    b"-",
)
_VALUE = re.compile(rb'"[^"\n]*"|[-+]?\d[\d.e+]*|true|false|\[[^\[\]\n]*\]')
_KEY = re.compile(rb"(?m)^[A-Za-z_.\-]+(?= *=)")

Mutation = Callable[[st.DrawFn, bytes], bytes]


def _value(draw: st.DrawFn, text: bytes) -> bytes:
    """One value becomes another of any type, or of a size that nobody has."""
    matches = list(_VALUE.finditer(text))
    if not matches:
        return text
    match = matches[draw(st.integers(0, len(matches) - 1))]
    return text[: match.start()] + draw(st.sampled_from(VALUES)) + text[match.end() :]


def _key(draw: st.DrawFn, text: bytes) -> bytes:
    """One key gets another name: a typing error, one of another table, one with dots or of 3,000 letters."""
    matches = list(_KEY.finditer(text))
    if not matches:
        return text
    match = matches[draw(st.integers(0, len(matches) - 1))]
    names = [match[0][:-1], match[0] + b"s", b"id", b'""', b'"\\u0000"', b"a.b.c", b".".join([b"a"] * 40), b"k" * 3000]
    names += [other[0] for other in matches]
    return text[: match.start()] + draw(st.sampled_from(names)) + text[match.end() :]


def _lines(draw: st.DrawFn, text: bytes) -> bytes:
    """One line is lost, doubled, or stands elsewhere."""
    lines = text.splitlines(keepends=True)
    place, other = draw(st.integers(0, max(0, len(lines) - 1))), draw(st.integers(0, len(lines)))
    line = lines[place : place + 1]
    how = draw(st.sampled_from(["lost", "doubled", "moved", "a hundred"]))
    rest = lines if how == "doubled" else lines[:place] + lines[place + 1 :]
    return b"".join([*rest[:other], *({"lost": [], "a hundred": line * 100}.get(how, line)), *rest[other:]])


def _cut(draw: st.DrawFn, text: bytes) -> bytes:
    """The file ends too early."""
    return text[: draw(st.integers(0, len(text)))]


def _bytes(draw: st.DrawFn, text: bytes) -> bytes:
    """A few bytes are others, or are there in addition."""
    for _ in range(draw(st.integers(1, 3))):
        at, over = draw(st.integers(0, len(text))), draw(st.integers(0, 2))
        text = text[:at] + draw(st.sampled_from(BYTES) | st.binary(max_size=4)) + text[at + over :]
    return text


def _encoding(draw: st.DrawFn, text: bytes) -> bytes:
    """The file is saved by another editor."""
    said = text.decode("latin-1")
    return draw(
        st.sampled_from(
            [
                b"\xef\xbb\xbf" + text,
                said.encode("utf-16"),
                said.encode("utf-16-be"),
                said.encode("utf-32"),
                text.replace(b"\n", b"\r\n"),
                text.replace(b"\n", b"\r"),
                text.replace(b"\n", b"\0"),
                text.replace(b'"', b"\xe2\x80\x9c"),
                text + b"\x1a",
            ]
        )
    )


def _more(draw: st.DrawFn, text: bytes) -> bytes:
    """There is something at the end that does not belong there."""
    value = draw(st.sampled_from(VALUES))
    more = [b"x = " + value, b"[x]\ny = " + value, b"[[x]]", b"[" * 3000, b'{"a": ' * 3000, text, b"a" * 70_000]
    return text + b"\n" + draw(st.sampled_from(more)) + b"\n"


MUTATIONS: tuple[Mutation, ...] = (_value, _value, _value, _key, _lines, _cut, _bytes, _encoding, _more)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Kind, bytes]:
    """A kind of file, and the text of one with one to three things wrong."""
    kind = draw(st.sampled_from(KINDS))
    text = kind.text
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from(MUTATIONS))(draw, text)
    return kind, text
