"""The keys of ``fawkes.toml``, each with its kind of value, its default and its sentence for the reference."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, PlainValidator, WrapValidator

from fawkes.base.units import SECOND_US
from fawkes.config.files.fields import (
    Attempts,
    DurationUs,
    Fraction,
    Host,
    Name,
    PositiveDurationUs,
    SizeBytes,
    UserName,
    between,
    duration,
    positive,
)
from fawkes.config.files.loader import Strict, wrong
from fawkes.config.settings.kerberos import KerberosTable
from fawkes.config.settings.quota import QuotaTable
from fawkes.config.settings.web import WebTable
from fawkes.core.clusters.keeping import KeepRules

#: of a site that writes nothing about it
KEEP = KeepRules()
#: of the numbers that a policy is given
_LARGEST = 1e15
#: the name of the queue that asks no admission policy
FIFO = "fifo"
_GROUP = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}\$?")
Growth = Literal["TR", "TC"]


def _leave(value: object) -> object:
    return "0s" if value == "instant" else value


def _idle(value: object) -> int | str:
    if value in ("period", "never"):
        return str(value)
    if not isinstance(value, str):
        raise wrong(f"{value!r} is no duration", 'Write a duration such as "4h", "period" (retire after T) or "never"')
    return positive(duration(value))


def _budget(value: object) -> float | None:
    if value == "unlimited":
        return None
    number: object = value
    if isinstance(value, str) and value.endswith("%"):
        try:
            number = float(value[:-1]) / 100
        except ValueError:
            number = None
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number <= 1:
        raise wrong(f"{value!r} is no share of the nodes", 'Write a share such as "20%" or 0.2, or "unlimited"')
    return float(number)


def _parameter(value: object) -> bool | int | float | str:
    if isinstance(value, bool | str):
        return value
    if not isinstance(value, int | float):
        raise wrong(f"{value!r} is not a number, text or a truth value", 'Write a value such as 2, "mean" or true')
    if not math.isfinite(value) or abs(value) > _LARGEST:
        raise wrong(f"{value!r} is too large", f"Give a number between -{_LARGEST:g} and {_LARGEST:g}")
    return value


def _whole(value: object, number: Callable[[object], float]) -> int | float:
    """A number as it is written: policies count and cut lists by whole ones."""
    read = number(value)
    return value if type(value) is int else read


def _groups(value: object) -> list[str]:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list):
        raise wrong(f"{value!r} is no list of groups", 'Write names of Unix groups: ["hadoop", "students"]')
    for name in names:
        if not isinstance(name, str) or not _GROUP.fullmatch(name):
            raise wrong(f"{name!r} cannot be the name of a group", 'Write names of Unix groups: ["hadoop", "students"]')
    return [str(name) for name in names]


Groups = Annotated[list[str], PlainValidator(_groups)]
LeaveUs = Annotated[DurationUs, BeforeValidator(_leave)]
Fanout = Annotated[int, between(1, 1_024, "each host that is worked on at once takes a connection and a thread")]
Tau = Annotated[float, between(0, 1e15, "shares are at most 1 and periods at most ten years")]
Cores = Annotated[float, between(0, 100_000, "no machine has more")]
Repeats = Annotated[int, between(1, 1_000, "with more nothing would ever happen")]
Number = Annotated[float, WrapValidator(_whole), between(-_LARGEST, _LARGEST, "policies compute with 64 bits")]
Parameter = Annotated[bool | int | float | str, PlainValidator(_parameter)]


class Timeouts(Strict):
    """``[timeouts]``: when an effect that has not ended counts as failed."""

    join_us: PositiveDurationUs = Field(alias="join", description="from the order to join until a node serves")
    clean_us: PositiveDurationUs = Field(alias="clean", description="stopping, wiping and verifying a node")
    deploy_us: PositiveDurationUs = Field(alias="deploy", description="bringing up an MR-cluster")
    membership_us: PositiveDurationUs = Field(alias="membership", description="telling the masters who belongs")
    transfer_us: PositiveDurationUs = Field(alias="transfer", description="loading inputs or saving outputs")
    start_job_us: PositiveDurationUs = Field(alias="start_job", description="handing a job to YARN")


class Patience(Strict):
    """``[patience]``: how long what the masters say may last before the core draws a conclusion."""

    missing_us: PositiveDurationUs = Field(alias="missing", description="how long the masters may miss a node")
    silent_us: PositiveDurationUs = Field(alias="silent", description="how long masters may not answer")
    takeover_us: PositiveDurationUs = Field(
        alias="takeover", description="how long a NameNode may not answer before the second one takes over"
    )
    doubt_us: PositiveDurationUs = Field(alias="doubt", description="when masters are told their members again")
    held_us: PositiveDurationUs = Field(alias="held", description="when a node counts as held by its blocks")
    heard_us: PositiveDurationUs = Field(alias="heard", description="how recent a heartbeat makes a replica count")
    quiet_us: PositiveDurationUs = Field(
        alias="quiet", description="when a job without an application is running, or one that stands is told"
    )
    stuck_us: PositiveDurationUs = Field(alias="stuck", description="how long tasks may wait while none runs")
    clock_jump_us: DurationUs = Field(
        alias="clock_jump", description="a clock that was set by more than this has jumped; 0s: never"
    )
    away_us: DurationUs = Field(alias="away", description="how much of the time between two runs counts; 0s: all")
    masters_lost_us: DurationUs = Field(
        alias="masters_lost", description="how long lost masters are waited for before others take over; 0s: for ever"
    )
    copy_gap_us: DurationUs = Field(
        alias="copy_gap", description="how much the copy of lost masters' data may lack when others take over"
    )
    copy_us: DurationUs = Field(
        alias="copy", description="how long the masters' data may go without a copy before an alert; 0s: for ever"
    )
    standby_us: DurationUs = Field(
        alias="standby",
        description="how long a second NameNode or its journal may be away before it is brought up again; 0s: for ever",
    )
    journal_us: DurationUs = Field(
        alias="journal",
        description="how long an MR-cluster that gave its journal up waits for a moment without jobs to get a new one, "
        "before new jobs wait for that; 0s: it never gets one",
    )
    follow_us: PositiveDurationUs = Field(
        alias="follow", description="how long a daemon may take to find its masters before it is started again"
    )
    rejoin_us: PositiveDurationUs = Field(
        alias="rejoin", description="how long members may take to come back to masters that have moved"
    )
    unusable_us: DurationUs = Field(
        alias="unusable",
        description="how long HDFS may take no writes, or YARN no applications, before an alert; 0s: for ever",
    )
    late_us: DurationUs = Field(
        alias="late",
        description="how long a stage, or a node that joins or is wiped, may wait for the same thing before an alert; "
        "0s: for ever",
    )
    close_us: PositiveDurationUs = Field(
        alias="close", description="how long one attempt of a save waits until HDFS has closed files that are open"
    )


class Retries(Strict):
    """``[retries]``: the waits between two attempts; each is twice as long as the one before."""

    first_us: PositiveDurationUs = Field(alias="first", description="the wait after the first failure")
    longest_us: PositiveDurationUs = Field(alias="longest", description="the longest wait between two attempts")


class SshLimits(Strict):
    """``[ssh]``: how many hosts are asked at once, and for how long."""

    fanout: Fanout = Field(description="hosts that are worked on at once")
    connect_timeout_us: PositiveDurationUs = Field(alias="connect_timeout", description="time to get a connection")
    command_timeout_us: PositiveDurationUs = Field(alias="command_timeout", description="time for one step on a host")
    answer_timeout_us: PositiveDurationUs = Field(
        alias="answer_timeout",
        description="time for a short answer, such as the lease of a node when a controller starts",
    )

    @property
    def answer_s(self) -> float:
        """The time for a short answer in seconds."""
        return self.answer_timeout_us / SECOND_US


class AccessTable(Strict):
    """``[access]``: who may use the controller's socket besides its own user and root."""

    viewers: Groups = Field(default=[], description="groups whose members may see MR-clusters, jobs and nodes")
    users: Groups = Field(
        default=[], description="groups whose members may also request MR-clusters, and act on their own"
    )
    operators: Groups = Field(default=[], description="groups whose members may do everything")
    run_as: list[UserName] = Field(
        default=[], description="Unix users of the nodes that users may name as `run_as`; operators may name any"
    )
    webhdfs: list[Host] = Field(
        default=[], description="hosts whose `webhdfs://` URLs users may name as input; operators may name any"
    )


