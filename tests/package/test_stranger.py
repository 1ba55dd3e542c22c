"""CI types what README.md prints, so that the first commands of a stranger cannot drift from what is tried."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from tests.package.running import ROOT

STRANGER = ROOT / "scripts" / "stranger"


def printed(letter: str) -> list[str]:
    """The commands of README's way in of this letter, in its blocks and in its sentences."""
    (way,) = re.findall(rf"^### \({letter}\) .*?(?=^#)", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    blocks = re.findall(r"^```sh\n(.*?)^```", way, re.MULTILINE | re.DOTALL)
    return [*"".join(blocks).splitlines(), *re.findall(r"`(fawkes [^`]*)`", re.sub(r"(?s)```.*?```", "", way))]


@pytest.mark.parametrize(("part", "letter", "first"), [("picture", "a", "python3 -m venv"), ("demo", "b", "make demo")])
def test_a_stranger_types_what_the_readme_prints(part: str, letter: str, first: str) -> None:
    done = subprocess.run([STRANGER, "--print", part], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == printed(letter)
    assert done.stdout.startswith(first)


def test_what_is_fetched_ahead_needs_the_standard_library_alone() -> None:
    """It runs before there is a virtual environment, and ``make`` goes on without it."""
    program = (ROOT / "scripts" / "prefetch").read_text().partition("<<'EOP'")[2].partition("\n")[2]
    imports = program[: program.index("wanted =")]
    bare = [sys.executable, "-I", "-S", "-c", imports, str(ROOT)]
    done = subprocess.run(bare, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "compiler" in imports


def test_a_part_that_nobody_knows_is_refused_before_anything_is_done() -> None:
    done = subprocess.run([STRANGER, "demos"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert "knows picture, demo and wheel, not demos" in done.stderr
