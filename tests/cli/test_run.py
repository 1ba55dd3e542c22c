"""`fawkes run --shadow` says what shadow mode is, and what to do where there is nothing to watch."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.cli.run import tell_shadow
from fawkes.config.site import Site
from fawkes.offline.ledger import copied
from tests.support.desk import Desk

NOTHING = "this site has no MR-cluster yet"


def test_a_new_site_has_nothing_to_watch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tell_shadow(Site(tmp_path))
    said = capsys.readouterr().err
    assert "It refuses `fawkes request`" in said
    assert NOTHING in said
    assert not (tmp_path / "state").exists()


def test_a_site_with_an_mr_cluster_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    desk = Desk(4)
    desk.up("a")
    copied(desk.store, tmp_path / "state")
    tell_shadow(Site(tmp_path))
    assert NOTHING not in capsys.readouterr().err
