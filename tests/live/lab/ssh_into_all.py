"""Run inside a lab with its site folder: log in to every host by name, strictly, and print what each says of itself."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import paramiko

from fawkes.config.nodes.inventory import load_inventory

pool = load_inventory(Path(sys.argv[1]) / "inventory.toml")
answers = {}
for node in pool.nodes:
    client = paramiko.SSHClient()
    client.load_host_keys(str(pool.known_hosts))
    client.set_missing_host_key_policy(paramiko.RejectPolicy())
    client.connect(
        node.name,
        port=node.port,
        username=node.user,
        key_filename=str(node.key),
        look_for_keys=False,
        allow_agent=False,
    )
    said = client.exec_command("hostname; id -un; ls -d /proc/[0-9]* | wc -l")[1].read()
    answers[node.name] = said.decode().split()
    with client.open_sftp() as sftp, sftp.open("/srv/by-sftp", "w") as file:
        file.write(node.name)
    client.close()
print(json.dumps({"user": pool.nodes[0].user, "hosts": answers}))
