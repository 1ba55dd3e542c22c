"""The hooks that the documentation shows, played with a fake sendmail and a fake scontrol."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fawkes.base.units import SECOND_US
from fawkes.core.values.model import NodeId
from fawkes.live.base import hooks as running
from fawkes.live.base.hooks import ALERT, HookError, Hooks
from tests.support.waiting import wait_for

PAGE = Path(__file__).parents[2] / "docs/howto/hooks.md"
EXAMPLES = dict(re.findall(r"<!-- hook: ([a-z-]+) -->\n\n```sh\n(.*?)```", PAGE.read_text(), re.DOTALL))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    programs, folder = tmp_path / "bin", tmp_path / "hooks"
    for made in (programs, folder):
        made.mkdir()
    for name, text in EXAMPLES.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (programs / "sendmail").write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/sendmail\ncat >>{tmp_path}/mail\n')
    (programs / "scontrol").write_text(
        f'#!/bin/sh\necho "$@" >>{tmp_path}/scontrol\n[ "$1" = update ] || cat {tmp_path}/state\n'
    )
    for name in ("sendmail", "scontrol"):
        (programs / name).chmod(0o755)
    monkeypatch.setattr("os.defpath", f"{programs}:/bin:/usr/bin")
    return tmp_path


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_the_page_has_the_hooks_that_it_names() -> None:
    assert set(EXAMPLES) == {"alert", "before-join", "after-wipe"}
    for name in running.NAMES:
        assert f"| `{name}` |" in PAGE.read_text()


def test_an_alert_becomes_a_mail(site: Path) -> None:
    hooks = Hooks(site / "hooks", 20 * SECOND_US)
    hooks.tell(ALERT, {"node": "n1", "text": "does not answer"})
    wait_for(lambda: "does not answer" in "".join(lines(site / "mail")), "the mail")
    assert lines(site / "mail")[:2] == ["To: hpc-admins@example.org", "Subject: Fawkes: alert"]
    assert lines(site / "sendmail") == ["-t"]
    hooks.close()


def test_slurm_drains_a_node_and_has_it_back_after_the_wipe(site: Path) -> None:
    hooks = Hooks(site / "hooks", 20 * SECOND_US)
    (site / "state").write_text("NodeName=n1 State=MIXED+DRAIN\n")
    with pytest.raises(HookError, match="jobs of Slurm still run on n1"):
        hooks.before_join("c", {NodeId("n1"): 1}, "core")
    (site / "state").write_text("NodeName=n1 State=IDLE+DRAIN\n")
    hooks.before_join("c", {NodeId("n1"): 1}, "core")
    assert lines(site / "scontrol")[-2:] == ["update NodeName=n1 State=DRAIN Reason=Fawkes", "show node n1"]
    hooks.tell(running.AFTER_WIPE, {"node": "n1", "state": "freed"})
    wait_for(lambda: lines(site / "scontrol")[-1] == "update NodeName=n1 State=RESUME", "the node is back")
    hooks.close()
