"""The settings that decisions depend on; `fawkes.config` reads them from files and presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from fawkes.core.values.model import Plain, Role


class Discrimination(StrEnum):
    """The discrimination that is held against the threshold (facts, section 2)."""

    RAW = "raw"
    REDUCIBLE = "reducible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a site for deciding. Durations in microseconds.

    ``tau`` has the unit share^2 s^2 and scales with period^2 (eq. 3). ``transient_leave_us`` and
    ``transient_core_leave_us`` are the graceful time that running tasks get before they are killed; 0 is the paper's
    instant removal. ``evacuate_us`` is when an operator is told that a DataNode's blocks are still not safe; it is
    never stopped before they are. A node may be missing from its masters' picture for ``missing_us`` before it is lost;
    masters may be silent for ``silent_us``, a NameNode for ``takeover_us`` where a second one follows (0: as long as
    others); one that shows something else than it was told for ``doubt_us`` is told
    again. A node whose blocks are not safe after ``held_us`` is said to be held. Replicas count as safe on DataNodes
    that were heard from within ``heard_us``. A job whose client has run for ``quiet_us`` without an application counts
    as running; of one of which nothing has moved for so long it is told what it waits for. Tasks may wait for
    ``stuck_us`` while slots are held and none runs; then there is an alert. What failed is tried again after waits that
    double up to ``retry_max_us``. An idle MR-cluster with data outside of its declared outputs is retired only with
    ``retire_undeclared``. ``max_moves_fraction`` of the movable nodes may start leaving within ``max_moves_window_us``;
    None is no bound. With ``moves_must_pay`` a voluntary move is made only if it saves more than it costs
    (`core.worth`); ``shared_cores`` are those of one machine on which all nodes are, 0: each has its own;
    ``site_link_bytes_s`` is the link between two sites, 0: never the limit. An MR-cluster that gives no reading for
    ``stale_us`` is frozen. A clock that was set by more than ``clock_jump_us`` has jumped, and what moved is no time;
    0: no jump is noticed. Of the time between two runs of the controller at most ``away_us`` count; 0: all. Masters
    that are lost are waited for during ``masters_lost_us`` before others take over; 0: for ever. They do only from a
    copy that lacks at most the last ``copy_gap_us``. It is an alert when their data was not copied for ``copy_us``; 0:
    never. A second NameNode or a journal that is not whole for ``standby_us`` is brought up again, on other nodes where
    its own are lost; 0: never. An MR-cluster whose journal was given up gets a new one at a moment without jobs; after
    ``journal_us`` new jobs wait for that moment; 0: it never gets one. A daemon that should find its masters by itself
    is started again after ``follow_us``, and a member that is not back ``rejoin_us`` after its masters moved holds up
    the others no longer. It is an alert when HDFS took no writes, or YARN no applications, for ``unusable_us``, or when
    the work on a stage or a node has waited for the same thing for ``late_us``; 0: never. Each try of a save
    waits up to ``close_us`` until HDFS has closed what clients hold open; 0: nothing is closed for a save.

    ``preemption`` is the policy for the tasks of a node that leaves; empty: they are waited for. ``image_bytes_s`` is
    the rate at which a node is taken to save tasks until its MR-cluster has saved some; 0: not known. ``admission`` is
    the policy by which jobs are let in; empty: first come, first served. It learns from the jobs of each MR-cluster for
    itself, or with ``learn_from_pool`` from those of all. ``admit_unkept`` lets jobs in of which no grant of CPUs can
    be kept.
    """

    preset: str = "steady"
    policy: str = "TD"
    policy_parameters: Mapping[str, int | float] = field(default_factory=dict)
    period_us: int = 120_000_000
    sample_every_us: int = 10_000_000
    release_us: int = 0
    tau: float = 40.0
    discrimination: Discrimination = Discrimination.REDUCIBLE
    growth: Role = Role.TRANSIENT
    transient_leave_us: int = 3_600_000_000
    transient_core_leave_us: int = 3_600_000_000
    evacuate_us: int = 14_400_000_000
    spare_masters: bool = True
    prefer_site: bool = True
    confirmations: int = 2
    settle_after_grow_us: int = 120_000_000
    settle_after_shrink_us: int = 600_000_000
    max_moves_fraction: float | None = 0.2
    max_moves_window_us: int = 600_000_000
    idle_us: int | None = 14_400_000_000
    stale_us: int = 30_000_000
    join_us: int = 300_000_000
    clean_us: int = 120_000_000
    deploy_us: int = 600_000_000
    deploy_attempts: int = 3
    membership_us: int = 60_000_000
    transfer_us: int = 86_400_000_000
    start_job_us: int = 120_000_000
    quarantine_us: int = 1_800_000_000
    join_attempts: int = 2
    missing_us: int = 20_000_000
    silent_us: int = 30_000_000
    takeover_us: int = 0
    doubt_us: int = 20_000_000
    held_us: int = 15_000_000
    heard_us: int = 10_000_000
    quiet_us: int = 60_000_000
    stuck_us: int = 180_000_000
    retry_first_us: int = 2_000_000
    retry_max_us: int = 30_000_000
    retire_undeclared: bool = False
    halt_lost_fraction: float = 0.45
    moves_must_pay: bool = False
    shared_cores: float = 0.0
    site_link_bytes_s: int = 0
    clock_jump_us: int = 0
    away_us: int = 0
    masters_lost_us: int = 0
    copy_gap_us: int = 0
    copy_us: int = 0
    standby_us: int = 0
    journal_us: int = 0
    follow_us: int = 0
    rejoin_us: int = 0
    unusable_us: int = 0
    late_us: int = 0
    close_us: int = 0
    preemption: str = ""
    image_bytes_s: int = 0
    admission: str = ""
    admission_parameters: Mapping[str, Plain] = field(default_factory=dict)
    learn_from_pool: bool = False
    admit_unkept: bool = False
