"""All that an MR-cluster needs: made where there is nothing yet but a release and what Maven has."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from fawkes.base.errors import FawkesError
from fawkes.base.paths import cache_dir
from fawkes.playbook.dist.compile.compiled import DOORS, JavaCode, is_made, place_of
from fawkes.playbook.dist.pieces import COMPILED, is_there, of_cluster, of_name, provide, there

pytestmark = pytest.mark.hadoop


@pytest.mark.nightly
def test_all_is_made_on_a_bare_machine_and_without_network_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dist").symlink_to(cache_dir() / "dist")
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    said: list[str] = []
    made = provide(of_name("3.5.0"), say=said.append)
    assert made == list(COMPILED.values())
    assert [line for line in said if line.startswith("compiling")] == [f"compiling {code.title}" for code in made]
    for code in COMPILED.values():
        assert any(name.endswith(".class") for name in zipfile.ZipFile(place_of(code)).namelist())
        assert [path.name for path in place_of(code).parent.iterdir()] == [code.jar]
    assert provide(of_name("3.5.0"), say=said.append) == []

    monkeypatch.setenv("PATH", _without_maven(tmp_path))
    place_of(DOORS).unlink()
    assert provide(of_cluster("3.5.0"), say=said.append) == [DOORS]
    assert all(is_there(piece) for piece in of_cluster("3.5.0", kerberos=True))
    assert {"3.5.0", "doors", "kerberos", "load", "tasks", "copies"} <= set(there())


def _without_maven(folder: Path) -> str:
    """A PATH on which there is Java, but not Maven."""
    programs = folder / "programs"
    programs.mkdir()
    java = shutil.which("java")
    assert java is not None
    (programs / "java").symlink_to(java)
    return str(programs)


@pytest.mark.parametrize("code", COMPILED.values(), ids=list(COMPILED))
def test_what_cannot_be_compiled_leaves_nothing(
    code: JavaCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dist").symlink_to(cache_dir() / "dist")
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", _without_maven(tmp_path))
    with pytest.raises(FawkesError, match="Maven is not installed"):
        provide([code])
    assert not is_made(code)
    assert not place_of(code).parent.exists()
