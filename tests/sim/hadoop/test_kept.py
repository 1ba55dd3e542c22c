"""Which model of Hadoop is taken, and where the compiled one is kept."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest

from fawkes.base.version import PACKAGE
from fawkes.offline.studies.flat import engine
from fawkes.sim.engines import compile_now, engine_for
from fawkes.sim.hadoop.compiled.kept import folder, is_kept, kept, pays, sources


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
    assert pays(tasks, loaded=loaded, kept=lambda: kept) is expected


def test_who_asks_for_an_engine_gets_it() -> None:
    assert [engine_for("readable", 10**9), engine_for("compiled", 1)] == ["readable", "compiled"]


def test_small_runs_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that has loaded it takes it; one that has not takes it once it would have paid."""
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.kept.is_loaded", lambda: False)
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.kept.is_kept", lambda: True)
    monkeypatch.setattr("fawkes.sim.engines._PROCESS.tasks", 0)
    assert [engine_for("auto", 600) for _ in range(4)] == ["readable", "readable", "compiled", "compiled"]


def more(value: int, by: float) -> int:
    return value + int(by)


def fails(value: int) -> int:
    if value:
        raise ValueError
    return value


def makes_an_array(value: int) -> int:
    return int(np.arange(value).sum())


def nothing_to_compile() -> Callable[..., int]:
    raise AssertionError("it is compiled again")


def test_it_is_kept_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path))
    assert folder().parent == tmp_path / "compiled"
    assert not is_kept()
    kept(lambda: more, folder(), (int, float))
    assert is_kept()
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.native.processor", lambda: "other")
    assert not is_kept()


@pytest.mark.slow
def test_whether_it_is_there_is_asked_only_where_it_would_pay() -> None:
    """To know it takes LLVM: a tenth of a second and 47 MB."""
    compile_now()
    look = (
        "import sys; from fawkes.sim.engines import engine_for; engine_for('auto', 1_499);"
        "print('llvmlite' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True).stdout == "False\n"


@pytest.mark.slow
def test_what_one_installation_compiled_is_there_for_the_next_one(tmp_path: Path) -> None:
    """A second environment once compiled for half a minute what was said to be there."""
    first = kept(lambda: more, tmp_path / "cache", (int, float))
    second = kept(nothing_to_compile, tmp_path / "cache", (int, float))
    assert (first(1, 1.5), second(2**40, -1.0)) == (2, 2**40 - 1)


@pytest.mark.slow
def test_code_is_compiled_again_where_its_file_is_damaged_or_of_another_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LLVM ends the process for half a file, and the processor for an instruction that it does not know."""
    kept(lambda: more, tmp_path, (int, float))
    [file] = tmp_path.iterdir()
    whole = file.read_bytes()
    for damage in (b"", whole[:-1], whole[:40] + b"x" + whole[41:]):
        file.write_bytes(damage)
        assert kept(lambda: more, tmp_path, (int, float))(1, 2.0) == 3
        assert kept(nothing_to_compile, tmp_path, (int, float))(1, 2.0) == 3
    monkeypatch.setattr("fawkes.sim.hadoop.compiled.native.processor", lambda: "other")
    with pytest.raises(AssertionError, match="compiled again"):
        kept(nothing_to_compile, tmp_path, (int, float))


@pytest.mark.slow
def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert kept(lambda: more, tmp_path / "file" / "cache", (int, float))(1, 1.0) == 2


@pytest.mark.slow
def test_what_python_gets_wrong_is_an_exception(tmp_path: Path) -> None:
    """The compiled function is called by Python's own interface: a wrong call must not end the process."""
    call = kept(lambda: more, tmp_path / "more", (int, float))
    for wrong in ((), (1,), (1, 1.0, 1), ("1", 1.0), (1, "1"), (2**63, 1.0), (1.5, 1.0)):
        with pytest.raises((TypeError, OverflowError)):
            call(*wrong)
    failing = kept(lambda: fails, tmp_path / "fails", (int,))
    assert failing(0) == 0
    with pytest.raises(SystemError):
        failing(1)


@pytest.mark.slow
def test_a_function_that_needs_numba_when_it_is_called_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"makes_an_array.* needs numba when it is called, for NRT_"):
        kept(lambda: makes_an_array, tmp_path, (int,))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_kept_code_is_called_without_numba() -> None:
    """numba takes a second and 150 MB of each process."""
    compile_now()
    look = "import sys; from fawkes.sim.hadoop.compiled.kept import entrance; entrance(); print('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=True, capture_output=True, text=True).stdout == "False\n"


def imported(files: Iterable[Path]) -> set[Path]:
    """The modules of the package that files import from, and the modules that they import from packages."""
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fawkes."):
                place = PACKAGE.joinpath(*(node.module or "").split(".")[1:])
                named = [place.with_suffix(".py"), *(place / f"{name.name}.py" for name in node.names)]
                found |= {path for path in named if path.is_file()}
    return found


def test_no_code_is_kept_under_the_name_of_other_code() -> None:
    """Constants are in the compiled code: one from a file that is not in its name would be used when it has changed."""
    flat = {path for name in engine.SOURCES for path in [PACKAGE / name, *(PACKAGE / name).rglob("*.py")]}
    own = [path for path in flat if path.is_relative_to(PACKAGE / engine.SOURCES[0]) and path.is_file()]
    here = [path for path in sources() if path.parent.name == "compiled"]
    # They find and write the file.
    without = {PACKAGE / "base" / f"{name}.py" for name in ("errors", "paths", "writing")}
    assert imported(own) - flat == set()
    assert imported(here) - set(sources()) == without
