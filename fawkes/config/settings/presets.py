"""The presets of settings. Each value is written as in ``fawkes.toml`` and has its source beside it.

``steady`` is for production, ``paper`` is the method of the paper without additions, ``demo`` is the paper's
method at the pace of a laboratory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Value(NamedTuple):
    """A value of a preset and where it comes from."""

    value: str | int | float | bool
    source: str


Preset = Mapping[str, Value]

STEADY: Preset = {
    "policy": Value("TD", "paper 7.2: the best of its policies"),
    "period": Value("60s", "paper 5.3 (workloads A, B and C); measured: decisions/moves-that-pay.md"),
    "sample_every": Value("10s", "class of EMR, cluster-autoscaler and Slurm; REST calls are cheap"),
    "release_every": Value("2s", "measured: decisions/moves-that-pay.md; small jobs waited longest for readings"),
    "discrimination": Value("reducible", "what minimums and whole nodes forbid should not count"),
    "share_error": Value(0.05, "the RMS of tau = 10 at T = 60 s (5.3 %), rounded down"),
    "growth": Value("TR", "nothing to copy when a node leaves; paper 6.3: good for all but disk-bound work"),
    "transient_leave": Value("1h", "default of YARN's graceful decommission, EMR and HDInsight"),
    "transient_core_leave": Value("1h", "the same for the tasks of a node that also holds data"),
    "evacuate_alert": Value("4h", "Sahara's decommission limit; Fawkes alerts then and goes on holding"),
    "spare_application_masters": Value(True, "HDInsight, EMR, Cloudbreak #342"),
    "prefer_site": Value(True, "paper 6.2: disk-bound work suffers from a split over sites"),
    "confirmations": Value(2, "dask's wait_count; HDInsight's diagnosers"),
    "settle_after_grow": Value("0s", "a move that does not pay is not made: rests cost more than they save, measured"),
    "settle_after_shrink": Value("0s", "the same"),
    "max_moves": Value("unlimited", "the same; a site that wants a budget writes one, such as 20%"),
    "max_moves_window": Value("10m", "the unit of time of such a budget (karpenter #2909)"),
    "moves_must_pay": Value(True, "decisions/moves-that-pay.md: a move that costs more than it saves helps nobody"),
    "idle_time": Value("4h", "the paper retires after T; a product's users come back after lunch"),
    "stale_samples": Value(3, "EMR warns about missing metrics; one lost sample is no news"),
    "halt_if_unreachable": Value(0.45, "cluster-autoscaler: more than 45 % not ready stops it"),
    "quarantine": Value("30m", "cyclecloud-slurm #51: failed nodes must come back by themselves"),
    "deploy_attempts": Value(3, "one retry for a lost node, one for a second; then somebody should look"),
    "join_attempts": Value(2, "one retry for a passing fault; then the node is kept out and another one joins"),
    "retire_undeclared": Value(False, "what lies in HDFS and is declared nowhere is somebody's data all the same"),
    "timeouts.join": Value("300s", "Slurm's ResumeTimeout"),
    "timeouts.clean": Value("120s", "stopping and wiping takes seconds; disks under load take longer"),
    "timeouts.deploy": Value("600s", "measured: 12 s alone, 51 s for three at once on 2 cores"),
    "timeouts.membership": Value("60s", "measured: a refresh takes 1 s, on a busy machine 4 s"),
    "timeouts.transfer": Value("24h", "200 GB (paper 7.2) at 10 MB/s takes 6 hours"),
    "timeouts.start_job": Value("120s", "a client JVM submits within seconds; staging large jars takes longer"),
    "patience.takeover": Value(
        "2s", "the NameNode has been asked for 3 to 5 s by then, is asked twice more, and is shut out of the journal"
    ),
    "patience.missing": Value("20s", "a NodeManager that restarts is unknown for about 10 s, on a busy machine longer"),
    "patience.silent": Value("30s", "a ResourceManager that recovers its state is silent for 10 to 20 s"),
    "patience.doubt": Value("20s", "measured: a refresh takes 1 s, on a busy machine 4 s; heartbeats every 3 s"),
    "patience.held": Value("15s", "HDFS looks at a leaving node again every few seconds: less would be no news"),
    "patience.heard": Value("10s", "three heartbeats of 3 s: one that is late does not count against a replica"),
    "patience.quiet": Value("60s", "a client that splits a large input takes a minute before YARN knows its job"),
    "patience.stuck": Value("3m", "a job shows its first task within a minute; a busy machine takes longer"),
    "patience.clock_jump": Value("1m", "NTP steps a clock by less while it runs; nothing waits for so short a time"),
    "patience.away": Value("10m", "a restart takes seconds, an upgrade minutes; nobody saw the rest pass"),
    "patience.masters_lost": Value("2m", "a host that reboots is back within two minutes, and nothing is lost then"),
    "patience.copy_gap": Value("60s", "copies are made every 2 s; who lost more than a minute decides for himself"),
    "patience.copy": Value("60s", "a node that restarts is back by then"),
    "patience.standby": Value("30s", "what a daemon's restart takes, and as long as masters may be silent"),
    "patience.journal": Value("10m", "a new one takes HDFS away for 20 s: jobs are held for it only after that"),
    "patience.follow": Value("60s", "a call to a lost node ends after 30 s, and the next one finds the new masters"),
    "patience.rejoin": Value("90s", "measured: members are back after 5 to 40 s; the others should not wait longer"),
    "patience.unusable": Value("4s", "measured: a NameNode that was restarted is in safe mode for 1 to 3 s"),
    "patience.late": Value("30s", "measured: daemons come up within 12 s, on a busy machine within 25 s"),
    "patience.close": Value("10s", "measured: HDFS closes files within 4 to 7 s"),
    "retries.first": Value("2s", "a daemon that was just restarted answers after that"),
    "retries.longest": Value("30s", "whoever repaired something need not wait longer; `fawkes retry` does not wait"),
    "ssh.fanout": Value(32, "class of pdsh"),
    "ssh.connect_timeout": Value("10s", "a host that takes longer to say hello is down"),
    "ssh.command_timeout": Value("300s", "no step of a playbook takes minutes"),
    "ssh.answer_timeout": Value("10s", "measured: a look takes 0.1 s; a start need not wait longer for dead nodes"),
}

PAPER: Preset = {
    **{key: value for key, value in STEADY.items() if key != "share_error"},
    "sample_every": Value("5s", "paper 4.2.2 says 'periodically': 12 samples in each T"),
    "release_every": Value("0s", "the paper starts jobs by its regular samples"),
    "discrimination": Value("raw", "paper 4.1, equation 3"),
    "tau": Value(10, "paper 4.1: tau, e.g. 10 (at T = 60 s)"),
    "transient_leave": Value("instant", "paper 4.2.2: instant preemption kills running tasks"),
    "transient_core_leave": Value("instant", "paper 4.2.2: delayed preemption first stops the tasks"),
    "spare_application_masters": Value(False, "the paper does not know it"),
    "prefer_site": Value(False, "paper 4.2.2: nodes leave in the order of their data alone"),
    "confirmations": Value(1, "the paper acts on each breach"),
    "moves_must_pay": Value(False, "the paper moves whenever the discrimination exceeds tau"),
    "idle_time": Value("period", "paper 3.1: no task execution for at least T"),
}
DEMO: Preset = {
    **PAPER,
    "period": Value("20s", "so that a run of minutes has several periods"),
    "tau": Value(10 / 9, "the paper's 10 at T = 60 s, scaled by (20/60)^2: the same share error"),
    "sample_every": Value("2s", "10 samples in each period"),
    "evacuate_alert": Value("10m", "hours make no sense in a demo"),
    "patience.masters_lost": Value("20s", "nobody waits for two minutes in a demo"),
    "quarantine": Value("2m", "hours make no sense in a demo"),
    "patience.missing": Value("10s", "heartbeats are 1 s in a lab"),
    "patience.doubt": Value("10s", "heartbeats are 1 s in a lab"),
    "patience.held": Value("5s", "heartbeats are 1 s in a lab"),
    "patience.heard": Value("5s", "heartbeats are 1 s in a lab; five, because its machine is busy"),
    "patience.quiet": Value("20s", "inputs are small in a lab"),
    "patience.stuck": Value("1m", "jobs start within seconds in a lab; its machine is busy"),
    "retries.first": Value("1s", "daemons start fast in a lab"),
    "retries.longest": Value("10s", "nobody waits for half a minute in a demo"),
}

PRESETS: Mapping[str, Preset] = {"steady": STEADY, "paper": PAPER, "demo": DEMO}
