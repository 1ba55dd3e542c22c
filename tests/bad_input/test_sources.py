"""Whatever becomes of another tool's inventory: a command that reads it works, or names the file and the key."""

from __future__ import annotations

import json
import re
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bad_input.mutations import MUTATIONS
from tests.bad_input.support import INVENTORY, REQUEST, Ended, changed, lay_out, run_here, tree
from tests.support.examples import examples

DATA = Path(__file__).parents[1] / "config" / "nodes" / "data"
ANSIBLE = """pool = "p"
[from]
ansible = "hosts.json"
[[group]]
name = "r1"
nodes = "@ansible:rack1,@ansible:rack2"
"""
SLURM = """pool = "p"
[ssh]
user = "hadoop"
[from]
slurm = "nodes"
[[group]]
name = "r1"
nodes = "@slurm:batch,@slurm:gpu!gpu[01-02],spare"
address = "10.0.0.[1-4]"
disk = "1TB"
work_dir = "/w"
[node.spare]
cores = 1
memory = "1GB"
"""
HOST = {
    "ansible_user": "hadoop",
    "ansible_port": 22,
    "ansible_ssh_common_args": "-o ProxyJump=a@login:2222 -J b",
    "fawkes_cores": "8",
    "fawkes_memory": "16GB",
    "fawkes_disk": "1TB",
    "fawkes_core": "true",
    "fawkes_capacity": 0.5,
    "fawkes_work_dir": "/w",
    "fawkes_attributes": {"rack": "r1"},
}
HOSTS = {
    "_meta": {"hostvars": {"n1": {**HOST, "ansible_host": "192.0.2.1"}, "n2": HOST, "n3": HOST}},
    "all": {"children": ["rack1", "rack2"]},
    "rack1": {"hosts": ["n1", "n2"]},
    "rack2": {"hosts": ["n3"], "children": ["rack3"]},
    "rack3": {},
}
KINDS = (
    ("inventory.toml", {"inventory.toml": ANSIBLE.encode(), "hosts.json": json.dumps(HOSTS).encode()}),
    ("hosts.json", {"inventory.toml": ANSIBLE.encode(), "hosts.json": json.dumps(HOSTS).encode()}),
    ("inventory.toml", {"inventory.toml": SLURM.encode(), "nodes": (DATA / "slurm-24.11.txt").read_bytes()}),
    ("nodes", {"inventory.toml": SLURM.encode(), "nodes": (DATA / "slurm-22.05-oneline.txt").read_bytes()}),
    ("nodes", {"inventory.toml": SLURM.encode(), "nodes": (DATA / "slurm-24.11.json").read_bytes()}),
)
_WORD = re.compile(rb"(?<=[\s\"])[A-Za-z_]+(?=[=\"])")
_MORE = (
    b"\x00",
    b'"\\u0000"',
    b"null",
    b"{{ x }}",
    b"$ANSIBLE_VAULT;1.1",
    b"[" * 5000,
    b"n[1-1000000]",
    b"@ansible:all",
)

Drawn = tuple[str, dict[str, bytes]]


def _other_word(draw: st.DrawFn, text: bytes) -> bytes:
    """One word of the file becomes another one of it, or something that another tool would understand."""
    words = list(_WORD.finditer(text))
    if not words:
        return text
    place = words[draw(st.integers(0, len(words) - 1))]
    other = draw(st.sampled_from([*_MORE, *(word[0] for word in words[:40])]))
    return text[: place.start()] + other + text[place.end() :]


@st.composite
def sources(draw: st.DrawFn) -> Drawn:
    """The name of a file with one to three things wrong, and all files of the site."""
    name, files = draw(st.sampled_from(KINDS))
    text = files[name]
    for _ in range(draw(st.integers(1, 3))):
        text = draw(st.sampled_from([*MUTATIONS, _other_word, _other_word]))(draw, text)
    return name, {**files, name: text}


def read(folder: Path, files: dict[str, bytes]) -> Ended:
    lay_out(folder, files)
    before = tree(folder)
    done = run_here(folder, REQUEST)
    assert changed(before, tree(folder)) == set()
    return done


@contextmanager
def objects(*, most_bytes: int) -> Iterator[None]:
    """Fails when what is made within takes more at any time; the names of a million nodes alone take 65 MB."""
    tracemalloc.start()
    try:
        yield
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak_bytes < most_bytes


@pytest.mark.parametrize("files", [files for _, files in KINDS])
def test_what_is_made_worse_is_good(files: dict[str, bytes], tmp_path: Path) -> None:
    lay_out(tmp_path, {**files, "clusters/c.toml": "min_nodes = 1\nreplication = 1\n"})
    done = run_here(tmp_path, REQUEST)
    assert done.exit == 0, done.stderr


@pytest.mark.parametrize(
    "files",
    [
        {"inventory.toml": INVENTORY.replace("node[01-03]", "node[1-1000000]")},
        {"inventory.toml": INVENTORY.replace("node[01-03]", "@node[1-1000000]")},
    ],
)
def test_a_million_nodes_are_refused_before_they_are_named(files: dict[str, str], tmp_path: Path) -> None:
    lay_out(tmp_path, files)
    with objects(most_bytes=40_000_000):
        done = run_here(tmp_path, REQUEST)
    assert done.exit == 2
    assert "1,000,000" in done.stderr


@pytest.mark.slow
@settings(
    max_examples=examples(1000),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)
@given(sources())
def test_a_source_with_something_wrong_is_read_or_refused(drawn: Drawn) -> None:
    name, files = drawn
    with tempfile.TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")  # a file that is not a recorded output any more is one for Ansible
        # A file of another tool is read into 64 MB.
        with objects(most_bytes=120_000_000):
            done = read(Path(place), {**files, "clusters/c.toml": b"min_nodes = 1\nreplication = 1\n"})
        said = done.stdout + done.stderr
        assert "Traceback" not in said
        assert "defect in Fawkes" not in said
        assert done.exit in (0, 2), said
        if done.exit == 2:
            assert done.stdout == ""
            # What the tool does not say any more is missed in the inventory of Fawkes, which may name another file.
            other = name == "inventory.toml" and re.match(r"fawkes: [^:\n]+: (is|cannot be) ", done.stderr)
            assert other or any(file in done.stderr for file in (name, "inventory.toml", "c.toml")), said
