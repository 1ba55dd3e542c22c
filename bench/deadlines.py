"""Deadlines on real Hadoop in a lab: a mix of tight, loose and hopeless ones under several admission policies.

In the mix two MR-clusters of fixed size get the same jobs. Tasks sleep, so that the processors of one machine decide as
little as possible. For each job the table has the CPUs granted beside the most tasks that YARN ran at once, by Hadoop's
own histories. In the second show (`bench/need.py`) nodes move to the MR-cluster in need, and the controller is killed.
The third (`bench/order.py`) plays the same small scenario live and offline.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import need, order
from bench.deadline_jobs import Plan, Row, ended, own_lab, play, ready, row_of, tables
from bench.figures import Say
from bench.lab import exit_status, to_stderr
from fawkes.base.errors import ExitStatus
from fawkes.cli.demo.stage import controller_of

SHOWS = ("mix", "need", "order", "all")
POLICIES = ("fifo", "reactive", "justice")
CLUSTERS = ("left", "right")
HOSTS = 4
_NODE_BYTES = 1_500_000_000
_SETTINGS = 'preset = "demo"\npolicy = "EQ"\nsample_every = "2s"\nidle_time = "10h"\nadmission = "{admission}"\n'
_CLUSTER = "min_nodes = 2\nmax_nodes = 2\nreplication = 1\nmax_running_jobs = 4\n"


MIX = (
    Plan("known-1", 0, 4, 5, 180, CLUSTERS),
    Plan("known-2", 0, 4, 5, 180, CLUSTERS),
    Plan("tight-1", 50, 4, 10, 60, CLUSTERS),
    Plan("hopeless-1", 52, 6, 20, 22, CLUSTERS),
    Plan("loose-1", 54, 6, 8, 240, CLUSTERS),
    Plan("tight-2", 56, 4, 10, 75, CLUSTERS),
    Plan("hopeless-2", 58, 6, 20, 22, CLUSTERS),
    Plan("loose-2", 60, 6, 8, 240, CLUSTERS),
)


def rows(policies: Sequence[str], say: Say) -> list[Row]:
    """All jobs under each policy, on one lab; FawkesError when the lab or a controller fails."""
    rows: list[Row] = []
    with own_lab(HOSTS, _NODE_BYTES, dict.fromkeys(CLUSTERS, _CLUSTER), say) as (lab, site):
        for policy in policies:
            site.settings_file.write_text(_SETTINGS.format(admission=policy))
            with controller_of(lab, site) as client:
                ready(client, site, CLUSTERS)
                say(f"deadlines: {policy}")
                play(client, MIX, policy, time.monotonic(), say)
                rows += [row_of(client, policy, job) for job in ended(site, MIX, policy)]
    return rows


def main() -> int:
    """Run, print the tables, and write them to a file if one is named. 1 when a check fails."""
    parser = argparse.ArgumentParser(prog="python -m bench.deadlines", description=__doc__)
    parser.add_argument("--show", choices=SHOWS, default="all", help="which of them (all)")
    parser.add_argument("--policies", default=",".join(POLICIES), help="admission policies of the mix, with commas")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the tables as Markdown")
    arguments = parser.parse_args()
    shows = SHOWS if arguments.show == "all" else (arguments.show,)
    parts: list[str] = []
    failed = False
    if "mix" in shows:
        parts.append(tables(rows(arguments.policies.split(","), to_stderr)))
    if "need" in shows:
        seen = need.run(to_stderr)
        parts.append(need.document(seen))
        failed = not all(seen.checks.values())
    if "order" in shows:
        lived, modelled = order.live(to_stderr), order.offline()
        parts.append(order.document(lived, modelled))
        failed = failed or lived != modelled
    text = "\n".join(parts)
    print(text)
    if arguments.write is not None:
        arguments.write.write_text(text)
    return ExitStatus.FAILED if failed else ExitStatus.DONE


if __name__ == "__main__":
    sys.exit(exit_status(main))
