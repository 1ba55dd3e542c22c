"""Run inside a lab with its site folder: a Fleet that is told by lines of JSON what to run, and answers likewise."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fawkes.config.nodes.inventory import load_inventory
from fawkes.live.nodes.fleet import Fleet
from fawkes.live.nodes.ssh import HostAddress, Result, SshError
from fawkes.playbook import Script

pool = load_inventory(Path(sys.argv[1]) / "inventory.toml")
known = Path(sys.argv[2]) if len(sys.argv) > 2 else pool.known_hosts


def connected(fleet: Fleet, node: str) -> dict[str, str]:
    """The greeting of the node's own sshd over a connection that the node opens, and where nobody listens."""
    with fleet.connect(node, "127.0.0.1", 22, 20) as sshd:
        said = b""
        while not said.endswith(b"\n"):
            said += sshd.recv(1)
        sshd.sendall(b"no SSH\0\xff\r\n")
        rest = b""
        while piece := sshd.recv(100):
            rest += piece
    try:
        fleet.connect(node, "127.0.0.1", 1, 20)
    except OSError as error:
        refused = type(error).__name__
    return {"said": said[:8].decode(), "rest": rest.decode().strip(), "nobody": refused}


hosts = {host.name: HostAddress.of(host) for host in pool.nodes}

with Fleet(hosts, known, connect_s=2) as fleet:
    for line in sys.stdin:
        order = json.loads(line)
        if "drop" in order:
            fleet.drop(order["drop"])
        nodes, script = order.get("nodes", []), Script(order.get("script", ""))
        with ThreadPoolExecutor() as threads:
            runs = [
                threads.submit(fleet.run_many, nodes, script, order.get("deadline_s", 20))
                for _ in range(order.get("many", 1))
            ]
        results = runs[-1].result()
        answer: dict[str, dict[str, object]] = {}
        if "connect" in order:
            answer[order["connect"]] = dict(connected(fleet, order["connect"]))
        for node, result in results.items():
            if isinstance(result, Result):
                answer[node] = {"exit": result.exit, "stdout": result.stdout, "stderr": result.stderr}
            else:
                state = result.state if isinstance(result, SshError) else ""
                answer[node] = {"error": str(result), "state": state}
        print(json.dumps(answer), flush=True)
