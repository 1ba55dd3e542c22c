from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from fawkes.playbook.dist import manifest
from fawkes.playbook.dist.pins import Pin
from tests.playbook.dist.helpers import JARS


@pytest.fixture
def small(tmp_path: Path) -> Pin:
    """A version of two small jars."""
    folder = tmp_path / "pins"
    folder.mkdir()
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in JARS.items()}
    (folder / "hadoop-1.0.0.sha256").write_text(manifest.render(digests))
    return Pin("1.0.0", min_java=11, max_java=22, pinned_in=folder)


@pytest.fixture
def cache_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "dist"
