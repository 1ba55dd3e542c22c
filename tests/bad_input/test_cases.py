"""Each case of the table ends with the right exit code and a line that names what is wrong, and leaves nothing."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path

import pytest

from tests.bad_input import inventories, requests, scenarios, site_settings, workloads
from tests.bad_input.read_cases import cases
from tests.bad_input.support import (
    REQUEST,
    TABLE,
    Case,
    Ended,
    changed,
    lay_out,
    run_apart,
    run_here,
    tree,
)

CASES = (*cases(), *inventories.CASES, *site_settings.CASES, *requests.CASES, *scenarios.CASES, *workloads.CASES)
NOBODY = 65534


RISKY = [case for case in CASES if case.risky]
#: each has a process of its own, which takes a second: some of each group play in `make test`, the others by night
FIRST = [case for _, cases in groupby(RISKY, key=lambda case: case.group) for case in islice(cases, 2)]


def named(cases: Iterable[Case]) -> list[object]:
    night = [case for case in RISKY if case not in FIRST]
    return [
        pytest.param(case, id=f"{case.group}: {case.name}", marks=[pytest.mark.nightly] if case in night else [])
        for case in cases
    ]


def assert_ends_as_it_must(case: Case, folder: Path, run: Callable[[Path], Ended]) -> None:
    lay_out(folder, case.files, case.prepare)
    before = tree(folder)
    done = run(folder)
    said = done.stdout + done.stderr
    assert "Traceback" not in said
    assert "defect in Fawkes" not in said
    assert done.exit == case.exit, said
    assert case.says in done.stderr
    if case.exit == 2:
        assert done.stdout == ""
    assert {Path(name).parts[0] for name in changed(before, tree(folder))} == set(case.writes)


def test_each_case_has_a_name_of_its_own() -> None:
    names = [(case.group, case.name) for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.slow
@pytest.mark.parametrize("case", named(case for case in CASES if not case.risky))
def test_a_case_ends_with_a_message(case: Case, tmp_path: Path) -> None:
    assert_ends_as_it_must(case, tmp_path, lambda folder: run_here(folder, case.args, case.stdin))


@pytest.mark.slow
@pytest.mark.parametrize("case", named(RISKY))
def test_a_case_that_could_hang_ends_in_time_and_in_little_memory(case: Case, tmp_path: Path) -> None:
    assert_ends_as_it_must(case, tmp_path, lambda folder: run_apart(folder, case.args))


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder that nobody in particular may enter, and for a while their rights."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        os.seteuid(os.getuid())
        shutil.rmtree(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may become somebody else")
@pytest.mark.parametrize(
    ("args", "place", "says"),
    [
        (REQUEST, "inventory.toml", "inventory.toml: cannot be read (permission denied)"),
        (
            ("workload", "convert", "w", "--out", "closed/x"),
            "closed",
            "closed/x: cannot be written (Permission denied)",
        ),
    ],
    ids=["a file without rights to read it", "a folder without rights to write into it"],
)
def test_without_rights_there_is_a_message(args: tuple[str, ...], place: str, says: str) -> None:
    with as_nobody() as folder:
        lay_out(folder, {"w": TABLE}, lambda site: (site / "closed").mkdir())
        # Once with all rights, so that everything is imported.
        run_here(folder, args)
        (folder / "closed" / "x").unlink(missing_ok=True)
        (folder / place).chmod(0o755 if (folder / place).is_dir() else 0o000)
        before = tree(folder)
        os.seteuid(NOBODY)
        done = run_here(folder, args)
        os.seteuid(os.getuid())
        assert (done.exit, done.stdout) == (2, ""), done.stderr
        assert says in done.stderr
        assert tree(folder) == before
