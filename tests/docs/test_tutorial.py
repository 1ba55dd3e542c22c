"""The tutorials as a reader would type them, and what their sentences promise."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.conftest import INVENTORY
from tests.docs.pages import ROOT, blocks
from tests.report.web.browser import browser, there

ADMINISTRATOR = ROOT / "docs" / "tutorial-admin.md"
RESEARCHER = ROOT / "docs" / "tutorial-researcher.md"


@pytest.mark.drill
def test_the_day_of_a_researcher_as_it_is_printed(tmp_path: Path) -> None:
    """All blocks in one shell that stops at the first failure, far from the project's folder."""
    script = "\n".join(blocks(RESEARCHER, "sh"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "HOME": str(tmp_path)}
    ran = subprocess.run(
        ["sh", "-e", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    research = tmp_path / "research"
    for promised in (
        "first/nodes-over-time.png", "bursts-td/nodes-over-time.png", "compared/table.csv", "compared/runs.csv",
        "compared/slowdowns.pdf", "compared/slowdowns.png", "compared/changes.png", "settings/table.csv",
        "machines/table.csv", "facebook/run.json",
    ):  # fmt: skip
        assert (research / promised).stat().st_size > 0, promised
    compared = (research / "compared" / "table.csv").read_text().splitlines()
    assert {line.split(",")[0] for line in compared[1:]} == {"TD", "EQ", "None (policy)", "BACKLOG"}
    assert json.loads((research / "facebook" / "run.json").read_text())


@pytest.mark.slow
@pytest.mark.skipif(not there(), reason="chromium or chromedriver is missing (packages chromium, chromium-driver)")
def test_the_administrator_drains_a_node_in_the_browser_as_it_is_printed(tmp_path: Path) -> None:
    """Section 5, beside a real controller whose nodes do not answer."""
    inventory = INVENTORY.replace("node[01-05]", "node[05-06]").replace("[ssh]", "[ssh]\nport = 9")
    (tmp_path / "inventory.toml").write_text(inventory)
    (tmp_path / "fawkes.toml").write_text("")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    tokens, web, events, undrain = (
        block.replace("[web]\\n", f'[web]\\naddress = "127.0.0.1:{port}"\\n').replace(":8042", f":{port}")
        for block in blocks(ADMINISTRATOR, "sh")
        if any(word in block for word in ("tokens", "fawkes web", "--since 5m", "/api/")) and "--wait" not in block
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def typed(command: str) -> str:
        done = subprocess.run(
            ["sh", "-ec", command], cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ExitStack() as stack:
        for command, ready in (("fawkes run", b"controls pool"), (web, b"until Ctrl-C")):
            if command == web:
                typed(tokens)
            process = subprocess.Popen(
                ["sh", "-c", f"exec {command}"], cwd=tmp_path, env={**os.environ, "PATH": path}, stderr=subprocess.PIPE
            )
            stack.enter_context(process)
            stack.callback(process.terminate)
            assert process.stderr is not None
            while ready not in process.stderr.readline():
                assert process.poll() is None
        vera, olaf = (line.split()[2] for line in (tmp_path / "tokens").read_text().splitlines())
        window = stack.enter_context(browser())
        window.open(f"http://127.0.0.1:{port}/?key={vera}").until(
            "document.querySelector('[data-node=node06]')?.dataset.node"
        )
        window.panel(olaf, "drain", node="node06", reason="a new fan")
        window.run("document.querySelector('#act-do').click()")
        window.until("document.querySelector('#act-answer').textContent.startsWith('Accepted')")
        assert "by token olaf" in typed(events)
        assert json.loads(typed(undrain))["ok"]
