from __future__ import annotations

from pathlib import Path
from typing import Any

import paramiko
import pytest

from fawkes.base.errors import RefusedError, UserError
from fawkes.config.nodes.inventory import load_inventory
from fawkes.live.lab import files
from fawkes.live.lab.inside.keys import new_key, user_key
from fawkes.live.lab.inside.sshd import Sshd
from fawkes.live.lab.inside.wiring import Wiring, wiring_of
from fawkes.live.lab.sizing import Offer
from fawkes.live.lab.spec import LabSpec

ROOT = files.LabLogin("root", 0, 0, "/root")
SOMEBODY = files.LabLogin("ann", 1000, 1000, "/home/ann")


def wired(hosts: int, **wishes: Any) -> Wiring:
    return wiring_of(LabSpec(hosts=hosts, **wishes))


@pytest.mark.parametrize("count", [1, 10, 120])
def test_the_inventory_reads_back_as_the_hosts(tmp_path: Path, count: int) -> None:
    text = files.inventory("lab-1", wired(count), "ann", Offer(1_500_000_000, 2), 7_000_000_000)
    files.write_site(tmp_path, {"inventory.toml": text, files.KEY_FILE: new_key().private})
    pool = load_inventory(tmp_path / "inventory.toml")
    assert pool.pool == "lab-1"
    assert [(node.name, node.address, node.data_address) for node in pool.nodes] == [
        (host.name, host.address, host.address) for host in wired(count).hosts
    ]
    node = pool.nodes[-1]
    assert (node.user, node.port, node.may_core, node.cores) == ("ann", 22, True, 2)
    assert (node.memory_bytes, node.disk_bytes) == (1_500_000_000, 7_000_000_000)
    assert (node.work_dir, node.software_dir) == ("/srv/fawkes", "/srv/dist")
    assert node.key == tmp_path / "id_ed25519"


def test_the_inventory_of_two_sites_with_a_network_for_data(tmp_path: Path) -> None:
    text = files.inventory("lab-1", wired(3, sites=2, data_network="open"), "ann", Offer(10**9, 2), 10**9)
    files.write_site(tmp_path, {"inventory.toml": text, files.KEY_FILE: new_key().private})
    pool = load_inventory(tmp_path / "inventory.toml")
    assert [(node.name, node.site, node.address, node.data_address) for node in pool.nodes] == [
        ("node01", "a", "10.98.1.1", "10.77.1.1"),
        ("node02", "a", "10.98.1.2", "10.77.1.2"),
        ("node03", "b", "10.98.1.3", "10.77.1.3"),
    ]


def test_the_way_through_jump_hosts_is_written_for_fawkes_and_for_ssh(tmp_path: Path) -> None:
    far = wired(2, jump_hosts=2)
    text = files.inventory("lab-1", far, "ann", Offer(10**9, 2), 10**9)
    files.write_site(tmp_path, {"inventory.toml": text, files.KEY_FILE: new_key().private})
    last = load_inventory(tmp_path / "inventory.toml").nodes[1].jump
    assert last is not None
    assert last.before is not None
    assert (last.before.name, last.name, last.user) == ("login", "login2", "ann")
    text = files.ssh_config(Path("/lab"), "ann", far)
    assert text.endswith("Host login2\n    ProxyJump login\nHost node*\n    ProxyJump login,login2\n")


def test_known_hosts_knows_each_host_by_name_and_address(tmp_path: Path) -> None:
    hosts = wired(3).hosts
    keys = {host.name: new_key().public for host in hosts}
    files.write_site(tmp_path, {"known_hosts": files.known_hosts(hosts, keys)})
    known = paramiko.HostKeys(str(tmp_path / "known_hosts"))
    for host in hosts:
        for name in (host.name, host.address):
            entry = known.lookup(name)
            assert entry is not None
            assert entry["ssh-ed25519"].get_base64() == keys[host.name].split()[1]


def test_hosts_file_names_everybody_once() -> None:
    lines = files.hosts_file(wired(2).hosts, "mymachine").splitlines()
    assert lines == [
        "127.0.0.1 localhost",
        "10.98.0.1 controller mymachine",
        "10.98.1.1 node01",
        "10.98.1.2 node02",
    ]
    assert "10.98.0.1 controller" in files.hosts_file(wired(1).hosts, "controller").splitlines()


