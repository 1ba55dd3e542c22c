"""``[model]`` of a workload or scenario: what `fawkes simulate` takes for its model of Hadoop; live runs ignore it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from fawkes.base.errors import ConfigError
from fawkes.config.files.fields import (
    BlockBytes,
    DurationUs,
    Fraction,
    LocalPath,
    Positive,
    PositiveDurationUs,
    SizeBytes,
    between,
)
from fawkes.config.files.loader import Strict, check, read_toml

Slots = Annotated[int, between(0, 10_000, "no node runs more containers at once")]
Share = Annotated[float, between(0, 100, "a disk would do nothing but seek")]
Count = Annotated[int, between(1, 1_000_000, "the model computes with 64 bits")]


class ModelTable(Strict):
    """``[model]``: constants of the model of Hadoop that differ from the paper's platform; rates are for a second."""

    source: LocalPath | None = Field(default=None, alias="from", description="a file of `fawkes calibrate`")
    slots: Annotated[int, between(1, 10_000, "no node runs more containers at once")] | None = Field(
        default=None, description="containers of a node when map_slots is 0"
    )
    map_slots: Slots | None = Field(default=None, description="maps at once; 0 is YARN")
    reduce_slots: Slots | None = Field(default=None, description="reduces at once")
    disk_bytes_s: SizeBytes | None = Field(default=None, alias="disk", description="the disks of a node")
    disk_seek: Share | None = Field(default=None, description="part of a disk's time that a further stream costs")
    serial: Fraction | None = Field(default=None, description="part of a phase's shorter streams that runs alone")
    network_bytes_s: SizeBytes | None = Field(default=None, alias="network", description="the network of a node")
    rack_nodes: Annotated[int, between(0, 1_000_000, "a pool has no more nodes")] | None = Field(
        default=None, description="nodes of a rack; 0 is one rack for all"
    )
    oversubscription: Annotated[float, between(1, 1000, "a rack's way out is not wider than its nodes")] | None = Field(
        default=None, description="what a rack's nodes can send, over what leaves the rack"
    )
    site_bytes_s: SizeBytes | None = Field(default=None, alias="site", description="the link between two sites")
    site_stream_bytes_s: SizeBytes | None = Field(
        default=None, alias="site_stream", description="what one task gets of the link between two sites"
    )
    storage_bytes_s: SizeBytes | None = Field(default=None, alias="storage", description="the persistent storage")
    cores: Positive | None = Field(default=None, description="of a node, or of all when they are shared")
    remote_read: Positive | None = Field(default=None, description="cost of a byte read from another node")
    output_passes: Positive | None = Field(default=None, description="passes of a byte of output over disks")
    output_replicas: Annotated[int, between(0, 1000, "no file has more replicas")] | None = Field(
        default=None, description="of what jobs write; 0 is the MR-cluster's replication"
    )
    master_share: Fraction | None = Field(
        default=None,
        description="most slots that ApplicationMasters hold; unset: 0.5 if map_slots is 0, else none",
    )
    slow_start: Fraction | None = Field(default=None, description="share of maps done before reduces begin")
    job_start_us: DurationUs | None = Field(default=None, alias="job_start", description="from Fawkes's queue to YARN")
    job_begin_us: DurationUs | None = Field(default=None, alias="job_begin", description="until the first map")
    job_begin_cpu_us: DurationUs | None = Field(
        default=None, alias="job_begin_cpu", description="time on one core that this takes"
    )
    job_end_us: DurationUs | None = Field(default=None, alias="job_end", description="after the last task")
    block_bytes: BlockBytes | None = Field(default=None, alias="block", description="the size of a block in HDFS")
    heartbeat_us: PositiveDurationUs | None = Field(default=None, alias="heartbeat", description="of a DataNode")
    shared_cores: bool | None = Field(default=None, description="whether all nodes share the cores of one machine")
    decommission_us: DurationUs | None = Field(
        default=None, alias="decommission", description="how often HDFS looks whether a node is empty"
    )
    streams: Count | None = Field(default=None, description="copies at once from a node that leaves")
    multiplier: Count | None = Field(default=None, description="blocks for each live node and heartbeat")
    deploy_us: DurationUs | None = Field(default=None, alias="deploy", description="of an MR-cluster, without data")
    join_us: DurationUs | None = Field(default=None, alias="join", description="until a node serves")
    join_cpu_us: DurationUs | None = Field(
        default=None, alias="join_cpu", description="time on shared cores that this takes"
    )
    drain_us: DurationUs | None = Field(default=None, alias="drain", description="until a node without tasks may go")
    clean_us: DurationUs | None = Field(default=None, alias="clean", description="until a node is wiped")
    masters_us: DurationUs | None = Field(
        default=None, alias="move_masters", description="until masters serve on another node"
    )
    takeover_us: DurationUs | None = Field(
        default=None, alias="takeover", description="until masters serve where their second NameNode is"
    )
    arm_us: DurationUs | None = Field(
        default=None, alias="arm", description="until a second NameNode follows; twice that with another journal"
    )
    copy_us: DurationUs | None = Field(
        default=None, alias="keep_every", description="how often the masters' data is copied off their node"
    )
    spread: Annotated[float, between(0, 2, "more spread is no longer that of equal tasks")] | None = Field(
        default=None, description="deviation of the work of equal tasks; 0 is none; never of sleep jobs and rigid jobs"
    )
    node_spread: Annotated[float, between(0, 2, "nodes of a pool are not so unequal")] | None = Field(
        default=None, description="deviation of the speeds of nodes; 0 is none"
    )
    stragglers: Fraction | None = Field(default=None, description="share of tasks that have more work than they look")
    straggle: Annotated[float, between(1, 10_000, "no task has so much more work than others")] | None = Field(
        default=None, description="how many times the work of those"
    )
    speculative: bool | None = Field(default=None, description="whether slow tasks are overtaken by a second attempt")
    idle_cores: Annotated[float, between(0, 1000, "no daemons take more")] | None = Field(
        default=None, description="cores that a node's daemons take all the time"
    )
    keep_cores: Annotated[float, between(0, 1000, "no copies take more")] | None = Field(
        default=None, description="cores that copying an MR-cluster's masters' data takes all the time"
    )
    standby_cores: Annotated[float, between(0, 1000, "no daemons take more")] | None = Field(
        default=None, description="cores that an MR-cluster's second NameNode and journal take all the time"
    )
    task_end_us: DurationUs | None = Field(
        default=None, alias="task_end", description="until the slot of a task that has ended is free"
    )
    task_start_us: DurationUs | None = Field(
        default=None, alias="task_start", description="until a task begins its work, alone on the machine"
    )
    task_start_cpu_us: DurationUs | None = Field(
        default=None, alias="task_start_cpu", description="time on one core that this takes"
    )


def completed(model: ModelTable, path: Path) -> ModelTable:
    """The table with what the file that it names says below it; ``path`` is the file in which the table stands.

    ConfigError when that file is not there, has no ``[model]``, or names a further one.
    """
    if model.source is None:
        return model
    below = read_model(path.parent / model.source)
    return below.model_copy(update={name: getattr(model, name) for name in model.model_fields_set})


def read_model(path: Path) -> ModelTable:
    """The constants of a file of `fawkes calibrate`; ConfigError as ``completed``."""
    said: dict[str, Any] = read_toml(path, hint="`fawkes calibrate` writes it")
    if "model" not in said:
        raise ConfigError("has no [model]", file=str(path), hint="`fawkes calibrate` writes such a file")
    table = check(ModelTable, said["model"], file=str(path), key="model")
    if table.source is not None:
        raise ConfigError("names a further file", file=str(path), key="model.from", hint="Name that one instead")
    return table
