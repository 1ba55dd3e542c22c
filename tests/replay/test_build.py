"""The jar of load jobs: made where there is none yet, from nothing but a release and what Maven has."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from fawkes.paths import cache_dir
from fawkes.replay.build import JAR, load_jar

pytestmark = pytest.mark.hadoop


def test_the_jar_is_made_on_a_bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dist").symlink_to(cache_dir() / "dist")
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    said: list[str] = []
    jar = load_jar(said.append)
    assert jar.name == JAR
    assert tmp_path in jar.parents
    assert "compiling the load jobs" in said
    assert any(name.endswith(".class") for name in zipfile.ZipFile(jar).namelist())
    assert [path.name for path in jar.parent.iterdir()] == [JAR]
    assert load_jar(said.append) == jar
    assert said.count("compiling the load jobs") == 1
