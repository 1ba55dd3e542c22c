"""Lines of `fawkes run` on stderr: about shadow mode, and about its progress."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click
import pytest

from fawkes.cli.main import cli
from fawkes.cli.pool.run import listener, tell_shadow
from fawkes.config.site.site import Site
from fawkes.offline.runs.folder import copied
from tests.cli.offline.test_simulate import fawkes
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


@pytest.mark.parametrize(("quiet", "said"), [(True, ""), (False, "controls pool p\n")])
def test_lines_about_progress_are_shown_unless_the_user_is_quiet(
    quiet: bool, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with click.Context(cli) as context:
        context.params["quiet"] = quiet
        say = listener()
    # Outside of the command's context, as in a thread of the controller.
    say("controls pool p")
    assert capsys.readouterr().err == said


def test_a_controller_goes_on_when_nobody_reads_its_lines_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its reader may have ended (`| tee`), or the disk of its log be full."""
    say = listener()
    with open("/dev/full", "w") as full:
        monkeypatch.setattr("sys.stderr", full)
        say("stopping")
        monkeypatch.undo()
        with suppress(OSError):
            full.close()


def test_a_wrong_file_is_told_alone(tmp_path: Path) -> None:
    said = fawkes("--site", tmp_path, "run", "--shadow")
    assert said.exit_code == 2
    assert said.stderr.startswith(f"fawkes: {tmp_path}"), said.stderr