def test_passwd_gives_the_login_user_his_lab_home_and_sshd_its_user() -> None:
    machines = "ann:x:1:1:Ann:/elsewhere:/bin/tcsh\nbob:x:2:2::/home/bob:/bin/sh\nsshd:x:9:9::/:/bin/false\n"
    lines = files.passwd_file(machines, SOMEBODY).splitlines()
    assert lines[0].startswith("ann:x:1000:1000::/home/ann:/bin/")
    assert "bob:x:2:2::/home/bob:/bin/sh" in lines
    assert [line.split(":")[0] for line in lines].count("ann") == 1
    assert [line for line in lines if line.startswith("sshd:")] == [lines[-1]]


def test_another_login_shell_must_be_on_the_machine() -> None:
    machines = "ann:x:1:1:Ann:/elsewhere:/bin/tcsh\n"
    assert files.passwd_file(machines, SOMEBODY, login_shell="/bin/sh").startswith(
        "ann:x:1000:1000::/home/ann:/bin/sh\n"
    )
    for shell in ("/no/such/fish", "/bin", "sh"):
        with pytest.raises(UserError, match=f"no program '{shell}' for a login shell.*--shell"):
            files.passwd_file(machines, SOMEBODY, login_shell=shell)


def test_only_root_has_the_group_tty() -> None:
    machines = "root:x:0:\ntty:x:5:\n"
    assert files.group_file(machines, ROOT) == machines
    assert files.group_file(machines, SOMEBODY) == "root:x:0:\n"


def test_an_unpacked_server_is_configured_where_hosts_see_it(tmp_path: Path) -> None:
    session = tmp_path / "usr/lib/openssh/sshd-session"
    session.parent.mkdir(parents=True)
    session.touch()
    text = files.sshd_config(ROOT, Sshd(tmp_path))
    assert "SshdSessionPath /run/fawkes/sshd/usr/lib/openssh/sshd-session\n" in text
    assert "PerSourcePenalties no\n" in text
    session.unlink()
    assert "PerSourcePenalties" not in files.sshd_config(ROOT, Sshd(tmp_path))


def test_the_first_line_of_a_kind_counts_for_sshd_and_ours_are_the_later_ones(tmp_path: Path) -> None:
    lines = files.sshd_config(ROOT, Sshd(tmp_path), ["UsePAM yes"]).splitlines()
    assert lines.index("UsePAM yes") < lines.index("UsePAM no")
    assert not [line for line in lines if line.startswith("Max")]


def test_ssh_config_survives_a_percent_sign_in_the_path() -> None:
    assert 'IdentityFile "/a%%b/id_ed25519"' in files.ssh_config(Path("/a%b"), "root", wired(1))


@pytest.mark.parametrize("name", ["inventory.toml", "known_hosts", "ssh_config"])
def test_files_of_somebody_else_are_refused_and_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("# mine\n")
    with pytest.raises(RefusedError, match=rf"{name}: .*not overwritten.*--site DIR"):
        files.refuse_foreign(tmp_path)
    assert (tmp_path / name).read_text() == "# mine\n"


def test_files_of_a_lab_may_be_written_again(tmp_path: Path) -> None:
    files.write_site(tmp_path, {"known_hosts": files.known_hosts((), {})})
    files.refuse_foreign(tmp_path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["known_hosts"]


def test_the_users_key_is_private_and_stays(tmp_path: Path) -> None:
    file = tmp_path / files.KEY_FILE
    files.write_site(tmp_path, {files.KEY_FILE: user_key(file).private})
    assert file.stat().st_mode & 0o777 == 0o600
    assert user_key(file).public == user_key(file).public
    assert paramiko.Ed25519Key(filename=str(file)).get_base64() == user_key(file).public.split()[1]


def test_a_file_that_is_no_key_is_refused(tmp_path: Path) -> None:
    file = tmp_path / files.KEY_FILE
    file.write_text("hello")
    with pytest.raises(UserError, match="not a private key"):
        user_key(file)


@pytest.mark.parametrize(
    ("uid_map", "others"), [("0 0 4294967295", True), ("0 1000 1", False), ("0 1000 1\n1 100000 65536", True)]
)
def test_a_root_who_is_alone_in_his_namespace_is_known(uid_map: str, others: bool) -> None:
    assert files.has_other_users(uid_map) is others


def test_a_machine_without_a_file_of_host_names_is_told_what_to_type(tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="does not exist") as caught:
        files.refuse_nameless(tmp_path / "hosts")
    assert f"> {tmp_path}/hosts" in caught.value.hint
    (tmp_path / "hosts").write_text("127.0.0.1 localhost\n")
    files.refuse_nameless(tmp_path / "hosts")
