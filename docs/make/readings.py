"""What is measured: the readings of an MR-cluster, and the figures of a run."""

from __future__ import annotations

from dataclasses import fields

from docs.make.table import code, table
from fawkes.cli.show.fields import FIELDS
from fawkes.core.values.model import Sample
from fawkes.offline.outcomes.failover import MASTERS
from fawkes.offline.outcomes.outcome import DEADLINES, ClusterOutcome, Outcome
from fawkes.report.tables.waste_rows import TASKS, WASTE

READINGS = {
    "at_us": "When it was read, in microseconds since 1970.",
    "jobs_waiting": "Jobs of which no task has started, those in Fawkes's own queue included.",
    "jobs_running": "Jobs under way.",
    "tasks_waiting": "Tasks that have not started, of waiting and of running jobs.",
    "tasks_running": "Tasks that run.",
    "bytes_waiting": "Input of the waiting jobs, in bytes. Unknown while jobs wait that Fawkes was not given.",
    "slots_used": "Containers in use.",
    "slots_total": "Containers that could be in use at once.",
    "output_bytes": "Output written since activation, in bytes.",
    "storage_bytes": "Storage of core and transient-core nodes, in bytes.",
    "jobs_done": "Jobs that ended since deployment.",
    "tasks_done": "Tasks that ended since deployment.",
    "hdfs_ops": "Operations of HDFS since its NameNode started.",
    "job_slowdown": "Mean of elapsed time over reference time, over running and waiting jobs with a reference time.",
    "masters": "ApplicationMasters that hold a container.",
    "without_reference": "Jobs without a reference time. `job_slowdown` leaves them out.",
    "master_slots": "Containers that each ApplicationMaster takes. 0 where they take none.",
    "cpus_wanted": "CPUs that an admission policy granted to running jobs, and those that waiting jobs ask for which "
    "can still meet their deadlines. Unknown without such a policy.",
    "nodes_planned": "Nodes that the plans of its Spark jobs under quotas need. Unknown where the cores of "
    "its nodes are not known.",
}


def readings() -> str:
    """Each reading that a weighting policy gets."""
    return table(["reading", "meaning"], [(code(each.name), READINGS[each.name]) for each in fields(Sample)])


def figures() -> str:
    """Each figure of a run offline, and where it stands."""
    parts, further = {"clusters", "due", "masters", "waste"}, {*DEADLINES, *MASTERS, *WASTE, *TASKS}
    of_cluster = {each.name for each in fields(ClusterOutcome)} - parts | further
    of_run = {each.name for each in fields(Outcome)} - parts | further
    rows = []
    for name in sorted(of_cluster | of_run):
        places = [place for place, names in (("MR-cluster", of_cluster), ("run", of_run)) if name in names]
        rows.append((code(name), ", ".join(places), FIELDS[name].about))
    return table(["figure", "of each", "meaning"], rows)
