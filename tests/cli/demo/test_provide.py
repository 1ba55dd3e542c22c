"""The demo gets all that its lab will need before there is a lab."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from fawkes.cli.main import cli
from fawkes.playbook.dist.compile.compiled import DOORS
from fawkes.playbook.dist.pieces import Piece
from fawkes.playbook.dist.pins import pin
from tests.support.cached import make

CLUSTER = '[[cluster]]\nid = "a"\nmin_nodes = 1\nreplication = 1\n'
PIG_JOB = '[[job]]\nid = "p"\ncluster = "a"\nkind = "pig"\npig = "p.pig"\n'


def played(tmp_path: Path, text: str) -> Result:
    workload = tmp_path / "w.toml"
    workload.write_text(text)
    return CliRunner().invoke(cli, ["demo", str(workload), "--site", str(tmp_path / "site")])


@pytest.mark.parametrize(
    ("text", "there"),
    [
        (CLUSTER, ()),
        (CLUSTER, (pin("3.5.0"),)),
        (f'{CLUSTER}security = "kerberos"\n', (pin("3.5.0"), DOORS)),
        (f"{CLUSTER}{PIG_JOB}", (pin("3.5.0"), DOORS)),
    ],
    ids=["Hadoop", "doors", "Kerberos", "Pig"],
)
def test_what_cannot_be_had_ends_the_demo_before_there_is_a_lab(
    text: str, there: tuple[Piece, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The controller inside would find it missing only after nodes were given, without any network to fetch it by."""
    monkeypatch.setenv("FAWKES_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    for piece in there:
        make(piece)
    ended = played(tmp_path, text)
    assert ended.exit_code == 1, ended.output
    assert "Maven is not installed" in ended.stderr
    assert "hosts and data" not in ended.stderr
