"""The keys that each table shows. The reference of rows is made from this list and from ``fields.py``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from fawkes.cli.show.fields import FIELDS

#: keys that put others together for people: rows of JSON and CSV have the others
COMBINED: Final = frozenset({"brief", "findings", "story"})


@dataclass(frozen=True)
class Table:
    """The keys of one table: the default ones, and those that ``-o wide`` and CSV have besides.

    In a terminal that is too narrow, columns go in the order of ``drop``, then from right to left; the first stays.
    ``cut``: the last column is cut with an ellipsis, so that each row is one line.
    """

    keys: tuple[str, ...]
    wide: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    cut: bool = False

    @property
    def all_keys(self) -> tuple[str, ...]:
        """The keys that ``-o wide`` and CSV have: names and numbers first, sentences last."""
        keys = (*self.keys, *(key for key in self.wide if key not in self.keys))
        return tuple(sorted((key for key in keys if key not in COMBINED), key=lambda key: FIELDS[key].shape.wraps))


#: the checks of `fawkes check` whose result is a column of `-o wide` alone
_FURTHER_CHECKS = (
    "ssh",
    "key",
    "names",
    "data",
    "forward",
    "memory",
    "ports",
    "left",
    "tools",
    "shell",
    "logout",
    "users",
)

#: of jobs that have a deadline
_DEADLINES = (
    "jobs_due", "jobs_met", "jobs_missed", "jobs_dropped", "jobs_killed", "sdr", "wasted_s",
)  # fmt: skip
#: of MR-clusters whose masters may be lost
_MASTERS = (
    "masters_away_s", "masters_moves", "masters_lacks_s", "jobs_again", "work_again_s", "standby_s", "standby_cpu_s",
)  # fmt: skip

_WASTE = ("killed_work_s", "dumping_s", "restoring_s", "waiting_s", "useful_s", "unknown_s")
_WASTE_REST = ("dumping_s", "restoring_s", "useful_s", "unknown_s")
"""Without those that stand beside response times."""
_WASTE_WIDE = ("wasted_part", "tasks_saved", "tasks_killed", "tasks_unknown", "tasks_unseen")
#: the table of each verb, and of its options where they have one of their own
TABLES: Final[Mapping[str, Table]] = {
    "status": Table(
        ("cluster", "state", "health", "nodes", "target", "share", "weight", "jobs_waiting", "jobs_running"),
        ("core", "transient_core", "transient", "joining", "leaving", "lost", "masters_on", "promise", "second_copy",
         "masters_moving", "second_namenode", "takes_over", "journal", "spark_history", "run_as", "since",
         "hold", "why"),
        drop=("jobs_running", "jobs_waiting", "share", "weight"),
    ),
    "nodes": Table(
        ("node", "cluster", "role", "state", "brief"),
        ("master", "standby", "since", "back", "waited_since", "why", "keep_out", "hold", "alert", "seen"),
        cut=True,
    ),
    "nodes --fold": Table(
        ("node_set", "count", "cluster", "role", "state", "code"), ("master", "standby", "since", "keep_out", "alert")
    ),
    "jobs": Table(
        ("job", "cluster", "state", "wait_s", "run_s", "slowdown", "why"),
        ("attempt", "submitted", "application", "log"),
        drop=("slowdown", "wait_s", "run_s"),
    ),
    "jobs, deadlines": Table(
        ("job", "cluster", "state", "deadline_s", "left_s", "outcome", "why"),
        ("cpus", "wait_s", "run_s", "slowdown", "attempt", "submitted", "application", "log"),
        drop=("cluster", "left_s"),
    ),
    "events": Table(("step", "time", "kind", "story"), ("what", "decided"), drop=("kind",)),
    "events --verify": Table(("steps", "pool_id", "sound"), ("ledger",)),
    "explain": Table(
        ("cluster", "y", "weight", "mean_share", "discrimination", "nodes", "target", "min_nodes"),
        ("pinned", "unreadable", "kept"),
        drop=("min_nodes",),
    ),
    "explain, lines": Table(("step", "time", "text"), ("code",)),
    "verify": Table(("step", "time", "kind", "decided_by", "differs")),
    "policies": Table(("policy", "kind", "origin", "summary"), ("file",)),
    "init": Table(("file", "written")),
    "request --dry-run": Table(
        ("cluster", "min_nodes", "max_nodes", "growth", "replication", "hadoop", "deploy"),
        ("promise",),
        drop=("replication",),
    ),
    "request": Table(("cluster", "state", "nodes")),
    "release": Table(("cluster", "state", "nodes")),
    "release --dry-run": Table(("cluster", "path", "bytes", "fate"), ("files", "owner", "save_to")),
    "restore": Table(("cluster", "files", "bytes", "fate"), ("named",)),
    "submit": Table(
        ("job", "cluster", "state", "wait_s", "run_s", "why"), ("attempt", "log"), drop=("cluster", "wait_s", "run_s")
    ),
    "submit --dry-run": Table(("job", "cluster", "kind", "retries", "time_limit_us", "reference_us"), ("deadline_us",)),
    "cancel": Table(("job", "cluster", "state"), ("attempt",)),
    "drain": Table(("node", "state", "cluster", "role", "keep_out")),
    "--dry-run": Table(("code", "text")),
    "reload": Table(("restart",), ("changed",)),
    "config diff": Table(("daemon", "file", "setting", "runs", "writes"), ("default",), drop=("file",)),
    "config diff --defaults": Table(("file", "setting", "default", "writes")),
    "hold": Table(("subject", "state", "hold")),
    "grow": Table(("cluster", "hold"), ("moved",)),
    "move-masters": Table(("cluster", "node", "waits_for")),
    "retry": Table(("subject", "tried")),
    "retry --dry-run": Table(("subject", "state", "alert")),
    "pause": Table(("voluntary_moves", "reason")),
    "check": Table(
        ("node", "result", "java", "clock", "disk", "findings"),
        (*_FURTHER_CHECKS, "address", "java_home", "java_version", "clock_us", "free_bytes", "shell_us", "no_group",
         "quota", "quota_why", "criu", "criu_why", "problems"),
        drop=("clock", "java", "disk"),
    ),
    "lab status": Table(("host", "address", "state", "network")),
    "dist get": Table(("version", "made", "folder")),
    "dist list": Table(("version", "jars", "bytes", "java_range", "wrong_files", "folder"), drop=("folder",)),
    "dist check": Table(("version", "file", "fault")),
    "simulate": Table(
        ("cluster", "jobs", "failed_jobs", "slowdown_mean", "slowdown_median", "response_mean_s", "most_nodes",
         "finished_s"),
        ("response_median_s", "node_s"),
    ),
    "simulate, deadlines": Table(("cluster", *_DEADLINES)),
    "simulate, waste": Table(("cluster", *_WASTE), _WASTE_WIDE),
    "simulate, masters": Table(("cluster", *_MASTERS)),
    "simulate --beside, decisions": Table(
        ("from_cluster", "to_cluster", "role", "recorded_at_s", "recorded_nodes", "simulated_at_s", "simulated_nodes")
    ),
    "simulate --beside, jobs": Table(("job", "cluster", "recorded_s", "simulated_s", "error")),
    "compare": Table(
        ("policy", "settings", "slowdown_mean", "change", "change_ci_low", "change_ci_high", "verdict", "makespan_s",
         "failed_jobs"),
        ("p", "reconfigurations", "replays", "slowdown_mean_low", "slowdown_mean_high", "slowdown_mean_ci_low",
         "slowdown_mean_ci_high", "slowdown_least", "slowdown_middle", "slowdown_most", "makespan_s_ci_low",
         "makespan_s_ci_high", "regret"),
        drop=("failed_jobs", "makespan_s"),
    ),
    "compare, front": Table(("moves", "front")),
    "compare, deadlines": Table(("policy", "settings", *_DEADLINES)),
    "compare, waste": Table(
        ("policy", "settings", "response_mean_s", "killed_work_s", "waiting_s"),
        (*_WASTE_REST, *_WASTE_WIDE),
    ),
    "compare, masters": Table(("policy", "settings", *_MASTERS)),
    "deadlines": Table(
        ("deadlines", "cpus", "allocator", "sdr", "ptr", "wtr", "utilisation", "fairness"),
        ("trace", "seeds", "sdr_least", "sdr_most", "unserved", "fairness_ci", "fairness_ci_days", "equality",
         "idle_10", "idle_100", "t", "p", "jobs_met", "jobs_missed", "jobs_killed", "jobs_dropped"),
        drop=("utilisation", "fairness"),
    ),
    "whatif": Table(
        ("rank", "policy", "settings", "slowdown_mean", "change", "change_ci_low", "change_ci_high", "verdict",
         "makespan_s"),
        ("p", "reconfigurations", "replays", "slowdown_mean_low", "slowdown_mean_high", "slowdown_mean_ci_low",
         "slowdown_mean_ci_high", "slowdown_median", "makespan_s_low", "makespan_s_high", "makespan_s_ci_low",
         "makespan_s_ci_high", "failed_jobs"),
        drop=("makespan_s",),
    ),
    "whatif, preemption": Table(
        ("preemption", "response_mean_s", "change", "verdict", "killed_work_s", "waiting_s"),
        (*_WASTE_REST, "settings", "slowdown_mean", "change_ci_low", "change_ci_high", "p", "replays", *_WASTE_WIDE),
    ),
    "record": Table(("problem", "count", "first", "why")),
    "workload": Table(("file", "format", "jobs", "span_s", "skipped", "not_written")),
    "workload show": Table(("quantity", "jobs", "p5", "p50", "p95", "max", "mean", "total"), drop=("mean", "p5")),
    "workload plot": Table(("file",)),
    "workload make": Table(("maker", "makes", "keys")),
    "profile list": Table(("profile", "profile_version", "stages", "duration_s", "why")),
    "profile show": Table(
        ("stage", "idle_s", "duration_s", "tasks", "records_read", "records_written", "rate", "parents"),
        drop=("parents", "idle_s"),
    ),
    "calibrate": Table(("constant", "value", "low", "high", "n", "method")),
    "calibrate, jobs": Table(("job", "record", "kind", "recorded_s", "simulated_s", "error"), drop=("record",)),
    "calibrate, errors": Table(("kind", "n", "median", "q90")),
    "interference": Table(
        ("manager", "framework", "first_task_s", "finished_s", "stuck_s", "lost_tasks"), ("at_s", "dropped_jobs")
    ),
    "analyse trace": Table(
        ("group", "schedules", "evictions", "eviction_rate", "preemptions", "preemption_rate", "wasted"),
        ("by", "undecided", "used_cpu_h", "evicted_cpu_h", "preempted_cpu_h", "unmeasured"),
        drop=("wasted",),
    ),
    "analyse trace, hours": Table(
        ("hour", "schedules", "evictions", "eviction_rate", "preemptions", "preemption_rate"), ("undecided",)
    ),
    "analyse trace, repeats": Table(
        ("at_least", "evicted_tasks", "evicted_share", "preempted_tasks", "preempted_share")
    ),
    "analyse trace, machines": Table(("platform", "cpu", "memory_units", "count", "part_of_all")),
    "analyse make": Table(("folder", "events", "schedules", "evictions", "preemptions")),
    "analyse ledger": Table(("cluster", "code", "left_nodes", "again_nodes", "killed_tasks")),
    "replay": Table(
        ("job", "cluster", "state", "due_s", "late_s", "start_drift_s", "run_s", "slowdown"), drop=("cluster", "due_s")
    ),
    "replay --dry-run": Table(
        ("action", "name", "cluster", "at_s", "counts_from", "behind", "does"), ("part",), drop=("cluster",)
    ),
    "demo, points": Table(("point", "at_s", "what", "how")),
    "demo, jobs": Table(("job", "cluster", "state", "wait_s", "run_s", "slowdown"), ("attempt", "submitted_s")),
    "demo, moves": Table(("at_s", "node_set", "from_cluster", "to_cluster", "role", "why"), ("took_s",)),
}  # fmt: skip
