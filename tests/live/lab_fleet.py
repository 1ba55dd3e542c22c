"""Run inside a lab with its site folder: a Fleet that is told by lines of JSON what to run, and answers likewise."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from fawkes.config.inventory import load_inventory
from fawkes.live.fleet import Fleet
from fawkes.live.ssh import HostAddress, Result, SshError
from fawkes.playbook import Script

pool = load_inventory(Path(sys.argv[1]) / "inventory.toml")
known = Path(sys.argv[2]) if len(sys.argv) > 2 else pool.known_hosts
hosts = {one.name: HostAddress(one.name, one.address, one.user, one.port, one.key) for one in pool.nodes}

with Fleet(hosts, known, connect_s=2) as fleet:
    for line in sys.stdin:
        order = json.loads(line)
        if "drop" in order:
            fleet.drop(order["drop"])
        results = fleet.run_many(order.get("nodes", []), Script(order.get("script", "")), order.get("deadline_s", 20))
        answer: dict[str, dict[str, object]] = {}
        for node, result in results.items():
            if isinstance(result, Result):
                answer[node] = {"exit": result.exit, "stdout": result.stdout, "stderr": result.stderr}
            else:
                state = result.state if isinstance(result, SshError) else ""
                answer[node] = {"error": str(result), "state": state}
        print(json.dumps(answer), flush=True)
