from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fawkes.base.errors import ExitStatus, FawkesError, RefusedError
from fawkes.cli.demo.stage import MARK, own_folder, write_settings
from fawkes.config.site.site import Site
from fawkes.live.lab import name_of_site
from tests.live.lab.support import fawkes, traces
from tests.support.waiting import wait_for


def test_a_folder_is_made_and_emptied_the_next_time(tmp_path: Path) -> None:
    with own_folder(tmp_path / "a" / "demo") as folder:
        (folder / "state").mkdir()
        (folder / "state" / "ledger.sqlite").touch()
        (folder / "link").symlink_to(tmp_path)
    with own_folder(tmp_path / "a" / "demo") as folder:
        assert sorted(path.name for path in folder.iterdir()) == [MARK, ".gitignore"]
    assert tmp_path.exists()


def test_somebody_elses_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(RefusedError, match="not empty and is not from a demo"), own_folder(tmp_path):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_two_demos_do_not_share_a_folder(tmp_path: Path) -> None:
    with own_folder(tmp_path / "demo") as folder:
        (folder / "kept").touch()
        with pytest.raises(RefusedError, match="another demo is running"), own_folder(folder):
            pass
        assert (folder / "kept").exists()


def test_settings_are_what_the_workload_says(tmp_path: Path) -> None:
    said = {"preset": "demo", "tau": 1.5, "ssh": {"fanout": 8}, "policy_parameters": {"psi": 0.5}, "policy": 'a "b" ü'}
    write_settings(Site(tmp_path), said, "some/file.toml")
    text = (tmp_path / "fawkes.toml").read_text()
    assert tomllib.loads(text) == said
    assert text.startswith("# From some/file.toml\n")


@pytest.mark.parametrize(
    ("words", "status", "what"),
    [
        (["wkld-x"], ExitStatus.USAGE, "there is no workload 'wkld-x'"),
        (["--policy", "TX"], ExitStatus.USAGE, "there is no"),
        (["--hosts", "3"], ExitStatus.USAGE, "8 hosts are more than the 3 of the pool"),
        (["--hosts", "100000"], ExitStatus.USAGE, "100000 hosts"),
    ],
)
@pytest.mark.lab
def test_what_cannot_be_played_is_refused_and_leaves_nothing(
    words: list[str], status: int, what: str, tmp_path: Path
) -> None:
    done = fawkes("demo", *words, "--site", tmp_path / "demo")
    assert done.returncode == status, done.stderr
    assert what in done.stderr
    assert not traces(name_of_site(tmp_path / "demo"))


HOLD = """
import sys, time
from pathlib import Path
from fawkes.config.site.site import Site
from fawkes.cli.demo.stage import controller_of, lab_of
from fawkes.live.lab import LabSpec
site = Site(Path(sys.argv[1]))
with lab_of(LabSpec(hosts=2, site=site.root, nodemanager_memory_bytes=64_000_000), print) as lab:
    with controller_of(lab, site) as client:
        print(len(client.rows("nodes")), flush=True)
        sys.stdin.read()
"""


@pytest.fixture
def site(tmp_path: Path) -> Site:
    root = tmp_path / "demo"
    root.mkdir()
    write_settings(Site(root), {"preset": "demo"}, "a test")
    return Site(root)


@pytest.mark.lab
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.nightly),
        pytest.param(None, marks=pytest.mark.nightly),
    ],
)
def test_lab_and_controller_end_with_their_process(number: int | None, site: Site) -> None:
    """However it ends: killed, interrupted, or done."""
    name = name_of_site(site.root)
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(site.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "2\n"
        assert any("fawkes --site" in trace for trace in traces(name))
        if number is not None:
            os.kill(process.pid, number)
    wait_for(lambda: not traces(name), "the end of lab and controller")


@pytest.mark.lab
def test_a_controller_that_ends_at_once_says_why(site: Site) -> None:
    from fawkes.cli.demo.stage import controller_of, lab_of
    from fawkes.live.lab import LabSpec

    spec = LabSpec(hosts=1, site=site.root, nodemanager_memory_bytes=64_000_000)
    with lab_of(spec, lambda text: None) as lab:
        site.settings_file.write_text('preset = "dmeo"\n')
        with pytest.raises(FawkesError, match="there is no preset 'dmeo'"), controller_of(lab, site):
            pass
