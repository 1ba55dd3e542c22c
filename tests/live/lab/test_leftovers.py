"""Traces of a lab: nothing but its site folder stays, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from fawkes.base.errors import ExitStatus, FawkesError, RefusedError
from fawkes.live.lab import Lab, LabSpec, down, up
from fawkes.live.lab.folder import LabFolder
from tests.live.lab.conftest import SMALL
from tests.live.lab.support import FAWKES, fawkes, links, output_of, traces
from tests.support.waiting import wait_for

pytestmark = pytest.mark.lab


def spec_at(site: Path, hosts: int = 2) -> LabSpec:
    return LabSpec(hosts=hosts, site=site, nodemanager_memory_bytes=SMALL)


@pytest.mark.nightly
def test_down_leaves_the_site_folder_alone(tmp_path: Path) -> None:
    before = links()
    lab = up(spec_at(tmp_path / "lab", hosts=3))
    assert traces(lab.name)
    assert links() == before
    lab.pause("node01")
    lab.cut("node02")
    lab.kill("node03")
    with lab.popen(["sh", "-c", "echo inside; exec sleep 1000"], stdout=subprocess.PIPE) as inside:
        assert inside.stdout is not None
        assert inside.stdout.readline() == b"inside\n"
        lab.down()
        assert inside.wait(10) == -signal.SIGKILL
    assert traces(lab.name) == []
    assert links() == before
    assert not LabFolder(lab.name).path.exists()
    names = ["id_ed25519", "inventory.toml", "known_hosts", "lab.json", "ssh_config"]
    assert sorted(file.name for file in lab.site.iterdir()) == names
    assert down(lab.name) is False


@pytest.mark.nightly
def test_the_next_lab_of_the_folder_has_the_same_user_key_and_new_disks(tmp_path: Path) -> None:
    with up(spec_at(tmp_path / "lab")) as lab:
        key = (lab.site / "id_ed25519").read_text()
        output_of(lab, "node01", "touch /srv/old")
    with up(spec_at(tmp_path / "lab")) as lab:
        assert (lab.site / "id_ed25519").read_text() == key
        assert output_of(lab, "node01", "ls /srv") == "dist"


MOMENTS = {
    "locked": "lock",
    "keys made": "hosts/node30",
    "blueprint written": "blueprint.json",
    "warden started": "warden.log",
    "first host begun": "hosts/node01/sshd.log",
    "last host begun": "hosts/node40/sshd.log",
    "warden listens": "control.sock",
    "state written": "lab.json",
}


#: while there is something that runs; `make nightly` has all moments
_ALWAYS = ("first host begun",)
_MOMENTS = [pytest.param(each, marks=[] if each in _ALWAYS else [pytest.mark.nightly]) for each in MOMENTS]


@pytest.mark.parametrize("moment", _MOMENTS)
def test_a_killed_up_leaves_nothing(tmp_path: Path, moment: str) -> None:
    site = tmp_path / "lab"
    folder = LabFolder(spec_at(site).name)
    before = links()
    arguments = ["lab", "up", "--hosts", "40", "--site", str(site), "--nodemanager-memory", "64MB"]
    process = subprocess.Popen([*FAWKES, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for(lambda: (folder.path / MOMENTS[moment]).exists() or process.poll() is not None, moment)
        process.kill()
        process.communicate()
        wait_for(lambda: _is_up(folder) or traces(folder.name) == [], "everything to end, or to be as it should")
        # At the last moments the lab may have been allowed to outlive its `lab up`; then it is whole.
        if _is_up(folder):
            assert moment in ("warden listens", "state written")
            assert len(Lab(folder.name, site).status()) == 40
            down(folder.name)
            assert traces(folder.name) == []
        assert links() == before
    finally:
        down(folder.name)
    with up(spec_at(site, hosts=1)) as lab:
        assert output_of(lab, "node01", "hostname") == "node01"


def _is_up(folder: LabFolder) -> bool:
    try:
        return bool(Lab(folder.name, folder.path).status())
    except FawkesError:
        return False


def test_an_interrupted_up_leaves_nothing(tmp_path: Path) -> None:
    site = tmp_path / "lab"
    folder = LabFolder(spec_at(site).name)
    # So many that the signal comes before the last of them.
    arguments = ["lab", "up", "--hosts", "120", "--site", str(site), "--nodemanager-memory", "64MB"]
    process = subprocess.Popen([*FAWKES, *arguments], stderr=subprocess.PIPE, text=True)
    wait_for(lambda: (folder.path / "hosts/node001/sshd.log").exists(), "the first host")
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate()[1]
    assert process.returncode == 130
    assert traces(folder.name) == []
    assert not folder.path.exists()
    assert not site.exists()


def test_a_lab_whose_warden_was_killed_is_gone_and_can_come_back(tmp_path: Path) -> None:
    lab = up(spec_at(tmp_path / "lab"))
    warden = LabFolder(lab.name).warden_by_state()
    assert warden is not None
    lab.pause("node01")
    os.kill(warden, signal.SIGKILL)
    wait_for(lambda: traces(lab.name) == [], "everything to end")
    done = fawkes("lab", "status", "--name", lab.name)
    assert done.returncode == ExitStatus.USAGE
    assert "is not up. Bring it up: fawkes lab up" in done.stderr
    with up(spec_at(tmp_path / "lab")) as again:
        assert again.fresh
        assert output_of(again, "node01", "hostname") == "node01"


@pytest.mark.nightly
def test_a_stopped_warden_is_taken_down_all_the_same(tmp_path: Path) -> None:
    lab = up(spec_at(tmp_path / "lab"))
    warden = LabFolder(lab.name).warden_by_state()
    assert warden is not None
    os.kill(warden, signal.SIGSTOP)
    assert down(lab.name) is True
    assert traces(lab.name) == []


@pytest.mark.parametrize(("capability", "named"), [("-sys_admin", "CAP_SYS_ADMIN"), ("-net_admin", "CAP_NET_ADMIN")])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has permissions to lose")
def test_root_without_a_permission_is_told_and_nothing_is_left(tmp_path: Path, capability: str, named: str) -> None:
    site = tmp_path / "lab"
    arguments = ["lab", "up", "--hosts", "2", "--site", str(site), "--nodemanager-memory", "64MB"]
    done = subprocess.run(
        ["setpriv", f"--bounding-set={capability}", *FAWKES, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == ExitStatus.REFUSED
    assert named in done.stderr
    assert "--privileged" in done.stderr
    assert not site.exists()
    assert traces(spec_at(site).name) == []
    assert not LabFolder(spec_at(site).name).path.exists()


def test_too_many_hosts_are_refused_with_the_number_that_fits(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match=r"250 hosts do not fit .* fit\. Use --hosts"):
        up(LabSpec(hosts=250, site=tmp_path / "lab"))
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_inventory_is_refused_and_kept(tmp_path: Path) -> None:
    (tmp_path / "inventory.toml").write_text('pool = "mine"\n')
    done = fawkes("lab", "up", "--hosts", "1", "--site", tmp_path)
    assert done.returncode == ExitStatus.REFUSED
    assert "inventory.toml: this file is not a lab's" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["inventory.toml"]
    assert not LabFolder(LabSpec(hosts=1, site=tmp_path).name).path.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has the other tests for this")
def test_a_failure_while_hosts_are_built_is_explained_and_leaves_nothing(tmp_path: Path) -> None:
    # In a user namespace of its own the test may forbid new host names, which only hosts need.
    site = tmp_path / "lab"
    forbid = 'echo 0 > /proc/sys/user/max_uts_namespaces; exec "$@"'
    arguments = ["lab", "up", "--hosts", "2", "--site", str(site), "--nodemanager-memory", "64MB"]
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", forbid, "sh", *FAWKES, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == ExitStatus.REFUSED
    assert "too few namespaces (user.max_uts_namespaces)" in done.stderr
    assert "node01: unshare" in done.stderr
    assert traces(spec_at(site).name) == []
    assert not site.exists()
