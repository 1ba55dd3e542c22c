"""An Ansible inventory of a lab, read by a real `ansible-inventory`: its hosts become the pool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.site import FAWKES, PROJECT, real_site

pytestmark = [pytest.mark.lab, pytest.mark.nightly]

NODES = ("node01", "node02")
HOSTS = """
[lab]
node[01:02]

[lab:vars]
ansible_user=root
ansible_host={{ inventory_hostname }}
ansible_ssh_private_key_file=id_ed25519
fawkes_cores=2
fawkes_memory=1GB
fawkes_disk=4GB
"""
INVENTORY = """
pool = "{pool}"

[ssh]
known_hosts = "known_hosts"
allow_root = true

[from]
ansible = "hosts.ini"

[[group]]
name = "lab"
nodes = "@ansible:lab"
core = true
work_dir = "/srv/fawkes"
software_dir = "/srv/dist"
"""


def test_hosts_of_ansible_are_a_pool(tmp_path: Path) -> None:
    with real_site(tmp_path / "lab", 3, 'preset = "demo"\n') as site:
        site.write("hosts.ini", HOSTS)
        site.write("inventory.toml", INVENTORY.format(pool=site.lab.name))
        done = site.lab.exec([*FAWKES, "--site", str(site.root), "check", "-o", "json"], cwd=PROJECT, timeout_s=200)
        rows = json.loads(done.stdout)["rows"]
        assert {row["node"]: (row["ssh"], row["key"]) for row in rows} == dict.fromkeys(NODES, ("ok", "ok"))
        site.run()
        assert [node.node.details["address"] for _, node in sorted(site.state.nodes.items())] == [*NODES]
