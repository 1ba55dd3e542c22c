"""The fields of rows: each key once, with its heading, its meaning and how people see its values.

JSON and CSV have the same keys. Which keys a table shows is in ``tables.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from fawkes.base.units import SECOND_US, clock, show_bytes, show_duration

NOTHING: Final = "-"


class Shape(NamedTuple):
    """The form of a kind of value: its text, numbers to the right; ``wraps`` for sentences in a last column."""

    name: str
    text: Callable[[Any], str]
    right: bool = False
    wraps: bool = False


@dataclass(frozen=True)
class Field:
    """One key of rows: its ``heading`` in tables, ``about`` in one line, the ``shape`` of its values."""

    key: str
    heading: str
    about: str
    shape: Shape

    def cell(self, row: Mapping[str, object]) -> str:
        """The value of a row for people; a dash when there is none."""
        value = row.get(self.key)
        return NOTHING if value is None else self.shape.text(value) or NOTHING


def _duration(value_s: float) -> str:
    return show_duration(round(value_s * SECOND_US))


def _listed(values: Any) -> str:
    return values if isinstance(values, str) else ", ".join(map(str, values))


def _keyed(values: Any) -> str:
    return "; ".join(f"{key}: {text}" for key, text in values.items()) if isinstance(values, Mapping) else str(values)


def _problems(values: Any) -> str:
    return values if isinstance(values, str) else "; ".join(f"{row['check']}: {row['what']}" for row in values)


NAME: Final = Shape("name", str)
TIME: Final = Shape("time", clock)
TEXT: Final = Shape("text", str, wraps=True)
LINES: Final = Shape("list", "\n".join, wraps=True)
NAMES: Final = Shape("list", _listed, wraps=True)
KEYED: Final = Shape("keys and texts", _keyed, wraps=True)
PROBLEMS: Final = Shape("problems", _problems, wraps=True)
YES: Final = Shape("yes or no", lambda value: "yes" if value else "no")
HERE: Final = Shape("yes or no", lambda value: "here" if value else "")
COUNT: Final = Shape("count", str, right=True)
SOME: Final = Shape("count", lambda count: str(count) if count else "", right=True)
SIZE: Final = Shape("bytes", show_bytes, right=True)
DURATION: Final = Shape("seconds", _duration, right=True)
MICROSECONDS: Final = Shape("microseconds", show_duration, right=True)
WHOLE_SECONDS: Final = Shape("seconds", lambda value: f"{value:.0f} s", right=True)
TENTHS: Final = Shape("seconds", lambda value: f"{value:.1f} s", right=True)
RATIO: Final = Shape("number", lambda value: f"{value:.2f}", right=True)
FIGURE: Final = Shape("number", lambda value: value if isinstance(value, str) else f"{value:.4g}", right=True)
SHARE: Final = Shape("share of 1", lambda value: f"{value:.1%}", right=True)
PERCENT: Final = Shape("share of 1", lambda value: f"{value:.2%}", right=True)
CHANGE: Final = Shape("share of 1", lambda value: f"{value:+.1%}", right=True)
SIGNED: Final = Shape("number", lambda value: f"{value:+.3g}", right=True)

_ALL: Final = (
    # names
    Field("cluster", "MR-cluster", "The MR-cluster.", NAME),
    Field("node", "node", "The node.", NAME),
    Field("node_set", "nodes", "Several nodes, written as a node set.", NAME),
    Field("job", "job", "The job.", NAME),
    Field("policy", "policy", "The policy.", NAME),
    Field("role", "role", "What the node is for its MR-cluster: core, transient-core or transient.", NAME),
    Field("from_cluster", "from", "The MR-cluster that gives nodes; none when they were free.", NAME),
    Field("to_cluster", "to", "The MR-cluster that gets nodes; none when they become free.", NAME),
    Field("subject", "subject", "A node or an MR-cluster.", NAME),
    Field("daemon", "daemon", "A daemon of Hadoop.", NAME),
    Field("setting", "setting", "A key of Hadoop's configuration.", NAME),
    Field("runs", "runs with", "The value that the daemon has in force; none if it has none.", NAME),
    Field("writes", "Fawkes writes", "The value in the file that Fawkes would write now.", TEXT),
    Field("default", "Hadoop's default", "The value that Hadoop has by default; none if it is not known.", NAME),
    Field("manager", "manager", "Who divides the resources: offers, a remedy of these, or Fawkes.", NAME),
    Field("framework", "framework", "The framework, such as Hadoop or fine-grained Spark.", NAME),
    Field("host", "host", "A host of the lab.", NAME),
    Field("address", "address", "The network address.", NAME),
    Field("site", "site", "The site of the node, as in the inventory.", NAME),
    Field("owner", "owner", "The user who owns most of the data, as HDFS has it.", NAME),
    Field("application", "application", "The YARN application of the job.", NAME),
    Field("scenario", "scenario", "The scenario that was run.", NAME),
    # how things stand, and why
    Field("state", "state", "What the node, MR-cluster, job or host does now.", NAME),
    Field("health", "health", "green; yellow: look at it; red: it does not work, or its data is in danger.", NAME),
    Field("why", "why", "Why it is in this state, in a sentence.", TEXT),
    Field("brief", "why", "The alert of the node, else why it is in this state.", TEXT),
    Field("code", "reason code", "The code of the reason; codes stay the same when sentences change.", NAME),
    Field("alert", "alert", "What needs attention; empty if nothing does.", TEXT),
    Field(
        "alert_kind",
        "kind of alert",
        "What the alert is about, as a code that stays the same when texts change.",
        NAME,
    ),
    Field("alerts", "alerts", "All alerts, the worst first.", LINES),
    Field("reason", "reason", "The reason that was given with the command.", TEXT),
    Field("waits_for", "waits for", "The jobs that must end first.", NAMES),
    Field("keep_out", "kept out", "Why the node is kept out of service; empty when it is not.", TEXT),
    Field("changed", "changed", "The settings that have changed, with the old and the new value.", LINES),
    Field("restart", "needs a restart", "Keys that have changed and count only after a restart.", NAMES),
    Field("moved", "moved", "The nodes that join or leave.", NAMES),
    Field("hold", "held", "Who keeps balancing away from it, until when and why; empty if nobody does.", TEXT),
    Field("seen", "seen by masters", "How the masters see the node, if that differs from its state.", TEXT),
    Field("failed", "failure", "Why the MR-cluster failed; empty when it did not.", TEXT),
    Field("log", "log", "Where the log of a failed job is.", NAME),
    Field("network", "network", "Whether the host's cable is connected or cut.", NAME),
    Field("voluntary_moves", "voluntary moves", "Whether nodes may move for the sake of balance.", NAME),
    # times
    Field("time", "time", "When it happened, in UTC; in a simulated run since its start.", TIME),
    Field("since", "since", "Since when it is in this state.", TIME),
    Field("submitted", "submitted", "When the job was submitted.", TIME),
    Field("requested", "requested", "When the MR-cluster was requested.", TIME),
    Field("back", "back", "When the node is tried again.", TIME),
    Field("waited_since", "waited for since", "Since when an MR-cluster waits for the data on the node.", TIME),
    Field("wait_s", "wait", "How long it waited: a job in the queue, an MR-cluster for nodes.", DURATION),
    Field("run_s", "run", "How long the job ran.", DURATION),
    Field("deploy_s", "deployment", "How long the deployment of the MR-cluster took.", DURATION),
    Field("load_s", "loading", "How long loading its data took.", DURATION),
    Field("save_s", "saving", "How long saving its outputs took.", DURATION),
    Field("took_s", "took", "How long the move took.", TENTHS),
    Field("at_s", "at", "When, from the start of the run.", TENTHS),
    Field("due_s", "due", "When the job should be submitted, from the start of the replay.", TENTHS),
    Field("late_s", "late", "How much later than due the job was submitted.", TENTHS),
    Field("start_drift_s", "start drift", "How much later than due YARN began the job, its wait included.", TENTHS),
    Field("submitted_s", "submitted", "When the job was submitted, from the start of the run.", TENTHS),
    Field("time_limit_us", "time limit", "When the job is stopped.", MICROSECONDS),
    Field("reference_us", "reference time", "The job's time on a static MR-cluster of minimum size.", MICROSECONDS),
    Field("deadline_s", "deadline", "By when the job must have ended, from its submission.", DURATION),
    Field("deadline_us", "deadline", "By when the job must have ended, from its submission.", MICROSECONDS),
    Field(
        "left_s", "left", "The time until the deadline of a job that has not ended; below 0 it has passed.", DURATION
    ),
    Field("cpus", "CPUs", "How many CPUs the admission policy granted the job.", COUNT),
    Field("outcome", "outcome", "What became of the deadline: met, missed, dropped or killed.", NAME),
    Field("slowdown", "slowdown", "Response time / reference time of a job that succeeded.", RATIO),
    # nodes and shares of an MR-cluster
    Field("nodes", "nodes", "How many nodes the MR-cluster holds.", COUNT),
    Field(
        "target", "target", "Nodes that it should hold, by the latest tick that moved some, or the tick shown.", COUNT
    ),
    Field("core", "core", "Its core nodes in service.", COUNT),
    Field("transient_core", "tr-core", "Its transient-core nodes in service.", SOME),
    Field("transient", "transient", "Its transient nodes in service.", SOME),
    Field("joining", "joining", "Nodes that are joining it.", SOME),
    Field("leaving", "leaving", "Nodes that are leaving it.", SOME),
    Field("lost", "lost", "Its nodes that do not answer.", SOME),
    Field("out_of_service", "out", "Its nodes that do not answer or are kept out of service.", SOME),
    Field("masters_on", "masters on", "The node of its masters; none when it has none.", NAME),
    Field(
        "promise",
        "promise",
        "What a loss of its masters' disk costs: kept, the last seconds; standby, nothing.",
        NAME,
    ),
    Field("second_namenode", "second NameNode on", "The node of its second NameNode; none when it has none.", NAME),
    Field("takes_over", "takes over", "Whether the second NameNode can take over now; none without one.", YES),
    Field("journal", "journal on", "The nodes of its journal; none when it has none.", NAMES),
    Field("masters_moving", "masters move", "Whether its masters are on their way to another node.", YES),
    Field("second_copy", "second copy on", "The node with the second copy of its masters' data.", NAME),
    Field("spark_history", "Spark history", "The address of its Spark history server; none without one.", NAME),
    Field("min_nodes", "min nodes", "Its core nodes: it never has fewer nodes.", COUNT),
    Field("run_as", "runs as", "Its own Unix user on the nodes; empty without one.", NAME),
    Field("max_nodes", "max nodes", "The most nodes it may get.", COUNT),
    Field("most_nodes", "most nodes", "The most nodes it held at any time.", COUNT),
    Field("share", "share", "Its share of the capacity in service.", SHARE),
    Field("weight", "weight", "The share that it should have, by the policy.", SHARE),
    Field(
        "mean_share", "mean share", "Its mean share in the period before the tick (c), or since its first node.", SHARE
    ),
    Field("y", "y", "What the policy measured for it.", FIGURE),
    Field("discrimination", "D", "Its discrimination, (c - w) T: below 0 it had less than its weight.", SIGNED),
    Field("pinned", "pinned", "Whether its target is its minimum, whatever the weights say.", YES),
    Field("kept", "held", "Why balancing leaves the MR-cluster alone; nothing if it does not.", TEXT),
    Field("unreadable", "unreadable", "Whether its masters gave no measurements.", YES),
    Field("growth", "grows by", "The role of the nodes by which it grows.", NAME),
    Field("replication", "replication", "HDFS's replication.", COUNT),
    Field("hadoop", "Hadoop", "The Hadoop version, or the folder of the release.", NAME),
    Field("deploy", "deployed", "When it is deployed: at once, or with its first job.", NAME),
    Field("details", "details", "The whole request.", KEYED),
    # its jobs and tasks
    Field("jobs", "jobs", "How many jobs.", COUNT),
    Field("jobs_waiting", "waiting", "Applications that wait in YARN.", COUNT),
    Field("jobs_running", "running", "Applications that run in YARN.", COUNT),
    Field("jobs_queued", "queued", "Jobs that wait in Fawkes's queue.", COUNT),
    Field("jobs_started", "started", "Jobs that Fawkes has handed to YARN.", COUNT),
    Field("tasks_waiting", "tasks waiting", "Tasks that wait in YARN.", COUNT),
    Field("tasks_running", "tasks running", "Tasks that run in YARN.", COUNT),
    Field("failed_jobs", "failed", "Jobs that did not succeed.", FIGURE),
    Field("attempt", "attempt", "The number of the job's latest attempt.", COUNT),
    Field("tried", "attempts", "How many attempts were made at once.", COUNT),
    Field("retries", "retries", "How often a job is tried again after a failure.", COUNT),
    Field("kind", "kind", "The kind of the event, job, measurement or policy.", NAME),
    # a node
    Field("master", "masters", "Whether the masters of the MR-cluster run on the node.", HERE),
    Field(
        "standby", "standby", "What runs on the node for the second NameNode: its journal, that NameNode itself.", NAME
    ),
    Field("capacity", "capacity", "Its capacity, where an ordinary node has 1.", FIGURE),
    Field("generation", "generation", "How often it has been given to an MR-cluster.", COUNT),
    Field("tick", "tick", "The number of the tick that moved it last.", COUNT),
    Field("count", "count", "How many there are of this row.", COUNT),
    Field("compute", "NodeManager", "How the ResourceManager sees its NodeManager.", NAME),
    Field("stored", "DataNode", "How the NameNode sees its DataNode.", NAME),
    Field("at_risk", "at risk", "Files with too few replicas on other nodes (the first ones).", NAMES),
    Field("at_risk_files", "files at risk", "How many files have too few replicas on other nodes.", COUNT),
    Field("missing", "missing", "Files with blocks on no live node (the first ones).", NAMES),
    Field("missing_files", "files missing", "How many files have blocks on no live node.", COUNT),
    # steps of the ledger
    Field("step", "step", "The number of the step in the ledger.", COUNT),
    Field("what", "what happened", "What happened, in words.", TEXT),
    Field("decided", "what was decided", "What was decided, a sentence for each reason.", LINES),
    Field("story", "what happened, and what was decided", "What happened and what was decided.", TEXT),
    Field("reasons", "reasons", "The reasons of the decision, with codes and facts.", NAMES),
    Field("effects", "effects", "What the decision asked the world to do.", NAMES),
    Field("event", "event", "The whole event.", KEYED),
    Field("text", "text", "A line of the explanation.", TEXT),
    Field("facts", "facts", "The facts behind a line of the explanation.", KEYED),
    Field("decided_by", "decided by", "The version of Fawkes that decided the step.", NAME),
    Field("differs", "differs", "The parts of the decision that differ.", NAMES),
    Field("stored_decision", "stored decision", "The decision in the ledger.", KEYED),
    Field("new_decision", "new decision", "The decision of this version.", KEYED),
    Field("ledger", "ledger", "The file of the ledger.", NAME),
    Field("steps", "steps", "How many steps.", COUNT),
    Field("pool_id", "pool id", "The id of the ledger.", NAME),
    Field("sound", "sound", "Whether every check of the ledger passed.", YES),
    # data
    Field("path", "folder", "The folder in HDFS.", NAME),
    Field("bytes", "size", "The size; none when it is not known.", SIZE),
    Field("files", "files", "How many files.", COUNT),
    Field("save_to", "saved to", "Where the folder is saved; empty when nobody declared it.", NAME),
    Field("saved", "saved", "Whether the folder is saved already.", YES),
    Field("fate", "what happens", "What a release does with the folder, or a restore with the files.", TEXT),
    Field("named", "the first ones", "The first of these files.", NAMES),
    # policies, files, releases
    Field("summary", "what it does", "The first line of the policy's own text.", TEXT),
    Field("origin", "comes from", "The site's own folder, or Fawkes.", NAME),
    Field("file", "file", "The path of the file.", NAME),
    Field("written", "written", "Whether the file was written; not in a dry run.", YES),
    Field("hides", "hides", "Files of the same name that it hides.", NAMES),
    Field("folder", "folder", "The folder on this machine.", NAME),
    Field("version", "version", "The Hadoop or Pig release.", NAME),
    Field("made", "new", "Whether the release was fetched now.", YES),
    Field("fault", "fault", "What is wrong with the file.", TEXT),
    Field("jars", "jars", "How many jars the release has.", COUNT),
    Field("java_range", "Java", "The versions of Java that the release runs on.", NAME),
    Field("wrong_files", "wrong files", "How many of its files differ from the manifest.", COUNT),
    # runs of a simulation
    Field("settings", "settings", "The settings that differ from the scenario's.", NAME),
    Field("replays", "replays", "How many perturbed replays were run.", COUNT),
    Field("rank", "rank", "The place by mean slowdown; 1 is the best.", COUNT),
    Field(
        "slowdown_mean", "slowdown", "The mean slowdown of jobs that succeeded; the median of several replays.", RATIO
    ),
    Field("slowdown_mean_low", "5 %", "The 5 % quantile of the mean slowdown over the replays.", RATIO),
    Field("slowdown_mean_high", "95 %", "The 95 % quantile of the mean slowdown over the replays.", RATIO),
    Field("slowdown_median", "median", "The median slowdown of jobs that succeeded.", RATIO),
    Field("slowdown_least", "least", "The least of the MR-clusters' mean slowdowns.", RATIO),
    Field("slowdown_middle", "middle", "The median of the MR-clusters' mean slowdowns.", RATIO),
    Field("slowdown_most", "most", "The largest of the MR-clusters' mean slowdowns.", RATIO),
    Field("response_mean_s", "response", "The mean time from submission to the end of a job.", WHOLE_SECONDS),
    Field("response_median_s", "median resp.", "The median time from submission to the end of a job.", WHOLE_SECONDS),
    Field("node_s", "node time", "Nodes held, times seconds.", WHOLE_SECONDS),
    Field("first_task_s", "first task", "When its first task began, from the start of the run.", WHOLE_SECONDS),
    Field("stuck_s", "stuck", "How long its tasks waited while it held resources and none ran.", WHOLE_SECONDS),
    Field("lost_tasks", "lost", "Running tasks that were ended for others and ran again; not known for Fawkes.", COUNT),
    Field("dropped_jobs", "dropped", "Jobs that were not let in, because no grant could meet their deadline.", COUNT),
    Field("finished_s", "finished", "The end of the last job, from the start of the run.", WHOLE_SECONDS),
    Field("makespan_s", "makespan", "From the start of the run to the end of the last job.", WHOLE_SECONDS),
    Field("makespan_s_low", "makesp. 5 %", "The 5 % quantile of the makespan over the replays.", WHOLE_SECONDS),
    Field("makespan_s_high", "makesp. 95 %", "The 95 % quantile of the makespan over the replays.", WHOLE_SECONDS),
    Field("reconfigurations", "reconfigurations", "Ticks at which balancing moved nodes, however many.", FIGURE),
    Field("change", "change", "The change of the mean slowdown against the baseline, paired by replay.", CHANGE),
    Field("change_ci_low", "from", "The low end of the change's 95 % interval, by bootstrap.", CHANGE),
    Field("change_ci_high", "to", "The high end of the change's 95 % interval, by bootstrap.", CHANGE),
    Field("verdict", "verdict", "Better or worse than the baseline, or cannot tell: by that interval and p.", NAME),
    Field("slowdown_mean_ci_low", "slowd. from", "The low end of the 95 % interval of the median slowdown.", RATIO),
    Field("slowdown_mean_ci_high", "slowd. to", "The high end of the 95 % interval of the median slowdown.", RATIO),
    Field(
        "makespan_s_ci_low", "makesp. from", "The low end of the 95 % interval of the median makespan.", WHOLE_SECONDS
    ),
    Field(
        "makespan_s_ci_high", "makesp. to", "The high end of the 95 % interval of the median makespan.", WHOLE_SECONDS
    ),
    Field("p", "p", "The two-sided p: Wilcoxon's test of that change; of deadlines Welch's test.", FIGURE),
    Field("jobs_due", "jobs due", "Jobs that have a deadline.", FIGURE),
    Field("jobs_met", "met", "Jobs that met their deadline.", FIGURE),
    Field("jobs_missed", "missed", "Jobs with a deadline that ended late, failed or were cancelled.", FIGURE),
    Field("jobs_dropped", "dropped", "Jobs that the admission policy did not let in.", FIGURE),
    Field("jobs_killed", "killed", "Jobs that the admission policy ended after their deadline.", FIGURE),
    Field("sdr", "SDR", "The share of the jobs with a deadline that met it.", SHARE),
    Field("wasted_s", "wasted", "Task-seconds of jobs with a deadline that did not meet it.", WHOLE_SECONDS),
    Field("masters_away_s", "no masters", "Time in which its masters did not serve.", DURATION),
    Field("masters_moves", "moves", "How often masters went to another node.", FIGURE),
    Field("masters_lacks_s", "lacked", "Of how much time the writes were lost: the copies lacked them.", TENTHS),
    Field("jobs_again", "again", "Jobs that began again because they had ended with their masters.", FIGURE),
    Field("work_again_s", "in vain", "Task-seconds that those jobs had run before.", WHOLE_SECONDS),
    Field("standby_s", "standby", "Time in which a second NameNode could take over.", DURATION),
    Field("standby_cpu_s", "its CPU", "Core-seconds of second NameNodes and journals, beyond those of kept.", TENTHS),
    Field("preemption", "preemption", "The preemption policy.", NAME),
    Field("killed_work_s", "killed work", "Slot-seconds of work that was lost when tasks were ended.", WHOLE_SECONDS),
    Field("dumping_s", "dumping", "Slot-seconds in which tasks saved themselves.", WHOLE_SECONDS),
    Field("restoring_s", "restoring", "Slot-seconds in which tasks read what they had saved.", WHOLE_SECONDS),
    Field("waiting_s", "waited", "Seconds of saved tasks, without a slot, until they ran again.", WHOLE_SECONDS),
    Field("useful_s", "useful", "Slot-seconds of all other work of tasks, by the readings.", WHOLE_SECONDS),
    Field("unknown_s", "not known", "Slot-seconds of tasks of which nobody heard how they went.", WHOLE_SECONDS),
    Field("wasted_part", "wasted part", "Known killed work, dumping and restoring, by all slot-seconds.", SHARE),
    Field("tasks_saved", "saved", "How often a task had to go and was saved.", FIGURE),
    Field("tasks_killed", "ended", "How often a task had to go and was ended.", FIGURE),
    Field("tasks_unknown", "not heard", "How often a task had to go and nobody heard how it went.", FIGURE),
    Field("tasks_unseen", "not seen", "Saved tasks of which nobody says when they ran again.", FIGURE),
    Field("regret", "regret", "The mean slowdown over that of the best fixed division, minus 1.", CHANGE),
    Field("moves", "node moves", "Nodes that came, went or changed their MR-cluster, deployments included.", FIGURE),
    Field("front", "front", "Whether no other is better in both, the mean slowdown and these moves.", YES),
    # evictions and preemptions
    Field("by", "by", "The kind of the group: log, band, priority or class.", NAME),
    Field("group", "group", "A band of priorities, a priority or a scheduling class; all is the whole log.", NAME),
    Field("hour", "hour", "The hour of the log, from its time 0.", COUNT),
    Field("events", "events", "How many events.", COUNT),
    Field("schedules", "scheduled", "How often tasks were scheduled on a machine.", COUNT),
    Field("evictions", "evictions", "How often tasks were evicted, whatever the reason.", COUNT),
    Field("eviction_rate", "evict rate", "Evictions, divided by schedules.", PERCENT),
    Field("preemptions", "preemptions", "Evictions that the 5-second rule calls preemptions.", COUNT),
    Field("preemption_rate", "preempt rate", "Preemptions, divided by schedules.", PERCENT),
    Field("undecided", "undecided", "Evictions without a machine, or less than 5 s before the end of the log.", COUNT),
    Field(
        "used_cpu_h", "CPU-hours", "CPU-hours of all attempts, by their request; those not known are left out.", FIGURE
    ),
    Field("evicted_cpu_h", "CPU-hours evicted", "CPU-hours of the attempts that were evicted.", FIGURE),
    Field("preempted_cpu_h", "CPU-hours preempted", "CPU-hours of the attempts that were preempted.", FIGURE),
    Field("wasted", "wasted", "The CPU-hours of evicted attempts, divided by those of all attempts.", SHARE),
    Field(
        "unmeasured", "not measured", "Attempts whose CPU time is not known. With any, the wasted share is not.", COUNT
    ),
    Field("at_least", "at least", "So many evictions or preemptions of the same task, or more.", COUNT),
    Field("evicted_tasks", "evicted", "How many tasks were evicted so often.", COUNT),
    Field("evicted_share", "of evicted", "Their share of all tasks that were evicted.", PERCENT),
    Field("preempted_tasks", "preempted", "How many tasks were preempted so often.", COUNT),
    Field("preempted_share", "of preempted", "Their share of all tasks that were preempted.", PERCENT),
    Field("platform", "platform", "The microarchitecture of the machines, as the log names it.", NAME),
    Field("cpu", "CPU", "Their CPUs, in units of the largest machine.", NAME),
    Field("memory_units", "memory", "Their memory, in units of the largest machine.", NAME),
    Field("part_of_all", "of all", "Their share of all machines.", PERCENT),
    Field("left_nodes", "left", "How often nodes left the MR-cluster for this reason.", COUNT),
    Field("again_nodes", "more than once", "How many nodes left it more than once for this reason.", COUNT),
    Field(
        "killed_tasks", "tasks ended", "Tasks that ended with these nodes; not known, because a ledger has none.", COUNT
    ),
    # deadlines on a flat pool of CPUs
    Field("trace", "trace", "The trace of jobs.", NAME),
    Field("deadlines", "deadlines", "The type of the deadlines; own: those of the table.", NAME),
    Field("cpus", "CPUs", "The CPUs of the pool.", COUNT),
    Field("allocator", "allocator", "The admission policy, with the options that are not at their defaults.", NAME),
    Field("seeds", "seeds", "How many random seeds were run.", COUNT),
    Field("sdr_least", "SDR least", "The least such part over the seeds.", SHARE),
    Field("sdr_most", "SDR most", "The largest such part over the seeds.", SHARE),
    Field("ptr", "PTR", "The useful part of the work of jobs with a deadline: that of jobs which met it.", SHARE),
    Field("wtr", "WTR", "The wasted part of that work: what jobs used that missed their deadline.", SHARE),
    Field("unserved", "unserved", "The part of that work that was never done.", SHARE),
    Field("utilisation", "used", "The busy part of the CPUs, up to the last submission.", SHARE),
    Field("fairness", "fairness", "Jain's index of granted over requested CPUs, mean of samples of 60 s.", RATIO),
    Field("fairness_ci", "+-", "Half of the fairness's 95 % interval, of the first seed; none of one sample.", FIGURE),
    Field("fairness_ci_days", "+- (days)", "The same by means of days, which hang together less; none of one.", FIGURE),
    Field("equality", "equality", "Jain's index of granted CPUs among jobs of equal demand.", RATIO),
    Field("idle_10", "10 idle", "The part of time in which 10 CPUs are idle at once.", SHARE),
    Field("idle_100", "100 idle", "The part of time in which 100 CPUs are idle at once.", SHARE),
    Field("t", "t", "Welch's t of the fairness against REACTIVE, of the first seed.", FIGURE),
    # recorded beside simulated
    Field("recorded_at_s", "recorded at", "When, in the recorded run.", WHOLE_SECONDS),
    Field("recorded_nodes", "nodes", "How many nodes, in the recorded run.", COUNT),
    Field("simulated_at_s", "simulated at", "When, in the simulated run.", WHOLE_SECONDS),
    Field("simulated_nodes", "nodes (sim.)", "How many nodes, in the simulated run.", COUNT),
    Field("recorded_s", "recorded", "How long it took in the recorded run.", TENTHS),
    Field("simulated_s", "simulated", "How long it took in the simulated run.", TENTHS),
    Field("error", "difference", "Simulated divided by recorded, minus 1.", CHANGE),
    Field("record", "record", "The folder of the record.", NAME),
    Field("problem", "problem", "Why jobs of the span are incomplete in the record.", NAME),
    Field("first", "first", "The first of them.", NAME),
    # calibration
    Field("constant", "constant", "The constant of the simulator.", NAME),
    Field("value", "value", "Its value: the median of the observations.", FIGURE),
    Field("low", "5 %", "The 5 % quantile of the observations.", FIGURE),
    Field("high", "95 %", "The 95 % quantile of the observations.", FIGURE),
    Field("n", "n", "How many observations.", COUNT),
    Field("method", "method", "How the constant was fitted.", NAME),
    Field("median", "median", "The median of the absolute errors.", SHARE),
    Field("q90", "90 %", "The 90 % quantile of the absolute errors.", SHARE),
    # profiles
    Field("profile", "profile", "The profile of a Spark application.", NAME),
    Field("profile_version", "version", "The newest version of the profile.", COUNT),
    Field("stages", "stages", "How many stages the profile has.", COUNT),
    Field("stage", "stage", "Spark's number of the stage, and its name.", NAME),
    Field("idle_s", "idle", "The time before the stage in which no stage ran.", TENTHS),
    Field("duration_s", "duration", "From the submission of the stage to its completion; the sum of all.", TENTHS),
    Field("tasks", "tasks", "How many tasks the stage has.", COUNT),
    Field("records_read", "read", "Records that the stage read, as input or shuffled.", FIGURE),
    Field("records_written", "written", "Records that the stage wrote, as output or to be shuffled.", FIGURE),
    Field("rate", "rate", "Records that one core processes in a second.", FIGURE),
    Field("parents", "parents", "The numbers of the stages whose records it reads.", NAMES),
    # workloads
    Field("quantity", "quantity", "What is measured of the jobs.", NAME),
    Field("p5", "5 %", "The 5 % quantile over the jobs.", FIGURE),
    Field("p50", "median", "The median over the jobs.", FIGURE),
    Field("p95", "95 %", "The 95 % quantile over the jobs.", FIGURE),
    Field("max", "most", "The largest value.", FIGURE),
    Field("mean", "mean", "The mean over the jobs.", FIGURE),
    Field("total", "sum", "The sum over the jobs.", FIGURE),
    Field("format", "format", "The format of the file.", NAME),
    Field("span_s", "span", "From the first submission to the last.", DURATION),
    Field("skipped", "skipped", "How many lines of the input were skipped.", COUNT),
    Field("not_written", "not written", "What the format cannot hold.", NAMES),
    Field("maker", "maker", "The name for `fawkes workload make`.", NAME),
    Field("makes", "makes", "What it makes.", TEXT),
    Field("keys", "--set", "The keys that --set takes.", KEYED),
    # replays and the demo
    Field("part", "part", "Before the jobs, or the jobs.", NAME),
    Field("action", "action", "The action: request or submit.", NAME),
    Field("name", "name", "The MR-cluster that is requested, or the job.", NAME),
    Field("counts_from", "since", "What its time counts from.", NAME),
    Field("behind", "after", "The jobs that must end before.", NAME),
    Field("does", "does", "What the job does.", TEXT),
    Field("point", "point", "The point of the story.", NAME),
    Field("how", "how we know", "What in the ledger shows it.", TEXT),
    # the check of nodes
    Field("result", "result", "Whether the node is ready for use.", NAME),
    Field("ssh", "SSH", "Whether it is reached over SSH.", NAME),
    Field("key", "key", "Whether its host key is known.", NAME),
    Field("names", "names", "Whether nodes resolve each other's names alike.", NAME),
    Field("data", "data", "Whether it has its data_address, and others reach that.", NAME),
    Field("forward", "forward", "Whether connections can be opened through it.", NAME),
    Field("java", "Java", "Whether it has a Java that Hadoop runs on.", NAME),
    Field("clock", "clock", "Whether its clock agrees with the controller's.", NAME),
    Field("disk", "disk", "Whether its disk has room.", NAME),
    Field("memory", "memory", "Whether it has the memory that the inventory says.", NAME),
    Field("ports", "ports", "Whether Hadoop's ports are free.", NAME),
    Field("left", "left", "Whether another pool left something behind.", NAME),
    Field("tools", "tools", "Whether it has the tools that Fawkes needs.", NAME),
    Field("shell", "shell", "Whether its login shell starts fast and says nothing.", NAME),
    Field("logout", "logout", "Whether processes survive the logout.", NAME),
    Field("users", "users", "Whether programs can run as the Unix users of the MR-clusters.", NAME),
    Field("java_home", "JAVA_HOME", "The folder of its Java.", NAME),
    Field("java_version", "Java version", "The version of its Java.", COUNT),
    Field("clock_us", "clock (us)", "How far its clock is ahead of the controller's.", COUNT),
    Field("free_bytes", "free bytes", "The free space of its disk.", COUNT),
    Field("no_group", "no control group", "Why a lease gets no control group there; empty if it gets one.", TEXT),
    Field(
        "quota", "CPU quotas", "How CPU time of containers is limited: by cgroup v2 or v1, or by stopping them.", NAME
    ),
    Field("criu", "CRIU", "Whether the kernel lets the node's user save tasks by CRIU.", TEXT),
    Field("criu_why", "no CRIU", "Why tasks cannot be saved by CRIU there.", TEXT),
    Field("quota_why", "no CPU groups", "The commands that would give the node control groups for CPU time.", TEXT),
    Field("shell_us", "shell (us)", "How long its login shell takes to start.", COUNT),
    Field("findings", "what to look at", "The checks that failed or gave a warning.", TEXT),
    Field("problems", "problems", "What is wrong, with hints.", PROBLEMS),
)

#: what rows have, by key
FIELDS: Final[Mapping[str, Field]] = {field.key: field for field in _ALL}
