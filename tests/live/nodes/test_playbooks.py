"""A site's own playbooks: read when its settings name them, refused when they could not do their work, shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from fawkes.base.errors import ConfigError, RefusedError, UserError
from fawkes.config.site.site import Site
from fawkes.live.hadoop.own_code import open_to_others, own_code
from fawkes.live.nodes.playbooks import node, played, site_playbooks

OURS = Path(__file__).parents[3] / "playbooks"
FILE = Path("fawkes.toml")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "playbooks").mkdir(mode=0o755)
    return tmp_path


def write(root: Path, name: str, text: str, mode: int = 0o644) -> Path:
    path = root / "playbooks" / f"{name}.py"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_playbook_of_the_site_is_played_in_the_place_of_ours(root: Path) -> None:
    write(root, "node", (OURS / "node.py").read_text() + "\nTOOLS = ('mine',)\n")
    ours = node.TOOLS
    with played(site_playbooks(["node"], root, FILE)):
        assert list(node.TOOLS) == ["mine"]
    assert ours == node.TOOLS
    with played(site_playbooks([], root, FILE)):
        assert ours == node.TOOLS, "a file that nobody asked for replaces nothing"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nodes", r"toml: playbooks: there is no playbook 'nodes'. A site may replace lease"),
        ("job", "has no file .*job.py"),
    ],
)
def test_a_name_without_a_file_is_refused(root: Path, name: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        site_playbooks([name], root, FILE)


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_that_others_can_change_is_refused(root: Path, mode: int) -> None:
    write(root, "node", "", mode)
    with pytest.raises(RefusedError, match=r"node.py: other users can change this"):
        site_playbooks(["node"], root, FILE)
    write(root, "node", "", 0o644)
    (root / "playbooks").chmod(0o777)
    with pytest.raises(RefusedError, match="other users can change this"):
        site_playbooks(["node"], root, FILE)


def test_one_that_lacks_a_step_is_refused_before_anything_is_done(root: Path) -> None:
    text = (OURS / "node.py").read_text()
    for broken in (text.replace("def wipe(", "def wype("), text.replace("def wipe(lease", "def wipe(leese")):
        write(root, "node", broken)
        with pytest.raises(ConfigError, match="wipe as Fawkes calls it"), played(site_playbooks(["node"], root, FILE)):
            pass
    write(root, "node", "1 / 0\n")
    with (
        pytest.raises(UserError, match="cannot be loaded: ZeroDivisionError"),
        played(site_playbooks(["node"], root, FILE)),
    ):
        pass
    assert node.TOOLS


def test_what_replaces_our_code_is_shown(root: Path) -> None:
    site = Site(root)
    (root / "policies").mkdir()
    (root / "policies" / "td.py").write_text('NAME = "TD"\ndef measure(window): return 1\n')
    mine = write(root, "node", (OURS / "node.py").read_text())
    other = write(root, "job", "")
    site.settings_file.write_text('policy = "TD"\nplaybooks = ["node"]\n')
    lines = "\n".join(own_code(site, site.settings()))
    assert f"weighting policy: {root}/policies/td.py, in the place of TD that came with Fawkes; it runs in a" in lines
    assert f"playbook node: {mine}, in the place of" in lines
    assert f'{other} is not used: write playbooks = ["job"]' in lines


def test_a_site_without_code_of_its_own_says_nothing(root: Path) -> None:
    assert list(own_code(Site(root), Site(root).settings())) == []


def test_a_site_that_others_can_change_is_told(root: Path) -> None:
    site = Site(root)
    root.chmod(0o755)
    site.settings_file.write_text("")
    site.settings_file.chmod(0o644)
    assert list(open_to_others(site)) == []
    site.settings_file.chmod(0o666)
    (line,) = open_to_others(site)
    assert line.startswith(
        f"other users can change {site.settings_file}, and so what this controller does: `chmod go-w"
    )
