from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from fawkes.workload.btworld.definition import folder


def program(name: str) -> ModuleType:
    """A program that goes to an MR-cluster, as a module."""
    spec = importlib.util.spec_from_file_location(f"programs.{name}", folder() / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def made(folder: Path, size: int, **how: int) -> Path:
    """Records in a folder."""
    folder.mkdir()
    program("scrapes").write(folder, size, **how)
    return folder
