"""Which model of Hadoop is taken, and where the compiled one is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.sim.engines import engine_for
from fawkes.sim.hadoop.compiled.kept import folder, is_kept, pays


@pytest.mark.parametrize(
    ("tasks", "loaded", "kept", "expected"),
    [
        (1, True, True, True),
        (1, True, False, True),
        (1_000, False, True, False),
        (50_000, False, True, True),
        (50_000, False, False, False),
        (5_000_000, False, False, True),
    ],
)
def test_it_pays_when_the_run_is_large_or_it_is_there(tasks: int, loaded: bool, kept: bool, expected: bool) -> None:
    assert pays(tasks, loaded=loaded, kept=kept) is expected


def test_who_asks_for_an_engine_gets_it() -> None:
    assert [engine_for("readable", 10**9), engine_for("compiled", 1)] == ["readable", "compiled"]


def test_small_runs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded it takes it; one that has not takes it once it would have paid."""
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.kept.is_loaded", lambda: False)
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.kept.is_kept", lambda: True)
    monkeypatch.setattr("fawkes.sim.engines._PROCESS.tasks", 0)
    assert [engine_for("auto", 3_000) for _ in range(4)] == ["readable", "readable", "compiled", "compiled"]


def test_it_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    assert folder().parent == tmp_path / "compiled"
    assert not is_kept()
    (folder() / "of-numba").mkdir(parents=True)
    (folder() / "of-numba" / "run.nbi").touch()
    assert is_kept()
