"""``[model]`` of a workload or scenario: what `fawkes simulate` takes for its model of Hadoop; live runs ignore it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from fawkes.config.fields import DurationUs, Fraction, PositiveDurationUs, SizeBytes
from fawkes.config.loader import Strict

Positive = Annotated[float, Field(gt=0)]
Count = Annotated[int, Field(ge=1)]


class ModelTable(Strict):
    """``[model]``: constants of the model of Hadoop that differ from the paper's platform; rates are for a second."""

    slots: Count | None = Field(default=None, description="containers of a node when map_slots is 0")
    map_slots: Annotated[int, Field(ge=0)] | None = Field(default=None, description="maps at once; 0 is YARN")
    reduce_slots: Annotated[int, Field(ge=0)] | None = Field(default=None, description="reduces at once")
    disk_bytes_s: SizeBytes | None = Field(default=None, alias="disk", description="the disks of a node")
    network_bytes_s: SizeBytes | None = Field(default=None, alias="network", description="the network of a node")
    site_bytes_s: SizeBytes | None = Field(default=None, alias="site", description="the link between two sites")
    storage_bytes_s: SizeBytes | None = Field(default=None, alias="storage", description="the persistent storage")
    cores: Positive | None = Field(default=None, description="of a node, or of all when they are shared")
    remote_read: Positive | None = Field(default=None, description="cost of a byte read from another node")
    output_passes: Positive | None = Field(default=None, description="passes of a byte of output over disks")
    slow_start: Fraction | None = Field(default=None, description="share of maps done before reduces begin")
    job_begin_us: DurationUs | None = Field(default=None, alias="job_begin", description="until the first map")
    job_end_us: DurationUs | None = Field(default=None, alias="job_end", description="after the last task")
    block_bytes: SizeBytes | None = Field(default=None, alias="block", description="the size of a block in HDFS")
    heartbeat_us: PositiveDurationUs | None = Field(default=None, alias="heartbeat", description="of a DataNode")
    shared_cores: bool | None = Field(default=None, description="whether all nodes share the cores of one machine")
    decommission_us: DurationUs | None = Field(
        default=None, alias="decommission", description="how often HDFS looks whether a node is empty"
    )
    streams: Count | None = Field(default=None, description="copies at once from a node that leaves")
    multiplier: Count | None = Field(default=None, description="blocks for each live node and heartbeat")
    deploy_us: DurationUs | None = Field(default=None, alias="deploy", description="of a MR-cluster, without data")
    join_us: DurationUs | None = Field(default=None, alias="join", description="until a node serves")
    drain_us: DurationUs | None = Field(default=None, alias="drain", description="until a node without tasks may go")
    clean_us: DurationUs | None = Field(default=None, alias="clean", description="until a node is wiped")
    spread: Annotated[float, Field(ge=0, le=2)] | None = Field(
        default=None, description="deviation of the work of equal tasks; 0 is none"
    )
    stragglers: Fraction | None = Field(default=None, description="share of tasks that have more work than they look")
    straggle: Annotated[float, Field(ge=1)] | None = Field(default=None, description="how many times the work of those")
