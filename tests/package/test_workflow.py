"""The workflow file: what a fork runs is what the Makefile has, on the versions of Python that the package names."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
WORKFLOW: dict[str, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
COMMANDS = [step["run"] for job in WORKFLOW["jobs"].values() for step in job["steps"] if "run" in step]


def test_each_command_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    made = {command.split()[-1] for command in COMMANDS if "make" in command}
    assert {"check", "test-fast", "nightly"} == made
    assert made <= targets
    assert (ROOT / ".ci" / "run").is_file()
    assert "sudo .ci/run" in COMMANDS


def test_the_oldest_python_is_that_of_the_package() -> None:
    versions = WORKFLOW["jobs"]["fast"]["strategy"]["matrix"]["python"]
    oldest = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    assert oldest == f">={versions[0]}"
    assert len(versions) == len(set(versions)) > 1