class HooksTable(Strict):
    """``[hooks]``: the site's own executables in ``hooks/``."""

    time_limit_us: PositiveDurationUs = Field(
        default=30 * SECOND_US, alias="time_limit", description="when a hook that has not ended is killed"
    )
    before_join: Literal["required", "told"] = Field(
        default="required",
        description="required: a node joins only once hooks/before-join has ended with 0; told: it does not wait",
    )


#: of a site that writes nothing about them
NO_HOOKS = HooksTable()


class SettingsFile(Strict):
    """All keys of ``fawkes.toml``; those that are not written come from the preset."""

    preset: str = Field(default="steady", description="where all other values come from")
    policy: str = Field(description="the weighting policy: a name or the path of a file")
    policy_parameters: dict[str, Number] = Field(default={}, description="numbers for the policy, such as psi for RU")
    admission: str = Field(
        default=FIFO, description="the admission policy: a name or the path of a file; fifo: first come, first served"
    )
    admission_parameters: dict[str, Parameter] = Field(
        default={}, description="values for the admission policy, such as kill_threshold for justice"
    )
    learn_from_pool: bool = Field(
        default=False, description="whether the admission policy learns from the jobs of all MR-clusters together"
    )
    admit_unkept: bool = Field(
        default=False, description="whether jobs are let in for which no number of CPUs can be kept"
    )
    preemption: str = Field(
        default="adaptive",
        description="the preemption policy for tasks that can be saved, on a node that leaves: a name or a path",
    )
    image_bytes_s: SizeBytes = Field(
        default=20_000_000,
        alias="image_rate",
        description="bytes a second at which a node is taken to save tasks, until the MR-cluster has saved some",
    )
    period_us: PositiveDurationUs = Field(alias="period", description="T: how often weights are computed")
    sample_every_us: PositiveDurationUs = Field(alias="sample_every", description="how often MR-clusters are read")
    release_us: DurationUs = Field(
        alias="release_every", description="how often room for the next job is looked for; 0s: with each reading alone"
    )
    discrimination: Literal["raw", "reducible"] = Field(description="which discrimination is held against tau")
    tau: Tau | None = Field(default=None, description="the threshold, in share^2 s^2")
    share_error: Fraction | None = Field(default=None, description="the threshold as RMS error of shares: sqrt(tau)/T")
    growth: Growth = Field(description="the role of nodes that an MR-cluster grows by")
    transient_leave_us: LeaveUs = Field(alias="transient_leave", description="time for tasks when a TR node leaves")
    transient_core_leave_us: LeaveUs = Field(
        alias="transient_core_leave", description="time for tasks when a TC node leaves"
    )
    evacuate_alert_us: PositiveDurationUs = Field(
        alias="evacuate_alert", description="when an operator hears of blocks that are not safe"
    )
    spare_application_masters: bool = Field(description="nodes with ApplicationMasters leave last")
    prefer_site: bool = Field(description="grow where the MR-cluster's other nodes are")
    confirmations: Repeats = Field(description="ticks in a row above the threshold before nodes move")
    settle_after_grow_us: DurationUs = Field(alias="settle_after_grow", description="rest after a grow is complete")
    settle_after_shrink_us: DurationUs = Field(
        alias="settle_after_shrink", description="rest after a shrink is complete"
    )
    max_moves: Annotated[float | None, PlainValidator(_budget)] = Field(
        description="share of the movable nodes that may start to leave in a window"
    )
    max_moves_window_us: PositiveDurationUs = Field(alias="max_moves_window", description="that window")
    idle_time: Annotated[int | str, PlainValidator(_idle)] = Field(
        description="how long an MR-cluster may do nothing before it is saved and removed"
    )
    moves_must_pay: bool = Field(description="whether a node moves only when that saves more than it costs")
    shared_cores: Cores = Field(
        default=0.0, description="cores of the one machine that all nodes are on; 0: each node has its own"
    )
    site_link_bytes_s: SizeBytes = Field(
        default=0, alias="site_link", description="bytes a second between two sites; 0: never the limit"
    )
    stale_samples: Repeats = Field(description="missed samples after which an MR-cluster is frozen")
    halt_if_unreachable: Fraction = Field(description="share of lost nodes above which nothing moves voluntarily")
    quarantine_us: PositiveDurationUs = Field(alias="quarantine", description="how long a failed node stays out")
    deploy_attempts: Attempts = Field(description="attempts to bring up an MR-cluster")
    keep_logs_bytes: SizeBytes = Field(
        default=2_000_000_000, alias="keep_logs", description="disk for the logs of wiped nodes; the oldest go first"
    )
    keep_every_us: PositiveDurationUs = Field(
        default=2 * SECOND_US, alias="keep_every", description="how often the masters' data is copied off their node"
    )
    keep_second_every_us: PositiveDurationUs = Field(
        default=KEEP.second_every_us,
        alias="keep_second_every",
        description="how often a second core node gets what was copied of the masters' data",
    )
    keep_edits_bytes: SizeBytes = Field(
        default=KEEP.edits_bytes, alias="keep_edits", description="edits after which a NameNode gets a new image"
    )
    keep_image_rest_us: PositiveDurationUs = Field(
        default=KEEP.image_rest_us,
        alias="keep_image_rest",
        description="the least time between two attempts to make a new image",
    )
    join_attempts: Attempts = Field(description="attempts to bring up a node that joins")
    retire_undeclared: bool = Field(description="whether an idle MR-cluster with undeclared data is removed")
    timeouts: Timeouts = Field(description="when something counts as failed")
    patience: Patience = Field(description="how long what the masters say may last")
    retries: Retries = Field(description="the waits between two attempts")
    ssh: SshLimits = Field(description="limits of the connections")
    playbooks: list[Name] = Field(
        default=[], description="files in the site's playbooks/ that replace those of Fawkes, such as node"
    )
    access: AccessTable = Field(default=AccessTable(), description="who may use the controller's socket")
    hooks: HooksTable = Field(default=NO_HOOKS, description="the site's own executables in hooks/")
    kerberos: KerberosTable | None = Field(default=None, description="the realm of the site and its keytabs")
    web: WebTable | None = Field(default=None, description="the page that fawkes run serves as well")
    quota: QuotaTable = Field(default=QuotaTable(), description="cores for Spark applications with deadlines")
